/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of compiled code (cache.h).
 */
#define _GNU_SOURCE /* futimens, secure_getenv */
#include "core/compose/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL /* a header alone: nothing is linked */
#include <xxhash.h>

#include "core/spec/file.h"

enum { CACHE_MIB = 256 };
static const uint64_t CODE_BYTES_MAX = 64ull << 20;

typedef struct entry_head {
  char magic[8];
  uint64_t bytes;
  tsr_cache_key key, checksum;
} entry_head;

static const char MAGIC[8] = "TSRCOD2";

/* ---- Hash ------------------------------------------------------------------------------------ */

static tsr_cache_key hash_of(const void *data, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return (tsr_cache_key){{hash.low64, hash.high64}};
}

tsr_cache_key tsr_cache_key_start(uint64_t salt) { return hash_of(&salt, sizeof salt); }

/* Of what was added before, and of this: so no two ways to cut the same bytes have one key. */
void tsr_cache_key_add(tsr_cache_key *key, const void *data, size_t bytes) {
  const tsr_cache_key both[] = {*key, hash_of(data, bytes)};
  *key = hash_of(both, sizeof both);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool cache_directory(char *path, size_t bytes) {
  const char *base = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  int length;
  if (base && base[0] == '/') {
    mkdir(base, 0700);
    length = snprintf(path, bytes, "%s/tessera", base);
  } else if (home && home[0] == '/') {
    length = snprintf(path, bytes, "%s/.cache", home);
    if (length > 0 && (size_t)length < bytes) mkdir(path, 0700);
    length = snprintf(path, bytes, "%s/.cache/tessera", home);
  } else {
    return false;
  }
  if (length <= 0 || (size_t)length >= bytes) return false;
  mkdir(path, 0700);
  struct stat info; /* code is loaded from here, so nobody else may be able to write to it */
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

static bool entry_path(const tsr_cache_key *key, const char *prefix, const char *suffix, char *path, size_t bytes) {
  char directory[PATH_MAX];
  if (!cache_directory(directory, sizeof directory)) return false;
  int length = snprintf(path, bytes, "%s/%s%016llx%016llx%s", directory, prefix, (unsigned long long)key->half[0],
                        (unsigned long long)key->half[1], suffix);
  return length > 0 && (size_t)length < bytes;
}

static bool read_all(int file, void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t got = read(file, (char *)data + done, bytes - done);
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

bool tsr_cache_get(const tsr_cache_key *key, void **data, size_t *bytes) {
  char path[PATH_MAX];
  entry_head head;
  void *read_data = NULL;
  if (!entry_path(key, "", ".code", path, sizeof path)) return false;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  bool sound = read_all(file, &head, sizeof head) && memcmp(head.magic, MAGIC, sizeof MAGIC) == 0 &&
               memcmp(&head.key, key, sizeof *key) == 0 && head.bytes <= CODE_BYTES_MAX &&
               (read_data = malloc(head.bytes + 1)) != NULL && read_all(file, read_data, head.bytes);
  if (sound) {
    tsr_cache_key sum = hash_of(read_data, head.bytes);
    sound = memcmp(&sum, &head.checksum, sizeof sum) == 0;
  }
  if (sound) futimens(file, NULL); /* remove_oldest takes this for the time of its last use */
  close(file);
  if (!sound) {
    free(read_data);
    return false;
  }
  *data = read_data;
  *bytes = head.bytes;
  return true;
}

/* ---- Clean-up -------------------------------------------------------------------------------- */

typedef struct old_file {
  char name[64];
  uint64_t bytes;
  struct timespec used;
} old_file;

static int by_use(const void *left, const void *right) {
  const old_file *a = left, *b = right;
  if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

static uint64_t bytes_max(void) {
  const char *said = secure_getenv("TESSERA_CACHE_MB");
  const unsigned long mib = said ? strtoul(said, NULL, 10) : 0;
  return (uint64_t)(mib ? mib : CACHE_MIB) << 20;
}

static void remove_oldest(void) {
  enum { FILES_MAX = 1 << 16 };
  const uint64_t most = bytes_max();
  char directory[PATH_MAX];
  if (!cache_directory(directory, sizeof directory)) return;
  DIR *open_directory = opendir(directory);
  old_file *files = open_directory ? calloc(FILES_MAX, sizeof *files) : NULL;
  size_t count = 0;
  uint64_t bytes = 0;
  for (struct dirent *entry; files && count < FILES_MAX && (entry = readdir(open_directory));) {
    struct stat info;
    if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof files[0].name) continue;
    if (fstatat(dirfd(open_directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
      continue;
    memcpy(files[count].name, entry->d_name, strlen(entry->d_name) + 1);
    files[count].bytes = (uint64_t)info.st_size;
    files[count++].used = info.st_mtim;
    bytes += (uint64_t)info.st_size;
  }
  if (files && bytes > most) {
    qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count && bytes > most; i++)
      if (unlinkat(dirfd(open_directory), files[i].name, 0) == 0) bytes -= files[i].bytes;
  }
  free(files);
  if (open_directory) closedir(open_directory);
}

/* A look at all entries takes milliseconds where there are thousands: a process looks at its first entry, and again when it
 * has put a sixty-fourth of the bound. */
static bool is_time_to_remove(size_t bytes) {
  static atomic_ullong put;
  const uint64_t share = bytes_max() / 64, before = atomic_fetch_add(&put, bytes + 1);
  return before == 0 || before / share != (before + bytes + 1) / share;
}

void tsr_cache_put(const tsr_cache_key *key, const void *data, size_t bytes) {
  char path[PATH_MAX];
  tsr_file file;
  if (bytes > CODE_BYTES_MAX || !entry_path(key, "", ".code", path, sizeof path) || tsr_file_begin(&file, path, 0600))
    return;
  entry_head head = {.bytes = bytes, .key = *key, .checksum = hash_of(data, bytes)};
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  int failure = tsr_file_write(&file, &head, sizeof head);
  if (!failure) failure = tsr_file_write(&file, data, bytes);
  if (tsr_file_end(&file, failure)) return;
  if (is_time_to_remove(bytes)) remove_oldest();
}

/* ---- Made once ------------------------------------------------------------------------------- */

/* Whoever dies lets go of the file. Whoever only stands still is waited for no longer than this. */
static const double WAIT_S = 60;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int lock_file(const tsr_cache_key *key) {
  static const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
  char path[PATH_MAX];
  if (!entry_path(key, ".", ".lock", path, sizeof path)) return -1;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  const double end = now_s() + WAIT_S;
  while (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (now_s() > end) {
      close(file);
      return -1;
    }
    nanosleep(&pause, NULL);
  }
  return file;
}

bool tsr_cache_get_or_lock(const tsr_cache_key *key, void **data, size_t *bytes, tsr_cache_lock *lock) {
  lock->file = -1;
  if (tsr_cache_get(key, data, bytes)) return true;
  lock->file = lock_file(key);
  return tsr_cache_get(key, data, bytes);
}

/* The name goes before the lock does: whoever waits for this file finds the entry, and whoever comes later makes a new one. */
void tsr_cache_unlock(const tsr_cache_key *key, tsr_cache_lock *lock) {
  char path[PATH_MAX];
  if (lock->file < 0) return;
  if (entry_path(key, ".", ".lock", path, sizeof path)) unlink(path);
  flock(lock->file, LOCK_UN); /* a child that was forked meanwhile also has the file, but not the lock */
  close(lock->file);
  lock->file = -1;
}
