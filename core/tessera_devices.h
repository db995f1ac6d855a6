/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices: the part of Tessera's public API that only they need. A spec with [table] devices = 0,1 (or
 * all) makes such a table by tsr_table_create, and every function of tessera.h and tessera_tools.h takes it; the rules of
 * tessera.h on errors, threads and sizes hold. Answers are those of a table of one device, in the caller's order. What
 * differs:
 *
 * Waiting: an operation returns when its work is done, on all devices, and begins after what call->stream has.
 * Arrays: they lie in the host's memory or on any of the devices, each on its own; tsr_memory_allocate gives memory of the
 * first one. Each device holds buffers for three chunks ([devices] chunk) until the table is destroyed.
 * Capacity: of all devices together. Each shard is made for its part and some more, since a hash does not deal evenly; one
 * that is full hands back what it cannot place, though others have room; with growth = double it grows by itself.
 * split = hash: the hash of a key says on which device its pairs are. Where every pair needs a slot of its own (multiset,
 * multimap, promise_unique) the first batch of an empty table, or a rehash, deals the hashes by how often they come.
 * split = independent: inserts go anywhere, in equal parts, and queries to all devices, whose answers the host merges;
 * only of multisets, multimaps and with promise_unique, and without tsr_apply.
 * split = replicated: the first device is written, and all are read: before a find, contains or count after a change the
 * others become copies of its memory. tsr_find_all asks the first one.
 * tsr_table_load: its option `device` is a list here, of one device for each shard that was saved.
 * tsr_join takes two tables whose pairs of a key are on one device: of one seed and one list of devices, with split = hash
 * where keys are unique, or replicated.
 */
#ifndef TESSERA_DEVICES_H
#define TESSERA_DEVICES_H

#include "tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The keys of a spec's section [devices], as tsr_settings_list has those of [table]. */
TSR_API size_t tsr_devices_settings_list(const tsr_setting_info **list);

#ifdef __cplusplus
}
#endif
#endif
