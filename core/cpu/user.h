/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' kernels on the cpu backend, the members user_ of tsr_backend. The functions of each table, and the kernel,
 * are a C file each. The system's C compiler (compiler.h) makes one shared object of them, which is cached on disk.
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
