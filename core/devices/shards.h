/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of several devices, as data: its shards, each a table of one store, and the other members. The table's own
 * handle has the composition of a shard and no other memory. Each file works on it and includes only those before it:
 * transport <- balance <- reach <- furnish <- task <- fold <- chunk <- values <- batch <- modes, whole <- move <- join, save <-
 * methods.
 *
 * Read next: batch.h.
 */
#ifndef TSR_DEVICES_SHARDS_H
#define TSR_DEVICES_SHARDS_H

#include "core/batch/split.h"
#include "core/devices/transport.h"
#include "core/tessera_devices.h"

enum { TSR_FLIGHTS = 3 }; /* chunks under way: one is split, one travels, one is worked on */

/* What a member holds of a chunk, in the memory of its device. in: its part of the batch, as the caller gave it. split:
 * the same in the order of shards. arrived: what came for its shard. answer: what the shard answered. back: the
 * answers, returned to the member that asked. ordered: the same in the caller's order. Where members reach each other's
 * memory, split and back are left out. */
typedef enum tsr_column {
  TSR_KEYS,
  TSR_VALUES,
  TSR_OPERATIONS,
  TSR_MORE, /* of folded items: of how many items, but one, each was made */
  TSR_QUESTIONS
} tsr_column;
typedef enum tsr_answer {
  TSR_FOUND_VALUES,
  TSR_CODES, /* before the answers that depend on them */
  TSR_UNPLACED_KEYS,
  TSR_UNPLACED_VALUES,
  TSR_COUNTS,
  TSR_TIMES,
  TSR_ANSWERS
} tsr_answer;

typedef enum tsr_leg { TSR_LEG_SPLIT, TSR_LEG_TRAVEL, TSR_LEG_WORK, TSR_LEG_RETURN, TSR_LEGS } tsr_leg;

typedef struct tsr_buffer {
  void *memory;
  uint64_t bytes;
  bool is_shared; /* other processes map it (reach.h) */
} tsr_buffer;

/* Of find_all: how many values each item has, where they begin, and the values: those of the shard, those that came
 * back, those in the caller's order. */
typedef struct tsr_gathered {
  tsr_buffer spans, offsets, values, back, ordered;
} tsr_gathered;

/* A member's part of a chunk in which items of one key became one (../batch/fold.h): what was made, and what became of each
 * item of the part. */
typedef struct tsr_folded {
  tsr_buffer columns[TSR_QUESTIONS], made, parts, answers[TSR_ANSWERS];
} tsr_folded;

/* While legs are measured: when each began, and when the answers were back, before they are put in order. */
typedef struct tsr_leg_times {
  tsr_event *begun[TSR_LEGS], *back_at;
  bool is_timed[TSR_LEGS];
} tsr_leg_times;

/* A chunk under way, as a member has it. */
typedef struct tsr_flight {
  uint64_t first, n;                /* of the member's part of the batch */
  uint64_t got;                     /* items of its shard */
  uint64_t *sizes;                  /* how many items it has for each shard: host memory that its device writes */
  const void *asked[TSR_QUESTIONS]; /* the caller's array, if it is on this device, otherwise `in`; NULL: none */
  tsr_buffer in[TSR_QUESTIONS], split[TSR_QUESTIONS], arrived[TSR_QUESTIONS];
  tsr_buffer places, counts, answer[TSR_ANSWERS], back[TSR_ANSWERS], ordered[TSR_ANSWERS];
  void *ordered_at[TSR_ANSWERS]; /* in `ordered`, or the caller's array */
  tsr_gathered gathered;
  tsr_folded folded;
  tsr_event *ended[TSR_LEGS]; /* each leg */
  tsr_leg last;               /* the last one that was enqueued, if the flight is under way */
  bool is_under_way;
  tsr_leg_times times;
} tsr_flight;

typedef struct tsr_member {
  tsr_table *shard;
  void *streams[TSR_LEGS];
  tsr_flight flights[TSR_FLIGHTS];
  tsr_buffer bins, sample;
  bool has_bins; /* keys were counted in bins since the last choice */
} tsr_member;

typedef struct tsr_shards {
  tsr_transport transport;
  uint32_t split;
  uint64_t chunk, seed;
  uint32_t first_bin[TSR_DEVICES_MAX]; /* of each member's shard */
  bool is_empty;                       /* nothing was inserted since the bins were dealt evenly */
  uint32_t next;                       /* by how many members the parts of a batch are rotated */
  bool is_stale;                       /* replicated: the first shard has changes that the others do not have */
  tsr_report carried;                  /* counts of shards that are gone, and of finds that went to all shards */
  bool measures;                       /* whether the times of the legs are measured */
  tsr_phases phases;
  tsr_member *members;       /* those of this process */
  tsr_member *far;           /* all, as far as their memory is mapped here (reach.h); NULL: none is */
  struct tsr_board **boards; /* of all, where processes say that they have left (reach.h); NULL: nobody maps anything */
  uint64_t lacked;           /* items of a part for which there was no memory at once; 0: none yet */
} tsr_shards;

#endif
