/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the rows of results, into a buffer first and then to a new file that takes the name when it is whole; rows.h
 * says in which formats.
 */
#define _DEFAULT_SOURCE 1 /* POSIX calls, realpath, htole64 */

#include "core/cli/rows.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/data_file.h"
#include "core/cli/npy.h"

/* ---- The rows -------------------------------------------------------------------------------- */

enum { TSR_ROW_BYTES_MAX = 48 }; /* two numbers of 20 digits, a tab and a line end; three binary ones have 24 */

typedef struct tsr_row_writer {
  int file;
  int failure; /* errno of the first write that failed, or 0 */
  size_t used;
  char bytes[1 << 16];
} tsr_row_writer;

static void flush_rows(tsr_row_writer *w) {
  size_t done = 0;
  while (w->failure == 0 && done < w->used) {
    ssize_t got = write(w->file, w->bytes + done, w->used - done);
    if (got > 0) {
      done += (size_t)got;
    } else if (got == 0 || errno != EINTR) {
      w->failure = got == 0 ? EIO : errno;
    }
  }
  w->used = 0;
}

static void add_decimal(tsr_row_writer *w, uint64_t value) {
  char digits[20];
  size_t n = sizeof digits;
  do {
    digits[--n] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  memcpy(w->bytes + w->used, digits + n, sizeof digits - n);
  w->used += sizeof digits - n;
}

static void add_line(tsr_row_writer *w, const tsr_rows *rows, uint64_t i, bool is_found) {
  add_decimal(w, tsr_number_at(rows->keys, rows->key_bits, i));
  w->bytes[w->used++] = '\t';
  if (!is_found) {
    w->bytes[w->used++] = '-';
  } else if (rows->value_bits == 0) {
    w->bytes[w->used++] = '+';
  } else {
    add_decimal(w, tsr_number_at(rows->values, rows->value_bits, i));
  }
  w->bytes[w->used++] = '\n';
}

/* A row of an array: key, value, and whether it was found; without a value, 0. */
static void add_numbers(tsr_row_writer *w, const tsr_rows *rows, uint64_t i, bool is_found) {
  uint64_t value = is_found && rows->value_bits > 0 ? tsr_number_at(rows->values, rows->value_bits, i) : 0;
  uint64_t row[TSR_NPY_COLUMNS] = {htole64(tsr_number_at(rows->keys, rows->key_bits, i)), htole64(value),
                                   htole64(is_found)};
  memcpy(w->bytes + w->used, row, sizeof row);
  w->used += sizeof row;
}

static void add_rows(tsr_row_writer *w, const tsr_rows *rows, bool is_npy) {
  for (uint64_t i = 0; i < rows->count && w->failure == 0; i++) {
    bool is_found = !rows->found || rows->found[i];
    if (w->used + TSR_ROW_BYTES_MAX > sizeof w->bytes) {
      flush_rows(w);
    }
    if (is_npy) {
      add_numbers(w, rows, i, is_found);
    } else {
      add_line(w, rows, i, is_found);
    }
  }
}

static void add_npy_header(tsr_row_writer *w, const tsr_rows *blocks, size_t block_count) {
  uint64_t count = 0;
  for (size_t i = 0; i < block_count; i++) {
    count += blocks[i].count;
  }
  tsr_npy_header(count, w->bytes);
  w->used = TSR_NPY_HEADER_BYTES;
}

/* Writes all blocks to an open file; 0, or the errno of what failed. `name` tells the format by its ending. */
static int write_blocks(int file, const char *name, const tsr_rows *blocks, size_t block_count) {
  tsr_row_writer *w = malloc(sizeof *w);
  if (!w) {
    return ENOMEM;
  }
  w->file = file;
  w->failure = 0;
  w->used = 0;
  bool is_npy = tsr_name_ends(name, strlen(name), ".npy");
  if (is_npy) {
    add_npy_header(w, blocks, block_count);
  }
  for (size_t i = 0; i < block_count; i++) {
    add_rows(w, &blocks[i], is_npy);
  }
  flush_rows(w);
  int failure = w->failure;
  free(w);
  return failure;
}

/* ---- The file -------------------------------------------------------------------------------- */

static tsr_status rows_failed(const char *path, int failure, tsr_error *error) {
  return tsr_fail(error, failure == ENOMEM ? TSR_NO_MEMORY : TSR_IO, "%s: the rows cannot be written: %s", path,
                  strerror(failure));
}

/* Makes a new file beside `target`. Its name has the process in it, so that runs do not meet. */
static int open_beside(const char *target, char *name, size_t name_bytes) {
  int file = -1;
  for (int i = 0; file < 0 && i < 100; i++) {
    int length = snprintf(name, name_bytes, "%s.%ld.%d.tmp", target, (long)getpid(), i);
    if (length < 0 || (size_t)length >= name_bytes) {
      errno = ENAMETOOLONG;
      return -1;
    }
    file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) {
      return -1;
    }
  }
  return file;
}

/* `target` is the regular file that `path` names, or does not exist; `old` is NULL then. 0, or an errno. */
static int replace_file(const char *path, const char *target, const struct stat *old, const tsr_rows *blocks,
                        size_t block_count) {
  char name[PATH_MAX];
  if (old && access(target, W_OK) != 0) { /* rename would replace even a write-protected file */
    return errno;
  }
  int file = open_beside(target, name, sizeof name);
  if (file < 0) {
    return errno;
  }
  int failure = old && fchmod(file, old->st_mode & 0777) != 0 ? errno : 0;
  if (failure == 0) {
    failure = write_blocks(file, path, blocks, block_count);
  }
  if (failure == 0 && fsync(file) != 0) {
    failure = errno;
  }
  if (close(file) != 0 && failure == 0) {
    failure = errno;
  }
  if (failure == 0 && rename(name, target) != 0) {
    failure = errno;
  }
  if (failure != 0) {
    unlink(name);
  }
  return failure;
}

/* A device or a pipe cannot be replaced. O_NONBLOCK makes opening a pipe that nobody reads fail. */
static int write_in_place(const char *target, const tsr_rows *blocks, size_t block_count) {
  int file = open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) {
    return errno;
  }
  int failure = fcntl(file, F_SETFL, 0) != 0 ? errno : write_blocks(file, target, blocks, block_count);
  if (close(file) != 0 && failure == 0) {
    failure = errno;
  }
  return failure;
}

static tsr_status check_rows(const tsr_rows *blocks, size_t block_count, tsr_error *error) {
  for (size_t i = 0; i < block_count; i++) {
    const tsr_rows *rows = &blocks[i];
    bool is_key_width = rows->key_bits == 32 || rows->key_bits == 64;
    bool is_value_width = rows->value_bits == 0 || rows->value_bits == 32 || rows->value_bits == 64;
    bool has_arrays = rows->keys && (rows->values || rows->value_bits == 0);
    if (!is_key_width || !is_value_width || (rows->count > 0 && !has_arrays)) {
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "tsr_rows_write: block %zu has key_bits = %u, value_bits = %u or arrays that "
                      "are missing: see rows.h",
                      i, rows->key_bits, rows->value_bits);
    }
  }
  return TSR_OK;
}

tsr_status tsr_rows_write(const char *path, const tsr_rows *blocks, size_t block_count, tsr_error *error) {
  if (!path || (!blocks && block_count > 0)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_rows_write: path and blocks must not be NULL");
  }
  tsr_status status = check_rows(blocks, block_count, error);
  if (status != TSR_OK) {
    return status;
  }
  int failure = 0;
  struct stat old;
  if (strcmp(path, "-") == 0) {
    failure = fflush(stdout) != 0 ? errno : write_blocks(STDOUT_FILENO, path, blocks, block_count);
    return failure == 0 ? TSR_OK : rows_failed("standard output", failure, error);
  }
  bool is_there = stat(path, &old) == 0;
  if (is_there && S_ISDIR(old.st_mode)) {
    failure = EISDIR;
  } else if (is_there && !S_ISREG(old.st_mode)) {
    failure = write_in_place(path, blocks, block_count);
  } else {
    char *target = realpath(path, NULL); /* what a link names is replaced, not the link */
    failure = replace_file(path, target ? target : path, is_there ? &old : NULL, blocks, block_count);
    free(target);
  }
  return failure == 0 ? TSR_OK : rows_failed(path, failure, error);
}
