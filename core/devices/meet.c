/* SPDX-License-Identifier: Apache-2.0
 *
 * How the processes of a mesh meet (mesh.h). Each listens at an address of its own and calls those of lower ranks. The
 * names of Unix sockets are known to all. Over TCP only rank 0's address is: the others listen at the address from
 * which they reach it, tell it the port, and get a book of all addresses.
 */
#define _GNU_SOURCE /* accept4, SOCK_CLOEXEC */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/devices/mesh.h"

enum { RETRY_MS = 20 };

typedef struct greeting {
  uint64_t magic;
  uint32_t rank, size;
  uint16_t port, unused[3]; /* TCP: where this rank listens, in the network's order of bytes */
} greeting;
static const uint64_t magic = 0x5453524D45534832u;

typedef struct address {
  struct sockaddr_storage name;
  uint64_t bytes;
} address;

typedef struct meeting {
  tsr_mesh *mesh;
  const char *id;
  bool is_tcp;
  double until;
  int listener; /* -1: none yet */
  uint16_t port;
  address book[TSR_DEVICES_MAX];
} meeting;

/* ---- Addresses ------------------------------------------------------------------------------- */

static tsr_status name_sockets(meeting *m, tsr_error *error) {
  for (uint32_t rank = 0; rank < m->mesh->size; rank++) {
    struct sockaddr_un *name = (struct sockaddr_un *)&m->book[rank].name;
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    m->book[rank].bytes = sizeof *name;
    const int length = snprintf(name->sun_path, sizeof name->sun_path, "%s.%u", m->id, rank);
    if (length <= 0 || (size_t)length >= sizeof name->sun_path)
      return tsr_fail(
          error, TSR_BAD_ARGUMENT,
          "tsr_group_create: id = %.64s...: is too long for the name of a socket: use a path of at most %zu "
          "bytes",
          m->id, sizeof name->sun_path - 4);
  }
  return TSR_OK;
}

/* tcp://HOST:PORT; of an IPv6 address HOST is in brackets. */
static tsr_status find_host(meeting *m, tsr_error *error) {
  char host[256];
  const char *begin = strstr(m->id, "//") + 2, *colon = strrchr(begin, ':');
  const bool has_brackets = *begin == '[' && colon > begin && colon[-1] == ']';
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  const size_t length = colon ? (size_t)(colon - begin) : 0;
  if (length == 0 || length >= sizeof host || !colon[1])
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_group_create: id = %.128s: an address is tcp://HOST:PORT, of rank 0's host", m->id);
  snprintf(host, sizeof host, "%.*s", (int)length - 2 * has_brackets, begin + has_brackets);
  const int failure = getaddrinfo(host, colon + 1, &hints, &found);
  if (failure)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_create: id = %.128s: %s", m->id, gai_strerror(failure));
  memcpy(&m->book[0].name, found->ai_addr, found->ai_addrlen);
  m->book[0].bytes = found->ai_addrlen;
  freeaddrinfo(found);
  return TSR_OK;
}

static uint16_t *port_of(address *a) {
  return a->name.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&a->name)->sin6_port
                                       : &((struct sockaddr_in *)&a->name)->sin_port;
}

/* Small messages go at once. */
static void hurry(const meeting *m, int made) {
  const int on = 1;
  if (m->is_tcp && setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) return; /* then they are slower */
}

/* ---- Listening ------------------------------------------------------------------------------- */

static bool is_left_behind(int listener, const address *a) {
  return errno == EADDRINUSE && a->name.ss_family == AF_UNIX &&
         connect(listener, (const struct sockaddr *)&a->name, (socklen_t)a->bytes) < 0 && errno == ECONNREFUSED &&
         unlink(((const struct sockaddr_un *)&a->name)->sun_path) == 0;
}

/* Removes a name that an ended process left; a name at which somebody listens is not ours. */
static tsr_status listen_at(meeting *m, address *a, tsr_error *error) {
  const int on = 1, listener = socket(a->name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  socklen_t bytes = sizeof a->name;
  if (listener < 0) return tsr_fail(error, TSR_IO, "no socket for a group: %s", strerror(errno));
  int result = m->is_tcp ? setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) : 0;
  if (result == 0) result = bind(listener, (const struct sockaddr *)&a->name, (socklen_t)a->bytes);
  if (result < 0 && is_left_behind(listener, a))
    result = bind(listener, (const struct sockaddr *)&a->name, (socklen_t)a->bytes);
  if (result == 0) result = listen(listener, (int)m->mesh->size);
  if (result == 0 && m->is_tcp) result = getsockname(listener, (struct sockaddr *)&a->name, &bytes);
  if (result < 0) {
    const int why = errno;
    close(listener);
    return tsr_fail(error, TSR_IO, "%s: rank %u cannot listen there: %s", m->id, m->mesh->rank, strerror(why));
  }
  m->listener = listener;
  m->port = m->is_tcp ? *port_of(a) : 0;
  return TSR_OK;
}

/* The address from which rank 0 is called is one at which others reach this rank. */
static tsr_status listen_beside(meeting *m, int call, tsr_error *error) {
  address own = {.bytes = m->book[0].bytes};
  socklen_t bytes = sizeof own.name;
  if (getsockname(call, (struct sockaddr *)&own.name, &bytes))
    return tsr_fail(error, TSR_IO, "no socket for a group: %s", strerror(errno));
  *port_of(&own) = 0;
  return listen_at(m, &own, error);
}

/* ---- Calling --------------------------------------------------------------------------------- */

/* Sends or receives all bytes; for the short messages of a meeting. */
static bool pass(int socket, void *bytes, size_t count, bool sends, double until) {
  for (size_t done = 0; done < count;) {
    struct pollfd poll_one = {.fd = socket, .events = sends ? POLLOUT : POLLIN};
    const int ready = poll(&poll_one, 1, tsr_mesh_left_ms(until));
    if (ready == 0 || (ready < 0 && errno != EINTR)) return false;
    const ssize_t got = sends ? send(socket, (char *)bytes + done, count - done, MSG_NOSIGNAL)
                              : recv(socket, (char *)bytes + done, count - done, 0);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (got > 0) done += (size_t)got;
  }
  return true;
}

/* Whether a call was accepted. It does not block, because the host may not be there. */
static bool reaches(int made, const address *a, double until) {
  struct pollfd poll_one = {.fd = made, .events = POLLOUT};
  int failure = 0;
  socklen_t bytes = sizeof failure;
  if (connect(made, (const struct sockaddr *)&a->name, (socklen_t)a->bytes) == 0) return true;
  return errno == EINPROGRESS && poll(&poll_one, 1, tsr_mesh_left_ms(until)) > 0 &&
         getsockopt(made, SOL_SOCKET, SO_ERROR, &failure, &bytes) == 0 && failure == 0;
}

static tsr_status call_at(meeting *m, uint32_t rank, tsr_error *error) {
  tsr_mesh *mesh = m->mesh;
  const address *a = &m->book[rank];
  tsr_status status = TSR_OK;
  while (status == TSR_OK) {
    const int made = socket(a->name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return tsr_fail(error, TSR_IO, "no socket for a group: %s", strerror(errno));
    const bool is_reached = reaches(made, a, m->until);
    if (is_reached && m->listener < 0) status = listen_beside(m, made, error);
    greeting mine = {.magic = magic, .rank = mesh->rank, .size = mesh->size, .port = m->port};
    if (status == TSR_OK && is_reached && pass(made, &mine, sizeof mine, true, m->until)) {
      hurry(m, made);
      mesh->sockets[rank] = made;
      return TSR_OK;
    }
    close(made);
    if (tsr_mesh_left_ms(m->until) == 0) break;
    poll(NULL, 0, RETRY_MS); /* it has not begun to listen */
  }
  return status ? status
                : tsr_fail(error, TSR_IO, "%s: rank %u has not come within %g s: start all %u processes", m->id, rank,
                           mesh->limit_s, mesh->size);
}

/* The higher ranks that have not called: "rank 2", or "ranks 1, 3 and 4". */
static void name_missing(const tsr_mesh *mesh, char *names, size_t bytes) {
  uint32_t missing = 0, named = 0;
  size_t used = 0;
  for (uint32_t i = mesh->rank + 1; i < mesh->size; i++) missing += mesh->sockets[i] < 0;
  for (uint32_t i = mesh->rank + 1; i < mesh->size && used < bytes; i++) {
    if (mesh->sockets[i] >= 0) continue;
    const char *before = named == 0 ? missing == 1 ? "rank " : "ranks " : named + 1 == missing ? " and " : ", ";
    used += (size_t)snprintf(names + used, bytes - used, "%s%u", before, i);
    named++;
  }
}

/* Accepts the calls of all higher ranks; a caller that does not greet as one of them is turned away. */
static tsr_status take_calls(meeting *m, tsr_error *error) {
  tsr_mesh *mesh = m->mesh;
  for (uint32_t missing = mesh->size - 1 - mesh->rank; missing > 0;) {
    struct pollfd poll_one = {.fd = m->listener, .events = POLLIN};
    greeting theirs = {.magic = 0};
    address caller = {.bytes = m->book[0].bytes};
    socklen_t bytes = sizeof caller.name;
    if (poll(&poll_one, 1, tsr_mesh_left_ms(m->until)) == 0) {
      char names[4 * TSR_DEVICES_MAX + 16];
      name_missing(mesh, names, sizeof names);
      return tsr_fail(error, TSR_IO, "rank %u: %s %s not come within %g s: start all %u processes", mesh->rank, names,
                      missing == 1 ? "has" : "have", mesh->limit_s, mesh->size);
    }
    const int made = accept4(m->listener, (struct sockaddr *)&caller.name, &bytes, SOCK_CLOEXEC);
    if (made < 0) continue;
    const double soon = tsr_mesh_now_s() + 1 < m->until ? tsr_mesh_now_s() + 1 : m->until;
    if (pass(made, &theirs, sizeof theirs, false, soon) && theirs.magic == magic && theirs.size == mesh->size &&
        theirs.rank > mesh->rank && theirs.rank < mesh->size && mesh->sockets[theirs.rank] < 0) {
      hurry(m, made);
      mesh->sockets[theirs.rank] = made;
      if (m->is_tcp) {
        *port_of(&caller) = theirs.port;
        m->book[theirs.rank] = caller;
      }
      missing--;
    } else {
      close(made);
    }
  }
  return TSR_OK;
}

/* ---- Meeting --------------------------------------------------------------------------------- */

/* Rank 0 sends the book when all have called. */
static tsr_status share_book(meeting *m, tsr_error *error) {
  tsr_mesh *mesh = m->mesh;
  const bool gives = mesh->rank == 0;
  for (uint32_t rank = gives ? 1 : 0; rank < (gives ? mesh->size : 1); rank++)
    if (!pass(mesh->sockets[rank], m->book, mesh->size * sizeof *m->book, gives, m->until))
      return tsr_fail(error, TSR_IO, "%s: rank %u has gone while the group met, or does not answer", m->id, rank);
  return TSR_OK;
}

static tsr_status meet_by_names(meeting *m, tsr_error *error) {
  tsr_status status = name_sockets(m, error);
  if (status == TSR_OK) status = listen_at(m, &m->book[m->mesh->rank], error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < m->mesh->rank; i++) status = call_at(m, i, error);
  if (status == TSR_OK) status = take_calls(m, error);
  unlink(((struct sockaddr_un *)&m->book[m->mesh->rank].name)->sun_path);
  return status;
}

static tsr_status meet_over_tcp(meeting *m, tsr_error *error) {
  tsr_status status = find_host(m, error);
  if (status) return status;
  if (m->mesh->rank == 0) {
    status = listen_at(m, &m->book[0], error);
    if (status == TSR_OK) status = take_calls(m, error);
    return status ? status : share_book(m, error);
  }
  status = call_at(m, 0, error);
  if (status == TSR_OK) status = share_book(m, error);
  for (uint32_t i = 1; status == TSR_OK && i < m->mesh->rank; i++) status = call_at(m, i, error);
  return status ? status : take_calls(m, error);
}

tsr_status tsr_mesh_open(tsr_mesh *mesh, uint32_t rank, uint32_t size, const char *id, double limit_s, double late_s,
                         tsr_error *error) {
  enum { LATER = 10 };
  meeting m = {.mesh = mesh,
               .id = id,
               .is_tcp = strncmp(id, "tcp://", 6) == 0,
               .until = tsr_mesh_now_s() + limit_s,
               .listener = -1};
  *mesh = (tsr_mesh){.rank = rank, .size = size, .limit_s = limit_s, .late_s = late_s > 0 ? late_s : LATER * limit_s};
  for (uint32_t i = 0; i < TSR_DEVICES_MAX; i++) mesh->sockets[i] = -1;
  tsr_status status = m.is_tcp ? meet_over_tcp(&m, error) : meet_by_names(&m, error);
  if (m.listener >= 0) close(m.listener);
  return status ? status : tsr_beat_start(mesh, error);
}
