/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices: the part of Tessera's public API that only they need. A spec with [table] devices = 0,1 (or
 * all) makes such a table by tsr_table_create, and every function of tessera.h and tessera_tools.h takes it. The rules of
 * tessera.h on ownership, errors, threads and sizes hold. Answers are those of a table of one device, in the caller's order.
 * These things differ:
 *
 * Waiting: an operation starts after the work of call->stream, and returns when its own work is done on all devices.
 * Arrays: each is in host memory, on any of the devices, or split among them (tsr_call_parts). tsr_memory_allocate gives
 * memory of the first device. Each device holds buffers for three chunks ([devices] chunk) until the table is destroyed.
 * Capacity: of all devices together. Each shard is made for its part and some more, since a hash does not distribute evenly.
 * A full shard hands back what it cannot place, even if others have room. With growth = double it grows by itself.
 * split = hash: the hash of a key determines the device of its pairs. If every pair needs a slot of its own (multiset,
 * multimap, promise_unique), the first batch of an empty table, or a rehash, assigns the hashes by their frequency.
 * split = independent: inserts go to all devices in equal parts. Queries go to all devices, and the host merges the answers.
 * Only for multisets, multimaps and promise_unique, and without tsr_apply.
 * split = replicated: the first device is written and all are read. Before the first find, contains or count after a change
 * the others copy its memory. tsr_find_all asks the first device only.
 * tsr_table_load: its option `device` is a list of devices. If their number differs from that of the saved shards, the shards
 * are loaded on the first devices in turn, and their pairs are moved to new shards on all; both must fit in memory together.
 * tsr_join: takes two tables with the same list of devices, and split = hash or replicated. If they have the pairs of a key
 * on different devices, because seeds or first batches differ, the right table's pairs are copied to the devices of the left
 * one for the time of the join.
 */
#ifndef TESSERA_DEVICES_H
#define TESSERA_DEVICES_H

#include "tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Like tsr_settings_list, for the section [devices]. */
TSR_API size_t tsr_devices_settings_list(const tsr_setting_info **list);

/* ---- Batches in parts ------------------------------------------------------------------------ */

/* The arguments of a call for one part of a batch; each member is as in the call. */
typedef struct tsr_batch_part {
  size_t size; /* sizeof(tsr_batch_part), at least in the first part of an array: the distance to the next one */
  uint64_t n;  /* items of the part; may be 0 */
  const void *keys, *values; /* values: of insert, erase_pairs and apply; what find_or_insert offers */
  const uint8_t *operations; /* apply */
  void *found;               /* the values that find, find_all, find_or_insert and apply write */
  uint8_t *present;          /* contains */
  uint64_t *counts;          /* count_all: n; find_all: its n + 1 offsets into `found` */
  uint64_t room;             /* find_all: items of `found` */
  const tsr_call *call;      /* NULL: none */
} tsr_batch_part;

/* One batch whose arrays are split among the devices, so that no GPU has to hold or send all. The i-th device of the table
 * works on part i; in a group a process has one device. Arrays may be anywhere; those in the memory of their own device are
 * read and written in place. Parts may have different lengths. call: one of TSR_PREPARE_INSERT to TSR_PREPARE_APPLY. The
 * effect is that of one call with all parts; answers are in the order of each part. Waits. TSR_BAD_ARGUMENT if `count` is
 * not the number of devices. */
TSR_API tsr_status tsr_call_parts(tsr_table *table, uint32_t call, uint32_t count, const tsr_batch_part *parts,
                                  tsr_error *error);
/* Memory of the device that works on a part. The caller frees it by tsr_memory_free. */
TSR_API tsr_status tsr_memory_allocate_on(tsr_table *table, uint32_t part, uint64_t bytes, void **memory,
                                          tsr_error *error);

/* Times of the phases of batches: of each the slowest device, summed over chunks. Chunks overlap, so the whole takes less
 * than the sum. */
typedef struct tsr_phases {
  size_t size;
  double split_ms;    /* keys and values are put in the order of devices */
  double exchange_ms; /* they travel to the devices, and the answers back */
  double work_ms;     /* the work of a table of one device */
  double answer_ms;   /* answers are put in the caller's order */
  uint64_t chunks;
  uint64_t sent_bytes; /* bytes that the device with the most sent to others */
  uint64_t is_direct;  /* 1: items travel in split_ms, and exchange_ms is waiting; 0: they travel in exchange_ms */
  uint64_t
      hidden_bytes; /* a part of sent_bytes: answers that travel in work_ms; if is_direct, others do in answer_ms */
} tsr_phases;
/* Measure the batches between the two calls, which costs about 10 us per chunk. */
TSR_API tsr_status tsr_phases_start(tsr_table *table, tsr_error *error);
TSR_API tsr_status tsr_phases_stop(tsr_table *table, tsr_phases *phases, tsr_error *error);

/* Items per call from which a table of several GPUs of this process is faster than one GPU: a smaller call costs the host more
 * than the other GPUs save. 0 of other tables. */
TSR_API uint64_t tsr_batch_least(const tsr_table *table);

/* ---- Groups of processes --------------------------------------------------------------------- */

/* Processes of one machine or several that share tables with split = hash. Each has a shard and gives its own batches.
 *
 * Calls: all processes make the same calls on the group and its tables in the same order, each with its own number of
 * items, which may be 0. A call returns when all have made it.
 * Ends: tsr_table_destroy waits, at most limit_s, until the other processes of this host do the same, because they map this
 * one's memory. It does not wait for processes that have ended. If one keeps its table, what it maps stays until this process
 * ends, the group is broken, and its next call says why.
 * Failures: if a process dies, is stopped for limit_s, makes another call, or makes its call late_s after the others, the
 * call fails in every other process with TSR_IO or TSR_BAD_ARGUMENT; nothing hangs. If a call fails in one process, it fails in
 * all with this status, and the message names the rank. Then the group is broken: every further call fails at once. Destroy its tables and the group. While a process
 * compiles or computes, one of its threads tells the others that it is alive.
 * GPUs: each process needs a GPU of its own ([table] device), and NCCL 2.18 or newer, which is loaded when the first table
 * is made. On one host the items go directly from GPU to GPU, otherwise NCCL carries them. Then late_s also bounds the work of a
 * GPU before a chunk of a batch can travel.
 * All pairs: tsr_size and tsr_export are about the pairs of all processes, and tsr_join, of two tables of one group, about
 * the rows of all. Each process that passes arrays gets all of them.
 * Files: in each process tsr_table_save writes its shard to a file PATH.RANK, which tsr_group_table_load reads. All
 * files appear, or none if a process fails before.
 * One shard: tsr_table_report, tsr_table_usage, tsr_flush and, apart from the capacity, tsr_table_describe are about this
 * process's shard. Other functions mean the same as for other tables. */
typedef struct tsr_group tsr_group;

typedef struct tsr_group_options { /* all zero = the defaults */
  size_t size;
  double limit_s; /* seconds that a process waits for another one without a sign of life; 0 = 60 */
  double late_s;  /* seconds that it waits for one that is alive and has not made the same call; 0 = 10 limit_s */
} tsr_group_options;

/* Waits for all `size` processes, at most 64, with ranks 0 to size - 1. One thread at a time uses a group and its tables.
 * The caller frees *group with tsr_group_destroy. TSR_IO if they did not meet within limit_s. id is one of
 *   - a path that they have in common. While they meet, there are sockets ID.RANK; whoever may write to the folder may open
 *     them;
 *   - for several machines tcp://HOST:PORT: an address of rank 0's machine that all can reach, with a free port. The others
 *     listen at ports that the system chooses. There is no authentication: use it only in a network that you trust. */
TSR_API tsr_status tsr_group_create(uint32_t rank, uint32_t size, const char *id, const tsr_group_options *options,
                                    tsr_group **group, tsr_error *error);
/* What carries a group's bytes where something else has started the processes, such as MPI or torch.distributed. */
typedef struct tsr_communicator {
  size_t size;
  uint32_t rank, ranks; /* of this process; of all, at most 64 */
  void *context;        /* the first argument of the two functions */
  /* Sends out_bytes[i] bytes at out[i] to each rank i and receives in_bytes[i] bytes at in[i]. Both sides know the number; it is
   * 0 for this rank itself. Returns when all is received and out may be changed. After limit_s it may give up. On failure it
   * writes a sentence, and is called no more. */
  tsr_status (*exchange)(void *context, const void *const *out, const uint64_t *out_bytes, void *const *in,
                         const uint64_t *in_bytes, double limit_s, tsr_error *error);
  void (*close)(void *context); /* NULL: nothing is to be closed */
} tsr_communicator;

/* Like tsr_group_create, over a communicator, which belongs to the group from now on and is closed with it, on failure too. No
 * socket is opened. limit_s and late_s: a call waits for late_s. tsr_group_destroy waits until all ranks call it, or fail. */
TSR_API tsr_status tsr_group_create_over(const tsr_communicator *communicator, const tsr_group_options *options,
                                         tsr_group **group, tsr_error *error);
/* The same over a communicator that a shared object makes, built for the site by transports/build_transport.sh. transport: its
 * path, or a name such as "mpi": transport_mpi.so in a folder of TESSERA_PLUGINS, or next to the library. handle: the address
 * of what it builds on, of "mpi" an MPI_Comm, which is duplicated. NULL: all processes that were started together; MPI is
 * initialized if it is not, and finalized when the process ends. */
TSR_API tsr_status tsr_group_create_by(const char *transport, const void *handle, const tsr_group_options *options,
                                       tsr_group **group, tsr_error *error);
/* The rank of this process, and how many there are. */
TSR_API tsr_status tsr_group_describe(const tsr_group *group, uint32_t *rank, uint32_t *size, tsr_error *error);

/* Adds up `count` numbers of all processes, at most 64; every process gets the sums. */
TSR_API tsr_status tsr_group_add_up(tsr_group *group, uint32_t count, uint64_t *numbers, tsr_error *error);

/* What such a shared object exports: TSR_TRANSPORT_ABI as tsr_transport_abi, and this function as tsr_transport_open. */
enum { TSR_TRANSPORT_ABI = 1 };
typedef tsr_status tsr_transport_opener(const void *handle, tsr_communicator *communicator, tsr_error *error);

/* Destroy its tables first. NULL is allowed. */
TSR_API_VOID void tsr_group_destroy(tsr_group *group);
/* tsr_table_create for a table of all processes of the group. The spec is the same in all of them, and its capacity is that
 * of all together. */
TSR_API tsr_status tsr_group_table_create(tsr_group *group, const tsr_spec *spec, const tsr_options *options,
                                          tsr_table **table, tsr_error *error);
/* Loads a table that tsr_table_save wrote in a group of as many processes: each process loads its file PATH.RANK. Or PATH,
 * the file of a table of one process with as many devices: each process loads one of its shards. options: as for
 * tsr_table_load. */
TSR_API tsr_status tsr_group_table_load(tsr_group *group, const char *path, const tsr_load_options *options,
                                        tsr_table **table, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
