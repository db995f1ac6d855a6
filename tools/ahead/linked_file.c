/* SPDX-License-Identifier: Apache-2.0
 *
 * linked_file.h. Cubins are put in the order of architecture and size: those of the same size are mostly the same kernel of
 * similar tables, and zstd finds in a group what they have in common. Equal ones are kept once.
 */
#include "tools/ahead/linked_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/spec/file.h"

enum { LEVEL = 19 };

typedef struct writing {
  tsr_linked_entry *entries;
  tsr_linked_group *groups;
  uint32_t group_count;
  unsigned char *stored; /* all groups, one behind the other */
  size_t stored_bytes, room;
  unsigned char *open; /* the group that is being filled */
  size_t open_bytes;
} writing;

static int by_kind(const void *left, const void *right) {
  const tsr_linked_cubin *a = left, *b = right;
  if (a->sm != b->sm) return a->sm < b->sm ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  const int content = memcmp(a->cubin, b->cubin, a->bytes);
  return content ? content : tsr_linked_compare(&a->key, &b->key);
}

static int by_key(const void *left, const void *right) {
  return tsr_linked_compare(&((const tsr_linked_entry *)left)->key, &((const tsr_linked_entry *)right)->key);
}

static tsr_cache_key checksum_of(const void *data, size_t bytes) {
  tsr_cache_key key = tsr_cache_key_start(0);
  tsr_cache_key_add(&key, data, bytes);
  return key;
}

static int close_group(writing *w) {
  if (!w->open_bytes) return 0;
  const size_t most = ZSTD_compressBound(w->open_bytes);
  if (w->room - w->stored_bytes < most) {
    unsigned char *longer = realloc(w->stored, w->room + most + w->room / 2);
    if (!longer) return ENOMEM;
    w->stored = longer;
    w->room += most + w->room / 2;
  }
  const size_t stored = ZSTD_compress(w->stored + w->stored_bytes, most, w->open, w->open_bytes, LEVEL);
  if (ZSTD_isError(stored)) return ENOMEM;
  w->groups[w->group_count++] = (tsr_linked_group){w->stored_bytes, (uint32_t)stored, (uint32_t)w->open_bytes};
  w->stored_bytes += stored;
  w->open_bytes = 0;
  return 0;
}

/* Adds a cubin to the group, and the entry that says where it is. */
static int put(writing *w, const tsr_linked_cubin *cubins, size_t i) {
  const tsr_linked_cubin *one = &cubins[i];
  tsr_linked_entry *entry = &w->entries[i];
  const bool is_same =
      i && one[-1].sm == one->sm && one[-1].bytes == one->bytes && memcmp(one[-1].cubin, one->cubin, one->bytes) == 0;
  if (is_same) {
    *entry = entry[-1];
    entry->key = one->key;
    return 0;
  }
  if (i && one[-1].sm != one->sm) {
    const int failure = close_group(w);
    if (failure) return failure;
  }
  unsigned char *longer = realloc(w->open, w->open_bytes + one->bytes + 1);
  if (!longer) return ENOMEM;
  w->open = longer;
  *entry = (tsr_linked_entry){.key = one->key,
                              .checksum = checksum_of(one->cubin, one->bytes),
                              .group = w->group_count,
                              .offset = (uint32_t)w->open_bytes,
                              .bytes = (uint32_t)one->bytes};
  memcpy(w->open + w->open_bytes, one->cubin, one->bytes);
  w->open_bytes += one->bytes;
  return w->open_bytes >= TSR_LINKED_GROUP_BYTES ? close_group(w) : 0;
}

static int write_all(const char *path, const writing *w, size_t count) {
  const size_t entry_bytes = count * sizeof *w->entries, group_bytes = w->group_count * sizeof *w->groups;
  unsigned char *index = malloc(entry_bytes + group_bytes + 1);
  tsr_file file;
  if (!index) return ENOMEM;
  const uint64_t first = sizeof(tsr_linked_head) + entry_bytes + group_bytes;
  for (uint32_t i = 0; i < w->group_count; i++) w->groups[i].offset += first;
  memcpy(index, w->entries, entry_bytes);
  memcpy(index + entry_bytes, w->groups, group_bytes);
  tsr_linked_head head = {.bytes = first + w->stored_bytes,
                          .entries = (uint32_t)count,
                          .groups = w->group_count,
                          .checksum = checksum_of(index, entry_bytes + group_bytes)};
  memcpy(head.magic, tsr_linked_magic, sizeof head.magic);
  int failure = tsr_file_begin(&file, path, 0666);
  if (!failure) {
    failure = tsr_file_write(&file, &head, sizeof head);
    if (!failure) failure = tsr_file_write(&file, index, entry_bytes + group_bytes);
    if (!failure) failure = tsr_file_write(&file, w->stored, w->stored_bytes);
    failure = tsr_file_end(&file, failure);
  }
  free(index);
  return failure;
}

int tsr_linked_write(const char *path, tsr_linked_cubin *cubins, size_t count) {
  writing w = {.entries = calloc(count + 1, sizeof *w.entries), .groups = calloc(count + 1, sizeof *w.groups)};
  int failure = w.entries && w.groups ? 0 : ENOMEM;
  if (count) qsort(cubins, count, sizeof *cubins, by_kind);
  for (size_t i = 0; !failure && i < count; i++) failure = put(&w, cubins, i);
  if (!failure) failure = close_group(&w);
  if (!failure) {
    qsort(w.entries, count, sizeof *w.entries, by_key);
    failure = write_all(path, &w, count);
  }
  free(w.entries);
  free(w.groups);
  free(w.stored);
  free(w.open);
  return failure;
}
