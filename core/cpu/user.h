/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' kernels on the cpu backend: the tables' functions and the kernel, each a C file, become one shared object by the
 * system's C compiler (compiler.h), cached on disk. The members user_ of tsr_backend.
 */
#ifndef TSR_CPU_USER_H
#define TSR_CPU_USER_H

#include "core/compose/backend.h"

tsr_status tsr_cpu_user_create(tsr_device *device, const tsr_user_code *code, tsr_user_program **program,
                               tsr_error *error) TSR_MUST_CHECK;
void tsr_cpu_user_destroy(tsr_user_program *program);
tsr_status tsr_cpu_user_launch(tsr_user_program *program, uint64_t n, const void *const *arguments, void *stream,
                               tsr_error *error) TSR_MUST_CHECK;

#endif
