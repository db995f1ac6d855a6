/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages over a communicator (over.h).
 */
#define _DEFAULT_SOURCE
#include "core/devices/over.h"

#include <dlfcn.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compose/registry.h"

/* What a rank tells of its next message. */
typedef struct intent {
  uint64_t magic, number, is_last; /* is_last: it has failed, and sends only why */
  uint64_t sends[TSR_DEVICES_MAX], expects[TSR_DEVICES_MAX];
} intent;
static const uint64_t magic = 0x5453524F56455231u;

static tsr_status pass(const tsr_over *over, const tsr_wire_load *mail, tsr_error *why) {
  const tsr_communicator *c = &over->communicator;
  const tsr_status status =
      c->exchange(c->context, mail->out, mail->out_bytes, mail->in, mail->in_bytes, over->late_s, why);
  return !status || (why->status && *why->message)
             ? status
             : tsr_fail(why, TSR_IO, "the communicator of a group fails, and does not say why");
}

/* All ranks learn the intents of all. */
static tsr_status share(const tsr_over *over, intent *all, tsr_error *why) {
  tsr_wire_load mail = {.out = {NULL}};
  for (uint32_t i = 0; i < over->communicator.ranks; i++) {
    if (i == over->communicator.rank) continue;
    mail.out[i] = &all[over->communicator.rank];
    mail.in[i] = &all[i];
    mail.out_bytes[i] = mail.in_bytes[i] = sizeof *all;
  }
  return pass(over, &mail, why);
}

/* Those that have failed send why. The first one's reason is that of all. */
static tsr_status hear_last_words(const tsr_over *over, const intent *all, const tsr_error *mine, tsr_error *why) {
  tsr_error *words = calloc(over->communicator.ranks, sizeof *words);
  tsr_wire_load mail = {.out = {NULL}};
  if (!words) return tsr_fail(why, TSR_NO_MEMORY, "no memory for why a group has ended");
  for (uint32_t i = 0; i < over->communicator.ranks; i++) {
    if (i == over->communicator.rank) continue;
    mail.out[i] = mine;
    mail.in[i] = &words[i];
    mail.out_bytes[i] = all[over->communicator.rank].is_last ? sizeof *mine : 0;
    mail.in_bytes[i] = all[i].is_last ? sizeof *words : 0;
  }
  tsr_status status = pass(over, &mail, why);
  for (uint32_t i = 0; status == TSR_OK && i < over->communicator.ranks; i++) {
    if (i == over->communicator.rank || !all[i].is_last) continue;
    words[i].message[sizeof words[i].message - 1] = '\0';
    status = tsr_fail(why, words[i].status ? words[i].status : TSR_IO, "rank %u: %.900s", i, words[i].message);
  }
  free(words);
  return status;
}

/* The same answer in all processes. */
static tsr_status compare(const tsr_over *over, const intent *all, tsr_error *why) {
  for (uint32_t i = 0; i < over->communicator.ranks; i++)
    for (uint32_t j = 0; j < over->communicator.ranks; j++)
      if (all[i].magic != magic || all[i].number != all[j].number || (i != j && all[i].sends[j] != all[j].expects[i]))
        return tsr_fail(
            why, TSR_BAD_ARGUMENT,
            "rank %u is at another call than rank %u: all processes of a group make the same calls in the same "
            "order; the group is broken",
            i, j);
  return TSR_OK;
}

static tsr_status exchange(tsr_over *over, const tsr_wire_load *mail, const tsr_error *last, tsr_error *why) {
  intent *all = calloc(over->communicator.ranks, sizeof *all), *mine = all + over->communicator.rank;
  if (!all) return tsr_fail(why, TSR_NO_MEMORY, "no memory for a message of a group");
  *mine = (intent){.magic = magic, .number = ++over->messages, .is_last = last != NULL};
  for (uint32_t i = 0; !last && i < over->communicator.ranks; i++) {
    if (i == over->communicator.rank) continue;
    mine->sends[i] = mail->out_bytes[i];
    mine->expects[i] = mail->in_bytes[i];
  }
  bool ends = false;
  uint64_t bytes = 0;
  tsr_status status = share(over, all, why);
  for (uint32_t i = 0; status == TSR_OK && i < over->communicator.ranks; i++) {
    ends = ends || all[i].is_last;
    for (uint32_t j = 0; j < over->communicator.ranks; j++) bytes += all[i].sends[j];
  }
  if (status == TSR_OK && ends)
    status = hear_last_words(over, all, last, why);
  else if (status == TSR_OK)
    status = compare(over, all, why);
  if (status == TSR_OK && !ends && bytes) {
    tsr_wire_load others = *mail;
    others.out_bytes[over->communicator.rank] = others.in_bytes[over->communicator.rank] = 0;
    status = pass(over, &others, why);
  }
  free(all);
  return status;
}

tsr_status tsr_over_exchange(tsr_over *over, const tsr_wire_load *mail, tsr_error *why) {
  return exchange(over, mail, NULL, why);
}

void tsr_over_say_why(tsr_over *over, const tsr_error *why) {
  tsr_error useless;
  const tsr_status status = exchange(over, NULL, why, &useless);
  (void)status; /* this rank has failed already */
}

/* ---- Transports ------------------------------------------------------------------------------ */

static tsr_status find(const char *transport, char path[PATH_MAX], tsr_error *error) {
  char name[64];
  if (strchr(transport, '/')) {
    snprintf(path, PATH_MAX, "%s", transport);
    return TSR_OK;
  }
  if (strlen(transport) > 24 || strspn(transport, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(transport))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "transport '%.40s': is a path, or 1 to 24 letters a-z, digits and _, such as mpi", transport);
  snprintf(name, sizeof name, "transport_%s.so", transport);
  if (tsr_registry_seek(name, path)) return TSR_OK;
  return tsr_fail(
      error, TSR_NOT_FOUND,
      "there is no %s in the folders of TESSERA_PLUGINS, nor next to the library: build it for this site by "
      "transports/build_transport.sh %s",
      name, transport);
}

tsr_status tsr_over_load(const char *transport, const void *handle, tsr_communicator *made, tsr_error *error) {
  char path[PATH_MAX];
  tsr_transport_opener *open = NULL;
  tsr_status status = find(transport, path, error);
  if (status) return status;
  /* global: MPI's own plugins look for its symbols there */
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (!library) return tsr_fail(error, TSR_BAD_PLUGIN, "%s: cannot be loaded: %.600s", path, dlerror());
  const uint32_t *abi = dlsym(library, "tsr_transport_abi");
  *(void **)&open = dlsym(library, "tsr_transport_open");
  if (!abi || !open || *abi != TSR_TRANSPORT_ABI)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: is no transport of this library (ABI %u, this library has %d): build it again by "
                    "transports/build_transport.sh",
                    path, abi ? *abi : 0, TSR_TRANSPORT_ABI);
  *made = (tsr_communicator){.size = sizeof *made};
  return open(handle, made, error);
}
