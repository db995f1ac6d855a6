/* SPDX-License-Identifier: Apache-2.0
 *
 * Meshes of processes (mesh.h). A process listens at its own socket and calls at those of lower ranks. All sending and
 * receiving of an exchange goes on at once, so that no two processes wait for each other to read. A process that breaks
 * its mesh closes its sockets: those who wait for it see the end of the stream and do the same.
 */
#define _GNU_SOURCE /* accept4, SOCK_CLOEXEC */
#include "core/devices/mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { RETRY_MS = 20 };

/* Before the bytes of each message: a process that is at another call is found out instead of being misread. */
typedef struct envelope {
  uint64_t magic, number, bytes;
} envelope;
static const uint64_t magic = 0x5453524D45534831u;

typedef struct greeting {
  uint64_t magic;
  uint32_t rank, size;
} greeting;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int left_ms(double until) {
  const double left = (until - now_s()) * 1e3;
  return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left + 1;
}

tsr_status tsr_mesh_break(tsr_mesh *mesh, const tsr_error *why) {
  if (!mesh->is_broken) mesh->why = *why;
  mesh->is_broken = true;
  tsr_mesh_close(mesh);
  return mesh->why.status;
}

void tsr_mesh_close(tsr_mesh *mesh) {
  for (uint32_t i = 0; i < mesh->size && i < TSR_DEVICES_MAX; i++) {
    if (mesh->sockets[i] >= 0) close(mesh->sockets[i]);
    mesh->sockets[i] = -1;
  }
}

static tsr_status give_up(tsr_mesh *mesh, const tsr_error *why, tsr_error *error) {
  const tsr_status status = tsr_mesh_break(mesh, why);
  if (error) *error = mesh->why;
  return status;
}

/* ---- Meeting --------------------------------------------------------------------------------- */

static tsr_status name_of(const char *id, uint32_t rank, struct sockaddr_un *name, tsr_error *error) {
  *name = (struct sockaddr_un){.sun_family = AF_UNIX};
  const int length = snprintf(name->sun_path, sizeof name->sun_path, "%s.%u", id, rank);
  if (length > 0 && (size_t)length < sizeof name->sun_path) return TSR_OK;
  return tsr_fail(
      error, TSR_BAD_ARGUMENT,
      "tsr_group_create: id = %.64s...: is too long for the name of a socket: use a path of at most %zu bytes", id,
      sizeof name->sun_path - 4);
}

/* What a process that has ended left there is removed; a name at which somebody listens is not ours. */
static tsr_status listen_at(const struct sockaddr_un *name, uint32_t size, int *made, tsr_error *error) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return tsr_fail(error, TSR_IO, "no socket for a group: %s", strerror(errno));
  int result = bind(listener, (const struct sockaddr *)name, sizeof *name);
  if (result < 0 && errno == EADDRINUSE && connect(listener, (const struct sockaddr *)name, sizeof *name) < 0 &&
      errno == ECONNREFUSED && unlink(name->sun_path) == 0)
    result = bind(listener, (const struct sockaddr *)name, sizeof *name);
  if (result == 0) result = listen(listener, (int)size);
  if (result < 0) {
    const int why = errno;
    close(listener);
    return tsr_fail(error, TSR_IO, "%s: cannot be the socket of a group: %s", name->sun_path, strerror(why));
  }
  *made = listener;
  return TSR_OK;
}

/* All bytes, one way; for the greetings, which are short. */
static bool pass(int socket, void *bytes, size_t count, bool sends, double until) {
  for (size_t done = 0; done < count;) {
    struct pollfd poll_one = {.fd = socket, .events = sends ? POLLOUT : POLLIN};
    const int ready = poll(&poll_one, 1, left_ms(until));
    if (ready == 0 || (ready < 0 && errno != EINTR)) return false;
    const ssize_t got = sends ? send(socket, (char *)bytes + done, count - done, MSG_NOSIGNAL)
                              : recv(socket, (char *)bytes + done, count - done, 0);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (got > 0) done += (size_t)got;
  }
  return true;
}

static tsr_status call_at(tsr_mesh *mesh, const char *id, uint32_t rank, double until, tsr_error *error) {
  struct sockaddr_un name;
  greeting mine = {magic, mesh->rank, mesh->size};
  tsr_status status = name_of(id, rank, &name, error);
  while (status == TSR_OK) {
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) return tsr_fail(error, TSR_IO, "no socket for a group: %s", strerror(errno));
    if (connect(made, (const struct sockaddr *)&name, sizeof name) == 0 &&
        pass(made, &mine, sizeof mine, true, until)) {
      mesh->sockets[rank] = made;
      return TSR_OK;
    }
    close(made);
    if (left_ms(until) == 0) break;
    poll(NULL, 0, RETRY_MS); /* it has not begun to listen */
  }
  return status ? status
                : tsr_fail(error, TSR_IO, "%s: rank %u has not come within %g s: start all %u processes", name.sun_path,
                           rank, mesh->limit_s, mesh->size);
}

/* Takes the calls of all higher ranks; whoever does not greet as one of them is turned away. */
static tsr_status take_calls(tsr_mesh *mesh, int listener, double until, tsr_error *error) {
  for (uint32_t missing = mesh->size - 1 - mesh->rank; missing > 0;) {
    struct pollfd poll_one = {.fd = listener, .events = POLLIN};
    greeting theirs = {0, 0, 0};
    if (poll(&poll_one, 1, left_ms(until)) == 0)
      return tsr_fail(error, TSR_IO, "rank %u: %u ranks have not come within %g s: start all %u processes", mesh->rank,
                      missing, mesh->limit_s, mesh->size);
    const int made = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (made < 0) continue;
    const double soon = now_s() + 1 < until ? now_s() + 1 : until;
    if (pass(made, &theirs, sizeof theirs, false, soon) && theirs.magic == magic && theirs.size == mesh->size &&
        theirs.rank > mesh->rank && theirs.rank < mesh->size && mesh->sockets[theirs.rank] < 0) {
      mesh->sockets[theirs.rank] = made;
      missing--;
    } else {
      close(made);
    }
  }
  return TSR_OK;
}

tsr_status tsr_mesh_open(tsr_mesh *mesh, uint32_t rank, uint32_t size, const char *id, double limit_s,
                         tsr_error *error) {
  struct sockaddr_un name;
  int listener = -1;
  const double until = now_s() + limit_s;
  *mesh = (tsr_mesh){.rank = rank, .size = size, .limit_s = limit_s};
  for (uint32_t i = 0; i < TSR_DEVICES_MAX; i++) mesh->sockets[i] = -1;
  tsr_status status = name_of(id, rank, &name, error);
  if (status == TSR_OK) status = listen_at(&name, size, &listener, error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < rank; i++) status = call_at(mesh, id, i, until, error);
  if (status == TSR_OK) status = take_calls(mesh, listener, until, error);
  close(listener);
  unlink(name.sun_path);
  return status;
}

/* ---- Exchanging ------------------------------------------------------------------------------ */

/* One direction of one peer: an envelope, then bytes. */
typedef struct way {
  envelope head;
  char *bytes;
  uint64_t head_done, done, count;
} way;

static bool is_done(const way *w) { return w->head_done == sizeof w->head && w->done == w->count; }

/* Goes on as far as it can without waiting. Returns what was passed on, -1 at the end of the stream or an error. */
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
    if (!sends && w->head_done == sizeof w->head && in_head) return passed; /* the envelope is read first */
  }
  return passed;
}

/* Both directions of one peer. *passed grows by the bytes that went. */
static tsr_status serve(tsr_mesh *mesh, uint32_t peer, way *out, way *in, uint64_t *passed, tsr_error *why) {
  const int64_t sent = is_done(out) ? 0 : go_on(mesh->sockets[peer], out, true);
  int64_t got = 0;
  for (int64_t more = 1; !is_done(in) && more > 0; got += more) {
    more = go_on(mesh->sockets[peer], in, false);
    if (more < 0) got = -1;
    if (more < 0) break;
    if (in->head_done == sizeof in->head &&
        (in->head.magic != magic || in->head.number != mesh->messages || in->head.bytes != in->count))
      return tsr_fail(why, TSR_BAD_ARGUMENT,
                      "rank %u is at another call than rank %u: all processes of a group make the same calls in the "
                      "same order; the group is broken",
                      peer, mesh->rank);
  }
  if (sent < 0 || got < 0)
    return tsr_fail(why, TSR_IO, "rank %u has ended or given up: the group is broken, begin a new one", peer);
  *passed += (uint64_t)sent + (uint64_t)got;
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

tsr_status tsr_mesh_exchange(tsr_mesh *mesh, const tsr_mail *mail, tsr_error *error) {
  way out[TSR_DEVICES_MAX], in[TSR_DEVICES_MAX];
  struct pollfd polls[TSR_DEVICES_MAX];
  uint32_t peers[TSR_DEVICES_MAX], count;
  tsr_error why = {TSR_OK, ""};
  if (mesh->is_broken) return give_up(mesh, &mesh->why, error);
  mesh->messages++;
  for (uint32_t i = 0; i < mesh->size; i++) {
    out[i] = (way){.head = {magic, mesh->messages, mail->out_bytes[i]},
                   .bytes = (char *)(uintptr_t)mail->out[i],
                   .count = mail->out_bytes[i]};
    in[i] = (way){.bytes = mail->in[i], .count = mail->in_bytes[i]};
  }
  double until = now_s() + mesh->limit_s;
  while ((count = list_waiting(mesh, out, in, polls, peers)) > 0) {
    const int ready = poll(polls, count, left_ms(until));
    uint64_t passed = 0;
    if (ready < 0 && errno != EINTR) {
      tsr_status failed = tsr_fail(&why, TSR_IO, "the sockets of a group cannot be waited for: %s", strerror(errno));
      (void)failed;
      return give_up(mesh, &why, error);
    }
    for (uint32_t i = 0; i < count && ready > 0; i++)
      if (polls[i].revents && serve(mesh, peers[i], &out[peers[i]], &in[peers[i]], &passed, &why))
        return give_up(mesh, &why, error);
    if (passed) until = now_s() + mesh->limit_s;
    if (!passed && left_ms(until) == 0) {
      tsr_status failed =
          tsr_fail(&why, TSR_IO, "rank %u has not been heard of for %g s: the group is broken, begin a new one",
                   peers[0], mesh->limit_s);
      (void)failed;
      return give_up(mesh, &why, error);
    }
  }
  return TSR_OK;
}
