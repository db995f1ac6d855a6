/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring tables: keys are drawn and arrays made once, and then any number of tables is measured with them, those that
 * are named together in turns. Read next: bench_run.h (one operation), bench.c and sweep.c, which use it.
 */
#ifndef TSR_BENCH_SESSION_H
#define TSR_BENCH_SESSION_H

#include "core/tessera_rival.h"
#include "tools/lab/bench_rows.h"
#include "tools/lab/bench_run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the code of an operation costs on a GPU; all zero = unknown. */
typedef struct tsr_bench_cost {
  uint32_t registers;
  double link_ms; /* 0 = it was in the cache */
} tsr_bench_cost;

/* A spec that is measured. */
typedef struct tsr_bench_entrant {
  const char *name; /* of its rows and sentences */
  const tsr_spec *spec;
  const tsr_bench_cost
      *costs;             /* TSR_BENCH_TABLE_OPS of them, if the code was linked before; NULL: the session links it */
  bool may_be_full;       /* that keys found no place is in its rows, and no news */
  const tsr_rival *rival; /* NULL: the spec's table. Otherwise a rival's, that is asked to be what the spec says */
  const char *file;       /* of the rival */
} tsr_bench_entrant;

/* Where a row stands in what was asked for. A refused entrant has one of each load and distribution: then op is
 * TSR_BENCH_OPS. */
typedef struct tsr_bench_place {
  size_t model, load, entrant;
  tsr_bench_op op;
  const double
      *rates; /* mops of each repetition, in turn: options->repeat of them, until `take` returns; NULL: refused */
} tsr_bench_place;
typedef void (*tsr_bench_take)(void *context, const tsr_bench_row *row, const tsr_bench_place *place);

/* What a load, as written, says of a spec: how full its slots are. A filter has none, so its load is keys / capacity, and
 * for that many pairs it is made with this capacity. A cache is full in the end: its load is capacity / keys. */
bool tsr_bench_fills_slots(const tsr_spec *spec);
TSR_MUST_CHECK tsr_status tsr_bench_set_load(tsr_spec *spec, const char *load, tsr_error *error);
uint64_t tsr_bench_capacity(const tsr_spec *spec, const char *load, uint64_t pairs);

typedef struct tsr_bench_session tsr_bench_session;

/* Begins with the widths and the backend of the first spec that can be composed; says on standard error which backend it
 * is, and why. options: live as long. The status is that of the last one, if none can be. */
TSR_MUST_CHECK tsr_status tsr_bench_session_open(const tsr_bench_options *options, const tsr_bench_entrant *entrants,
                                                 size_t count, tsr_bench_session **session, tsr_error *error);
void tsr_bench_session_close(tsr_bench_session *session); /* NULL is fine */

/* The widths, backend and device; strings live as long as the session. */
const tsr_table_info *tsr_bench_session_info(const tsr_bench_session *session);

/* What all rows of the session have in common; lives as long. */
const tsr_origin *tsr_bench_session_origin(const tsr_bench_session *session);

/* Whether the session's keys and operations suit a spec: TSR_BAD_ARGUMENT with a sentence. One that cannot be composed
 * passes: measuring refuses it. */
TSR_MUST_CHECK tsr_status tsr_bench_session_check(tsr_bench_session *session, const tsr_bench_entrant *entrant,
                                                  tsr_error *error);

/* Measures specs that were checked: all distributions, loads and operations, and hands each row to `take`. A spec that
 * cannot be made, or an operation that it refuses, is a row and a sentence on standard error; the status is that of what
 * keeps the others from going on. title: the beginning of the line of progress. */
TSR_MUST_CHECK tsr_status tsr_bench_session_measure(tsr_bench_session *session, const tsr_bench_entrant *entrants,
                                                    size_t count, const char *title, tsr_bench_take take, void *context,
                                                    tsr_error *error);
/* No answer was wrong so far, and no key was without a place. */
bool tsr_bench_session_is_right(const tsr_bench_session *session);

/* Links the code that an operation of a spec needs at a load into the cache: what is timed, whose cost it tells, what fills and
 * checks the table, and the same that counts. No device is needed, and several threads may do so at once. sm: the compute
 * capability. */
TSR_MUST_CHECK tsr_status tsr_bench_link(const tsr_bench_options *options, const tsr_spec *spec, const char *load,
                                         tsr_bench_op op, uint32_t sm, tsr_bench_cost *cost, tsr_error *error);

/* Whether a status says that a table cannot be, rather than that something broke. */
bool tsr_bench_is_refusal(tsr_status status);

#ifdef __cplusplus
}
#endif
#endif
