/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of a gzip file (members.h).
 */
#define ZLIB_CONST 1 /* its input is const */

#include "tools/cli/members.h"

#include <string.h>
#include <zlib.h>

#include "tools/cli/team.h"

enum { HEAD_BYTES = 10, MEMBER_BYTES_LEAST = 18, RATIO_MAX = 1032 /* of deflate */ };

static uint32_t number_at(const unsigned char *in) {
  return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Whether these are the first bytes of a member: of deflate, with no flag that means nothing, and with a level and an operating
 * system that some program writes. */
static bool begins(const unsigned char *in) {
  return in[1] == 0x8b && in[2] == 8 && (in[3] & 0xe0) == 0 && (in[8] == 0 || in[8] == 2 || in[8] == 4) &&
         (in[9] <= 13 || in[9] == 255);
}

/* Where the next member seems to begin, from `at` on; or how far was looked. */
static size_t find_begin(const unsigned char *in, size_t bytes, size_t at, bool *is_found) {
  *is_found = false;
  while (at + HEAD_BYTES <= bytes) {
    const unsigned char *first = memchr(in + at, 0x1f, bytes - HEAD_BYTES + 1 - at);
    if (!first) return bytes - HEAD_BYTES + 1;
    at = (size_t)(first - in);
    *is_found = begins(first);
    if (*is_found) return at;
    at++;
  }
  return at;
}

/* false: it is too short, or of more text than there may be. */
static bool add(tsr_members *m, const unsigned char *in, size_t from, size_t to) {
  if (to - from < MEMBER_BYTES_LEAST) return false;
  const size_t bytes = number_at(in + to - 4);
  if (bytes > RATIO_MAX * (to - from) || bytes > TSR_MEMBERS_TEXT_MAX - m->text_bytes) return false;
  m->all[m->count++] = (tsr_member){.from = from, .to = to, .at = m->text_bytes, .bytes = bytes};
  m->text_bytes += bytes;
  return true;
}

void tsr_members_search(tsr_members *members, const unsigned char *in, size_t bytes, bool is_all, size_t most) {
  tsr_members *m = members;
  const size_t cores = tsr_team_size();
  bool is_found = false;
  if (bytes < HEAD_BYTES) return;
  if (!m->searched) m->is_complete = in[0] != 0x1f || !begins(in);
  if (!m->searched) m->searched = 1;
  while (!m->is_complete) {
    m->searched = find_begin(in, bytes, m->searched, &is_found);
    if (!is_found && !is_all) return;
    const bool is_added = add(m, in, m->count ? m->all[m->count - 1].to : 0, is_found ? m->searched : bytes);
    m->searched++;
    m->is_complete = !is_added || !is_found || m->count >= most || m->count == TSR_MEMBERS_MAX ||
                     (m->count >= cores && m->text_bytes >= TSR_MEMBERS_TEXT_ENOUGH);
  }
}

static bool decode(z_stream *z, const tsr_members *m, const tsr_member *of) {
  if (inflateReset(z) != Z_OK) return false;
  z->next_in = m->in + of->from;
  z->avail_in = (uInt)(of->to - of->from);
  z->next_out = m->text + of->at;
  z->avail_out = (uInt)of->bytes;
  return inflate(z, Z_FINISH) == Z_STREAM_END && !z->avail_in && !z->avail_out;
}

static void decode_some(void *argument, uint32_t number) {
  tsr_members *m = argument;
  z_stream z = {.next_in = NULL};
  (void)number;
  if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) return;
  for (size_t i; (i = atomic_fetch_add_explicit(&m->next, 1, memory_order_relaxed)) < m->count;)
    m->all[i].is_right = decode(&z, m, &m->all[i]);
  inflateEnd(&z);
}

size_t tsr_members_decode(tsr_members *members, const unsigned char *in, unsigned char *text) {
  const size_t cores = tsr_team_size();
  size_t right = 0;
  members->in = in;
  members->text = text;
  members->next = 0;
  if (members->count) tsr_team_run((uint32_t)(cores < members->count ? cores : members->count), decode_some, members);
  while (right < members->count && members->all[right].is_right) right++;
  return right;
}
