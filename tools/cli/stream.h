/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys and values of several files, read by a thread of its own while the caller works on those that it has. Memory
 * holds a few chunks, whatever the files' sizes; of letters, which are a byte each, more and larger ones. Read next: dataset.h
 * (one file), job.h and count_command.c (the users).
 */
#ifndef TSR_STREAM_H
#define TSR_STREAM_H

#include "tools/cli/dataset.h"

enum { TSR_CHUNK_KEYS = 1 << 21, TSR_CHUNK_LETTERS = 1 << 23, TSR_CHUNK_SPARE = 8, TSR_CAPACITY_EXPECTED = 1 << 26 };

typedef struct tsr_stream tsr_stream;

typedef struct tsr_stream_file {
  const char *path;
  tsr_dataset_options options;
  bool is_inserted; /* its keys go into a table: tsr_stream_capacity */
} tsr_stream_file;

typedef struct tsr_chunk {
  size_t file;        /* all of a chunk is of one file: its index; at the end the number of files */
  const void *keys;   /* by its key_bits; TSR_CHUNK_SPARE bytes behind them can be read */
  const void *values; /* by its value_bits; NULL where they are not wanted */
  uint64_t count;     /* 0: none in time, or the end */
} tsr_chunk;

/* Looks at all files, so that a wrong path is told at once, and begins to read them in their order, of which one is open
 * at a time. The widths of all must be the same. The caller closes; files[] and the paths live as long. Status: as of
 * tsr_input_open. */
TSR_MUST_CHECK tsr_status tsr_stream_open(const tsr_stream_file *files, size_t count, tsr_stream **stream,
                                          tsr_error *error);

/* Waits at most `milliseconds` until a few chunks are full, or all is read: *is_settled. Status: as of tsr_input_read, so
 * that what is wrong there is told before anything is done. */
TSR_MUST_CHECK tsr_status tsr_stream_settle(tsr_stream *stream, uint32_t milliseconds, bool *is_settled,
                                            tsr_error *error);

/* The capacity for the keys that are inserted: their number, where the files are read to their end or are arrays. Else it
 * is what a table that can grow begins with: as many as the files' sizes let expect, by what was read, and at most
 * TSR_CAPACITY_EXPECTED. */
uint64_t tsr_stream_capacity(tsr_stream *stream, bool *is_exact);

/* Waits at most `milliseconds` for a further chunk. It is valid until the next call. Status: as of tsr_input_read, when
 * all that was read before is handed out. */
TSR_MUST_CHECK tsr_status tsr_stream_next(tsr_stream *stream, uint32_t milliseconds, tsr_chunk *chunk,
                                          tsr_error *error);

/* Of what was read of a file so far, which may be more than was handed out. */
tsr_input_facts tsr_stream_describe(tsr_stream *stream, size_t file);

/* Ends the thread, wherever it is. NULL is fine. */
void tsr_stream_close(tsr_stream *stream);

#endif
