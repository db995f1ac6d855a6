/* SPDX-License-Identifier: Apache-2.0
 *
 * The system's C compiler, as a child process: from the text of a C file to the bytes of a shared object. There is
 * no shell. Its files are in a private folder, which is removed when the call returns. Thread-safe.
 */
#ifndef TSR_CPU_COMPILER_H
#define TSR_CPU_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { COMPILER_FILES_MAX = 9 };

/* All that its results depend on, besides the text: the compiler's own words about its version, the flags, and what
 * this processor can do. Asked once in a process. Fails where there is no compiler, or TESSERA_CC is empty; the
 * sentence says which. The string lives as long as the process. */
tsr_status tsr_compiler_version(const char **version, tsr_error *error) TSR_MUST_CHECK;

/* The same for people, on one line: the compiler's name and version, and the flags. NULL where there is no compiler. */
const char *tsr_compiler_line(void);

/* What code is for: this processor alone, or all that have some level, the best first. */
typedef enum tsr_code_target { TSR_CODE_OWN, TSR_CODE_V3, TSR_CODE_V2, TSR_CODE_TARGETS } tsr_code_target;
/* Whether there is such a level for this kind of processor; whether this processor has it. */
bool tsr_compiler_knows(tsr_code_target target);
bool tsr_compiler_fits(tsr_code_target target);

/* texts: of `count` C files, at most COMPILER_FILES_MAX, one after the other in a single shared object. *code: the caller
 * frees it. A compiler that takes longer than 20 seconds is killed, or 600 for code of others.
 * Fails with the first line of what the compiler said. */
tsr_status tsr_compiler_run(const char *const *texts, size_t count, tsr_code_target target, void **code, size_t *bytes,
                            tsr_error *error) TSR_MUST_CHECK;

/* Opens a shared object from memory, and finds a function in it. dlclose(*library) ends it. */
tsr_status tsr_compiler_open(const void *code, size_t bytes, const char *symbol, void **library, void **function,
                             tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
