/* SPDX-License-Identifier: Apache-2.0
 *
 * Settling (growth.h, tsr_piece_settle). Why it is needed: a scheme that moves pairs hands back the pair (K, old) at
 * another key's input, and a later input inserts (K, new) as if K were absent. Inserting (K, old) again would find K
 * and combine the two in the wrong order, and K would have been reported as inserted though it was there.
 *
 * How: every pair of K that is unplaced or in the table came from an input that claimed a place for K, or was there
 * before; so the number of pairs less the number of such inputs says whether K was there before (0 or 1). That pair, if
 * there was one, was the first to be handed back, so it is unplaced now: it is the one whose value no input accounts
 * for.
 */
#include <stdlib.h>
#include <string.h>

#include "core/table/growth.h"

/* A key with more than one pair. */
typedef struct group {
  uint64_t key;
  tsr_unplaced *pairs; /* its unplaced ones */
  uint64_t pair_count;
  bool in_table;
  uint64_t table_value;
  uint64_t first_input, input_count; /* in settling.inputs */
} group;

/* An input that claimed a place for a group's key. */
typedef struct input {
  uint64_t group, index, value;
} input;

typedef struct settling {
  tsr_piece *p;
  group *groups;
  uint64_t group_count;
  input *inputs;
  uint64_t input_count;
  tsr_unplaced *kept; /* what stays unplaced */
  uint64_t kept_count;
  uint64_t *erased; /* keys to take out of the table */
  uint64_t erased_count;
} settling;

/* ---- Finding the groups ---------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_key_and_value(const void *a, const void *b) {
  const tsr_unplaced *x = a, *y = b;
  return x->key == y->key ? compare(x->value, y->value) : compare(x->key, y->key);
}

static int key_to_group(const void *key, const void *member) {
  return compare(*(const uint64_t *)key, ((const group *)member)->key);
}

static int by_group_and_value(const void *a, const void *b) {
  const input *x = a, *y = b;
  return x->group == y->group ? compare(x->value, y->value) : compare(x->group, y->group);
}

/* Sorts the unplaced pairs and makes a group of each run that has more than one pair, the table's included; the others
 * stay unplaced as they are. pre: codes and host_values tell what a search for each of the pairs has found. */
static void find_groups(settling *s) {
  tsr_piece *p = s->p;
  bool is_map = p->value_bytes > 0;
  for (uint64_t i = 0, end; i < p->unplaced_count; i = end) {
    for (end = i + 1; end < p->unplaced_count && p->unplaced[end].key == p->unplaced[i].key;) end++;
    bool found = p->codes[i] == (is_map ? TSR_FOUND : 1);
    if (end - i + found == 1) {
      s->kept[s->kept_count++] = p->unplaced[i];
      continue;
    }
    s->groups[s->group_count++] =
        (group){.key = p->unplaced[i].key,
                .pairs = &p->unplaced[i],
                .pair_count = end - i,
                .in_table = found,
                .table_value = is_map ? tsr_piece_item(p->host_values, p->value_bytes, i) : 0};
  }
}

/* pre: host_keys and host_values hold the piece's input; claimed: the launch's codes, as in `own`. */
static void find_inputs(settling *s) {
  tsr_piece *p = s->p;
  for (uint64_t i = 0; i < p->n; i++) {
    if (p->own[i] != TSR_INSERTED) continue;
    uint64_t key = tsr_piece_item(p->host_keys, p->key_bytes, i);
    const group *g = bsearch(&key, s->groups, s->group_count, sizeof *g, key_to_group);
    if (!g) continue;
    uint64_t value = p->value_bytes ? tsr_piece_item(p->host_values, p->value_bytes, i) : 0;
    s->inputs[s->input_count++] = (input){(uint64_t)(g - s->groups), i, value};
  }
  qsort(s->inputs, s->input_count, sizeof *s->inputs, by_group_and_value);
  for (uint64_t i = s->input_count; i-- > 0;) {
    s->groups[s->inputs[i].group].first_input = i;
    s->groups[s->inputs[i].group].input_count++;
  }
}

/* ---- Deciding -------------------------------------------------------------------------------- */

/* The value from before the piece under duplicates = first, where values stay as offered: the one that occurs once more
 * among the pairs than among the inputs. If no unplaced pair does, the table's is the same. Both lists are sorted. */
static uint64_t value_from_before(const settling *s, const group *g) {
  const input *inputs = &s->inputs[g->first_input];
  uint64_t j = 0;
  for (uint64_t i = 0; i < g->pair_count; i++, j++) {
    while (j < g->input_count && inputs[j].value < g->pairs[i].value) j++;
    if (j == g->input_count || inputs[j].value > g->pairs[i].value) return g->pairs[i].value;
  }
  return g->table_value;
}

/* The value of all pairs under add, min and max. */
static uint64_t combined(const settling *s, const group *g) {
  uint64_t value = g->pairs[0].value;
  for (uint64_t i = g->in_table ? 0 : 1; i < g->pair_count; i++) {
    uint64_t other = i ? g->pairs[i].value : g->table_value;
    if (s->p->policy == TSR_DUPLICATES_ADD)
      value += other;
    else if ((s->p->policy == TSR_DUPLICATES_MIN) == (other < value))
      value = other;
  }
  return value;
}

/* A key that was not there was inserted once: by the input whose value the key has now, where values stay as offered.
 */
static void settle_inputs(settling *s, const group *g, bool was_there, uint64_t value) {
  const input *inputs = &s->inputs[g->first_input];
  uint64_t inserter = g->input_count;
  for (uint64_t i = 0; i < g->input_count; i++) {
    if (inserter == g->input_count && inputs[i].value == value) inserter = i;
    s->p->own[inputs[i].index] = s->p->present;
  }
  if (!was_there && g->input_count) s->p->own[inputs[inserter < g->input_count ? inserter : 0].index] = TSR_INSERTED;
}

/* Keeps one pair of the group unplaced, or none where the table has the right one already. */
static void decide(settling *s, const group *g) {
  tsr_unplaced pair = g->pairs[0];
  bool was_there = g->pair_count + g->in_table > g->input_count;
  bool keeps = !g->in_table;
  switch (s->p->policy) {
  case TSR_DUPLICATES_FIRST:
    if (!was_there) break;
    pair.value = value_from_before(s, g);
    keeps = !g->in_table || pair.value != g->table_value;
    break;
  case TSR_DUPLICATES_REPLACE:
    if (g->input_count) pair.value = s->inputs[g->first_input].value;
    break;
  default:
    pair.value = combined(s, g);
    keeps = !g->in_table || pair.value != g->table_value;
    break;
  }
  if (keeps && g->in_table) s->erased[s->erased_count++] = g->key;
  if (keeps) s->kept[s->kept_count++] = pair;
  settle_inputs(s, g, was_there, keeps ? pair.value : g->table_value);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Takes keys out of the table whose pairs are unplaced with other values. */
static tsr_status erase_keys(settling *s, tsr_error *error) {
  tsr_piece *p = s->p;
  tsr_tally tally;
  if (!s->erased_count) return TSR_OK;
  for (uint64_t i = 0; i < s->erased_count; i++) p->unplaced[i] = (tsr_unplaced){.key = s->erased[i]};
  p->table->store.state.has_erased = 1;
  return tsr_piece_run(p, TSR_BULK_erase, s->erased_count, &tally, error);
}

static tsr_status settle(settling *s, tsr_error *error) {
  tsr_piece *p = s->p;
  tsr_tally tally;
  qsort(p->unplaced, p->unplaced_count, sizeof *p->unplaced, by_key_and_value);
  tsr_status status =
      tsr_piece_run(p, p->value_bytes ? TSR_BULK_find : TSR_BULK_contains, p->unplaced_count, &tally, error);
  if (status == TSR_OK) status = tsr_piece_fetch(p, p->unplaced_count, p->some_keys, p->back_values, error);
  if (status) return status;
  find_groups(s);
  if (s->group_count == 0) return TSR_OK;
  status = tsr_piece_fetch(p, p->n, p->keys, p->values, error);
  if (status) return status;
  find_inputs(s);
  for (uint64_t i = 0; i < s->group_count; i++) decide(s, &s->groups[i]);
  status = erase_keys(s, error);
  if (status) return status; /* the device failed */
  memcpy(p->unplaced, s->kept, s->kept_count * sizeof *s->kept);
  p->unplaced_count = s->kept_count;
  return TSR_OK;
}

tsr_status tsr_piece_settle(tsr_piece *p, tsr_error *error) {
  settling s = {.p = p};
  s.groups = malloc(p->unplaced_count * sizeof *s.groups);
  s.kept = malloc(p->unplaced_count * sizeof *s.kept);
  s.erased = malloc(p->unplaced_count * sizeof *s.erased);
  s.inputs = malloc(p->n * sizeof *s.inputs);
  tsr_status status = s.groups && s.kept && s.erased && s.inputs
                          ? settle(&s, error)
                          : tsr_fail(error, TSR_NO_MEMORY, "no memory to settle %llu pairs of a growing table",
                                     (unsigned long long)p->unplaced_count);
  free(s.groups);
  free(s.kept);
  free(s.erased);
  free(s.inputs);
  return status;
}
