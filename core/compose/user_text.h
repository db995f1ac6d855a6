/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file of kernels says of itself: its lines TSR_TABLE and TSR_KERNEL, read without a compiler. Read next: user_code.h.
 */
#ifndef TSR_USER_TEXT_H
#define TSR_USER_TEXT_H

#include "core/tessera_kernels.h"

/* Reads the parameters of kernel `name`, NULL for the only one. source: with text. */
tsr_status tsr_user_read(const tsr_kernel_source *source, const char *name, tsr_kernel_facts *facts, tsr_error *error)
    TSR_MUST_CHECK;

#endif
