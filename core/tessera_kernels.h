/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of your own that work on tables. They are written against tessera.cuh, and linked with the parts of the tables
 * that they are given, so that every call is inlined, whatever an INI file names. The rules of tessera.h on arrays,
 * ownership, errors, threads, streams and sizes hold here. This file has reading a file of kernels, kernels, short
 * functions, and linking without a device.
 *
 *   tsr_kernel_create(&source, "count", tables, names, 1, &kernel, &error);
 *   tsr_kernel_launch(kernel, n, arguments, 2, NULL, &error);
 */
#ifndef TESSERA_KERNELS_H
#define TESSERA_KERNELS_H

#include "tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_KERNEL_TABLES_MAX = 8, TSR_KERNEL_PARAMETERS_MAX = 32 };

/* What a kernel does with a table, as TSR_TABLE declares it. */
enum { TSR_DOES_FINDS = 1, TSR_DOES_INSERTS = 2, TSR_DOES_ERASES = 4, TSR_DOES_ALL = 7, TSR_DOES_SCANS = 8 };

/* A file of kernels. */
typedef struct tsr_kernel_source {
  size_t size;
  const char *text; /* CUDA C that includes tessera.cuh and no other file */
  const char *file; /* its name in messages; NULL = "the kernel's text" */
  /* The same text in LTO-IR, as plugins/build_device.sh makes it. A GPU's kernel is made of it, and only the lines
   * TSR_TABLE(..) and TSR_KERNEL(name, (..)) of `text` are read. NULL: NVRTC compiles the text. */
  const void *image;
  size_t image_bytes;
} tsr_kernel_source;

/* ---- What a file says of itself -------------------------------------------------------------- */

typedef struct tsr_kernel_parameter {
  char type[64], name[64]; /* "const uint32_t *", "keys" */
  uint32_t does;           /* TSR_DOES_ of a table; 0: no table */
} tsr_kernel_parameter;

typedef struct tsr_kernel_facts {
  size_t size;
  char name[64];
  size_t tables;     /* number of parameters that are tables; they are the first ones */
  size_t parameters; /* number of all parameters */
  tsr_kernel_parameter parameter[TSR_KERNEL_PARAMETERS_MAX];
  uint32_t tables_128; /* bit i: table i is declared by TSR_TABLE_128 */
} tsr_kernel_facts;

/* Reads a kernel's parameters. name: NULL = the only kernel of the file. TSR_BAD_SPEC, with file and line, if TSR_TABLE or
 * TSR_KERNEL is missing or wrong. */
TSR_API tsr_status tsr_kernel_read(const tsr_kernel_source *source, const char *name, tsr_kernel_facts *info,
                                   tsr_error *error);

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct tsr_kernel tsr_kernel;

/* Makes the kernel `name` for these tables; names[i] is the parameter that tables[i] is for. All tables are on one device,
 * and each is given once. The cuda backend links the kernel, or reads it from the cubin cache. The cpu backend compiles it by
 * the system's C compiler. The source is not needed afterwards. Destroy the kernel before its tables, and use it in the
 * thread that uses them.
 * In a kernel values of value_bytes are addresses of rows (tessera.cuh). With duplicates = replace a kernel that inserts
 * them needs a layout that stores pairs whole.
 * Errors: TSR_UNSUPPORTED if a table does not allow what the kernel does with it, TSR_LINK_FAILED with the compiler's
 * message, TSR_NOT_FOUND if there is no C compiler. */
TSR_API tsr_status tsr_kernel_create(const tsr_kernel_source *source, const char *name, tsr_table *const *tables,
                                     const char *const *names, size_t count, tsr_kernel **kernel, tsr_error *error);
/* Waits for the tables' work, then frees the kernel. NULL is allowed. */
TSR_API_VOID void tsr_kernel_destroy(tsr_kernel *kernel);

/* Enqueues the kernel for n items; if it scans a table, n is ignored. arguments[i] points to the value of the i-th parameter
 * behind the tables, of that parameter's type, as for cuLaunchKernel; there are `count` of them. Arrays must be in the memory
 * of the tables' device (tsr_memory_allocate), and valid until the work is done. The launch is ordered like one bulk operation
 * on each of its tables: it waits for work of other phases, and overlaps work of its own phase.
 * A table that was rebuilt with other parts is linked again. No table grows in a launch: a pair that finds no room is handed
 * to the kernel by tsr_insert_pair and counted by `not_placed` of the report, which counts nothing else of kernels.
 * A kernel that inserts rows of value_bytes uses free rows. Its launch waits, to find them, if bulk calls have inserted or
 * pairs were erased since the last such launch. It cannot be captured into a CUDA graph. */
TSR_API tsr_status tsr_kernel_launch(tsr_kernel *kernel, uint64_t n, const void *const *arguments, size_t count,
                                     void *stream, tsr_error *error);

/* ---- Short functions ------------------------------------------------------------------------- */

/* Statements of C that run for each pair, and their arguments. */
typedef struct tsr_statements {
  size_t size;
  const char *text;
  const char *parameters; /* names that the text uses, as in a kernel: "uint64_t *sum, uint32_t least"; NULL: none */
  const void *const *arguments; /* `count` of them, as for tsr_kernel_launch */
  size_t count;
} tsr_statements;

/* Runs the statements for each pair of a table. In them `key` and `value`, both uint64_t, are the pair; a set's values are
 * 0. A key of 128 bits is a tsr_key128 (tessera.cuh). Many threads work on the pairs, in no order: they change what they
 * share by tsr_add. Makes a kernel for one launch; for statements that run often make a kernel (TSR_TABLE(t, scans)). Waits. */
TSR_API tsr_status tsr_for_all(tsr_table *table, const tsr_statements *statements, void *stream, tsr_error *error);
/* The same for each pair of each of n keys. In the statements `i`, a uint64_t, is the index of the key. keys: n, in host or
 * device memory. */
TSR_API tsr_status tsr_for_each(tsr_table *table, uint64_t n, const void *keys, const tsr_statements *statements,
                                void *stream, tsr_error *error);

/* ---- Linking without a device ---------------------------------------------------------------- */

typedef struct tsr_kernel_target {
  size_t size;
  uint32_t sm;                /* compute capability: 90 */
  bool use_cache;             /* reads the cubin from the cache, and keeps it there */
  const tsr_options *options; /* of the tables; NULL: none */
} tsr_kernel_target;

/* Links the kernel with tables of these specs. Needs no GPU. *link is that of tsr_spec_link. */
TSR_API tsr_status tsr_kernel_link(const tsr_kernel_source *source, const char *name, const tsr_spec *const *specs,
                                   const char *const *names, size_t count, const tsr_kernel_target *target,
                                   tsr_link *link, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
