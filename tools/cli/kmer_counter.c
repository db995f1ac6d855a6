/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting by bins (kmer_counter.h).
 */
#include "tools/cli/kmer_counter.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/supermers.h"
#include "tools/cli/team.h"

#define TSR_ALWAYS_INLINE static inline __attribute__((always_inline))

enum { LETTERS_OF_TURN = 1 << 16, SLOTS_LEAST = 1 << 10 };

/* What was counted of a bin: `count` times the words of a k-mer and its count. */
typedef struct kept {
  uint64_t *words;
  uint64_t count;
} kept;

/* The table of a thread: slots as in `kept`, free where the count is 0. */
typedef struct table {
  uint64_t *words;
  uint64_t slots, room, size; /* room: before it grows */
  uint32_t shift;             /* of a hash, to the number of a slot */
} table;

typedef struct member {
  tsr_supermers supermers;
  table table;
  double ratio; /* distinct k-mers of those of the last bin */
  tsr_tally *tally;
} member;

struct tsr_kmer_counter {
  uint32_t kmers, words; /* letters of a k-mer; words of it and its count */
  bool canonical;
  uint64_t limit;
  uint32_t member_count;
  member *members;
  kept kept[TSR_BINS];
  atomic_bool has_failed;    /* never taken back, and judged after the team has joined: any order does */
  atomic_uint_fast64_t next; /* see take_turn */
  bool is_tallied;           /* what a bin holds is tallied and not kept; of the call that runs, as are */
  const uint8_t *letters;
  uint64_t letter_count;
  tsr_pairs *pairs;
  uint64_t begin[TSR_BINS]; /* of a bin in the pairs */
};

/* The next of a team's turns. Relaxed, because each is taken once, and joining the team orders what was done in them. */
static uint64_t take_turn(tsr_kmer_counter *c) { return atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed); }

/* ---- The table of a bin ---------------------------------------------------------------------- */

typedef struct kmer {
  uint64_t low, high; /* high is 0 up to 32 letters */
} kmer;

TSR_ALWAYS_INLINE uint64_t *slot_of(const table *t, kmer key, bool is_long) {
  const uint32_t words = is_long ? 3 : 2;
  const unsigned __int128 product =
      (unsigned __int128)(key.low ^ (is_long ? key.high * 0x9FB21C651E98DF25u : 0)) * 0xD6E8FEB86659FD93u;
  uint64_t at = ((uint64_t)(product >> 64) ^ (uint64_t)product) >> t->shift;
  uint64_t *slot = t->words + at * words;
  while (slot[words - 1] && (slot[0] != key.low || (is_long && slot[1] != key.high))) {
    at = (at + 1) & (t->slots - 1);
    slot = t->words + at * words;
  }
  return slot;
}

/* An empty table with room for that many k-mers. */
static bool make_table(table *t, uint64_t kmers, uint32_t words) {
  uint64_t slots = SLOTS_LEAST;
  while (slots / 4 * 3 < kmers) slots *= 2;
  if (slots > t->slots || slots < t->slots / 4) {
    free(t->words);
    t->words = aligned_alloc(64, slots * words * sizeof *t->words);
  }
  *t = (table){.words = t->words, .slots = slots, .room = slots / 4 * 3, .shift = 64};
  for (; slots > 1; slots /= 2) t->shift--;
  if (!t->words) return false;
  memset(t->words, 0, t->slots * words * sizeof *t->words);
  return true;
}

TSR_ALWAYS_INLINE bool add_kmer(table *t, kmer key, uint64_t count, bool is_long);

static bool grow(table *t, bool is_long) {
  const uint32_t words = is_long ? 3 : 2;
  const table old = *t;
  *t = (table){.words = NULL};
  bool is_made = make_table(t, 2 * old.room, words);
  for (uint64_t i = 0; is_made && i < old.slots; i++) {
    const uint64_t *from = old.words + i * words;
    if (from[words - 1]) is_made = add_kmer(t, (kmer){from[0], is_long ? from[1] : 0}, from[words - 1], is_long);
  }
  free(old.words);
  return is_made;
}

TSR_ALWAYS_INLINE bool add_kmer(table *t, kmer key, uint64_t count, bool is_long) {
  uint64_t *slot = slot_of(t, key, is_long);
  const bool is_new = slot[is_long ? 2 : 1] == 0;
  slot[is_long ? 2 : 1] += count;
  if (!is_new) return true;
  slot[0] = key.low;
  if (is_long) slot[1] = key.high;
  return ++t->size < t->room || grow(t, is_long);
}

/* ---- The k-mers of a super-k-mer ------------------------------------------------------------- */

/* The letters of a word in the opposite order. */
static uint64_t turned(uint64_t word) {
  word = __builtin_bswap64(word);
  word = (word >> 4 & 0x0F0F0F0F0F0F0F0Fu) | (word & 0x0F0F0F0F0F0F0F0Fu) << 4;
  return (word >> 2 & 0x3333333333333333u) | (word & 0x3333333333333333u) << 2;
}

typedef unsigned __int128 long_word;

/* is_long and canonical are constants at each call. */
TSR_ALWAYS_INLINE bool count_block(const tsr_kmer_counter *c, table *t, const tsr_supermer_block *block, bool is_long,
                                   bool canonical) {
  const uint32_t k = c->kmers, top = 2 * (k - 1);
  const uint64_t narrow_mask = UINT64_MAX >> (is_long ? 0 : 64 - 2 * k);
  const long_word mask = is_long ? ~(long_word)0 >> (128 - 2 * k) : narrow_mask;
  bool is_made = true;
  for (const uint8_t *at = block->records, *end = at + block->bytes; at < end && is_made;) {
    const uint32_t kmers = *at++ + 1u;
    uint64_t first[2]; /* up to 64 letters */
    memcpy(first, at, sizeof first);
    long_word forward = is_long ? ((long_word)turned(first[0]) << 64 | turned(first[1])) >> (128 - 2 * k)
                                : turned(first[0]) >> (64 - 2 * k);
    long_word reverse = ~((is_long ? (long_word)first[1] << 64 : 0) | first[0]) & mask;
    for (uint32_t i = k;; i++) {
      const long_word least = canonical && reverse < forward ? reverse : forward;
      is_made = add_kmer(t, (kmer){(uint64_t)least, is_long ? (uint64_t)(least >> 64) : 0}, 1, is_long);
      if (i == k - 1 + kmers || !is_made) break;
      const uint64_t letter = at[i / 4] >> 2 * (i % 4) & 3;
      forward = (forward << 2 | letter) & mask;
      if (canonical) reverse = reverse >> 2 | (long_word)(3 - letter) << top;
    }
    at += (kmers + k - 1 + 3) / 4;
  }
  return is_made;
}

static bool count_any_block(const tsr_kmer_counter *c, table *t, const tsr_supermer_block *block) {
  const bool is_long = c->words == 3;
  if (c->canonical) return is_long ? count_block(c, t, block, true, true) : count_block(c, t, block, false, true);
  return is_long ? count_block(c, t, block, true, false) : count_block(c, t, block, false, false);
}

/* ---- Bins ------------------------------------------------------------------------------------ */

static bool add_kept(const tsr_kmer_counter *c, table *t, const kept *from) {
  bool is_made = true;
  for (uint64_t i = 0; i < from->count && is_made; i++) {
    const uint64_t *words = from->words + i * c->words;
    is_made = c->words == 3 ? add_kmer(t, (kmer){words[0], words[1]}, words[2], true)
                            : add_kmer(t, (kmer){words[0], 0}, words[1], false);
  }
  return is_made;
}

static bool keep_table(const tsr_kmer_counter *c, const table *t, kept *to) {
  const uint32_t words = c->words;
  free(to->words);
  to->count = 0;
  to->words = malloc((t->size + 1) * words * sizeof *to->words);
  for (uint64_t i = 0; to->words && i < t->slots; i++) {
    const uint64_t *slot = t->words + i * words;
    if (slot[words - 1]) memcpy(to->words + to->count++ * words, slot, words * sizeof *slot);
  }
  return to->words != NULL;
}

static void tally_table(const tsr_kmer_counter *c, const table *t, kept *from, tsr_tally *tally) {
  const uint32_t words = c->words;
  for (uint64_t i = 0; i < t->slots; i++) {
    const uint64_t count = t->words[i * words + words - 1];
    if (count) tsr_tally_add(tally, count);
  }
  free(from->words);
  *from = (kept){.words = NULL};
}

static void tally_kept(const tsr_kmer_counter *c, kept *from, tsr_tally *tally) {
  for (uint64_t i = 0; i < from->count; i++) tsr_tally_add(tally, from->words[i * c->words + c->words - 1]);
  free(from->words);
  *from = (kept){.words = NULL};
}

/* Counts the super-k-mers of a bin, and adds what was counted of it before. */
static bool fold_bin(tsr_kmer_counter *c, member *own, uint64_t bin) {
  table *t = &own->table;
  uint64_t kmers = 0;
  for (uint32_t i = 0; i < c->member_count; i++) kmers += c->members[i].supermers.bins[bin].kmers;
  if (!kmers && c->is_tallied) tally_kept(c, &c->kept[bin], own->tally);
  if (!kmers) return true;
  const uint64_t expected = (uint64_t)((double)kmers * own->ratio) + c->kept[bin].count;
  bool is_made = make_table(t, expected, c->words) && add_kept(c, t, &c->kept[bin]);
  for (uint32_t i = 0; i < c->member_count; i++) {
    const tsr_supermer_block *block = c->members[i].supermers.bins[bin].last;
    for (; is_made && block; block = block->before) is_made = count_any_block(c, t, block);
  }
  own->ratio = (double)t->size / (double)(kmers + c->kept[bin].count);
  if (is_made && c->is_tallied) tally_table(c, t, &c->kept[bin], own->tally);
  return is_made && (c->is_tallied || keep_table(c, t, &c->kept[bin]));
}

static void fold_bins(void *argument, uint32_t number) {
  tsr_kmer_counter *c = argument;
  for (uint64_t bin; (bin = take_turn(c)) < TSR_BINS && !c->has_failed;)
    if (!fold_bin(c, &c->members[number], bin)) c->has_failed = true;
}

static tsr_status no_memory(tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "no memory to count k-mers: use a smaller file, or count on a larger machine");
}

static tsr_status fold(tsr_kmer_counter *c, tsr_error *error) {
  c->next = 0;
  tsr_team_run(c->member_count, fold_bins, c);
  for (uint32_t i = 0; i < c->member_count; i++) tsr_supermers_clear(&c->members[i].supermers);
  return c->has_failed ? no_memory(error) : TSR_OK;
}

/* ---- The counter ----------------------------------------------------------------------------- */

tsr_status tsr_kmer_counter_new(uint32_t kmers, bool canonical, uint64_t limit, tsr_kmer_counter **counter,
                                tsr_error *error) {
  tsr_kmer_counter *c = calloc(1, sizeof *c);
  if (!c) return no_memory(error);
  c->kmers = kmers;
  c->words = kmers > 32 ? 3 : 2;
  c->canonical = canonical;
  c->limit = limit;
  c->member_count = tsr_team_size();
  c->members = calloc(c->member_count, sizeof *c->members);
  for (uint32_t i = 0; c->members && i < c->member_count; i++) {
    tsr_supermers_begin(&c->members[i].supermers, kmers, canonical);
    c->members[i].ratio = 0.125;
  }
  *counter = c;
  return c->members ? TSR_OK : no_memory(error);
}

static void add_letters(void *argument, uint32_t number) {
  tsr_kmer_counter *c = argument;
  tsr_supermers *own = &c->members[number].supermers;
  for (uint64_t at; (at = LETTERS_OF_TURN * take_turn(c)) < c->letter_count;) {
    const uint64_t end = at + LETTERS_OF_TURN;
    tsr_supermers_add(own, c->letters, c->letter_count, at, end < c->letter_count ? end : c->letter_count);
  }
  if (own->has_failed) c->has_failed = true;
}

tsr_status tsr_kmer_counter_add(tsr_kmer_counter *counter, const uint8_t *letters, uint64_t count, tsr_error *error) {
  tsr_kmer_counter *c = counter;
  uint64_t bytes = 0, kept_bytes = 0;
  c->next = 0;
  c->letters = letters;
  c->letter_count = count;
  tsr_team_run(c->member_count, add_letters, c);
  if (c->has_failed) return no_memory(error);
  for (uint32_t i = 0; i < c->member_count; i++) bytes += tsr_supermers_bytes(&c->members[i].supermers);
  if (bytes < c->limit) return TSR_OK;
  for (uint32_t i = 0; i < TSR_BINS; i++) kept_bytes += c->kept[i].count * c->words * sizeof(uint64_t);
  return bytes < kept_bytes ? TSR_OK : fold(c, error);
}

static void take_bins(void *argument, uint32_t number) {
  tsr_kmer_counter *c = argument;
  (void)number;
  for (uint64_t bin; (bin = take_turn(c)) < TSR_BINS;) {
    kept *from = &c->kept[bin];
    for (uint64_t i = 0; i < from->count; i++) {
      const uint64_t *words = from->words + i * c->words, to = c->begin[bin] + i;
      tsr_any_key key = words[0];
      if (c->words == 3) key |= (tsr_any_key)words[1] << 64;
      tsr_key_put(c->pairs->keys, c->pairs->key_bits, to, key);
      tsr_number_put(c->pairs->values, 64, to, words[c->words - 1]);
    }
    free(from->words);
    *from = (kept){.words = NULL};
  }
}

tsr_status tsr_kmer_counter_take(tsr_kmer_counter *counter, uint32_t key_bits, tsr_pairs *pairs, tsr_error *error) {
  tsr_kmer_counter *c = counter;
  *pairs = (tsr_pairs){.key_bits = key_bits, .value_bits = 64};
  const tsr_status status = fold(c, error);
  if (status) return status;
  for (uint32_t i = 0; i < c->member_count; i++) tsr_supermers_end(&c->members[i].supermers);
  c->member_count = 0;
  for (uint32_t bin = 0; bin < TSR_BINS; bin++) {
    c->begin[bin] = pairs->count;
    pairs->count += c->kept[bin].count;
  }
  pairs->keys = malloc((pairs->count + 1) * (key_bits / 8));
  pairs->values = malloc((pairs->count + 1) * sizeof(uint64_t));
  if (!pairs->keys || !pairs->values) return no_memory(error);
  c->pairs = pairs;
  c->next = 0;
  tsr_team_run(tsr_team_size(), take_bins, c);
  return TSR_OK;
}

tsr_status tsr_kmer_counter_tally(tsr_kmer_counter *counter, tsr_tally *tally, tsr_error *error) {
  tsr_kmer_counter *c = counter;
  bool has_memory = true;
  memset(tally, 0, sizeof *tally);
  for (uint32_t i = 0; i < c->member_count; i++) {
    c->members[i].tally = calloc(1, sizeof *tally);
    has_memory = has_memory && c->members[i].tally;
  }
  c->is_tallied = true;
  const tsr_status status = has_memory ? fold(c, error) : no_memory(error);
  c->is_tallied = false;
  for (uint32_t i = 0; i < c->member_count; i++) {
    if (c->members[i].tally) tsr_tally_move(tally, c->members[i].tally);
    free(c->members[i].tally);
    c->members[i].tally = NULL;
  }
  return status;
}

void tsr_kmer_counter_free(tsr_kmer_counter *counter) {
  if (!counter) return;
  for (uint32_t i = 0; i < counter->member_count; i++) tsr_supermers_end(&counter->members[i].supermers);
  for (uint32_t i = 0; counter->members && i < tsr_team_size(); i++) free(counter->members[i].table.words);
  for (uint32_t bin = 0; bin < TSR_BINS; bin++) free(counter->kept[bin].words);
  free(counter->members);
  free(counter);
}
