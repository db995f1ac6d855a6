/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch under way, and what all of its legs use: chunks, streams and events, the places of a chunk's columns, the
 * costs of a flight's legs (tsr_leg). Each leg has a stream of its own on every device. Each flight has an event at
 * the end of each leg. One thread uses a task. Functions that return a status enqueue, and fail as the backend does.
 *
 * Read next: chunk.h.
 */
#ifndef TSR_DEVICES_TASK_H
#define TSR_DEVICES_TASK_H

#include "core/devices/reach.h"

typedef struct tsr_answer_column {
  uint32_t bytes;  /* of an item; 0: not wanted */
  bool is_partial; /* some items keep what the caller's array holds */
} tsr_answer_column;

/* What a member tells all others of its part before a batch. Only 64-bit numbers, because it is sent between
 * processes. */
typedef struct tsr_task_row {
  uint64_t op;                /* TSR_BULK_ */
  uint64_t rounds;            /* that its process has items for */
  uint64_t wanted;            /* bit a: answer a */
  uint64_t kind;              /* TSR_TASK_ of its process's items */
  uint64_t folds;             /* TSR_FOLDS_ of its table */
  uint64_t sends;             /* whether its shards would send answers */
  uint64_t spares;            /* whether its chunks could be smaller */
  uint64_t flights;           /* how many chunks it has buffers for */
  uint64_t sampled, repeated; /* items of a sample, and those of them whose key another one had before */
} tsr_task_row;
enum { TSR_TASK_NO_ITEMS, TSR_TASK_ITEMS, TSR_TASK_ITEMS_WITH_VALUES };

typedef struct tsr_task {
  tsr_table *t;
  tsr_shards *s;
  tsr_transport *x;
  const tsr_request *parts; /* one for each member here; operation and wanted answers are the same in all */
  tsr_error *error;
  uint64_t share; /* items of a member's part in one chunk */
  uint32_t question_bytes[TSR_QUESTIONS];
  tsr_answer_column answers[TSR_ANSWERS];
  uint32_t answer_bytes[TSR_ANSWERS]; /* of an item, wanted or not */
  uint64_t *sizes[TSR_FLIGHTS];       /* items from each member to each other */
  uint64_t *back[TSR_FLIGHTS];        /* and on their way back */
  tsr_task_row *rows;                 /* of each member */
  uint64_t rounds;
  uint32_t flights; /* how many chunks have buffers */
  bool is_ordered;  /* a shard puts what it gets in an order: it should get all at once */
  bool spares;      /* where there is no memory for these chunks, smaller ones are possible */
  bool stays;       /* each member works on its own part */
  bool folds;       /* items of one key become one before they travel */
  bool sends;       /* the shard writes answers directly to the asking member, in the order of shards */
} tsr_task;

/* A task of these requests; it holds no memory until tsr_task_allocate, and may be freed at any time. is_sparing: chunks
 * are small in any case. */
tsr_task tsr_task_of(tsr_table *table, const tsr_request *parts, bool is_sparing, tsr_error *error);
tsr_status tsr_task_allocate(tsr_task *task) TSR_MUST_CHECK;
void tsr_task_free(tsr_task *task);

/* ---- What is asked and wanted ---------------------------------------------------------------- */

/* The caller's arrays; NULL: there is none. */
const void *tsr_question_in(const tsr_request *request, tsr_column column);
void *tsr_answer_in(const tsr_request *request, tsr_answer answer);
/* What a shard works on, on its device. */
void *tsr_task_question(const tsr_task *task, const tsr_flight *flight, tsr_column column);
/* Items of the longest part here. */
uint64_t tsr_task_max_part(const tsr_task *task);
bool tsr_task_has_answers(const tsr_task *task);
bool tsr_task_sends_answers(const tsr_task *task);

/* ---- Work of a member, in the stream of a leg ------------------------------------------------ */

static inline tsr_device *tsr_device_of(const tsr_member *member) { return member->shard->device; }
/* Whether a caller's array of items of this size is in the member's memory, at an address from which tsr_split_put reads its
 * words; rows may have any. */
bool tsr_task_reaches(const tsr_member *member, const void *items, uint64_t bytes);
tsr_status tsr_task_wait(const tsr_task *task, const tsr_member *member, tsr_event *event, tsr_leg leg) TSR_MUST_CHECK;
tsr_status tsr_task_copy(const tsr_task *task, const tsr_member *member, void *to, const void *from, uint64_t bytes,
                         tsr_leg leg) TSR_MUST_CHECK;
tsr_status tsr_task_step(const tsr_task *task, const tsr_member *member, uint32_t what, const tsr_split *split,
                         tsr_leg leg) TSR_MUST_CHECK;
tsr_status tsr_task_sum(const tsr_task *task, const tsr_member *member, uint64_t *numbers, uint64_t n, tsr_leg leg)
    TSR_MUST_CHECK;
/* Gives a buffer room for `bytes` bytes; waits if it has to allocate. */
tsr_status tsr_task_reserve(const tsr_task *task, const tsr_member *member, tsr_buffer *buffer, uint64_t bytes)
    TSR_MUST_CHECK;

/* ---- Legs ------------------------------------------------------------------------------------ */

/* A member's leg of a chunk begins, if legs are measured; and ends, which other legs can wait for. */
tsr_status tsr_task_begin_leg(const tsr_task *task, const tsr_member *member, const tsr_flight *flight, tsr_leg leg)
    TSR_MUST_CHECK;
tsr_status tsr_task_end_leg(const tsr_task *task, const tsr_member *member, tsr_flight *flight, tsr_leg leg)
    TSR_MUST_CHECK;
/* The same for the answers: before they travel back (are_back = false), and when they have. */
tsr_status tsr_task_begin_return(const tsr_task *task, uint32_t flight, bool are_back) TSR_MUST_CHECK;
/* The leg `leg` of every member waits for the leg `after` of all members here. Where other processes use what it made, the host
 * waits as well, and tells them by its next message. */
tsr_status tsr_task_meet(const tsr_task *task, uint32_t flight, tsr_leg after, tsr_leg leg) TSR_MUST_CHECK;
/* Waits for the chunk that used this flight, including its answers, and adds up its costs. */
tsr_status tsr_task_finish_slot(const tsr_task *task, uint32_t flight, tsr_error *error) TSR_MUST_CHECK;

/* ---- Where columns are ----------------------------------------------------------------------- */

/* The two ends of a column's way, as offsets of buffers in a flight: at the shards, and at the members that own the
 * items. */
typedef struct tsr_way {
  size_t shards, members;
  uint32_t bytes; /* of an item */
} tsr_way;

tsr_way tsr_way_of_question(const tsr_task *task, tsr_column column);
tsr_way tsr_way_of_answer(const tsr_task *task, tsr_answer answer);
tsr_way tsr_way_of_values(const tsr_task *task); /* all values of keys */

/* Where the items of a member, by its number among all, begin in the order of shards. sizes: from each member to each shard. */
void tsr_task_number_shards(const tsr_task *task, uint32_t member, const uint64_t *sizes, uint64_t *first_at);
/* Where a column of a member's items is written or read, shard by shard: at the shard itself, if the member's kernels
 * reach it, otherwise at the beginning or the end of the column's way. */
void tsr_task_locate(const tsr_task *task, uint32_t member, uint32_t flight, tsr_way way, const uint64_t *sizes,
                     void **at);
/* Carries columns of all members here, unless their kernels have written them to the other shards. In the leg
 * TSR_LEG_RETURN they go from the shards to the members, otherwise to the shards. sizes: from each to each, in that
 * direction. */
tsr_status tsr_task_exchange(const tsr_task *task, uint32_t flight, const tsr_way *ways, uint32_t columns,
                             const uint64_t *sizes, tsr_leg leg) TSR_MUST_CHECK;

#endif
