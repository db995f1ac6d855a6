/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of your own that work on tables: written against tessera.cuh, which says how, and linked with the parts of the
 * tables that they are given, so that every call is inlined, whatever an INI file names. The rules of tessera.h on
 * errors, threads, streams and sizes hold here too. Order: what a file of kernels says of itself, kernels, short
 * functions, linking without a device.
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

/* What a kernel does to a table, as TSR_TABLE declares it. */
enum { TSR_DOES_FINDS = 1, TSR_DOES_INSERTS = 2, TSR_DOES_ERASES = 4, TSR_DOES_ALL = 7, TSR_DOES_SCANS = 8 };

/* A file of kernels. */
typedef struct tsr_kernel_source {
  size_t size;
  const char *text; /* CUDA C that includes tessera.cuh and no other file */
  const char *file; /* its name in messages; NULL = "the kernel's text" */
  /* The same in LTO-IR, as plugins/build_device.sh makes it: then a GPU's kernel is made of this, and of `text` only the
   * lines TSR_TABLE(..) and TSR_KERNEL(name, (..)) are read. NULL: NVRTC compiles the text. */
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
  size_t tables;     /* of the parameters, the first ones */
  size_t parameters; /* all */
  tsr_kernel_parameter parameter[TSR_KERNEL_PARAMETERS_MAX];
} tsr_kernel_facts;

/* Reads a kernel's parameters; name: NULL = the only kernel of the file. TSR_BAD_SPEC with file:line: the text does not
 * say what TSR_TABLE and TSR_KERNEL have to. */
TSR_API tsr_status tsr_kernel_read(const tsr_kernel_source *source, const char *name, tsr_kernel_facts *info,
                                   tsr_error *error);

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct tsr_kernel tsr_kernel;

/* Makes the kernel `name` for these tables, names[i] being the parameter that tables[i] is for: all on one device, and
 * each given once. The cuda backend links it, or reads it from the cubin cache; the cpu backend has the system's C
 * compiler make it, TSR_NOT_FOUND where there is none. Nothing of the source is needed afterwards; a kernel must be
 * destroyed before its tables, and is used by the thread that uses these.
 * Values of value_bytes are addresses of rows in a kernel (tessera.cuh). Where duplicates = replace, one that inserts them
 * needs a layout that stores pairs whole.
 * TSR_UNSUPPORTED: a table is not fit for what the kernel does to it. TSR_LINK_FAILED with the compiler's own words. */
TSR_API tsr_status tsr_kernel_create(const tsr_kernel_source *source, const char *name, tsr_table *const *tables,
                                     const char *const *names, size_t count, tsr_kernel **kernel, tsr_error *error);
/* Waits for the tables' work, then frees it. NULL is fine. */
TSR_API_VOID void tsr_kernel_destroy(tsr_kernel *kernel);

/* Enqueues the kernel for n items; of one that scans a table n does not matter. arguments[i] points to the value of the
 * i-th parameter behind the tables, of that parameter's type, as for cuLaunchKernel; `count` of them. Arrays that a kernel
 * is given are where the tables do (tsr_memory_allocate) and stay valid until its work is done. The launch is ordered as
 * one bulk operation on each of its tables: it waits for work of other phases, and overlaps work of its own.
 * A kernel that inserts rows of value_bytes takes them from those that no pair has: its launch waits, to find these, where
 * bulk calls have inserted, or pairs were erased, since the last such launch. It is recorded into no CUDA graph.
 * A table that was rebuilt with other parts since is linked again. In a launch no table grows: a pair that finds no room is
 * what tsr_insert_pair hands to the kernel, and `not_placed` of the table's report, which counts nothing else of kernels. */
TSR_API tsr_status tsr_kernel_launch(tsr_kernel *kernel, uint64_t n, const void *const *arguments, size_t count,
                                     void *stream, tsr_error *error);

/* ---- Short functions ------------------------------------------------------------------------- */

/* Statements of C that run for each pair, and what they are given. */
typedef struct tsr_statements {
  size_t size;
  const char *text;
  const char *parameters;       /* that the text names, as a kernel's: "uint64_t *sum, uint32_t least"; NULL: none */
  const void *const *arguments; /* `count` of them, as of tsr_kernel_launch */
  size_t count;
} tsr_statements;

/* Runs the statements for each pair of a table. `key` and `value`, both uint64_t, are the pair's; a set's values are 0.
 * Many threads meet the pairs, in no order, so they change what they share by tsr_add. The call waits. It makes a kernel for
 * one launch: whoever runs the same statements often makes a kernel instead (TSR_TABLE(t, scans)). */
TSR_API tsr_status tsr_for_all(tsr_table *table, const tsr_statements *statements, void *stream, tsr_error *error);
/* The same for each pair of each of n keys; `i`, a uint64_t, is the index of its key. keys: in host or device memory. */
TSR_API tsr_status tsr_for_each(tsr_table *table, uint64_t n, const void *keys, const tsr_statements *statements,
                                void *stream, tsr_error *error);

/* ---- Linking without a device ---------------------------------------------------------------- */

typedef struct tsr_kernel_target {
  size_t size;
  uint32_t sm;                /* compute capability: 90 */
  bool use_cache;             /* reads the cubin from the cache, and keeps it there */
  const tsr_options *options; /* of the tables; NULL: none */
} tsr_kernel_target;

/* Links the kernel with tables of these specs, with no GPU; link as of tsr_spec_link. */
TSR_API tsr_status tsr_kernel_link(const tsr_kernel_source *source, const char *name, const tsr_spec *const *specs,
                                   const char *const *names, size_t count, const tsr_kernel_target *target,
                                   tsr_link *link, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
