/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts of a composition that only the core's kernels read, as constants. Like those of plugins/table.h they are
 * lines of the glue module, and TSR_FACT reads them (facts.cuh). compose.c derives them when all parts have planned.
 * No part sees them.
 */
#ifndef TSR_KERNELS_FACTS_H
#define TSR_KERNELS_FACTS_H

#include <stdint.h>

/* F(name). ends_at_empty, moves_pairs, asks_for_room, choices, has_notes: the probing's own (plugins/plugin.h).
 * ends_at_flag: 1: buckets tell whether pairs have passed them (layout's has_flag), and finds go by that alone.
 * has_stash: 1: pairs without a slot go to tail buckets that belong to no hash.
 * has_place: 1: the scheme decides where a new pair goes: by choices, or by its place().
 * asks_scheme: 1: it has place().
 * claims_first: 1: an insert may claim an empty slot of the first bucket without the key's lock.
 * places_first: 1: an insert begins with place(): nothing guards it, so it looks nothing up.
 * combines_later: 1: pairs move, and a policy combines payloads: inserts leave to `combine` what one attempt does not do.
 * makes_spans: 1: inserts of large batches first combine what neighbouring items offer for one key (batch/spans.cuh).
 * falls_back_to_walk: 1: with places_first some pairs take a walk: for want of a place, or of an exchange.
 * first_look_cached: 1: what writes looks through L1 first; for a lane alone, which past it makes more
 * requests, unless a bucket is one sector and nobody takes a lock.
 * whole_pairs: the layout's own: a bucket that is loaded also has the payloads.
 * counts_slots: 1: in an empty table the pairs of distinct keys may go into the first buckets of their walks with room.
 * is_filter: 1: the table is a filter. filter_words, filter_functions: of a filter, which is the table or stands before
 * it: words of 32 bits of a block, and bits that a key sets in it; else 0. filter_bits: of one before the table: bits for
 * each bucket; else 0. filter_region: which of the layout's regions has the blocks.
 * value_list_first, value_list_growth, value_list_units: with values = buckets: s_0, lambda and the most units of a run
 * (kernels/value_list.h); else 0. value_list_region: which of the layout's regions has the lists' records. value_list_in_order: 1: the
 * allocator hands out units one after the other, and none twice. value_bytes: of a value there.
 * has_meanings: 1: what the substitute key 0 stands for is noted for each bucket, or unit, so that reserved keys have room
 * beyond their tail buckets (walk.cuh). meanings_region: which of the scheme's regions has the notes.
 * loops: 1: a thread works on one item after another, so that it has to keep an item's number. Only in the links of
 * pages. */
#define TSR_CORE_FACTS(F)                                                                                              \
  F(ends_at_empty)                                                                                                     \
  F(moves_pairs)                                                                                                       \
  F(asks_for_room)                                                                                                     \
  F(choices)                                                                                                           \
  F(has_notes)                                                                                                         \
  F(ends_at_flag)                                                                                                      \
  F(has_stash)                                                                                                         \
  F(has_place)                                                                                                         \
  F(asks_scheme)                                                                                                       \
  F(claims_first)                                                                                                      \
  F(places_first)                                                                                                      \
  F(combines_later)                                                                                                    \
  F(makes_spans)                                                                                                       \
  F(falls_back_to_walk)                                                                                                \
  F(first_look_cached)                                                                                                 \
  F(whole_pairs)                                                                                                       \
  F(counts_slots)                                                                                                      \
  F(is_filter)                                                                                                         \
  F(filter_words)                                                                                                      \
  F(filter_functions)                                                                                                  \
  F(filter_bits)                                                                                                       \
  F(filter_region)                                                                                                     \
  F(value_list_first)                                                                                                  \
  F(value_list_growth)                                                                                                 \
  F(value_list_units)                                                                                                  \
  F(value_list_region)                                                                                                 \
  F(value_list_in_order)                                                                                               \
  F(value_bytes)                                                                                                       \
  F(has_meanings)                                                                                                      \
  F(meanings_region)                                                                                                   \
  F(loops)

enum { TSR_MEANINGS_OF_WORD = 16 };

/* The most of a filter's. */
enum { TSR_FILTER_WORDS_MAX = 16, TSR_FILTER_FUNCTIONS_MAX = 8 };

#define TSR_CORE_FACT_MEMBER(name) uint32_t name;
typedef struct tsr_core_facts {
  TSR_CORE_FACTS(TSR_CORE_FACT_MEMBER)
} tsr_core_facts;

#endif
