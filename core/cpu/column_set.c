/* SPDX-License-Identifier: Apache-2.0
 *
 * The set that numbers keys of a column in order of first appearance (column.h).
 */
#define _DEFAULT_SOURCE /* madvise */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/cpu/column.h"

/* GCC shares one copy otherwise, and asks in it what is constant where it is called. */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

enum { LARGE = 1 << 21, LEAST_LARGE = 1 << 19 }; /* bytes of a large page, and of a block that is worth one */

/* The pages of a block must be large from its first byte on: a small page that is new costs as much time as a large one. */
void *tsr_key_column_memory(uint64_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  if (bytes < LEAST_LARGE) return malloc(bytes ? (size_t)bytes : 1);
  const size_t whole = (size_t)(bytes + LARGE - 1) & ~(size_t)(LARGE - 1);
  void *memory = aligned_alloc(LARGE, whole);
  if (memory) madvise(memory, whole, MADV_HUGEPAGE); /* it may fail */
  return memory;
}

static size_t slots_bytes(const tsr_key_column_set *set) { return (size_t)tsr_key_column_slot_bytes(set) << set->bits; }

/* Slots are zeros. The system's new pages are, so a large block is mapped: at a multiple of a large page, and the rest is given
 * back. */
static void *make_slots(size_t bytes) {
  if (bytes < LEAST_LARGE) return calloc(1, bytes);
  const size_t mapped = bytes + LARGE;
  char *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  const size_t before = -(uintptr_t)memory & (LARGE - 1);
  if (before) munmap(memory, before);
  if (before < LARGE) munmap(memory + before + bytes, LARGE - before);
  madvise(memory + before, bytes, MADV_HUGEPAGE); /* it may fail */
  return memory + before;
}

static void free_slots(void *slots, size_t bytes) {
  if (bytes < LEAST_LARGE)
    free(slots);
  else if (slots)
    munmap(slots, bytes);
}

/* How many keys a set has room for before it grows. */
static uint64_t room(const tsr_key_column_set *set) { return 1ull << (set->bits - 1); }

/* For how many keys it is made. Small slots are rather fewer than full: searches end at the first one. */
static uint64_t wanted_room(const tsr_key_column_set *set) {
  return set->form == TSR_KEY_COLUMN_WHOLE ? room(set) : room(set) / 2;
}

/* log2 of the slots for some keys, in which some rows are looked up. */
static uint32_t bits_for(const tsr_key_column_set *set, uint64_t keys, uint64_t rows) {
  enum { LEAST = 8, SPARSE = 64, SPARSE_BYTES = 1 << 22, ROWS = 4 };
  const uint64_t most = SPARSE * keys < rows / ROWS ? SPARSE * keys : rows / ROWS;
  tsr_key_column_set wanted = *set;
  wanted.bits = LEAST;
  while (wanted_room(&wanted) <= keys) wanted.bits++;
  while (slots_bytes(&wanted) < SPARSE_BYTES && 1ull << wanted.bits < most) wanted.bits++;
  return wanted.bits;
}

bool tsr_key_column_set_make(tsr_key_column_set *set, uint64_t keys, uint64_t rows) {
  set->size = 1;
  set->bits = bits_for(set, keys, rows);
  set->slots = make_slots(slots_bytes(set));
  return set->slots != NULL;
}

void tsr_key_column_set_free(tsr_key_column_set *set) {
  free_slots(set->slots, slots_bytes(set));
  free(set->firsts);
}

/* The slot gets a key, XOR the base. */
ALWAYS_INLINE void put(void *slots, uint64_t at, uint64_t key, uint32_t number, bool is_wide,
                       tsr_key_column_form form) {
  if (form == TSR_KEY_COLUMN_WHOLE)
    ((tsr_key_column_slot *)slots)[at] = (tsr_key_column_slot){key, number, 0};
  else if (form == TSR_KEY_COLUMN_SHORT)
    ((tsr_key_column_short *)slots)[at] = (tsr_key_column_short){(uint32_t)key, number};
  else if (is_wide)
    ((uint64_t *)slots)[at] = key;
  else
    ((uint32_t *)slots)[at] = (uint32_t)key;
}

ALWAYS_INLINE void move(const tsr_key_column_set *from, const tsr_key_column_set *to, bool is_wide,
                        tsr_key_column_form form) {
  const uint64_t bytes = tsr_key_column_slot_bytes(from);
  for (uint64_t i = 0; i < 1ull << from->bits; i++) {
    const uint64_t key = tsr_key_column_slot_key(from->slots, i, is_wide, form);
    if (!key) continue;
    const uint64_t at = tsr_key_column_seek(to, key, is_wide, form);
    memcpy((char *)to->slots + at * bytes, (const char *)from->slots + i * bytes, bytes);
  }
}

static bool resize(tsr_key_column_set *set, uint32_t bits) {
  const tsr_key_column_set old = *set;
  set->bits = bits;
  set->slots = make_slots(slots_bytes(set));
  if (!set->slots) {
    *set = old;
    return false;
  }
  if (set->form == TSR_KEY_COLUMN_WHOLE)
    move(&old, set, true, TSR_KEY_COLUMN_WHOLE);
  else if (set->form == TSR_KEY_COLUMN_SHORT)
    move(&old, set, false, TSR_KEY_COLUMN_SHORT);
  else if (set->key_bytes == sizeof(uint64_t))
    move(&old, set, true, TSR_KEY_COLUMN_PLAIN);
  else
    move(&old, set, false, TSR_KEY_COLUMN_PLAIN);
  free_slots(old.slots, slots_bytes(&old));
  return true;
}

/* How many keys the set will have when it has taken all rows of a run, of which it has taken some: keys go on becoming more by
 * the power of rows by which they did since half of these. */
static double expected_size(const tsr_key_column_set *set, const tsr_key_column_run *run, uint64_t taken) {
  uint32_t low = 1, high = set->size;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (set->firsts[middle] - run->row < taken / 2)
      low = middle + 1;
    else
      high = middle;
  }
  return set->size * pow((double)run->n / (double)taken, log2((double)set->size / low));
}

/* Makes the set larger if it is half full. Each time its keys are moved and new memory is touched, so it may become 4 times as
 * large at once. */
static bool grow(tsr_key_column_set *set, const tsr_key_column_run *run, uint64_t taken) {
  if (set->size < room(set)) return true;
  tsr_key_column_set next = *set;
  next.bits++;
  if (run && (double)room(&next) <= expected_size(set, run, taken)) next.bits++;
  uint32_t *firsts = set->firsts ? realloc(set->firsts, room(&next) * sizeof *firsts) : NULL;
  if (set->firsts && !firsts) return false;
  set->firsts = firsts;
  return resize(set, next.bits);
}

bool tsr_key_column_set_grow(tsr_key_column_set *set) { return grow(set, NULL, 0); }

void tsr_key_column_set_spread(tsr_key_column_set *set, uint64_t rows) {
  const uint32_t bits = bits_for(set, set->size, rows);
  if (bits > set->bits) (void)resize(set, bits); /* it is as right without */
}

/* What is read for each key is in variables of its own, which stay in registers. counts: of short slots. */
ALWAYS_INLINE bool take(tsr_key_column_set *set, const tsr_key_column_run *run, bool is_wide, tsr_key_column_form form,
                        bool counts) {
  const void *const keys = run->keys;
  const uint64_t n = run->n, base = set->base;
  uint32_t *const ids = run->ids;
  int64_t *const wide_ids = run->wide_ids;
  uint32_t homes[TSR_KEY_COLUMN_AHEAD];
  for (uint64_t i = 0; i < n;) {
    void *const slots = set->slots;
    uint32_t *const firsts = set->firsts, shift = 64 - set->bits, most = (uint32_t)room(set);
    uint32_t size = set->size;
    const uint64_t asked = tsr_key_column_asked(set, n);
    for (uint64_t k = i; asked && k < n && k < i + TSR_KEY_COLUMN_AHEAD; k++)
      homes[k % TSR_KEY_COLUMN_AHEAD] =
          (uint32_t)(tsr_key_column_hash(tsr_key_column_key(keys, k, is_wide) ^ base) >> shift);
    for (; i < n && size < most; i++) {
      const uint64_t key = tsr_key_column_key(keys, i, is_wide) ^ base;
      uint64_t at, own;
      if (asked) {
        at = homes[i % TSR_KEY_COLUMN_AHEAD];
        if (i < asked) {
          const uint64_t ahead =
              tsr_key_column_hash(tsr_key_column_key(keys, i + TSR_KEY_COLUMN_AHEAD, is_wide) ^ base) >> shift;
          tsr_key_column_ask(slots, ahead, is_wide, form);
          homes[i % TSR_KEY_COLUMN_AHEAD] = (uint32_t)ahead;
        }
      } else
        at = tsr_key_column_hash(key) >> shift;
      while ((own = tsr_key_column_slot_key(slots, at, is_wide, form)) != key && own)
        at = (at + 1) & (UINT64_MAX >> shift);
      if (own != key) {
        put(slots, at, key, counts ? 0 : size, is_wide, form);
        firsts[size++] = (uint32_t)(run->row + i);
      }
      if (counts) ((tsr_key_column_short *)slots)[at].word++;
      if (form == TSR_KEY_COLUMN_PLAIN || counts) continue;
      tsr_key_column_slot *const slot = (tsr_key_column_slot *)slots + at;
      const uint32_t number = form == TSR_KEY_COLUMN_SHORT ? ((tsr_key_column_short *)slots)[at].word : slot->number;
      if (wide_ids)
        wide_ids[i] = number;
      else if (ids)
        ids[i] = number;
      if (form == TSR_KEY_COLUMN_WHOLE) slot->count++;
    }
    set->size = size;
    if (!grow(set, run, i)) return false;
  }
  return true;
}

bool tsr_key_column_set_take(tsr_key_column_set *set, const tsr_key_column_run *run) {
  const bool is_wide = set->key_bytes == sizeof(uint64_t);
  if (!set->firsts && !(set->firsts = malloc(room(set) * sizeof *set->firsts))) return false;
  set->firsts[0] = 0; /* the first key of the column */
  if (set->form == TSR_KEY_COLUMN_SHORT)
    return set->counts ? take(set, run, false, TSR_KEY_COLUMN_SHORT, true)
                       : take(set, run, false, TSR_KEY_COLUMN_SHORT, false);
  if (set->form == TSR_KEY_COLUMN_PLAIN)
    return is_wide ? take(set, run, true, TSR_KEY_COLUMN_PLAIN, false)
                   : take(set, run, false, TSR_KEY_COLUMN_PLAIN, false);
  return is_wide ? take(set, run, true, TSR_KEY_COLUMN_WHOLE, false)
                 : take(set, run, false, TSR_KEY_COLUMN_WHOLE, false);
}
