/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the rows of results; rows.h says in which formats.
 */
#define _DEFAULT_SOURCE 1 /* htole64 */

#include "core/cli/rows.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/data_file.h"
#include "core/cli/npy.h"
#include "core/spec/file.h"

/* ---- The rows -------------------------------------------------------------------------------- */

enum { TSR_ROW_BYTES_MAX = 48 }; /* two numbers of 20 digits, a tab and a line end; three binary ones have 24 */

typedef struct tsr_row_writer {
  const tsr_file *file;
  int failure; /* errno of the first write that failed, or 0 */
  size_t used;
  char bytes[1 << 16];
} tsr_row_writer;

static void flush_rows(tsr_row_writer *w) {
  if (w->failure == 0) {
    w->failure = tsr_file_write(w->file, w->bytes, w->used);
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
  if (rows->found || rows->value_bits > 0) {
    w->bytes[w->used++] = '\t';
    if (is_found && rows->value_bits > 0) {
      add_decimal(w, tsr_number_at(rows->values, rows->value_bits, i));
    } else {
      w->bytes[w->used++] = is_found ? '+' : '-';
    }
  }
  w->bytes[w->used++] = '\n';
}

/* key, value and found; of a pair, key and value; of a key alone, the key. */
static uint32_t columns_of(const tsr_rows *rows) { return rows->found ? 3 : rows->value_bits ? 2 : 1; }

/* A row of an array: key, value, and whether it was found; without a value, 0. */
static void add_numbers(tsr_row_writer *w, const tsr_rows *rows, uint64_t i, bool is_found) {
  uint64_t value = is_found && rows->value_bits > 0 ? tsr_number_at(rows->values, rows->value_bits, i) : 0;
  const uint64_t row[] = {htole64(tsr_number_at(rows->keys, rows->key_bits, i)), htole64(value), htole64(is_found)};
  const size_t bytes = columns_of(rows) * sizeof row[0];
  memcpy(w->bytes + w->used, row, bytes);
  w->used += bytes;
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
  tsr_npy_header(count, block_count ? columns_of(blocks) : 3, w->bytes);
  w->used = TSR_NPY_HEADER_BYTES;
}

/* Writes all blocks to an open file; 0, or the errno of what failed. `name` tells the format by its ending. */
static int write_blocks(const tsr_file *file, const char *name, const tsr_rows *blocks, size_t block_count) {
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
  tsr_file file;
  int failure = tsr_file_begin_output(&file, path);
  if (failure == 0) {
    failure = tsr_file_end(&file, write_blocks(&file, path, blocks, block_count));
  }
  return failure == 0 ? TSR_OK : rows_failed(strcmp(path, "-") == 0 ? "standard output" : path, failure, error);
}
