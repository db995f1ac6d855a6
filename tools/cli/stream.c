/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading ahead (stream.h). The thread fills the chunks in turn; filled - taken of them wait for the caller, and the one
 * that was taken last stays the caller's. All that both touch is under the lock but the chunks' arrays, each of which
 * belongs to one side, and the file that is read, which is the thread's.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, pthread_condattr_setclock */

#include "tools/cli/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNKS = 3, CHUNKS_MAX = 16 };

typedef struct buffer {
  size_t file;
  void *keys, *values;
  uint64_t count;
} buffer;

/* A file as both sides know it. */
typedef struct known {
  tsr_input_facts facts;
  bool is_read; /* to its end */
} known;

struct tsr_stream {
  const tsr_stream_file *files; /* whose options alone are looked at once it is open */
  size_t file_count;
  size_t file;      /* that is read; the thread's, as is */
  tsr_input *input; /* it; NULL before it is opened */
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  buffer buffers[CHUNKS_MAX];
  uint64_t chunks, room;  /* that are used, and the keys of one */
  uint64_t filled, taken; /* chunks so far */
  bool has_ended, is_closing;
  tsr_status status; /* of the thread, when it has ended */
  tsr_error error;
  known *known;
};

/* ---- The thread ------------------------------------------------------------------------------ */

/* Whether that many chunks wait or are the caller's. */
static bool has_chunks(const tsr_stream *s, uint64_t chunks) { return s->filled - s->taken + (s->taken > 0) >= chunks; }

/* Where the values of further keys go. */
static void *values_at(const buffer *b, const tsr_dataset_options *options) {
  return options->want_values ? (char *)b->values + b->count * (options->value_bits / 8) : NULL;
}

/* Fills a chunk from the file that is read. A chunk that ends short of its room tells that the file does as well. */
static tsr_status fill(tsr_stream *s, buffer *b, bool *is_read, tsr_error *error) {
  const tsr_dataset_options *options = &s->files[s->file].options;
  tsr_status status = TSR_OK;
  b->file = s->file;
  b->count = 0;
  *is_read = false;
  while (status == TSR_OK && !*is_read && s->room - b->count >= TSR_SEQUENCE_ROOM) {
    uint64_t got = 0;
    status = tsr_input_read(s->input, s->room - b->count, (char *)b->keys + b->count * (options->key_bits / 8),
                            values_at(b, options), &got, error);
    *is_read = got == 0;
    b->count += got;
  }
  return status;
}

/* Takes down what is known of the file that is read, and what was filled. */
static void note(tsr_stream *s, const buffer *b, bool is_read) {
  s->known[s->file] = (known){tsr_input_describe(s->input), is_read};
  if (b->count) s->filled++;
  if (!is_read) return;
  tsr_input_close(s->input);
  s->input = NULL;
  s->file++;
}

/* A file is opened when those before it are read and closed: however many there are, one reader takes memory. Not where
 * the thread can be cancelled, for what is being opened would be lost. */
static tsr_status open_next(tsr_stream *s, tsr_error *error) {
  const tsr_stream_file *file = &s->files[s->file];
  return s->input ? TSR_OK : tsr_input_open(file->path, &file->options, &s->input, error);
}

static void *read_all(void *argument) {
  tsr_stream *s = argument;
  int former;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former); /* but where it reads, and holds no lock */
  pthread_mutex_lock(&s->lock);
  while (!s->is_closing && !s->has_ended) {
    if (has_chunks(s, s->chunks)) {
      pthread_cond_wait(&s->changed, &s->lock);
      continue;
    }
    buffer *b = &s->buffers[s->filled % s->chunks];
    bool is_read = false;
    pthread_mutex_unlock(&s->lock);
    tsr_error error = {.status = TSR_OK};
    tsr_status status = open_next(s, &error);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &former);
    if (status == TSR_OK) status = fill(s, b, &is_read, &error);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    pthread_mutex_lock(&s->lock);
    if (status == TSR_OK) note(s, b, is_read);
    s->has_ended = status != TSR_OK || s->file == s->file_count;
    s->status = status;
    s->error = error;
    pthread_cond_broadcast(&s->changed);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static tsr_status allocate(tsr_stream *s, tsr_error *error) {
  uint32_t key_bits = 0, value_bits = 0;
  for (size_t i = 0; i < s->file_count; i++) {
    key_bits = s->files[i].options.key_bits;
    if (s->files[i].options.want_values) value_bits = s->files[i].options.value_bits;
  }
  s->known = calloc(s->file_count, sizeof *s->known);
  bool is_all = s->known != NULL;
  s->chunks = key_bits == TSR_LETTER_BITS ? CHUNKS_MAX : CHUNKS;
  s->room = key_bits == TSR_LETTER_BITS ? TSR_CHUNK_LETTERS : TSR_CHUNK_KEYS;
  for (size_t i = 0; i < s->chunks; i++) {
    s->buffers[i].keys = malloc((size_t)s->room * (key_bits / 8) + TSR_CHUNK_SPARE);
    s->buffers[i].values = malloc((size_t)s->room * (value_bits / 8) + 1);
    is_all = is_all && s->buffers[i].keys && s->buffers[i].values;
  }
  return is_all ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory to read files");
}

static tsr_status look_at_all(tsr_stream *s, tsr_error *error) {
  bool has_standard = false;
  for (size_t i = 0; i < s->file_count; i++) {
    const bool is_standard = strcmp(s->files[i].path, "-") == 0;
    if (is_standard && has_standard)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "-: standard input is named twice, and can be read once");
    has_standard = has_standard || is_standard;
    tsr_status status = tsr_input_look(s->files[i].path, &s->files[i].options, &s->known[i].facts, error);
    if (status) return status;
  }
  return TSR_OK;
}

tsr_status tsr_stream_open(const tsr_stream_file *files, size_t count, tsr_stream **stream, tsr_error *error) {
  pthread_condattr_t attributes;
  tsr_stream *s = calloc(1, sizeof *s);
  if (!s) return tsr_fail(error, TSR_NO_MEMORY, "no memory to read files");
  s->files = files;
  s->file_count = count;
  s->has_ended = count == 0;
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&s->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  tsr_status status = count ? allocate(s, error) : TSR_OK;
  if (status == TSR_OK) status = look_at_all(s, error);
  if (status == TSR_OK && count) {
    s->has_thread = pthread_create(&s->thread, NULL, read_all, s) == 0;
    if (!s->has_thread)
      status = tsr_fail(error, TSR_NO_MEMORY, "no thread can be started to read files: allow more of them (ulimit -u)");
  }
  if (status == TSR_OK)
    *stream = s;
  else
    tsr_stream_close(s);
  return status;
}

void tsr_stream_close(tsr_stream *stream) {
  if (!stream) return;
  if (stream->has_thread) {
    pthread_mutex_lock(&stream->lock);
    stream->is_closing = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_cancel(stream->thread); /* it may wait for a pipe that nobody writes */
    pthread_join(stream->thread, NULL);
  }
  tsr_input_close(stream->input);
  for (size_t i = 0; i < CHUNKS_MAX; i++) {
    free(stream->buffers[i].keys);
    free(stream->buffers[i].values);
  }
  free(stream->known);
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->lock);
  free(stream);
}

/* ---- The caller ------------------------------------------------------------------------------ */

static struct timespec time_in(uint32_t milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) until = (struct timespec){until.tv_sec + 1, until.tv_nsec - 1000000000};
  return until;
}

tsr_status tsr_stream_settle(tsr_stream *stream, uint32_t milliseconds, bool *is_settled, tsr_error *error) {
  const struct timespec until = time_in(milliseconds);
  bool is_late = false;
  pthread_mutex_lock(&stream->lock);
  while (!stream->has_ended && !has_chunks(stream, CHUNKS) && !is_late)
    is_late = pthread_cond_timedwait(&stream->changed, &stream->lock, &until) != 0;
  *is_settled = stream->has_ended || has_chunks(stream, CHUNKS);
  tsr_status status = stream->has_ended ? stream->status : TSR_OK;
  if (status) *error = stream->error;
  pthread_mutex_unlock(&stream->lock);
  return status;
}

/* 0: nothing is known of it. */
static uint64_t expected_keys(const tsr_input_facts *f, uint32_t kmers) {
  enum { BYTES_A_LINE = 8 };
  if (f->keys && f->bytes_read) return (uint64_t)((double)f->keys * (double)f->bytes / (double)f->bytes_read);
  return kmers ? f->bytes : f->bytes / BYTES_A_LINE + 1;
}

uint64_t tsr_stream_capacity(tsr_stream *stream, bool *is_exact) {
  bool is_known = true;
  uint64_t keys = 0;
  *is_exact = true;
  pthread_mutex_lock(&stream->lock);
  for (size_t i = 0; i < stream->file_count; i++) {
    const tsr_input_facts *f = &stream->known[i].facts;
    if (!stream->files[i].is_inserted) continue;
    const bool is_counted = stream->known[i].is_read || f->keys_known || f->is_others;
    *is_exact = *is_exact && is_counted;
    is_known = is_known && (is_counted || f->bytes);
    keys += f->keys_known ? f->keys_known : is_counted ? f->keys : expected_keys(f, stream->files[i].options.kmers);
  }
  pthread_mutex_unlock(&stream->lock);
  if (!*is_exact && (!is_known || keys > TSR_CAPACITY_EXPECTED)) return TSR_CAPACITY_EXPECTED;
  return keys;
}

tsr_status tsr_stream_next(tsr_stream *stream, uint32_t milliseconds, tsr_chunk *chunk, tsr_error *error) {
  tsr_stream *s = stream;
  const struct timespec until = time_in(milliseconds);
  bool is_late = false;
  tsr_status status = TSR_OK;
  *chunk = (tsr_chunk){.count = 0};
  pthread_mutex_lock(&s->lock);
  while (s->taken == s->filled && !s->has_ended && !is_late)
    is_late = pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0;
  if (s->taken < s->filled) {
    const buffer *b = &s->buffers[s->taken++ % s->chunks];
    const bool has_values = s->files[b->file].options.want_values;
    *chunk = (tsr_chunk){b->file, b->keys, has_values ? b->values : NULL, b->count};
    pthread_cond_broadcast(&s->changed); /* the chunk before is free now */
  } else if (s->has_ended) {
    chunk->file = s->file_count;
    status = s->status;
    if (status) *error = s->error;
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

tsr_input_facts tsr_stream_describe(tsr_stream *stream, size_t file) {
  pthread_mutex_lock(&stream->lock);
  const tsr_input_facts facts = stream->known[file].facts;
  pthread_mutex_unlock(&stream->lock);
  return facts;
}
