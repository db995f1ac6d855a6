/* SPDX-License-Identifier: Apache-2.0
 *
 * What a benchmark measures: a table, or a rival's. The calls that operations are made of, for both. Read next:
 * bench_operation.h.
 */
#ifndef TSR_CONTENDER_H
#define TSR_CONTENDER_H

#include <stdint.h>

#include "core/tessera.h"
#include "core/tessera_rival.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rival's table. Its report is made of counts, before and after. */
typedef struct tsr_foreign {
  const tsr_rival *rival;
  void *table;
  uint64_t offered, before; /* keys of inserts, and keys in the table, since the report was reset */
} tsr_foreign;

typedef struct tsr_contender {
  tsr_table *table;     /* NULL: it is foreign */
  tsr_foreign *foreign; /* NULL: it is a table */
  const tsr_spec *spec; /* what both are asked to be */
} tsr_contender;

/* TSR_UNSUPPORTED with the rival's sentence. */
TSR_MUST_CHECK tsr_status tsr_foreign_open(const tsr_rival *rival, const tsr_rival_shape *shape, tsr_foreign **foreign,
                                           tsr_error *error);
void tsr_contender_close(tsr_contender *contender); /* all zero is fine */
static inline bool tsr_contender_is(const tsr_contender *contender) { return contender->table || contender->foreign; }

/* As the functions of tessera.h; call: as there, of which a rival takes `missing` alone. */
TSR_MUST_CHECK tsr_status tsr_contender_clear(const tsr_contender *contender, tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_insert(const tsr_contender *contender, uint64_t n, const void *keys,
                                               const void *values, const tsr_call *call, tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_find(const tsr_contender *contender, uint64_t n, const void *keys, void *values,
                                             const tsr_call *call, tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_contains(const tsr_contender *contender, uint64_t n, const void *keys,
                                                 uint8_t *present, tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_find_all(const tsr_contender *contender, uint64_t n, const void *keys,
                                                 uint64_t *offsets, uint64_t room, void *values, const tsr_call *call,
                                                 tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_erase(const tsr_contender *contender, uint64_t n, const void *keys,
                                              const tsr_call *call, tsr_error *error);
/* arrays: as of tsr_unique, of which a rival takes keys, counts and inverse. */
TSR_MUST_CHECK tsr_status tsr_contender_unique(const tsr_contender *contender, uint64_t n, const void *keys,
                                               const tsr_unique_arrays *arrays, uint64_t *distinct, tsr_error *error);
/* With itself: how many of its pairs have a key that it holds. */
TSR_MUST_CHECK tsr_status tsr_contender_join(const tsr_contender *contender, uint64_t *matches, tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_size(const tsr_contender *contender, uint64_t *size, tsr_error *error);
/* Of a rival: insert_keys, inserted and erased alone. */
TSR_MUST_CHECK tsr_status tsr_contender_report(const tsr_contender *contender, tsr_report *report, tsr_error *error);
TSR_MUST_CHECK tsr_status tsr_contender_report_reset(const tsr_contender *contender, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
