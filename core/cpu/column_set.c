/* SPDX-License-Identifier: Apache-2.0
 *
 * The set that numbers the keys of a part of a column (column.h), in order of first appearance.
 */
#include <stdlib.h>
#include <string.h>

#include "core/cpu/column.h"

bool tsr_key_column_set_make(tsr_key_column_set *set, uint64_t keys, uint32_t skip) {
  enum { LEAST = 6 };
  *set = (tsr_key_column_set){.bits = LEAST, .skip = skip, .firsts = set->firsts};
  while (tsr_key_column_set_room(set) < keys) set->bits++;
  const uint64_t bytes = sizeof *set->slots << set->bits;
  set->slots = tsr_key_column_memory(bytes);
  if (set->slots) memset(set->slots, 0, bytes);
  return set->slots != NULL;
}

void tsr_key_column_set_free(tsr_key_column_set *set) {
  free(set->slots);
  free(set->firsts);
}

static bool grow(tsr_key_column_set *set) {
  const tsr_key_column_set old = *set;
  if (!tsr_key_column_set_make(set, 2 * (uint64_t)tsr_key_column_set_room(&old), old.skip)) {
    *set = old;
    return false;
  }
  const uint64_t mask = (1ull << set->bits) - 1;
  for (uint64_t i = 0; i < 1ull << old.bits; i++) {
    if (!old.slots[i].number) continue;
    uint64_t at = tsr_key_column_home(set, tsr_key_column_hash(old.slots[i].key));
    while (set->slots[at].number) at = (at + 1) & mask;
    set->slots[at] = old.slots[i];
  }
  set->size = old.size;
  free(old.slots);
  if (!set->firsts) return true;
  uint32_t *firsts = realloc(set->firsts, tsr_key_column_set_room(set) * sizeof *firsts);
  if (firsts) set->firsts = firsts;
  return firsts != NULL;
}

/* Whether it grew, if it had to; is_wide and the width of ids are constants where this is called. */
static inline bool number(tsr_key_column_set *set, const tsr_key_column_run *run, bool is_wide, bool has_wide_ids) {
  tsr_key_column_set own = *set;
  bool is_made = true;
  uint32_t room = tsr_key_column_set_room(&own);
  for (uint64_t i = 0; i < run->n && is_made; i++) {
    if (i + TSR_KEY_COLUMN_AHEAD < run->n)
      tsr_key_column_ask(&own, tsr_key_column_key(run->keys, i + TSR_KEY_COLUMN_AHEAD, is_wide));
    const uint64_t key = tsr_key_column_key(run->keys, i, is_wide), mask = (1ull << own.bits) - 1;
    uint64_t at = tsr_key_column_home(&own, tsr_key_column_hash(key));
    while (own.slots[at].number && own.slots[at].key != key) at = (at + 1) & mask;
    tsr_key_column_slot *slot = &own.slots[at];
    uint32_t id = slot->number;
    if (!id) {
      if (own.firsts) own.firsts[own.size] = (uint32_t)(run->row + i);
      id = ++own.size;
      *slot = (tsr_key_column_slot){key, id, 0};
    }
    slot->count++;
    if (has_wide_ids)
      ((uint64_t *)run->ids)[i] = id - 1;
    else
      ((uint32_t *)run->ids)[i] = id - 1;
    if (own.size >= room) {
      is_made = grow(&own);
      room = tsr_key_column_set_room(&own);
    }
  }
  *set = own;
  return is_made;
}

bool tsr_key_column_set_number(tsr_key_column_set *set, const tsr_key_column_run *run) {
  const bool is_wide = run->key_bytes == sizeof(uint64_t);
  if (run->id_bytes == sizeof(uint64_t)) return number(set, run, true, true);
  return is_wide ? number(set, run, true, false) : number(set, run, false, false);
}

bool tsr_key_column_set_add(tsr_key_column_set *set, uint64_t key, uint32_t row, uint32_t count,
                            uint32_t *number_of_key) {
  uint64_t at = tsr_key_column_home(set, tsr_key_column_hash(key));
  while (set->slots[at].number && set->slots[at].key != key) at = (at + 1) & ((1ull << set->bits) - 1);
  tsr_key_column_slot *slot = &set->slots[at];
  if (!slot->number) {
    set->firsts[set->size] = row;
    *slot = (tsr_key_column_slot){key, ++set->size, 0};
  }
  slot->count += count;
  *number_of_key = slot->number - 1;
  return set->size < tsr_key_column_set_room(set) || grow(set);
}
