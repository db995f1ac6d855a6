/* SPDX-License-Identifier: Apache-2.0
 *
 * A table joined with itself: how many of its pairs have a key that it holds. As from two tables, both sides are read, and
 * where tables have pages or lists they meet page by page.
 */
#include "core/tessera_tools.h"
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

static tsr_status start_join(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  *a->total = UINT64_MAX;
  return tsr_contender_join(on, a->total, error);
}

static tsr_status check_join(tsr_bench_turn *turn, tsr_error *error) {
  uint64_t size = 0, rows = *turn->arrays->total;
  const tsr_status status = tsr_contender_size(&turn->subject->on, &size, error);
  turn->result->done = size;
  if (status == TSR_OK && rows != size)
    tsr_bench_complain(turn->result, "the table holds %llu pairs, and %llu of them have a key that it holds", (llu)size,
                       (llu)rows);
  return status;
}

const tsr_bench_operation tsr_bench_join = {.before = TSR_BENCH_ON_FILLED,
                                            .has_rivals = true,
                                            .calls = TSR_PREPARE_EXPORT,
                                            .start = start_join,
                                            .check = check_join};
