/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading ahead (kmer_stream.h). The thread fills the chunks in turn; filled - taken of them wait for the caller, and
 * the one that was taken last stays the caller's. All that both touch is under the lock but the chunks' keys, each of
 * which belongs to one side.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, pthread_condattr_setclock */

#include "core/cli/kmer_stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct chunk {
  void *keys;
  uint64_t count;
} chunk;

struct tsr_kmer_stream {
  tsr_input **inputs;
  size_t input_count;
  size_t input; /* that is read; the thread's */
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  chunk chunks[TSR_KMER_CHUNKS];
  uint64_t filled, taken; /* chunks so far */
  bool has_ended, is_closing;
  tsr_status status; /* of the thread, when it has ended */
  tsr_error error;
  tsr_kmer_facts facts;
};

/* ---- The thread ------------------------------------------------------------------------------ */

static void add_facts(tsr_sequence_facts *to, tsr_sequence_facts more) {
  to->records += more.records;
  to->bases += more.bases;
  to->kmers_skipped += more.kmers_skipped;
}

/* Fills a chunk from the files that are left; none at their end. */
static tsr_status fill(tsr_kmer_stream *s, chunk *c, tsr_error *error) {
  tsr_status status = TSR_OK;
  c->count = 0;
  while (status == TSR_OK && c->count == 0 && s->input < s->input_count) {
    tsr_input *input = s->inputs[s->input];
    status = tsr_input_kmers(input, c->keys, TSR_CHUNK_KMERS, &c->count, error);
    if (c->count == 0) s->input++;
  }
  return status;
}

static void note(tsr_kmer_stream *s, const chunk *c) {
  s->facts.sequences = (tsr_sequence_facts){.records = 0};
  s->facts.bytes_read = 0;
  for (size_t i = 0; i < s->input_count; i++) {
    add_facts(&s->facts.sequences, tsr_input_describe(s->inputs[i]));
    s->facts.bytes_read += tsr_input_consumed(s->inputs[i]);
  }
  s->facts.kmers += c->count;
}

static void *read_all(void *argument) {
  tsr_kmer_stream *s = argument;
  int former;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former); /* but where it reads, and holds no lock */
  pthread_mutex_lock(&s->lock);
  while (!s->has_ended && !s->is_closing) {
    if (s->filled - s->taken + 1 >= TSR_KMER_CHUNKS) { /* the caller's chunk is not free */
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    chunk *c = &s->chunks[s->filled % TSR_KMER_CHUNKS];
    pthread_mutex_unlock(&s->lock);
    tsr_error error = {.status = TSR_OK};
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &former);
    tsr_status status = fill(s, c, &error);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    pthread_mutex_lock(&s->lock);
    note(s, c);
    if (status == TSR_OK && c->count) {
      s->filled++;
    } else {
      s->has_ended = true;
      s->status = status;
      s->error = error;
    }
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* ---- The caller ------------------------------------------------------------------------------ */

static tsr_status open_all(tsr_kmer_stream *s, const char *const *paths, size_t count,
                           const tsr_dataset_options *options, tsr_error *error) {
  bool is_known = true;
  tsr_status status = TSR_OK;
  s->inputs = calloc(count, sizeof(tsr_input *));
  for (size_t i = 0; i < TSR_KMER_CHUNKS; i++) {
    s->chunks[i].keys = malloc((size_t)TSR_CHUNK_KMERS * (options->key_bits / 8));
    if (!s->inputs || !s->chunks[i].keys) return tsr_fail(error, TSR_NO_MEMORY, "no memory to read k-mers");
  }
  for (size_t i = 0; status == TSR_OK && i < count; i++) {
    status = tsr_input_open(paths[i], options, &s->inputs[i], error);
    if (status) break;
    s->input_count++;
    is_known = is_known && tsr_input_bytes(s->inputs[i]) > 0;
    s->facts.bytes += tsr_input_bytes(s->inputs[i]);
  }
  if (!is_known) s->facts.bytes = 0;
  return status;
}

tsr_status tsr_kmer_stream_open(const char *const *paths, size_t count, const tsr_dataset_options *options,
                                tsr_kmer_stream **stream, tsr_error *error) {
  pthread_condattr_t attributes;
  tsr_kmer_stream *s = calloc(1, sizeof *s);
  if (!s) return tsr_fail(error, TSR_NO_MEMORY, "no memory to read k-mers");
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&s->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  tsr_status status = open_all(s, paths, count, options, error);
  if (status == TSR_OK) {
    s->has_thread = pthread_create(&s->thread, NULL, read_all, s) == 0;
    if (!s->has_thread) status = tsr_fail(error, TSR_NO_MEMORY, "no thread can be started to read the files");
  }
  if (status == TSR_OK)
    *stream = s;
  else
    tsr_kmer_stream_close(s);
  return status;
}

uint64_t tsr_kmer_stream_estimate(const tsr_kmer_stream *stream) {
  enum { GZIP_RATIO = 4 }; /* of letters, 2 bits of 8 */
  uint64_t estimate = 0;
  if (!stream->facts.bytes) return 0;
  for (size_t i = 0; i < stream->input_count; i++)
    estimate += tsr_input_bytes(stream->inputs[i]) * (tsr_input_is_compressed(stream->inputs[i]) ? GZIP_RATIO : 1);
  return estimate;
}

tsr_status tsr_kmer_stream_next(tsr_kmer_stream *stream, uint32_t milliseconds, const void **keys, uint64_t *count,
                                tsr_error *error) {
  tsr_kmer_stream *s = stream;
  struct timespec until;
  bool is_late = false;
  tsr_status status = TSR_OK;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) until = (struct timespec){until.tv_sec + 1, until.tv_nsec - 1000000000};
  *keys = NULL;
  *count = 0;
  pthread_mutex_lock(&s->lock);
  while (s->taken == s->filled && !s->has_ended && !is_late)
    is_late = pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0;
  if (s->taken < s->filled) {
    const chunk *c = &s->chunks[s->taken++ % TSR_KMER_CHUNKS];
    *keys = c->keys;
    *count = c->count;
    pthread_cond_broadcast(&s->changed); /* the chunk before is free now */
  } else if (s->has_ended) {
    *keys = s->chunks[0].keys;
    status = s->status;
    if (status) *error = s->error;
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

tsr_kmer_facts tsr_kmer_stream_describe(tsr_kmer_stream *stream) {
  pthread_mutex_lock(&stream->lock);
  tsr_kmer_facts facts = stream->facts;
  pthread_mutex_unlock(&stream->lock);
  return facts;
}

void tsr_kmer_stream_close(tsr_kmer_stream *stream) {
  if (!stream) return;
  if (stream->has_thread) {
    pthread_mutex_lock(&stream->lock);
    stream->is_closing = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_cancel(stream->thread); /* it may wait in read for a pipe that nobody writes */
    pthread_join(stream->thread, NULL);
  }
  for (size_t i = 0; i < stream->input_count; i++) tsr_input_close(stream->inputs[i]);
  for (size_t i = 0; i < TSR_KMER_CHUNKS; i++) free(stream->chunks[i].keys);
  free(stream->inputs);
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->lock);
  free(stream);
}
