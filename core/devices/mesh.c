/* SPDX-License-Identifier: Apache-2.0
 *
 * Meshes of processes (mesh.h), once they have met (meet.c). All sends and receives of an exchange run at once, so
 * that no two processes wait for each other to read. A process that breaks its mesh closes its sockets. Processes that
 * wait for it see the end of the stream and do the same. Before it closes one it says why, if it is between messages there.
 */
#define _GNU_SOURCE /* POLLRDHUP */
#include "core/devices/mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Precedes the bytes of each message, so that a process at another call is detected instead of misread. */
typedef struct envelope {
  uint64_t magic, number, bytes;
} envelope;
static const uint64_t magic = 0x5453524D45534831u;
static const uint64_t last_magic = 0x5453524D454E4431u; /* of last words: number is the failed rank, then a tsr_error */

double tsr_mesh_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int tsr_mesh_left_ms(double until) {
  const double left = (until - tsr_mesh_now_s()) * 1e3;
  return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left + 1;
}

void tsr_mesh_close(tsr_mesh *mesh) {
  tsr_beat_end(mesh);
  for (uint32_t i = 0; !mesh->over && i < mesh->size && i < TSR_DEVICES_MAX; i++) {
    if (mesh->sockets[i] >= 0) close(mesh->sockets[i]);
    mesh->sockets[i] = -1;
  }
}

/* One direction of one peer: an envelope, then bytes. */
typedef struct way {
  envelope head;
  char *bytes;
  uint64_t head_done, done, count;
} way;

static bool is_done(const way *w) { return w->head_done == sizeof w->head && w->done == w->count; }

/* ---- The end --------------------------------------------------------------------------------- */

/* Nobody waits here: words that find no room are not said. */
static void say_why(const tsr_mesh *mesh, uint32_t peer) {
  struct {
    envelope head;
    tsr_error why;
  } words = {.head = {last_magic, mesh->failed, sizeof mesh->why}, .why = mesh->why};
  if (mesh->failed == mesh->rank) {
    const tsr_status status = tsr_fail(&words.why, mesh->why.status, "rank %u: %.900s", mesh->rank, mesh->why.message);
    (void)status; /* it is a part of the words */
  }
  const ssize_t sent = send(mesh->sockets[peer], &words, sizeof words, MSG_DONTWAIT | MSG_NOSIGNAL);
  (void)sent;
}

static void note(tsr_mesh *mesh, uint32_t failed, const tsr_error *why) {
  mesh->why = *why;
  mesh->failed = failed;
  mesh->is_broken = true;
}

/* failed: the rank that `why` is about. out: messages to the others, of which a half that is sent ends in silence; NULL:
 * there are none. */
static tsr_status end(tsr_mesh *mesh, uint32_t failed, const tsr_error *why, const way *out, tsr_error *error) {
  if (!mesh->is_broken) {
    note(mesh, failed, why);
    tsr_beat_end(mesh);
    if (mesh->over) tsr_over_say_why(mesh->over, why);
    for (uint32_t i = 0; !mesh->over && i < mesh->size; i++)
      if (mesh->sockets[i] >= 0 && i != failed && (!out || is_done(&out[i]) || out[i].head_done == 0)) say_why(mesh, i);
    tsr_mesh_close(mesh);
  }
  if (error) *error = mesh->why;
  return mesh->why.status;
}

tsr_status tsr_mesh_break(tsr_mesh *mesh, const tsr_error *why) { return end(mesh, mesh->rank, why, NULL, NULL); }

static bool take(int socket, void *to, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = recv(socket, (char *)to + done, bytes - done, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (uint64_t)got;
  }
  return true;
}

/* Passes `bytes` bytes that nobody needs any more. */
static bool skip(int socket, uint64_t bytes) {
  char useless[4096];
  for (uint64_t part; bytes; bytes -= part) {
    part = bytes < sizeof useless ? bytes : sizeof useless;
    if (!take(socket, useless, part)) return false;
  }
  return true;
}

/* Takes the rest of an envelope; *done: what there is of it. */
static bool take_head(int socket, envelope *head, uint64_t *done) {
  for (char *at = (char *)head; *done < sizeof *head;) {
    if (!take(socket, at + *done, 1)) return false;
    *done += *done || *at != TSR_BEAT;
  }
  return true;
}

/* What a peer has said before it closed its socket, behind all that it had sent: `in` is what was read of that. Without last
 * words it was ended from outside. *failed: the rank that they are about. */
static tsr_status hear_why(const tsr_mesh *mesh, uint32_t peer, const way *in, uint32_t *failed, tsr_error *why) {
  const int socket = mesh->sockets[peer];
  envelope head = in->head;
  uint64_t done = in->head_done, read = in->done;
  tsr_error theirs;
  bool goes_on = true;
  while (goes_on && (done < sizeof head || head.magic == magic)) {
    if (done == sizeof head) goes_on = skip(socket, head.bytes - read);
    done %= sizeof head;
    read = 0;
    goes_on = goes_on && take_head(socket, &head, &done);
  }
  *failed = peer;
  if (!goes_on || head.magic != last_magic || head.bytes != sizeof theirs || head.number >= mesh->size ||
      !take(socket, &theirs, sizeof theirs) || !theirs.status)
    return tsr_fail(why, TSR_IO, "rank %u has ended or given up: the group is broken, begin a new one", peer);
  *failed = (uint32_t)head.number;
  theirs.message[sizeof theirs.message - 1] = '\0';
  return tsr_fail(why, theirs.status, "%.1000s", theirs.message);
}

/* ---- Exchanging ------------------------------------------------------------------------------ */

/* Drops the beats before an envelope. */
static void drop_beats(way *w) {
  char *head = (char *)&w->head;
  uint64_t beats = 0;
  while (beats < w->head_done && head[beats] == TSR_BEAT) beats++;
  w->head_done -= beats;
  memmove(head, head + beats, w->head_done);
}

/* Continues as far as it can without waiting. Returns the number of bytes passed on, -1 at the end of the stream or on
 * an error. */
static int64_t go_on(int socket, way *w, bool sends) {
  int64_t passed = 0;
  while (!is_done(w)) {
    const bool in_head = w->head_done < sizeof w->head;
    char *at = in_head ? (char *)&w->head + w->head_done : w->bytes + w->done;
    const size_t left = in_head ? sizeof w->head - w->head_done : w->count - w->done;
    const ssize_t got =
        sends ? send(socket, at, left, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(socket, at, left, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return passed;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    passed += got;
    *(in_head ? &w->head_done : &w->done) += (uint64_t)got;
    if (!sends && in_head) drop_beats(w);
    if (!sends && w->head_done == sizeof w->head && in_head) return passed; /* the envelope is read first */
  }
  return passed;
}

/* Both directions of one peer. *passed: the bytes that went, beats among them. */
static tsr_status serve(tsr_mesh *mesh, uint32_t peer, way *out, way *in, uint64_t *passed, uint32_t *failed,
                        tsr_error *why) {
  const int64_t sent = is_done(out) ? 0 : go_on(mesh->sockets[peer], out, true);
  int64_t got = 0;
  for (int64_t more = 1; !is_done(in) && more > 0; got += more) {
    more = go_on(mesh->sockets[peer], in, false);
    if (more < 0) got = -1;
    if (more < 0) break;
    if (in->head_done == sizeof in->head && in->head.magic == last_magic) return hear_why(mesh, peer, in, failed, why);
    if (in->head_done == sizeof in->head &&
        (in->head.magic != magic || in->head.number != mesh->messages || in->head.bytes != in->count))
      return tsr_fail(why, TSR_BAD_ARGUMENT,
                      "rank %u is at another call than rank %u: all processes of a group make the same calls in the "
                      "same order; the group is broken",
                      peer, mesh->rank);
  }
  if (sent < 0 || got < 0) return hear_why(mesh, peer, in, failed, why);
  *passed = (uint64_t)sent + (uint64_t)got;
  return TSR_OK;
}

static uint32_t list_waiting(const tsr_mesh *mesh, const way *out, const way *in, struct pollfd *polls,
                             uint32_t *peers) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < mesh->size; i++) {
    if (i == mesh->rank || (is_done(&out[i]) && is_done(&in[i]))) continue;
    polls[count] = (struct pollfd){.fd = mesh->sockets[i]};
    polls[count].events = (short)((is_done(&out[i]) ? 0 : POLLOUT) | (is_done(&in[i]) ? 0 : POLLIN));
    peers[count++] = i;
  }
  return count;
}

static tsr_status say_silent(const tsr_mesh *mesh, uint32_t peer, tsr_error *why) {
  return tsr_fail(why, TSR_IO, "rank %u has not been heard of for %g s: the group is broken, begin a new one", peer,
                  mesh->limit_s);
}

/* What is said of a peer that is waited for and has no time left. moved: when each last passed on a part of this message.
 * *until: when the first of the others has none; *failed: who it is. */
static tsr_status judge(const tsr_mesh *mesh, const double *moved, const uint32_t *peers, uint32_t count, double *until,
                        uint32_t *failed, tsr_error *why) {
  *until = tsr_mesh_now_s() + mesh->limit_s;
  for (uint32_t i = 0; i < count; i++) {
    const double silent = mesh->heard[peers[i]] + mesh->limit_s, late = moved[peers[i]] + mesh->late_s;
    *failed = peers[i];
    if (tsr_mesh_left_ms(silent) == 0) return say_silent(mesh, peers[i], why);
    if (tsr_mesh_left_ms(late) == 0)
      return tsr_fail(why, TSR_IO,
                      "rank %u is alive and has not made this call for %g s: the group is broken; all processes make "
                      "the same calls, and late_s says how far apart",
                      peers[i], mesh->late_s);
    if (silent < *until) *until = silent;
    if (late < *until) *until = late;
  }
  return TSR_OK;
}

static uint64_t moved_by(const way *out, const way *in) {
  return out->head_done + out->done + in->head_done + in->done;
}

/* Sends and receives until nothing is left to do. */
static tsr_status pass_all(tsr_mesh *mesh, way *out, way *in, uint32_t *failed, tsr_error *why) {
  struct pollfd polls[TSR_DEVICES_MAX];
  uint32_t peers[TSR_DEVICES_MAX], count;
  double until, moved[TSR_DEVICES_MAX];
  for (uint32_t i = 0; i < mesh->size; i++) mesh->heard[i] = moved[i] = tsr_mesh_now_s();
  while ((count = list_waiting(mesh, out, in, polls, peers)) > 0) {
    tsr_status status = judge(mesh, moved, peers, count, &until, failed, why);
    if (status) return status;
    const int ready = poll(polls, count, tsr_mesh_left_ms(until));
    *failed = mesh->rank;
    if (ready < 0 && errno != EINTR)
      return tsr_fail(why, TSR_IO, "the sockets of a group cannot be waited for: %s", strerror(errno));
    for (uint32_t i = 0; i < count && ready > 0; i++) {
      const uint32_t peer = peers[i];
      const uint64_t before = moved_by(&out[peer], &in[peer]);
      uint64_t passed = 0;
      if (polls[i].revents) status = serve(mesh, peer, &out[peer], &in[peer], &passed, failed, why);
      if (status) return status;
      if (passed) mesh->heard[peer] = tsr_mesh_now_s();
      if (moved_by(&out[peer], &in[peer]) != before) moved[peer] = tsr_mesh_now_s();
    }
  }
  return TSR_OK;
}

tsr_status tsr_mesh_exchange(tsr_mesh *mesh, const tsr_mail *mail, tsr_error *error) {
  way out[TSR_DEVICES_MAX], in[TSR_DEVICES_MAX];
  tsr_error why = {TSR_OK, ""};
  uint32_t failed = mesh->rank;
  if (mesh->is_broken) return end(mesh, failed, NULL, NULL, error);
  mesh->messages++;
  if (mesh->over) {
    if (tsr_over_exchange(mesh->over, mail, &why) == TSR_OK) return TSR_OK;
    note(mesh, failed, &why); /* all know it, or there is no way to tell */
    return end(mesh, failed, &why, NULL, error);
  }
  for (uint32_t i = 0; i < mesh->size; i++) {
    out[i] = (way){.head = {magic, mesh->messages, mail->out_bytes[i]},
                   .bytes = (char *)(uintptr_t)mail->out[i],
                   .count = mail->out_bytes[i]};
    in[i] = (way){.bytes = mail->in[i], .count = mail->in_bytes[i]};
  }
  tsr_beat_pause(mesh, true);
  const tsr_status status = pass_all(mesh, out, in, &failed, &why);
  tsr_beat_pause(mesh, false);
  return status ? end(mesh, failed, &why, out, error) : TSR_OK;
}

/* ---- Waiting for something else -------------------------------------------------------------- */

/* Takes the beats of a peer, up to its next message. */
static void take_beats(int socket) {
  char bytes[64];
  const ssize_t there = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_PEEK);
  ssize_t beats = 0;
  while (beats < there && bytes[beats] == TSR_BEAT) beats++;
  const bool taken = beats > 0 && take(socket, bytes, (uint64_t)beats);
  (void)taken;
}

tsr_status tsr_mesh_watch(tsr_mesh *mesh, double since, tsr_error *error) {
  struct pollfd polls[TSR_DEVICES_MAX];
  uint32_t failed = mesh->rank;
  tsr_error why = {TSR_OK, ""};
  tsr_status status = TSR_OK;
  if (mesh->is_broken) return end(mesh, failed, NULL, NULL, error);
  for (uint32_t i = 0; i < mesh->size; i++) /* poll ignores a negative socket, such as this rank's */
    polls[i] = (struct pollfd){.fd = mesh->sockets[i], .events = POLLIN | POLLRDHUP};
  const int ready = mesh->over ? 0 : poll(polls, mesh->size, 0);
  for (uint32_t i = 0; !mesh->over && status == TSR_OK && i < mesh->size; i++) {
    if (i == mesh->rank) continue;
    if (mesh->heard[i] < since) mesh->heard[i] = since;
    if (ready > 0 && polls[i].revents & ~POLLIN) {
      status = hear_why(mesh, i, &(way){.count = 0}, &failed, &why);
    } else if (ready > 0 && polls[i].revents) { /* a message shows that it is there: it waits for this process */
      take_beats(mesh->sockets[i]);
      mesh->heard[i] = tsr_mesh_now_s();
    } else if (tsr_mesh_left_ms(mesh->heard[i] + mesh->limit_s) == 0) {
      failed = i;
      status = say_silent(mesh, i, &why);
    }
  }
  if (status == TSR_OK && tsr_mesh_left_ms(since + mesh->late_s) == 0)
    status =
        tsr_fail(&why, TSR_IO,
                 "an exchange of rank %u has not ended within %g s (late_s), though all ranks are alive: the group is "
                 "broken, begin a new one",
                 mesh->rank, mesh->late_s);
  return status ? end(mesh, failed, &why, NULL, error) : TSR_OK;
}
