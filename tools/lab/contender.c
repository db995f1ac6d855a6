/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls on a table or a rival's (contender.h). Both work in the default stream, in which the clock is.
 */
#include "tools/lab/contender.h"

#include <stdlib.h>

#include "core/tessera_tools.h"

static tsr_status judge(const char *sentence, tsr_error *error) {
  return sentence ? tsr_fail(error, TSR_UNSUPPORTED, "%s", sentence) : TSR_OK;
}

static tsr_status has_none(const char *operation, tsr_error *error) {
  return tsr_fail(error, TSR_UNSUPPORTED, "it has no %s", operation);
}

tsr_status tsr_foreign_open(const tsr_rival *rival, const tsr_rival_shape *shape, tsr_foreign **foreign,
                            tsr_error *error) {
  tsr_foreign *f = calloc(1, sizeof *f);
  if (!f) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a rival");
  f->rival = rival;
  tsr_status status = judge(rival->create(shape, &f->table), error);
  if (status) free(f);
  if (status == TSR_OK) *foreign = f;
  return status;
}

void tsr_contender_close(tsr_contender *c) {
  tsr_table_destroy(c->table);
  if (c->foreign) c->foreign->rival->destroy(c->foreign->table);
  free(c->foreign);
  *c = (tsr_contender){.table = NULL};
}

tsr_status tsr_contender_clear(const tsr_contender *c, tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  return f ? judge(f->rival->clear(f->table, NULL), error) : tsr_clear(c->table, NULL, error);
}

tsr_status tsr_contender_insert(const tsr_contender *c, uint64_t n, const void *keys, const void *values,
                                const tsr_call *call, tsr_error *error) {
  tsr_foreign *f = c->foreign;
  if (!f) return tsr_insert(c->table, n, keys, values, call, error);
  f->offered += n;
  return judge(f->rival->insert(f->table, n, keys, values, NULL), error);
}

tsr_status tsr_contender_find(const tsr_contender *c, uint64_t n, const void *keys, void *values, const tsr_call *call,
                              tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  return f ? judge(f->rival->find(f->table, n, keys, values, call->missing, NULL), error)
           : tsr_find(c->table, n, keys, values, call, error);
}

tsr_status tsr_contender_contains(const tsr_contender *c, uint64_t n, const void *keys, uint8_t *present,
                                  tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  return f ? judge(f->rival->find(f->table, n, keys, present, 0, NULL), error)
           : tsr_contains(c->table, n, keys, present, NULL, error);
}

tsr_status tsr_contender_find_all(const tsr_contender *c, uint64_t n, const void *keys, uint64_t *offsets,
                                  uint64_t room, void *values, const tsr_call *call, tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  if (!f) return tsr_find_all(c->table, n, keys, offsets, room, values, call, error);
  if (!f->rival->find_all) return has_none("find_all", error);
  return judge(f->rival->find_all(f->table, n, keys, offsets, room, values, NULL), error);
}

tsr_status tsr_contender_erase(const tsr_contender *c, uint64_t n, const void *keys, const tsr_call *call,
                               tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  if (!f) return tsr_erase(c->table, n, keys, call, error);
  if (!f->rival->erase) return has_none("erase", error);
  return judge(f->rival->erase(f->table, n, keys, NULL), error);
}

tsr_status tsr_contender_unique(const tsr_contender *c, uint64_t n, const void *keys, const tsr_unique_arrays *arrays,
                                uint64_t *distinct, tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  if (!f) return tsr_unique(c->table, n, keys, arrays, distinct, error);
  if (!f->rival->unique) return has_none("unique", error);
  return judge(f->rival->unique(f->table, n, keys, arrays->keys, arrays->counts, arrays->inverse, distinct, NULL),
               error);
}

tsr_status tsr_contender_join(const tsr_contender *c, uint64_t *matches, tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  if (!f) return tsr_join(c->table, c->table, TSR_JOIN_SEMI, NULL, matches, error);
  if (!f->rival->join) return has_none("join", error);
  return judge(f->rival->join(f->table, f->table, matches, NULL), error);
}

tsr_status tsr_contender_size(const tsr_contender *c, uint64_t *size, tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  tsr_filter_info filter = {0};
  if (f) return judge(f->rival->count(f->table, size, NULL), error);
  const tsr_status status = tsr_size(c->table, size, error);
  if (status != TSR_UNSUPPORTED || tsr_filter_describe(c->table, &filter, NULL)) return status;
  *size = (uint64_t)filter.keys; /* the number of a filter's fingerprints */
  return TSR_OK;
}

tsr_status tsr_contender_report(const tsr_contender *c, tsr_report *report, tsr_error *error) {
  const tsr_foreign *f = c->foreign;
  uint64_t size = 0;
  if (!f) return tsr_table_report(c->table, report, error);
  const tsr_status status = tsr_contender_size(c, &size, error);
  *report = (tsr_report){.insert_keys = f->offered};
  if (size > f->before) report->inserted = size - f->before;
  if (size < f->before) report->erased = f->before - size;
  return status;
}

tsr_status tsr_contender_report_reset(const tsr_contender *c, tsr_error *error) {
  tsr_foreign *f = c->foreign;
  if (!f) return tsr_table_report_reset(c->table, error);
  f->offered = 0;
  return tsr_contender_size(c, &f->before, error);
}
