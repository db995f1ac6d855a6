/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of BGZF (bgzf.h).
 */
#define ZLIB_CONST 1 /* its input is const */

#include "tools/cli/bgzf.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/cli/team.h"

enum { HEAD_BYTES = 18, TAIL_BYTES = 8, TEXT_BYTES_MAX = 1 << 16, BLOCKS = 64 };

typedef struct block {
  const unsigned char *in; /* with head and tail */
  size_t in_bytes, at, text_bytes;
  bool is_sound;
} block;

struct tsr_bgzf {
  block blocks[BLOCKS];
  size_t count, at, end; /* at, end: the text that was not taken */
  atomic_size_t next;    /* block; relaxed, because each is taken once, and joining the team orders what was decoded */
  unsigned char text[BLOCKS * TEXT_BYTES_MAX];
};

tsr_bgzf *tsr_bgzf_new(void) { return calloc(1, sizeof(tsr_bgzf)); }
void tsr_bgzf_free(tsr_bgzf *bgzf) { free(bgzf); }

static uint32_t number_at(const unsigned char *in) {
  return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

bool tsr_bgzf_begins(const unsigned char *in, size_t bytes) {
  return bytes >= HEAD_BYTES && memcmp(in, "\x1f\x8b\x08\x04", 4) == 0 && memcmp(in + 12, "BC", 2) == 0;
}

static bool find_block(const unsigned char *in, size_t bytes, block *b) {
  if (!tsr_bgzf_begins(in, bytes) || memcmp(in + 10, "\6\0BC\2", 6) != 0) return false;
  const size_t size = ((size_t)in[16] | (size_t)in[17] << 8) + 1;
  if (size < HEAD_BYTES + TAIL_BYTES || size > bytes) return false;
  *b = (block){.in = in, .in_bytes = size, .text_bytes = number_at(in + size - 4)};
  return b->text_bytes <= TEXT_BYTES_MAX;
}

static bool decode(z_stream *z, const block *b, unsigned char *to) {
  if (inflateReset(z) != Z_OK) return false;
  z->next_in = b->in + HEAD_BYTES;
  z->avail_in = (uInt)(b->in_bytes - HEAD_BYTES - TAIL_BYTES);
  z->next_out = to;
  z->avail_out = (uInt)b->text_bytes;
  return inflate(z, Z_FINISH) == Z_STREAM_END && !z->avail_in && !z->avail_out &&
         crc32(0, to, (uInt)b->text_bytes) == number_at(b->in + b->in_bytes - TAIL_BYTES);
}

static void decode_blocks(void *argument, uint32_t member) {
  tsr_bgzf *bgzf = argument;
  z_stream z = {.next_in = NULL};
  (void)member;
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return;
  for (size_t i; (i = atomic_fetch_add_explicit(&bgzf->next, 1, memory_order_relaxed)) < bgzf->count;)
    bgzf->blocks[i].is_sound = decode(&z, &bgzf->blocks[i], bgzf->text + bgzf->blocks[i].at);
  inflateEnd(&z);
}

size_t tsr_bgzf_decode(tsr_bgzf *bgzf, const unsigned char *in, size_t bytes) {
  size_t used = 0, text = 0, sound = 0;
  for (bgzf->count = 0; bgzf->count < BLOCKS; bgzf->count++) {
    block *b = &bgzf->blocks[bgzf->count];
    if (!find_block(in + used, bytes - used, b)) break;
    b->at = text;
    used += b->in_bytes;
    text += b->text_bytes;
  }
  const size_t members = tsr_team_size();
  bgzf->next = 0;
  if (bgzf->count) tsr_team_run((uint32_t)(members < bgzf->count ? members : bgzf->count), decode_blocks, bgzf);
  bgzf->at = bgzf->end = used = 0;
  for (; sound < bgzf->count && bgzf->blocks[sound].is_sound; sound++) {
    bgzf->end += bgzf->blocks[sound].text_bytes;
    used += bgzf->blocks[sound].in_bytes;
  }
  return used;
}

size_t tsr_bgzf_take(tsr_bgzf *bgzf, unsigned char *to, size_t room) {
  const size_t left = bgzf->end - bgzf->at, bytes = left < room ? left : room;
  memcpy(to, bgzf->text + bgzf->at, bytes);
  bgzf->at += bytes;
  return bytes;
}
