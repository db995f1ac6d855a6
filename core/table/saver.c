/* SPDX-License-Identifier: Apache-2.0
 *
 * Savers (tessera_tools.h): a thread writes what was copied of a table. Two files take turns. The one that is whole is left
 * alone, and the one before it becomes the next, by writing what differs; so a process that is killed at any moment leaves a
 * whole one. Read next: save.h, ../spec/file.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sized.h"
#include "core/table/hold.h"
#include "core/table/save.h"
#include "core/tessera_tools.h"

struct tsr_saver {
  char spare[PATH_MAX];   /* what the next file is made of */
  char current[PATH_MAX]; /* the last whole one; "": there is none */
  char next[PATH_MAX];
  tsr_blocks of_spare, of_current;
  tsr_leftover leftover; /* lists the spare file */
  tsr_snapshot snapshot;
  pthread_t thread;
  bool runs;
  /* Atomic. is_done: the thread releases what it wrote, and whoever acquires it may join at once. stops: relaxed, since the
   * thread only ends earlier; joining orders the rest. */
  bool is_done, stops;
  tsr_status status; /* of the thread */
  tsr_error error;
  tsr_saved last;
};

tsr_status tsr_saver_create(const char *spare, tsr_saver **saver, tsr_error *error) {
  if (!spare || !saver)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_saver_create needs a path and a place for the saver");
  tsr_saver *s = calloc(1, sizeof *s);
  if (!s) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a saver");
  if (snprintf(s->spare, sizeof s->spare, "%s", spare) >= (int)sizeof s->spare) {
    free(s);
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%.64s...: is too long for the name of a file", spare);
  }
  tsr_leftover_hold();
  tsr_leftover_add(&s->leftover, s->spare);
  tsr_leftover_release();
  *saver = s;
  return TSR_OK;
}

/* The current file is the spare one from now on, and the new one is current. */
static void take_turns(tsr_saver *s) {
  const tsr_blocks written = s->of_spare;
  s->of_spare = s->of_current;
  s->of_current = written;
  if (s->current[0] && rename(s->current, s->spare) != 0) s->of_spare.count = 0;
  memcpy(s->current, s->next, sizeof s->current);
}

static tsr_status write_file(tsr_saver *s, tsr_error *error) {
  tsr_file file;
  const int failure = tsr_file_begin_again(&file, s->next, s->spare, &s->of_spare);
  if (failure) return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", s->spare, strerror(failure));
  tsr_status status = tsr_snapshot_put(&s->snapshot, &file, s->next, error);
  status = tsr_save_end(&file, s->next, status, error);
  if (status) return status;
  s->last.written_bytes = s->of_spare.written;
  s->last.bytes = s->of_spare.end;
  take_turns(s);
  return TSR_OK;
}

static void *run(void *context) {
  tsr_saver *s = context;
  s->status = write_file(s, &s->error);
  tsr_snapshot_drop(&s->snapshot);
  __atomic_store_n(&s->is_done, true, __ATOMIC_RELEASE);
  return NULL;
}

/* Without memory for a copy, or a thread, it is written at once. */
static tsr_status begin(tsr_saver *s, tsr_table *t, tsr_error *error) {
  tsr_status status = t->methods->take(t, true, &s->snapshot, error);
  if (status == TSR_NO_MEMORY) {
    tsr_snapshot_drop(&s->snapshot);
    status = t->methods->take(t, false, &s->snapshot, error);
    if (status == TSR_OK) status = write_file(s, error);
    tsr_snapshot_drop(&s->snapshot);
    s->last.is_beside = false;
    return status;
  }
  if (status) {
    tsr_snapshot_drop(&s->snapshot);
    return status;
  }
  s->snapshot.stops = &s->stops;
  s->last.is_beside = pthread_create(&s->thread, NULL, run, s) == 0;
  s->runs = s->last.is_beside;
  if (s->runs) return TSR_OK;
  run(s);
  if (s->status) *error = s->error;
  return s->status;
}

tsr_status tsr_saver_begin(tsr_saver *s, tsr_table *t, const char *path, tsr_error *error) {
  tsr_error own;
  TSR_WRITES(t);
  if (!s || !t || !path) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_saver_begin needs a saver, a table and a path");
  if (!error) error = &own;
  tsr_status status = tsr_saver_end(s, true, NULL, error);
  if (status) return status;
  if (strcmp(path, s->spare) == 0 || strcmp(path, s->current) == 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: has the name of the saver's %s file: give each file a name of its own", path,
                    strcmp(path, s->spare) == 0 ? "spare" : "last");
  if (snprintf(s->next, sizeof s->next, "%s", path) >= (int)sizeof s->next)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%.64s...: is too long for the name of a file", path);
  s->is_done = false;
  return begin(s, t, error);
}

tsr_status tsr_saver_end(tsr_saver *s, bool waits, tsr_saved *saved, tsr_error *error) {
  if (!s) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_saver_end needs a saver");
  const bool is_over = !s->runs || waits || __atomic_load_n(&s->is_done, __ATOMIC_ACQUIRE);
  tsr_status status = TSR_OK;
  if (s->runs && is_over) {
    pthread_join(s->thread, NULL);
    s->runs = false;
    status = s->status;
    if (status && error) *error = s->error;
  }
  s->last.is_done = is_over;
  s->last.path = s->runs ? "" : s->current; /* the thread may be changing it */
  if (saved) tsr_hand_over(saved, &s->last, sizeof s->last);
  return status;
}

void tsr_saver_destroy(tsr_saver *s) {
  if (!s) return;
  __atomic_store_n(&s->stops, true, __ATOMIC_RELAXED);
  if (s->runs) pthread_join(s->thread, NULL);
  tsr_leftover_hold();
  unlink(s->spare);
  tsr_leftover_drop(&s->leftover);
  tsr_leftover_release();
  free(s->of_spare.sums);
  free(s->of_current.sums);
  free(s);
}
