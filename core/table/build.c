/* SPDX-License-Identifier: Apache-2.0
 *
 * tsr_build: an insert into an empty table. When a pair has no room it begins again with another seed.
 */
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/hold.h"
#include "core/table/operate.h"
#include "core/table/rebuild.h"
#include "core/table/single.h"
#include "core/table/store.h"
#include "core/table/table.h"

/* ---- build ----------------------------------------------------------------------------------- */

static tsr_status build(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                        uint32_t tries, tsr_tally *tally, tsr_error *error) {
  const uint64_t seed = t->store.composition->shape.seed;
  for (uint32_t try = 1;; try++) {
    tsr_call this_call = *call;
    if (try < tries) this_call.unplaced_keys = this_call.unplaced_values = NULL; /* written once, by the last try */
    tsr_status status = tsr_insert_counted(t, n, keys, values, &this_call, tally, error);
    if (status || tally->not_placed == 0 || try == tries) return status;
    status = tsr_store_reseed(t, t->spec, tsr_next_seed(seed, try), &t->store, error);
    if (status == TSR_OK) status = tsr_clear(t, call->stream, error);
    if (status) return status;
  }
}

tsr_status tsr_build(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                     uint32_t tries, tsr_error *error) {
  TSR_WRITES(t);
  uint64_t size;
  tsr_call known;
  tsr_status status = tsr_check_insert(t, "tsr_build", n, keys, values, error);
  if (status == TSR_OK && !tries)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_build: tries = 0: must be at least 1");
  if (status == TSR_OK) status = tsr_take_over("tsr_build", &known, call, sizeof known, error);
  if (status) return status;
  tsr_request r = {.op = TSR_CALL_BUILD, .call.stream = known.stream};
  status = tsr_call_begin(t, &r, error);
  if (status == TSR_OK) status = tsr_size(t, &size, error);
  if (status) return status;
  if (size)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_build: the table holds %llu pairs already: clear it first, or use tsr_insert",
                    (unsigned long long)size);
  return t->methods->build(t, n, keys, values, &known, tries, error);
}

tsr_status tsr_single_build(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                            uint32_t tries, tsr_error *error) {
  const uint64_t paged = t->store.paged_keys;
  tsr_tally tally;
  if (t->store.composition->settings.upkeep.growth) return tsr_insert(t, n, keys, values, call, error);
  tsr_status status = build(t, n, keys, values, call, tries, &tally, error);
  if (t->store.paged_keys > paged) t->store.paged_keys = paged + (status ? 0 : n); /* of one try */
  if (status) {
    tsr_status cleared = tsr_clear(t, NULL, NULL);
    (void)cleared; /* the first failure is what the caller hears of */
    return status;
  }
  t->done.insert_keys += n;
  tsr_tally_add(&t->done.counted, &tally);
  return TSR_OK;
}
