/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that processes share (share.h).
 */
#define _GNU_SOURCE /* memfd_create */
#include "core/cpu/share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRONT = TSR_MAP_PAGE }; /* bytes before the memory, in which the owner keeps these */
typedef struct front {
  uint64_t bytes; /* of all */
  int file;
} front;

typedef struct place {
  uint64_t process, file;
} place;
_Static_assert(sizeof(place) <= TSR_SHARED_NAME_BYTES, "a name has room for it");

static front *front_of(void *memory) { return (front *)((char *)memory - FRONT); }

static tsr_status map(int file, uint64_t bytes, void **memory, tsr_error *error) {
  void *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all == MAP_FAILED)
    return tsr_fail(error, TSR_NO_MEMORY, "the cpu backend cannot map %llu bytes that processes share: %s",
                    (unsigned long long)bytes, strerror(errno));
  *memory = (char *)all + FRONT;
  return TSR_OK;
}

tsr_status tsr_cpu_share(tsr_device *device, uint64_t bytes, void **memory, uint8_t *name, tsr_error *error) {
  const uint64_t all = bytes + FRONT;
  (void)device;
  const int file = memfd_create("tessera", MFD_CLOEXEC);
  const int full =
      file < 0 ? errno : posix_fallocate(file, 0, (off_t)all); /* what is not there would end the process */
  tsr_status status =
      full ? tsr_fail(error, TSR_NO_MEMORY, "the cpu backend cannot allocate %llu bytes that processes share: %s",
                      (unsigned long long)bytes, strerror(full))
           : map(file, all, memory, error);
  if (status) {
    if (file >= 0) close(file);
    return status;
  }
  *front_of(*memory) = (front){all, file};
  const place at = {(uint64_t)getpid(), (uint64_t)file};
  memcpy(name, &at, sizeof at);
  return TSR_OK;
}

void tsr_cpu_unshare(tsr_device *device, void *memory) {
  const front of = *front_of(memory);
  (void)device;
  munmap(front_of(memory), of.bytes);
  close(of.file);
}

tsr_status tsr_cpu_open_shared(tsr_device *device, const uint8_t *name, void **memory, tsr_error *error) {
  char path[64];
  place at;
  (void)device;
  memcpy(&at, name, sizeof at);
  snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)at.process, (unsigned long long)at.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  const off_t bytes = file < 0 ? -1 : lseek(file, 0, SEEK_END);
  tsr_status status = bytes <= FRONT ? tsr_fail(error, TSR_IO, "memory of process %llu cannot be opened: %s",
                                                (unsigned long long)at.process, strerror(errno))
                                     : map(file, (uint64_t)bytes, memory, error);
  if (file >= 0) close(file);
  return status;
}

void tsr_cpu_close_shared(tsr_device *device, void *memory) {
  (void)device;
  munmap(front_of(memory), front_of(memory)->bytes);
}
