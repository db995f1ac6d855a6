/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates of a table on a GPU, predicted: from what the card's memory allows, which `tessera roofline` measures, and from the
 * buckets that operations look at, which a small table on the CPU counts. Read next: forecast.h, which asks for both.
 */
#ifndef TSR_PREDICT_H
#define TSR_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/tessera.h"
#include "core/tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The limits of a card at several footprints. */
typedef struct tsr_card {
  tsr_roofline_row *rows;
  size_t count;
} tsr_card;

/* A CSV file of `tessera roofline`. The caller frees *card. TSR_IO, TSR_BAD_ARGUMENT: it is none, or lacks a limit. */
TSR_MUST_CHECK tsr_status tsr_card_read(const char *path, tsr_card *card, tsr_error *error);
/* Measures a GPU, at footprints of `bytes` and an eighth, a quarter and half of it. */
TSR_MUST_CHECK tsr_status tsr_card_measure(int device, uint64_t bytes, tsr_card *card, tsr_error *error);
void tsr_card_free(tsr_card *card); /* all zero is fine */

/* 10^9 operations per second, or bytes of "copy". bytes of "read" are rounded up to a power of two. Between the footprints and the
 * numbers of lanes that are listed it is interpolated. 0: not listed. */
double tsr_card_rate(const tsr_card *card, const char *name, uint32_t bytes, uint32_t lanes, double footprint);

typedef enum tsr_work_kind { TSR_WORK_INSERT, TSR_WORK_FIND, TSR_WORK_FIND_ABSENT } tsr_work_kind;

/* One call of an operation on one table. */
typedef struct tsr_work {
  tsr_work_kind kind;
  bool by_pages, looks; /* inserts: in the order of pages; the key is looked for first */
  uint64_t n;           /* keys of the call */
  uint32_t key_bytes, value_bytes;
  uint32_t bucket_bytes, bucket_slots, lanes;
  double table_bytes;
  bool is_apart;              /* values are not in the buckets */
  bool has_short_keys;        /* as of tsr_resolution */
  double probes, warp_probes; /* buckets looked at: per key, and the most for one of 32 keys, on average (bench.h) */
} tsr_work;

/* Median errors of the model in percent, on tables on an H200 that it was not fitted to: finds and inserts by random access, and
 * inserts page by page. core/design/0038 says how they were measured. */
enum { TSR_PREDICT_ERROR_FINDS = 9, TSR_PREDICT_ERROR_INSERTS = 6, TSR_PREDICT_ERROR_PAGES = 10 };

/* 10^9 keys per second. */
double tsr_predict(const tsr_card *card, const tsr_work *work);

#ifdef __cplusplus
}
#endif
#endif
