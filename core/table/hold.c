/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of a table (hold.h).
 */
#define _GNU_SOURCE /* pthread_rwlockattr_setkind_np */
#include "core/table/hold.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct tsr_lock {
  pthread_rwlock_t lock;
  uint64_t forks;   /* of the process, when the lock was made */
  uintptr_t writer; /* the thread that holds it to write; 0: none */
  uint32_t depth;   /* calls that this thread is inside of */
} tsr_lock;

/* A forked child has one of its parent's threads. What the others held, they hold there for ever, so a lock is made anew when the
 * child first uses it. */
static uint64_t forks;
static pthread_mutex_t renewing = PTHREAD_MUTEX_INITIALIZER;

static void count_fork(void) {
  forks++;
  renewing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }

/* Readers that come one after the other must not keep a writer waiting for ever. */
static int make(tsr_lock *lock) {
  pthread_rwlockattr_t kind;
  pthread_rwlockattr_init(&kind);
  pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  const int failure = pthread_rwlock_init(&lock->lock, &kind);
  pthread_rwlockattr_destroy(&kind);
  return failure;
}

tsr_status tsr_hold_open(tsr_table *t, tsr_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  tsr_lock *made = calloc(1, sizeof *made);
  if (!made || make(made)) {
    free(made);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for the lock of a table");
  }
  made->forks = forks;
  t->order.lock = made;
  return TSR_OK;
}

void tsr_hold_close(tsr_table *t) {
  if (t->order.lock) pthread_rwlock_destroy(&t->order.lock->lock);
  free(t->order.lock);
}

static void renew(tsr_lock *lock) {
  pthread_mutex_lock(&renewing);
  if (lock->forks != forks && make(lock) == 0) {
    lock->depth = 0;
    __atomic_store_n(&lock->writer, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lock->forks, forks, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&renewing);
}

/* A number of this thread. */
static uintptr_t self(void) {
  static _Thread_local char place;
  return (uintptr_t)&place;
}

/* Relaxed: a thread finds its own number only where it has stored it. */
static bool is_own(const tsr_lock *lock) { return __atomic_load_n(&lock->writer, __ATOMIC_RELAXED) == self(); }

static tsr_table *hold(const tsr_table *table, bool reads) {
  tsr_table *t = (tsr_table *)(uintptr_t)table;
  if (!t) return NULL;
  tsr_lock *lock = t->order.lock;
  if (__atomic_load_n(&lock->forks, __ATOMIC_ACQUIRE) != forks) renew(lock);
  if (is_own(lock)) {
    lock->depth++;
  } else if (reads && t->order.reads_together) {
    pthread_rwlock_rdlock(&lock->lock);
  } else {
    pthread_rwlock_wrlock(&lock->lock);
    __atomic_store_n(&lock->writer, self(), __ATOMIC_RELAXED);
    lock->depth = 1;
  }
  return t;
}

tsr_table *tsr_hold_to_read(const tsr_table *table) { return hold(table, true); }

tsr_table *tsr_hold_to_write(const tsr_table *table) { return hold(table, false); }

void tsr_let_go(tsr_table *t) {
  if (!t) return;
  tsr_lock *lock = t->order.lock;
  if (is_own(lock)) {
    if (--lock->depth) return;
    __atomic_store_n(&lock->writer, 0, __ATOMIC_RELAXED);
  }
  pthread_rwlock_unlock(&lock->lock);
}
