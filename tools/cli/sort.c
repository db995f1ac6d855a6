/* SPDX-License-Identifier: Apache-2.0
 *
 * Radix sort (sort.h). Each thread has a block of the items. For a digit it counts how many of its items have each value;
 * then it knows where its items of each value go, behind those of the threads before it.
 */
#include "tools/cli/sort.h"

#include <string.h>

#include "tools/cli/team.h"

enum { DIGIT_BITS = 8, VALUES = 1 << DIGIT_BITS, ITEMS_OF_THREAD = 1 << 16 };

typedef struct block {
  uint64_t first, end;
  uint64_t varying;    /* the bits in which its items are not like the first of all */
  uint64_t at[VALUES]; /* how many items have a value of the digit; then where the next one goes */
} block;

typedef struct sorting {
  const uint64_t *from;
  uint64_t *to;
  uint64_t n;
  uint32_t words, shift, blocks;
  block block[TSR_TEAM_MAX];
} sorting;

static uint32_t digit_of(const sorting *s, uint64_t i) {
  return (uint32_t)(s->from[i * s->words] >> s->shift) & (VALUES - 1);
}

static void find_varying(void *argument, uint32_t member) {
  sorting *const s = argument;
  block *const b = &s->block[member];
  b->varying = 0;
  for (uint64_t i = b->first; i < b->end; i++) b->varying |= s->from[i * s->words] ^ s->from[0];
}

static void count(void *argument, uint32_t member) {
  sorting *const s = argument;
  block *const b = &s->block[member];
  memset(b->at, 0, sizeof b->at);
  for (uint64_t i = b->first; i < b->end; i++) b->at[digit_of(s, i)]++;
}

static void move(void *argument, uint32_t member) {
  sorting *const s = argument;
  block *const b = &s->block[member];
  for (uint64_t i = b->first; i < b->end; i++) {
    const uint64_t to = b->at[digit_of(s, i)]++;
    s->to[to * s->words] = s->from[i * s->words];
    if (s->words == 2) s->to[2 * to + 1] = s->from[2 * i + 1];
  }
}

static void sum_up(sorting *s) {
  uint64_t before = 0;
  for (uint32_t value = 0; value < VALUES; value++)
    for (uint32_t i = 0; i < s->blocks; i++) {
      const uint64_t items = s->block[i].at[value];
      s->block[i].at[value] = before;
      before += items;
    }
}

static uint32_t blocks_for(uint64_t n) {
  const uint64_t most = n / ITEMS_OF_THREAD + 1, threads = tsr_team_size();
  return (uint32_t)(threads < most ? threads : most);
}

uint64_t *tsr_sort(uint64_t *items, uint64_t *spare, uint64_t n, uint32_t words, uint32_t low_bits) {
  sorting s = {.from = items, .to = spare, .n = n, .words = words, .shift = low_bits, .blocks = blocks_for(n)};
  uint64_t varying = 0;
  for (uint32_t i = 0; i < s.blocks; i++) {
    s.block[i].first = n / s.blocks * i;
    s.block[i].end = i + 1 < s.blocks ? n / s.blocks * (i + 1) : n;
  }
  tsr_team_run(s.blocks, find_varying, &s);
  for (uint32_t i = 0; i < s.blocks; i++) varying |= s.block[i].varying;
  for (; s.shift < 64; s.shift += DIGIT_BITS) {
    if ((varying >> s.shift & (VALUES - 1)) == 0) continue; /* all have the same digit */
    tsr_team_run(s.blocks, count, &s);
    sum_up(&s);
    tsr_team_run(s.blocks, move, &s);
    uint64_t *const sorted = s.to;
    s.to = sorted == items ? spare : items;
    s.from = sorted;
  }
  return s.to == items ? spare : items;
}
