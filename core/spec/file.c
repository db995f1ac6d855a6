/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that appear whole or not at all (file.h).
 */
#define _GNU_SOURCE /* O_CLOEXEC, O_TMPFILE, realpath, dup */
#include "core/spec/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PERMISSIONS = 0777, BLOCK_BYTES = 4096 };

/* O_NONBLOCK makes opening a pipe that nobody reads fail instead of wait. */
static int begin_in_place(tsr_file *file, const char *path) {
  file->descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file->descriptor < 0) return errno;
  if (fcntl(file->descriptor, F_SETFL, 0) == 0) return 0;
  return tsr_file_end(file, errno);
}

static int begin_standard_output(tsr_file *file) {
  if (fflush(stdout) != 0) return errno;
  file->descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  return file->descriptor < 0 ? errno : 0;
}

/* Calls `attempt` with the temporary names, which have the process in them, so that runs do not meet, until one is free.
 * Returns 0, or an errno; then there is no temporary name. */
static int name_temporary(tsr_file *file, int (*attempt)(tsr_file *file, mode_t mode), mode_t mode) {
  int failure = EEXIST;
  for (int i = 0; failure == EEXIST && i < 100; i++) {
    int length = snprintf(file->temporary, sizeof file->temporary, "%s.%ld.%d.tmp", file->target, (long)getpid(), i);
    failure = length < 0 || (size_t)length >= sizeof file->temporary ? ENAMETOOLONG : attempt(file, mode);
  }
  if (failure) file->temporary[0] = '\0';
  return failure;
}

static int open_named(tsr_file *file, mode_t mode) {
  file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  return file->descriptor < 0 ? errno : 0;
}

/* The way to the open file that linkat can follow. */
enum { DESCRIPTOR_PATH_BYTES = 32 };
static void descriptor_path(const tsr_file *file, char path[DESCRIPTOR_PATH_BYTES]) {
  snprintf(path, DESCRIPTOR_PATH_BYTES, "/proc/self/fd/%d", file->descriptor);
}

static int link_unnamed(tsr_file *file, mode_t mode) {
  (void)mode; /* the file has one */
  char path[DESCRIPTOR_PATH_BYTES];
  descriptor_path(file, path);
  return linkat(AT_FDCWD, path, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* False where this file system has no unnamed files, or nothing could name one. */
static bool open_unnamed(tsr_file *file, mode_t mode) {
  char folder[PATH_MAX], path[DESCRIPTOR_PATH_BYTES];
  memcpy(folder, file->target, sizeof folder);
  char *slash = strrchr(folder, '/');
  if (slash)
    slash[slash == folder] = '\0'; /* the root keeps it */
  else
    memcpy(folder, ".", 2);
  file->descriptor = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  if (file->descriptor < 0) return false;
  descriptor_path(file, path);
  if (access(path, F_OK) == 0) return true; /* /proc is there */
  close(file->descriptor);
  file->descriptor = -1;
  return false;
}

/* Named from the beginning: listed until the name is gone. */
static int begin_named(tsr_file *file, mode_t mode) {
  tsr_leftover_hold();
  int failure = name_temporary(file, open_named, mode);
  if (!failure) tsr_leftover_add(&file->leftover, file->temporary);
  tsr_leftover_release();
  return failure;
}

/* mode: never wider than the old file's, not for a moment; fchmod gives back what the umask took. */
static int begin_beside(tsr_file *file, mode_t mode, bool is_there) {
  int failure = open_unnamed(file, mode) ? 0 : begin_named(file, mode);
  if (failure) return failure;
  if (is_there && fchmod(file->descriptor, mode) != 0) return tsr_file_end(file, errno);
  return 0;
}

int tsr_file_begin(tsr_file *file, const char *path, unsigned mode) {
  struct stat old;
  *file = (tsr_file){.descriptor = -1};
  if (!path[0]) return ENOENT;
  const bool is_there = stat(path, &old) == 0;
  if (is_there && !S_ISREG(old.st_mode)) return S_ISDIR(old.st_mode) ? EISDIR : EINVAL;
  if (is_there && access(path, W_OK) != 0) return errno; /* rename would replace even a write-protected file */
  if (strlen(path) >= sizeof file->target) return ENAMETOOLONG;
  if (!is_there || !realpath(path, file->target)) memcpy(file->target, path, strlen(path) + 1);
  return begin_beside(file, is_there ? old.st_mode & PERMISSIONS : mode, is_there);
}

bool tsr_file_is_stream(const char *path) {
  struct stat old;
  return strcmp(path, "-") == 0 || (stat(path, &old) == 0 && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode));
}

int tsr_file_begin_output(tsr_file *file, const char *path) {
  *file = (tsr_file){.descriptor = -1};
  if (strcmp(path, "-") == 0) return begin_standard_output(file);
  return tsr_file_is_stream(path) ? begin_in_place(file, path) : tsr_file_begin(file, path, 0666);
}

int tsr_file_check_output(const char *path) {
  tsr_file file;
  if (tsr_file_is_stream(path)) return 0;
  int failure = tsr_file_begin(&file, path, 0600);
  return failure ? failure : tsr_file_end(&file, ECANCELED) == ECANCELED ? 0 : EIO;
}

int tsr_file_begin_again(tsr_file *file, const char *path, const char *spare, tsr_blocks *blocks) {
  struct stat old;
  *file = (tsr_file){.descriptor = -1, .blocks = blocks};
  if (strlen(path) >= sizeof file->target || strlen(spare) >= sizeof file->temporary) return ENAMETOOLONG;
  file->descriptor = open(spare, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file->descriptor < 0) return errno;
  memcpy(file->target, path, strlen(path) + 1);
  memcpy(file->temporary, spare, strlen(spare) + 1);
  if (fstat(file->descriptor, &old) != 0) return tsr_file_end(file, errno);
  if ((uint64_t)old.st_size != blocks->end || !S_ISREG(old.st_mode)) blocks->count = 0;
  blocks->end = blocks->written = 0;
  return 0;
}

static int write_at(int descriptor, const char *data, size_t bytes, off_t at) {
  for (size_t done = 0; done < bytes;) {
    ssize_t put = pwrite(descriptor, data + done, bytes - done, at + (off_t)done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put == 0 ? EIO : errno;
    done += (size_t)put;
  }
  return 0;
}

static bool reserve(tsr_blocks *b, uint64_t count) {
  if (count <= b->count) return true;
  uint64_t *sums = realloc(b->sums, count * sizeof *sums);
  if (!sums) return false;
  memset(sums + b->count, 0, (count - b->count) * sizeof *sums);
  b->sums = sums;
  b->count = count;
  return true;
}

/* A part of a block is always written: its block's sum is not known then. */
static bool is_changed(tsr_blocks *b, uint64_t block, const char *data, size_t bytes) {
  const uint64_t old = b->sums[block];
  b->sums[block] = bytes == BLOCK_BYTES ? XXH3_64bits(data, bytes) | 1 : 0;
  return !b->sums[block] || b->sums[block] != old;
}

static int write_changed(const tsr_file *file, const char *data, size_t bytes) {
  tsr_blocks *b = file->blocks;
  const off_t at = lseek(file->descriptor, 0, SEEK_CUR);
  size_t first = 0; /* that is to be written, up to `done` */
  int failure = at < 0 ? errno : reserve(b, ((uint64_t)at + bytes) / BLOCK_BYTES + 1) ? 0 : ENOMEM;
  for (size_t done = 0, step; !failure && done < bytes; done += step) {
    const uint64_t from = (uint64_t)at + done, room = BLOCK_BYTES - from % BLOCK_BYTES;
    step = bytes - done < room ? bytes - done : room;
    const bool ends = !is_changed(b, from / BLOCK_BYTES, data + done, step), is_last = done + step == bytes;
    const size_t last = ends ? done : done + step;
    if (!ends && !is_last) continue;
    failure = write_at(file->descriptor, data + first, last - first, at + (off_t)first);
    b->written += last - first;
    first = done + step;
  }
  if (!failure && lseek(file->descriptor, at + (off_t)bytes, SEEK_SET) < 0) failure = errno;
  if ((uint64_t)at + bytes > b->end) b->end = (uint64_t)at + bytes;
  return failure;
}

int tsr_file_write(const tsr_file *file, const void *data, size_t bytes) {
  if (file->blocks) return write_changed(file, data, bytes);
  for (size_t done = 0; done < bytes;) {
    ssize_t put = write(file->descriptor, (const char *)data + done, bytes - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put == 0 ? EIO : errno;
    done += (size_t)put;
  }
  return 0;
}

/* The new file takes the name: by one step where nothing has it, otherwise by a name of its own and a rename. */
static int take_name(tsr_file *file) {
  char path[DESCRIPTOR_PATH_BYTES];
  if (!file->temporary[0]) {
    descriptor_path(file, path);
    if (linkat(AT_FDCWD, path, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW) == 0) return 0;
    int failure = errno == EEXIST ? name_temporary(file, link_unnamed, 0) : errno;
    if (failure) return failure;
  }
  return rename(file->temporary, file->target) == 0 ? 0 : errno;
}

int tsr_file_end(tsr_file *file, int failure) {
  const bool takes_name = file->target[0] != '\0';
  if (!failure && file->blocks && ftruncate(file->descriptor, (off_t)file->blocks->end) != 0) failure = errno;
  if (!failure && takes_name && fsync(file->descriptor) != 0) failure = errno;
  tsr_leftover_hold(); /* nobody ends the process between the two steps of a replacement */
  if (!failure && takes_name) failure = take_name(file);
  if (close(file->descriptor) != 0 && !failure) failure = errno;
  if (failure && file->temporary[0]) unlink(file->temporary);
  if (failure && file->blocks) file->blocks->count = 0;
  tsr_leftover_drop(&file->leftover);
  tsr_leftover_release();
  return failure;
}
