/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts of a composition that only the core's kernels read, as constants. Like those of plugins/table.h they are
 * lines of the glue module, and TSR_FACT reads them (kernels/facts.cuh). compose.c derives them when all parts have
 * planned. Parts do not see them.
 */
#ifndef TSR_KERNELS_FACTS_H
#define TSR_KERNELS_FACTS_H

#include <stdint.h>

/* F(name). 1 means that the sentence is true; numbers are 0 where they have no meaning.
 *   ends_at_empty, moves_pairs, asks_for_room, choices, ordered, has_notes   the probing's own (plugins/plugin.h)
 *   ends_at_flag        buckets have flags (layout's has_flag), and finds go by these alone
 *   has_stash           pairs without a slot go to tail buckets that belong to no hash
 *   has_place           the scheme decides where a new pair goes: by choices, or by its place()
 *   asks_scheme         it has place()
 *   claims_first        an insert may claim an empty slot of the first bucket without the key's lock
 *   places_first        an insert begins with place(): nothing guards it, so it looks nothing up
 *   combines_later      pairs move, and a policy combines payloads: inserts try once and leave the rest to `combine`
 *   makes_spans         inserts of large batches first combine offers of neighbouring items for one key (batch/spans.cuh)
 *   falls_back_to_walk  with places_first some pairs take a walk, for want of a place or of an exchange
 *   first_look_cached   writers look through L1 first; a lane alone makes more requests past L1. Not if a bucket is one
 *                       sector and nobody takes a lock
 *   short_keys          the layout's own: a slot's bits are a key only together with the number of its page
 *   whole_pairs         the layout's own: a bucket that is loaded has the payloads as well
 *   counts_slots        in an empty table, pairs of distinct keys may go to the first bucket of their walk with room
 *   is_filter           the table is a filter
 *   filter_words, filter_functions   32-bit words of a filter's block, and bits that a key sets in it; also of a filter
 *                       before the table
 *   filter_bits         of a filter before the table: bits for each bucket
 *   filter_region       which of the layout's regions has the filter's blocks
 *   value_list_first, value_list_growth, value_list_units   with values = buckets: s_0, lambda, the most units of a run
 *                       (value_list.h)
 *   value_list_region   which of the layout's regions has the lists' records
 *   value_list_in_order   the allocator hands out units in order, and none twice
 *   value_bytes         size of a value in a value list
 *   has_meanings        what the substitute key 0 stands for is noted for each bucket or unit, so that reserved keys have
 *                       room beyond their tail buckets (walk.cuh)
 *   meanings_role, meanings_region   which region of which part has these notes
 *   score_bits          of a cache: bits of the score that each slot has (cache.h)
 *   score_region        which of the layout's regions has the scores
 *   has_one_bucket      of a cache: the walk of a key has one bucket
 *   weighs_new, expires   the eviction part's own (plugins/plugin.h)
 *   tells_spare         of a cache: values are numbers of rows, and an insert writes for each item the one that is in no
 *                       pair afterwards (../table/wide.h)
 *   owns_buckets        of a cache whose pairs are not exchanged in one step: an insert writes to a bucket that it owns
 *   owner_region        which of the layout's regions says who owns buckets
 *   loops               in the links of pages: a thread works on one item after another, so it keeps an item's number */
#define TSR_CORE_FACTS(F)                                                                                              \
  F(ends_at_empty)                                                                                                     \
  F(moves_pairs)                                                                                                       \
  F(asks_for_room)                                                                                                     \
  F(choices)                                                                                                           \
  F(ordered)                                                                                                           \
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
  F(short_keys)                                                                                                        \
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
  F(meanings_role)                                                                                                     \
  F(meanings_region)                                                                                                   \
  F(score_bits)                                                                                                        \
  F(score_region)                                                                                                      \
  F(has_one_bucket)                                                                                                    \
  F(weighs_new)                                                                                                        \
  F(expires)                                                                                                           \
  F(tells_spare)                                                                                                       \
  F(owns_buckets)                                                                                                      \
  F(owner_region)                                                                                                      \
  F(loops)

enum { TSR_MEANINGS_OF_WORD = 16 };

/* The most that a filter has. */
enum { TSR_FILTER_WORDS_MAX = 16, TSR_FILTER_FUNCTIONS_MAX = 8 };

#define TSR_CORE_FACT_MEMBER(name) uint32_t name;
typedef struct tsr_core_facts {
  TSR_CORE_FACTS(TSR_CORE_FACT_MEMBER)
} tsr_core_facts;

#endif
