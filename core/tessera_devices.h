/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices: the part of Tessera's public API that only they need. A spec with [table] devices = 0,1 (or
 * all) makes such a table by tsr_table_create, and every function of tessera.h and tessera_tools.h takes it; the rules of
 * tessera.h on errors, threads and sizes hold. Answers are those of a table of one device, in the caller's order. What
 * differs:
 *
 * Waiting: an operation returns when its work is done, on all devices, and begins after what call->stream has.
 * Arrays: they are in the host's memory or on any of the devices, each on its own, or are split among them (tsr_call_parts);
 * tsr_memory_allocate gives memory of the first one. Each device holds buffers for three chunks ([devices] chunk) until
 * the table is destroyed.
 * Capacity: of all devices together. Each shard is made for its part and some more, since a hash does not deal evenly; one
 * that is full hands back what it cannot place, though others have room; with growth = double it grows by itself.
 * split = hash: the hash of a key says on which device its pairs are. Where every pair needs a slot of its own (multiset,
 * multimap, promise_unique) the first batch of an empty table, or a rehash, deals the hashes by how often they come.
 * split = independent: inserts go anywhere, in equal parts, and queries to all devices, whose answers the host merges;
 * only of multisets, multimaps and with promise_unique, and without tsr_apply.
 * split = replicated: the first device is written, and all are read: before a find, contains or count after a change the
 * others become copies of its memory. tsr_find_all asks the first one.
 * tsr_table_load: its option `device` is a list here. Where it names another number of devices than there were shards, or the
 * file is of a table of one device, shards are loaded on the first devices in turn, and their pairs dealt to new ones on all,
 * for which there has to be room beside them.
 * tsr_join takes two tables of one list of devices, with split = hash or replicated. Where their pairs of a key are not on one
 * device, because their seeds differ or their first batches did, the right one's are copied to where the left one would
 * have them, for as long as the join takes.
 */
#ifndef TESSERA_DEVICES_H
#define TESSERA_DEVICES_H

#include "tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The keys of a spec's section [devices], as tsr_settings_list has those of [table]. */
TSR_API size_t tsr_devices_settings_list(const tsr_setting_info **list);

/* ---- Batches in parts ------------------------------------------------------------------------ */

/* What a call takes and writes, for the items of one part of a batch; each member as the call has it. */
typedef struct tsr_batch_part {
  size_t size; /* sizeof(tsr_batch_part), of the first part of an array at least: it says where the next one begins */
  uint64_t n;  /* also 0 */
  const void *keys, *values; /* values: of insert, erase_pairs and apply; offered by find_or_insert */
  const uint8_t *operations; /* apply */
  void *found;               /* the values that find, find_all, find_or_insert and apply write */
  uint8_t *present;          /* contains */
  uint64_t *counts;          /* count_all: n; find_all: its n + 1 offsets into `found` */
  uint64_t room;             /* find_all: of `found` */
  const tsr_call *call;      /* NULL: none */
} tsr_batch_part;

/* One batch whose arrays are split among the devices: part i is dealt with by the i-th device of the table (in a group:
 * of this process, which has one), so that no GPU has to hold or send all. Its arrays may be anywhere; those in the memory
 * of its own device are read and written where they are. Lengths may differ. call: which, as TSR_PREPARE_INSERT, up to
 * TSR_PREPARE_APPLY. Means what the call of all parts together would, and waits; answers are in the order of each part. */
TSR_API tsr_status tsr_call_parts(tsr_table *table, uint32_t call, uint32_t count, const tsr_batch_part *parts,
                                  tsr_error *error);
/* Memory of the device that deals with a part. The caller frees it by tsr_memory_free. */
TSR_API tsr_status tsr_memory_allocate_on(tsr_table *table, uint32_t part, uint64_t bytes, void **memory,
                                          tsr_error *error);

/* What the phases of batches cost, of each the slowest device's, summed over chunks; with several chunks they overlap, so
 * that the whole takes less than their sum. */
typedef struct tsr_phases {
  size_t size;
  double split_ms;    /* keys and values brought into the order of devices */
  double exchange_ms; /* ... and to the devices; and the answers back */
  double work_ms;     /* what a table of one device does */
  double answer_ms;   /* answers brought into the caller's order */
  uint64_t chunks;
  uint64_t sent_bytes;   /* by the device that sent most, to others */
  uint64_t is_direct;    /* 1: items travel in split_ms, and exchange_ms is waiting; 0: they travel in exchange_ms */
  uint64_t hidden_bytes; /* of sent_bytes: answers that travel in work_ms; where is_direct, others do in answer_ms */
} tsr_phases;
/* Measures the batches between the two, which costs some 10 us for each chunk. */
TSR_API tsr_status tsr_phases_start(tsr_table *table, tsr_error *error);
TSR_API tsr_status tsr_phases_stop(tsr_table *table, tsr_phases *phases, tsr_error *error);

/* ---- Groups of processes --------------------------------------------------------------------- */

/* Processes, of one machine or several, that share tables with split = hash: each has a shard, and gives its own batches.
 *
 * Calls: all processes make the same calls on the group and its tables in the same order, each with as many items as it
 * has, also none. A call ends when all have made it.
 * Failures: a process that dies, is stopped for limit_s, makes another call, or makes its call late_s after the others,
 * makes the call of every other one fail with TSR_IO or TSR_BAD_ARGUMENT, and nothing hangs; so does a failure in one
 * process, of which all hear. Then the group is broken: every further call fails at once, and what remains is to destroy
 * the tables and the group. A thread of each process tells the others that it is alive while it compiles or computes.
 * GPUs: each process needs one of its own ([table] device), and NCCL 2.18 or newer, which is looked for when the first
 * table is made and carries the items. There limit_s also bounds what a GPU has to do before a chunk of a batch can travel.
 * All pairs: tsr_size counts, and tsr_export writes, the pairs of all processes, and tsr_join, of two tables of one group,
 * the rows of all. Each process that gives arrays gets all of them.
 * Files: tsr_table_save writes a file PATH.RANK in each process, of its shard, which tsr_group_table_load reads. All of them
 * appear, or if a process fails before, none.
 * One shard: tsr_table_report, tsr_table_usage, tsr_flush and tsr_table_describe, but for the capacity, are about this
 * process's shard. Other functions mean the same as ever. */
typedef struct tsr_group tsr_group;

typedef struct tsr_group_options { /* all zero = the defaults */
  size_t size;
  double limit_s; /* how long a process waits for another without any sign of life, also to come; 0 = 60 s */
  double late_s;  /* how long it waits for one that is alive, and has not made the same call; 0 = 10 limit_s */
} tsr_group_options;

/* Waits for all `size` processes, at most 64, whose ranks are 0 .. size - 1. One thread at a time uses a group and its
 * tables. The caller frees *group. TSR_IO: they did not meet within limit_s. id is one of
 *   - a path that they have in common: while they meet there are sockets called ID.RANK, which those may open who may write
 *     to the folder;
 *   - for several machines tcp://HOST:PORT, an address of rank 0's machine that all reach, with a free port; the others
 *     listen at ports that the system chooses. There is no authentication: use it only in a network all of which you trust. */
TSR_API tsr_status tsr_group_create(uint32_t rank, uint32_t size, const char *id, const tsr_group_options *options,
                                    tsr_group **group, tsr_error *error);
/* After its tables. NULL is fine. */
TSR_API_VOID void tsr_group_destroy(tsr_group *group);
/* tsr_table_create, for a table of all processes of the group. The capacity is that of all together; the spec is the same
 * everywhere. */
TSR_API tsr_status tsr_group_table_create(tsr_group *group, const tsr_spec *spec, const tsr_options *options,
                                          tsr_table **table, tsr_error *error);
/* Loads what tsr_table_save wrote of a group's table of as many processes: each its file PATH.RANK. Or PATH, the file of a
 * table of one process with as many devices: each takes one of its shards. options: as of tsr_table_load. */
TSR_API tsr_status tsr_group_table_load(tsr_group *group, const char *path, const tsr_load_options *options,
                                        tsr_table **table, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
