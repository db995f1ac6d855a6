/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads linked.cubins (linked.h). The file is mapped when it is first asked for. Its index is checked then, a cubin when it is
 * taken.
 */
#define _GNU_SOURCE /* open flags */
#include "core/cuda/linked.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/compose/registry.h"
#include "plugins/error.h"

typedef struct file {
  char path[PATH_MAX];
  const unsigned char *bytes; /* NULL: there is none, or it is damaged */
  const tsr_linked_head *head;
  const tsr_linked_entry *entries;
  const tsr_linked_group *groups;
} file;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static file current; /* the last that was looked for; what was mapped stays mapped */
static char fault[TSR_MESSAGE_BYTES];

int tsr_linked_compare(const tsr_cache_key *a, const tsr_cache_key *b) {
  for (size_t i = 0; i < 2; i++)
    if (a->half[i] != b->half[i]) return a->half[i] < b->half[i] ? -1 : 1;
  return 0;
}

/* A cubin runs on all GPUs of its major number that are not older. The GPUs of Jetson and Drive run only their own. */
uint32_t tsr_linked_architecture(uint32_t sm) { return sm == 87 || sm == 101 ? sm : sm / 10 * 10; }

static tsr_cache_key checksum_of(const void *data, size_t bytes) {
  tsr_cache_key key = tsr_cache_key_start(0);
  tsr_cache_key_add(&key, data, bytes);
  return key;
}

static bool is_sum(const tsr_cache_key *expected, const void *data, size_t bytes) {
  const tsr_cache_key sum = checksum_of(data, bytes);
  return tsr_linked_compare(expected, &sum) == 0;
}

/* The first fault is kept. pre: the guard is held. */
static void refuse(const char *path, const char *what) {
  if (!fault[0])
    snprintf(fault, sizeof fault, "%.900s %s: install Tessera again; until then code is linked when it is needed", path,
             what);
}

/* ---- Opening it ------------------------------------------------------------------------------ */

static const void *map(const char *path, size_t *size) {
  struct stat info;
  const void *bytes = NULL;
  const int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return NULL;
  if (fstat(opened, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    *size = (size_t)info.st_size;
    bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, opened, 0);
    if (bytes == MAP_FAILED) bytes = NULL;
  }
  close(opened);
  return bytes;
}

/* Whether all offsets that the index has are inside the file. */
static bool is_sound(const file *f, size_t size) {
  const uint32_t entries = f->head->entries, groups = f->head->groups;
  const size_t index = entries * sizeof *f->entries + groups * sizeof *f->groups;
  if (size - sizeof *f->head < index || !is_sum(&f->head->checksum, f->entries, index)) return false;
  for (uint32_t i = 0; i < groups; i++)
    if (f->groups[i].offset > size || f->groups[i].stored > size - f->groups[i].offset) return false;
  for (uint32_t i = 0; i < entries; i++) {
    const tsr_linked_entry *e = &f->entries[i];
    if (e->group >= groups || (uint64_t)e->offset + e->bytes > f->groups[e->group].whole) return false;
  }
  return true;
}

/* pre: the guard is held, and current.path is set. */
static void open_current(void) {
  size_t size = 0;
  file *f = &current;
  const void *bytes = map(f->path, &size);
  f->bytes = NULL;
  if (!bytes) {
    refuse(f->path, "cannot be read");
    return;
  }
  f->head = bytes;
  if (size < sizeof *f->head || memcmp(f->head->magic, tsr_linked_magic, sizeof tsr_linked_magic) != 0) {
    refuse(f->path, "is no file of linked cubins");
  } else if (f->head->bytes != size) {
    refuse(f->path, "was cut short");
  } else {
    f->entries = (const tsr_linked_entry *)(f->head + 1);
    f->groups = (const tsr_linked_group *)(f->entries + f->head->entries);
    if (is_sound(f, size))
      f->bytes = bytes;
    else
      refuse(f->path, "is damaged in its index");
  }
  if (!f->bytes) munmap((void *)(uintptr_t)bytes, size);
}

/* Copies what is mapped to *f. */
static bool look(file *f) {
  char path[PATH_MAX];
  if (!tsr_registry_seek("linked.cubins", path)) return false;
  pthread_mutex_lock(&guard);
  if (strcmp(path, current.path) != 0) {
    memcpy(current.path, path, strlen(path) + 1);
    open_current();
  }
  *f = current;
  pthread_mutex_unlock(&guard);
  return f->bytes != NULL;
}

/* ---- Asking it ------------------------------------------------------------------------------- */

static int by_key(const void *key, const void *entry) {
  return tsr_linked_compare(key, &((const tsr_linked_entry *)entry)->key);
}

static bool unpack(const file *f, const tsr_linked_entry *e, void **cubin) {
  const tsr_linked_group *group = &f->groups[e->group];
  unsigned char *all = malloc(group->whole);
  void *one = malloc(e->bytes + 1u);
  bool is_done = all && one &&
                 ZSTD_decompress(all, group->whole, f->bytes + group->offset, group->stored) == group->whole &&
                 is_sum(&e->checksum, all + e->offset, e->bytes);
  if (is_done)
    memcpy(*cubin = one, all + e->offset, e->bytes);
  else
    free(one);
  free(all);
  return is_done;
}

bool tsr_linked_is_there(void) {
  file f;
  return look(&f);
}

static const tsr_linked_entry *find(const file *f, const tsr_cache_key *key) {
  return bsearch(key, f->entries, f->head->entries, sizeof *f->entries, by_key);
}

bool tsr_linked_has(const tsr_cache_key *key) {
  file f;
  return look(&f) && find(&f, key) != NULL;
}

bool tsr_linked_get(const tsr_cache_key *key, void **cubin, size_t *bytes) {
  file f;
  if (!look(&f)) return false;
  const tsr_linked_entry *e = find(&f, key);
  if (!e) return false;
  if (unpack(&f, e, cubin)) {
    *bytes = e->bytes;
    return true;
  }
  pthread_mutex_lock(&guard);
  refuse(f.path, "is damaged");
  pthread_mutex_unlock(&guard);
  return false;
}

/* The first fault stays as it is, so its text may be read without the guard. */
const char *tsr_linked_fault(void) {
  pthread_mutex_lock(&guard);
  pthread_mutex_unlock(&guard);
  return fault;
}
