/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that processes share (share.h). A process has one file for all of it, so that tables use up no file numbers. Places in
 * it are never given out twice, and what is given back is a hole.
 */
#define _GNU_SOURCE /* memfd_create, fallocate */
#include "core/cpu/share.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRONT = 1 << 16 }; /* bytes before the memory, in which its place is kept: whole pages of every Linux */

typedef struct place {
  uint64_t process, file, at, bytes; /* bytes: with FRONT */
} place;
_Static_assert(sizeof(place) <= TSR_SHARED_NAME_BYTES, "a name has room for it");

static struct {
  pthread_mutex_t lock;
  int file;
  pid_t owner; /* a forked process makes a file of its own */
  uint64_t next;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

static place *front_of(void *memory) { return (place *)((char *)memory - FRONT); }

/* A place for that many bytes; file: -1 with errno where there is none. */
static place take(uint64_t bytes, int *file) {
  place made = {.bytes = (bytes + 2 * FRONT - 1) / FRONT * FRONT};
  pthread_mutex_lock(&all.lock);
  if (all.file < 0 || all.owner != getpid()) {
    if (all.file >= 0) close(all.file);
    all.file = memfd_create("tessera", MFD_CLOEXEC);
    all.owner = getpid();
    all.next = 0;
  }
  *file = all.file;
  made.process = (uint64_t)all.owner;
  made.file = (uint64_t)all.file;
  made.at = all.next;
  all.next += made.bytes;
  pthread_mutex_unlock(&all.lock);
  return made;
}

static void *map(int file, const place *p) {
  return mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)p->at);
}

tsr_status tsr_cpu_share(tsr_device *device, uint64_t bytes, void **memory, uint8_t *name, tsr_error *error) {
  int file;
  (void)device;
  const place at = take(bytes, &file);
  const int full =
      file < 0 ? errno : posix_fallocate(file, (off_t)at.at, (off_t)at.bytes); /* a later lack would kill */
  void *mapped = full ? MAP_FAILED : map(file, &at);
  if (mapped == MAP_FAILED)
    return tsr_fail(error, TSR_NO_MEMORY, "the cpu backend cannot allocate %llu bytes that processes share: %s",
                    (unsigned long long)bytes, strerror(full ? full : errno));
  *(place *)mapped = at;
  *memory = (char *)mapped + FRONT;
  memcpy(name, &at, sizeof at);
  return TSR_OK;
}

void tsr_cpu_unshare(tsr_device *device, void *memory) {
  const place at = *front_of(memory);
  (void)device;
  if (at.process == (uint64_t)getpid()) {
    const int left = fallocate((int)at.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at.at, (off_t)at.bytes);
    (void)left; /* then the memory goes with the process */
  }
  munmap(front_of(memory), at.bytes);
}

/* Maps a place of another process's file behind memory of this one alone, which keeps how large it is: the owner may give its
 * memory back first. */
static void *map_behind(int file, const place *p) {
  char *own = mmap(NULL, FRONT + p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return MAP_FAILED;
  void *mapped = mmap(own + FRONT, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)p->at);
  if (mapped == MAP_FAILED)
    munmap(own, FRONT + p->bytes);
  else
    *(place *)own = *p;
  return mapped;
}

tsr_status tsr_cpu_open_shared(tsr_device *device, const uint8_t *name, void **memory, tsr_error *error) {
  char path[64];
  place at;
  (void)device;
  memcpy(&at, name, sizeof at);
  snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)at.process, (unsigned long long)at.file);
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat of = {0};
  const bool is_there = file >= 0 && fstat(file, &of) == 0 && S_ISREG(of.st_mode);
  errno = 0;
  void *mapped = MAP_FAILED; /* what is behind the end of a file would kill who reads it */
  if (is_there && at.bytes > FRONT && at.at + at.bytes <= (uint64_t)of.st_size) mapped = map_behind(file, &at);
  if (file >= 0) close(file);
  if (mapped != MAP_FAILED && memcmp(mapped, &at, sizeof at) != 0) { /* the number of a process of another host */
    munmap((char *)mapped - FRONT, FRONT + at.bytes);
    mapped = MAP_FAILED;
  }
  if (mapped == MAP_FAILED && is_there && errno == ENOMEM)
    return tsr_fail(error, TSR_NO_MEMORY, "the cpu backend cannot map %llu bytes of another process",
                    (unsigned long long)at.bytes);
  if (mapped == MAP_FAILED)
    return tsr_fail(error, TSR_IO, "memory of process %llu cannot be opened: %s", (unsigned long long)at.process, path);
  *memory = (char *)mapped + FRONT;
  return TSR_OK;
}

void tsr_cpu_close_shared(tsr_device *device, void *memory) {
  char *own = (char *)front_of(memory) - FRONT;
  (void)device;
  munmap(own, FRONT + ((const place *)own)->bytes);
}
