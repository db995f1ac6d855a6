/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a row's figures come from: what was run, by which code, on which machine, when. Read next: bench_rows.h, which
 * writes it; sweep_run.c, which refuses to go on elsewhere.
 */
#ifndef TSR_ORIGIN_H
#define TSR_ORIGIN_H

#include <stdint.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_ORIGIN_HASH_BYTES = 17, TSR_ORIGIN_TEXT_BYTES = 128 };

/* Texts of "" and numbers of 0 are unknown. */
typedef struct tsr_origin {
  const char *compiler;                    /* of the backend's code: tsr_compiler; lives as long as the process */
  char parts[TSR_ORIGIN_HASH_BYTES];       /* a hash of the files of the parts */
  char composition[TSR_ORIGIN_HASH_BYTES]; /* of the composition */
  char code[TSR_ORIGIN_TEXT_BYTES];        /* tsr_table_info.code */
  char driver[TSR_ORIGIN_TEXT_BYTES];      /* NVIDIA's driver; on the CPU the kernel of the system */
  char date[TSR_ORIGIN_HASH_BYTES + 4];    /* 2026-11-27T14:05:54Z */
  char options[TSR_ORIGIN_TEXT_BYTES];     /* tsr_bench_options_told */
  uint64_t seed, repeat;
  uint32_t threads; /* of the cpu backend */
  uint32_t clock_mhz, memory_mhz;
} tsr_origin;

/* The version, and the commit of the checkout that the program was built from: "0.1.0 6d5b9140". */
const char *tsr_origin_version(void);

/* What a process knows before it measures: compiler, driver and threads. */
void tsr_origin_begin(tsr_origin *origin, const char *backend);
/* The date, and the clocks as they are now. device: the number of a GPU. */
void tsr_origin_measured(tsr_origin *origin, const char *backend, int device);
/* The hash of a rival's file, in the place of that of the parts. */
void tsr_origin_file(tsr_origin *origin, const char *path);
/* The hashes. composition: tsr_resolution.text. plugins: as in tsr_options. */
void tsr_origin_compose(tsr_origin *origin, const char *composition, const char *plugins);

#ifdef __cplusplus
}
#endif
#endif
