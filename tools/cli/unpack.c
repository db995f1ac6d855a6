/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that decodes a compressed file (unpack.h).
 */
#define _POSIX_C_SOURCE 200809L /* read */

#include "tools/cli/unpack.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/members.h"
#include "tools/cli/team.h"

enum {
  PIECES = 2,
#ifdef TSR_SMALL_BLOCKS
  PIECE_BYTES = 1 << 12,
  READ_BYTES = 1 << 9,
  SEARCHED_BYTES = 1 << 13,
#else
  PIECE_BYTES = 1 << 20, /* of text; more where many members are decoded at once */
  READ_BYTES = 1 << 18,
  SEARCHED_BYTES = 1 << 25, /* of the file, where members are searched for */
#endif
  BGZIP_HEAD_BYTES = 18,
  BGZIP_END_BYTES = 28
};

/* The empty block with which bgzip ends a file. */
static const unsigned char bgzip_end[BGZIP_END_BYTES] = {0x1f, 0x8b, 8,  4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C',
                                                         2,    0,    27, 0, 3, 0, 0, 0, 0, 0,    0, 0, 0,   0};

typedef struct piece {
  unsigned char *text;
  size_t room, at, bytes;
  uint64_t from, consumed; /* bytes of the file up to its begin and its end */
} piece;

/* What the file holds; the thread's alone. */
typedef struct input {
  const tsr_format *format;
  tsr_decoder *decoder;
  unsigned char *bytes; /* `room` of them; begin to end is not decoded */
  size_t room, begin, end;
  uint64_t read, decoded;                                      /* bytes of the file, and of the text */
  bool is_all;                                                 /* the file has ended */
  bool is_in_stream;                                           /* a compressed stream has begun and not ended */
  bool has_stream;                                             /* one has ended */
  size_t most;                                                 /* members that are decoded at once; 0: none */
  unsigned char head[BGZIP_HEAD_BYTES], tail[BGZIP_END_BYTES]; /* the file's first and last bytes */
} input;

struct tsr_unpack {
  int file;
  const char *path;
  input in;
  tsr_members members; /* the thread's, as was */
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  piece pieces[PIECES];
  uint64_t filled, taken; /* pieces so far */
  bool has_ended, is_closing, lacks_end;
  tsr_status status; /* of the thread, when it has ended */
  tsr_error error;
  uint64_t consumed; /* the caller's */
};

/* ---- The file -------------------------------------------------------------------------------- */

static tsr_status no_memory(const tsr_unpack *u, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to decompress", u->path);
}

/* Keeps the first and the last bytes of the file. */
static void note_ends(input *in, const unsigned char *bytes, size_t count) {
  const size_t room = sizeof in->tail, from_former = count < room ? room - count : 0;
  memmove(in->tail, in->tail + room - from_former, from_former);
  memcpy(in->tail + from_former, bytes + count - (room - from_former), room - from_former);
  for (size_t i = 0; i < count && in->read + i < sizeof in->head; i++) in->head[in->read + i] = bytes[i];
}

/* Whether this is a file of bgzip without the block that it ends one with. */
static bool lacks_end(const input *in) {
  return memcmp(in->head, "\x1f\x8b\x08\x04", 4) == 0 && memcmp(in->head + 12, "BC", 2) == 0 &&
         memcmp(in->tail, bgzip_end, sizeof in->tail) != 0;
}

static void note_input(input *in, size_t count) {
  note_ends(in, in->bytes + in->end, count);
  in->end += count;
  in->read += count;
  in->is_all = count == 0;
}

/* Reads further input, for which there is room if not all of it is input already. */
static tsr_status read_some(tsr_unpack *u, tsr_error *error) {
  input *in = &u->in;
  ssize_t got;
  int former;
  if (in->begin) memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
  in->end -= in->begin;
  in->begin = 0;
  const size_t left = in->room - in->end;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &former); /* here alone: it may be a pipe that nobody writes */
  do {
    got = read(u->file, in->bytes + in->end, left < READ_BYTES ? left : READ_BYTES);
  } while (got < 0 && errno == EINTR);
  pthread_setcancelstate(former, NULL);
  if (got < 0) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", u->path, strerror(errno));
  note_input(in, (size_t)got);
  return TSR_OK;
}

/* ---- Decoding -------------------------------------------------------------------------------- */

static bool make_room(piece *p, size_t bytes) {
  if (p->room - p->bytes >= bytes) return true;
  unsigned char *text = realloc(p->text, p->bytes + bytes);
  if (!text) return false;
  p->text = text;
  p->room = p->bytes + bytes;
  return true;
}

/* Decodes members by all cores, if what comes next are some. As many are tried as were right before, and twice that: so damage,
 * or bytes that look like a member, cost little. */
static tsr_status decode_members(tsr_unpack *u, piece *p, bool *has_some, tsr_error *error) {
  input *in = &u->in;
  tsr_members *m = &u->members;
  tsr_status status = TSR_OK;
  *has_some = false;
  memset(m, 0, sizeof *m);
  for (bool is_searched = false; status == TSR_OK && !is_searched;) {
    tsr_members_search(m, in->bytes + in->begin, in->end - in->begin, in->is_all, in->most);
    is_searched = m->is_complete || in->is_all || in->end - in->begin == in->room;
    if (!is_searched) status = read_some(u, error);
  }
  if (status || !m->count || !make_room(p, m->text_bytes + 1)) return status; /* one decodes what has no room */
  const size_t right = tsr_members_decode(m, in->bytes + in->begin, p->text + p->bytes);
  in->most = right < m->count ? 1 : in->most < TSR_MEMBERS_MAX ? 2 * in->most : in->most;
  if (!right) return TSR_OK;
  const tsr_member *last = &m->all[right - 1];
  in->begin += last->to;
  p->bytes += last->at + last->bytes;
  in->decoded += last->at + last->bytes;
  *has_some = in->has_stream = true;
  return TSR_OK;
}

/* Decodes what is input, until it is used up, a stream ends or there is no room. */
static tsr_status decode_stream(tsr_unpack *u, piece *p, tsr_error *error) {
  input *in = &u->in;
  tsr_pieces pieces = {in->bytes + in->begin, in->end - in->begin, p->text + p->bytes, p->room - p->bytes};
  const tsr_decoded decoded = tsr_decoder_run(in->decoder, &pieces);
  const size_t made = p->room - p->bytes - pieces.out_bytes;
  in->begin = in->end - pieces.in_bytes;
  in->decoded += made;
  p->bytes += made;
  in->is_in_stream = decoded == TSR_DECODED_SOME;
  in->has_stream = in->has_stream || decoded == TSR_DECODED_ALL;
  if (decoded == TSR_DECODED_NO_MEMORY) return no_memory(u, error);
  if (decoded != TSR_DECODED_BAD) return TSR_OK;
  return tsr_fail(error, TSR_IO, "%s: is not %s or is damaged behind byte %llu of its text: compress it again", u->path,
                  in->format->name, (unsigned long long)in->decoded);
}

/* Passes zeros behind a stream, which are padding. */
static void pass_zeros(input *in) {
  while (!in->is_in_stream && in->has_stream && in->begin < in->end && in->bytes[in->begin] == 0) in->begin++;
}

static tsr_status fill(tsr_unpack *u, piece *p, tsr_error *error) {
  input *in = &u->in;
  tsr_status status = TSR_OK;
  p->at = p->bytes = 0;
  p->from = in->read - (in->end - in->begin);
  if (!make_room(p, PIECE_BYTES)) return no_memory(u, error);
  while (status == TSR_OK && p->bytes < PIECE_BYTES && !(in->is_all && in->begin == in->end)) {
    bool has_some = false;
    pass_zeros(in);
    if (in->most && !in->is_in_stream && in->begin < in->end) status = decode_members(u, p, &has_some, error);
    if (status == TSR_OK && !has_some && in->begin < in->end) status = decode_stream(u, p, error);
    if (status == TSR_OK && in->begin == in->end) status = read_some(u, error);
  }
  p->consumed = in->read - (in->end - in->begin);
  if (status == TSR_OK && in->is_all && in->begin == in->end && in->is_in_stream && !p->bytes)
    return tsr_fail(error, TSR_IO, "%s: ends in the middle of its %s data, behind byte %llu of its text: get it again",
                    u->path, in->format->name, (unsigned long long)in->decoded);
  return status;
}

static void *unpack_all(void *argument) {
  tsr_unpack *u = argument;
  int former;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
  pthread_mutex_lock(&u->lock);
  while (!u->is_closing && !u->has_ended) {
    if (u->filled - u->taken == PIECES) {
      pthread_cond_wait(&u->changed, &u->lock);
      continue;
    }
    piece *p = &u->pieces[u->filled % PIECES];
    pthread_mutex_unlock(&u->lock);
    tsr_error error = {.status = TSR_OK};
    const tsr_status status = fill(u, p, &error);
    pthread_mutex_lock(&u->lock);
    if (status == TSR_OK && p->bytes) u->filled++;
    u->has_ended = status != TSR_OK || !p->bytes;
    u->status = status;
    u->error = error;
    u->lacks_end = u->has_ended && lacks_end(&u->in);
    pthread_cond_broadcast(&u->changed);
  }
  pthread_mutex_unlock(&u->lock);
  return NULL;
}

/* ---- The caller ------------------------------------------------------------------------------ */

static bool allocate(tsr_unpack *u, const unsigned char *head, size_t bytes) {
  input *in = &u->in;
  const bool is_gzip = strcmp(in->format->ending, ".gz") == 0;
  in->most = is_gzip && tsr_team_size() > 1 ? TSR_MEMBERS_MAX : 0;
  in->room = (in->most ? SEARCHED_BYTES : READ_BYTES) + bytes;
  in->bytes = malloc(in->room);
  in->decoder = tsr_decoder_new(in->format);
  if (!in->bytes || !in->decoder) return false;
  if (bytes) memcpy(in->bytes, head, bytes);
  if (bytes) note_input(in, bytes);
  return true;
}

tsr_status tsr_unpack_begin(int file, const char *path, const tsr_format *format, const unsigned char *head,
                            size_t bytes, tsr_unpack **unpack, tsr_error *error) {
  tsr_unpack *u = calloc(1, sizeof *u);
  if (!u) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to decompress", path);
  u->file = file;
  u->path = path;
  u->in.format = format;
  pthread_mutex_init(&u->lock, NULL);
  pthread_cond_init(&u->changed, NULL);
  tsr_status status = allocate(u, head, bytes) ? TSR_OK : no_memory(u, error);
  if (status == TSR_OK) {
    u->has_thread = pthread_create(&u->thread, NULL, unpack_all, u) == 0;
    if (!u->has_thread)
      status = tsr_fail(error, TSR_NO_MEMORY,
                        "%s: no thread can be started to decompress: allow more of them (ulimit -u)", path);
  }
  if (status == TSR_OK)
    *unpack = u;
  else
    tsr_unpack_end(u);
  return status;
}

static void unlock(void *unpack) { pthread_mutex_unlock(&((tsr_unpack *)unpack)->lock); }

/* Until there is a piece, or there is none any more. */
static void wait_for_piece(tsr_unpack *u) {
  pthread_mutex_lock(&u->lock);
  pthread_cleanup_push(unlock, u);
  while (u->filled == u->taken && !u->has_ended) pthread_cond_wait(&u->changed, &u->lock);
  pthread_cleanup_pop(1);
}

/* NULL: all were taken. */
static piece *piece_of(tsr_unpack *u) {
  pthread_mutex_lock(&u->lock);
  piece *p = u->filled > u->taken ? &u->pieces[u->taken % PIECES] : NULL;
  pthread_mutex_unlock(&u->lock);
  return p;
}

tsr_status tsr_unpack_take(tsr_unpack *unpack, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_unpack *u = unpack;
  wait_for_piece(u);
  piece *p = piece_of(u);
  *bytes = 0;
  if (!p) {
    if (u->status) *error = u->error;
    return u->status;
  }
  *bytes = p->bytes - p->at < room ? p->bytes - p->at : room;
  memcpy(to, p->text + p->at, *bytes);
  p->at += *bytes;
  u->consumed = p->from + (uint64_t)((double)(p->consumed - p->from) * (double)p->at / (double)p->bytes);
  if (p->at < p->bytes) return TSR_OK;
  pthread_mutex_lock(&u->lock);
  u->taken++;
  pthread_cond_broadcast(&u->changed);
  pthread_mutex_unlock(&u->lock);
  return TSR_OK;
}

uint64_t tsr_unpack_consumed(const tsr_unpack *unpack) { return unpack->consumed; }

bool tsr_unpack_lacks_end(tsr_unpack *unpack) {
  pthread_mutex_lock(&unpack->lock);
  const bool lacks = unpack->lacks_end;
  pthread_mutex_unlock(&unpack->lock);
  return lacks;
}

void tsr_unpack_end(tsr_unpack *unpack) {
  if (!unpack) return;
  if (unpack->has_thread) {
    pthread_mutex_lock(&unpack->lock);
    unpack->is_closing = true;
    pthread_cond_broadcast(&unpack->changed);
    pthread_mutex_unlock(&unpack->lock);
    pthread_cancel(unpack->thread);
    pthread_join(unpack->thread, NULL);
  }
  tsr_decoder_free(unpack->in.decoder);
  free(unpack->in.bytes);
  for (size_t i = 0; i < PIECES; i++) free(unpack->pieces[i].text);
  pthread_cond_destroy(&unpack->changed);
  pthread_mutex_destroy(&unpack->lock);
  free(unpack);
}
