/* SPDX-License-Identifier: Apache-2.0
 *
 * The k-mers of several files, read by a thread of its own while the caller works on those that it has. Memory holds
 * TSR_KMER_CHUNKS chunks, whatever the files' sizes. Read next: dataset.h (the files), count_command.c (the user).
 */
#ifndef TSR_KMER_STREAM_H
#define TSR_KMER_STREAM_H

#include "core/cli/dataset.h"

enum { TSR_KMER_CHUNKS = 3, TSR_CHUNK_KMERS = 1 << 21 };

typedef struct tsr_kmer_stream tsr_kmer_stream;

typedef struct tsr_kmer_facts { /* so far */
  tsr_sequence_facts sequences;
  uint64_t kmers;
  uint64_t bytes_read, bytes; /* of the files as they lie there; bytes is 0 where one is a pipe */
} tsr_kmer_facts;

/* Opens all files, so that a wrong path is told at once, and begins to read. The caller closes. paths[] lives as long.
 * Status: as of tsr_input_open. */
TSR_MUST_CHECK tsr_status tsr_kmer_stream_open(const char *const *paths, size_t count,
                                               const tsr_dataset_options *options, tsr_kmer_stream **stream,
                                               tsr_error *error);

/* A number that the files' k-mers hardly exceed, from their sizes; 0 where one is a pipe. */
uint64_t tsr_kmer_stream_estimate(const tsr_kmer_stream *stream);

/* Waits at most `milliseconds` for a further chunk, up to TSR_CHUNK_KMERS keys in their order: *count = 0 and *keys = NULL
 * if there was none in time, *count = 0 and *keys != NULL at the end. It is valid until the next call. Status: as of
 * tsr_sequence_next. */
TSR_MUST_CHECK tsr_status tsr_kmer_stream_next(tsr_kmer_stream *stream, uint32_t milliseconds, const void **keys,
                                               uint64_t *count, tsr_error *error);

tsr_kmer_facts tsr_kmer_stream_describe(tsr_kmer_stream *stream);

/* Ends the thread, wherever it is. NULL is fine. */
void tsr_kmer_stream_close(tsr_kmer_stream *stream);

#endif
