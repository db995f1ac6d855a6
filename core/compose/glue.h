/* SPDX-License-Identifier: Apache-2.0
 *
 * The glue module: the generated device code that turns parts into a table. It maps the functions of the
 * roles (probing_next) to the chosen plugins' functions, defines facts and parameters as constants and stubs what a
 * plugin leaves out. With several tables in one link it switches on the table's number, a constant where it is called.
 * Text only: cuda/link.c and cpu/fuse.c compile it.
 */
#ifndef TSR_GLUE_H
#define TSR_GLUE_H

#include "core/compose/composition.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The headers that the text includes, by name, for a compiler without a file system: those of the SDK, and those of the
 * operations and of users' kernels. Each ends with a NULL name. */
typedef struct tsr_header {
  const char *name; /* "plugins/device.cuh" */
  const char *text;
} tsr_header;
extern const tsr_header tsr_sdk_headers[], tsr_operation_headers[];

/* The number of modules that these tables need: one for each pair of widths. */
size_t tsr_glue_modules(const tsr_composition *const *tables, size_t count);

/* The source of one of them; module 0 also holds facts and parameters. Table i of the link is tables[i]. NULL when out
 * of memory; the caller frees it. */
char *tsr_glue_text(const tsr_composition *const *tables, size_t count, size_t module);

/* For the CPU, a whole C file that needs no header but the system's. It has the same glue, the parts' own text, the
 * walk and one operation TSR_BULK_ of this table, as a function `tsr_fused_range` of type tsr_cpu_range
 * (cpu/bulk.h). NULL as above. */
char *tsr_glue_unit(const tsr_composition *table, uint32_t operation);
/* The same with a text of the caller's in the place of the operation. */
char *tsr_glue_unit_of(const tsr_composition *table, const char *body);
/* A text in which each of these headers stands in the place of its first include. NULL as above. */
char *tsr_glue_expand(const char *text);

#ifdef __cplusplus
}
#endif
#endif
