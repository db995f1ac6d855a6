/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's kernel as its backend makes it: the kernel, the compositions of its tables, and the texts that are linked
 * with the parts. Read next: cuda/link.h and cpu/user.h, which make it; kernel.c.
 */
#ifndef TSR_USER_CODE_H
#define TSR_USER_CODE_H

#include "core/compose/composition.h"
#include "core/tessera_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_user_code {
  tsr_kernel_source source;
  tsr_kernel_facts facts;                        /* facts.tables of these: */
  tsr_composition tables[TSR_KERNEL_TABLES_MAX]; /* tsr_composition_of_kernel, in the order of the parameters */
} tsr_user_code;

/* Reads the source, and whether each table of the kernel is named once; order[i] is the index in `names` of table i. */
tsr_status tsr_user_code_open(const tsr_kernel_source *source, const char *name, const char *const *names, size_t count,
                              tsr_user_code *code, size_t *order, tsr_error *error) TSR_MUST_CHECK;
/* Takes a composition for table i, or says why it is not fit. */
tsr_status tsr_user_code_take(tsr_user_code *code, size_t i, const tsr_composition *composition, tsr_error *error)
    TSR_MUST_CHECK;

/* The functions of table i, of its widths, as CUDA C; includes headers by name. NULL when out of memory; the caller frees
 * these texts. */
char *tsr_user_table_text(const tsr_user_code *code, size_t i);
/* The same as a whole C file, with its parts. */
char *tsr_user_table_unit(const tsr_user_code *code, size_t i);
/* The kernel as a whole C file, with a function tsr_user_range of type tsr_user_range. */
char *tsr_user_kernel_unit(const tsr_user_code *code);

/* Says why code of a kernel could not be linked, or loaded, in the place of what the tool says of it. */
void tsr_user_explain(const tsr_user_code *code, tsr_error *error);

/* Works on items begin .. end - 1 of n. arguments: of all parameters, a table's a pointer to its tsr_table_ref. */
typedef void tsr_user_range(const void *const *arguments, uint64_t n, uint64_t begin, uint64_t end);

/* What a tsr_table_ref holds on a device (user_table and user_rows of kernels/user.cuh); on the CPU it points to this. */
typedef struct tsr_user_rows {
  void *rows;
  uint32_t *taken, *written;
  uint64_t words;
} tsr_user_rows;
typedef struct tsr_user_table {
  tsr_state state;
  struct tsr_tally *tally;
  tsr_user_rows rows;
  void *numbers; /* of an index: a tsr_free_numbers */
} tsr_user_table;
enum { TSR_USER_REF_BYTES = 62 * 8 }; /* of a tsr_table_ref on a device */

#ifdef __cplusplus
}
#endif
#endif
