/* SPDX-License-Identifier: Apache-2.0
 *
 * Saved tables; save_format.h says what a file holds. A region's memory means the same on both backends: a bucket's
 * slots may have other numbers there, but the same addresses. Key locks and counters are not saved.
 */
#define _GNU_SOURCE /* O_CLOEXEC, open_memstream */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/compose/compose.h"
#include "core/cpu/parallel.h"
#include "core/sized.h"
#include "core/table/create.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/launch.h"
#include "core/table/numbering.h"
#include "core/table/order.h"
#include "core/table/rebuild.h"
#include "core/table/save.h"
#include "core/table/save_format.h"
#include "core/table/single.h"
#include "core/table/store.h"

#ifdef TSR_SMALL_BLOCKS /* tests/fuzz */
enum { BUFFER_BYTES = 1 << 10 };
#else
enum { BUFFER_BYTES = 1 << 22 }; /* whole words, as the checksum wants them */
#endif

/* All of a file but the regions' bytes. */
typedef struct front {
  tsr_save_head head;
  char *text;
  tsr_save_row rows[TSR_SAVE_REGIONS_MAX];
} front;

/* One file being written or read. */
typedef struct stream {
  const char *path;
  int file;                /* being read */
  const tsr_file *written; /* being written */
  uint64_t base;           /* where in it the table begins */
  uint64_t done, whole;    /* bytes that are written, and of the file, 0 where there are several tables in it */
  char *buffer;            /* BUFFER_BYTES */
  bool maps;               /* while it is read, what can be mapped is */
  const bool *stops;       /* ends the writing; NULL: nothing does */
  tsr_error *error;
} stream;

struct tsr_taken {
  front f;
  uint64_t base;
  tsr_table *table; /* whose memory it is, entered until this is dropped; NULL: `memory` has a copy */
  char *memory;     /* of all regions, one after the other */
  uint64_t bytes;   /* of it */
};

/* ---- Files ----------------------------------------------------------------------------------- */

static tsr_status io_failed(const stream *s, const char *what, int why) {
  return tsr_fail(s->error, TSR_IO, "%s: cannot be %s: %s", s->path, what, strerror(why));
}

static tsr_status write_bytes(const stream *s, const void *data, uint64_t bytes) {
  int failure = tsr_file_write(s->written, data, bytes);
  return failure ? io_failed(s, "written", failure) : TSR_OK;
}

tsr_status tsr_save_read(int file, const char *path, void *data, uint64_t bytes, tsr_error *error) {
  for (uint64_t done = 0; done < bytes;) {
    ssize_t got = read(file, (char *)data + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (got == 0) return tsr_fail(error, TSR_IO, "%s: ends too early: the saved table was cut, save it again", path);
    done += (uint64_t)got;
  }
  return TSR_OK;
}

static tsr_status read_bytes(const stream *s, void *data, uint64_t bytes) {
  return tsr_save_read(s->file, s->path, data, bytes, s->error);
}

static tsr_status copy_between(const tsr_table *t, void *to, const void *from, uint64_t bytes, tsr_error *error) {
  tsr_status status = t->backend->copy(t->device, to, from, bytes, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

/* ---- The spec's text ------------------------------------------------------------------------- */

char *tsr_save_text(const tsr_spec *spec) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  for (size_t i = 0; i < tsr_spec_section_count(spec); i++) {
    const tsr_spec_section *section = tsr_spec_section_at(spec, i);
    fprintf(out, "[%s]\n", section->name);
    for (size_t j = 0; j < tsr_spec_count(spec); j++) {
      const tsr_spec_entry *entry = tsr_spec_at(spec, j);
      if (strcmp(entry->section, section->name) == 0) fprintf(out, "%s = %s\n", entry->key, entry->value);
    }
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* ---- What a table's file must say ------------------------------------------------------------ */

static void describe_regions(const tsr_table *t, front *f) {
  const tsr_composition *composition = t->store.composition;
  f->head.region_count = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(composition, &at);) {
    tsr_save_row *r = &f->rows[f->head.region_count++];
    *r = (tsr_save_row){.role = at.role, .index = at.i, .bytes = tsr_region_bytes(composition, at.region)};
    snprintf(r->name, sizeof r->name, "%.*s", (int)sizeof r->name - 1, at.region->name);
  }
  const tsr_saved_values *saved = t->values->saved;
  if (!saved) return;
  tsr_save_row *r = &f->rows[f->head.region_count++];
  *r = (tsr_save_row){.role = TSR_SAVE_VALUES, .bytes = saved->bytes(t)};
  snprintf(r->name, sizeof r->name, "%s", saved->name);
}

static uint64_t file_bytes(const front *f) {
  uint64_t bytes = tsr_save_front_bytes(&f->head);
  for (uint64_t i = 0; i < f->head.region_count; i++) bytes += f->rows[i].bytes;
  return bytes;
}

static void *region_of(const tsr_table *t, const tsr_save_row *r) {
  return r->role == TSR_SAVE_VALUES ? t->values->saved->memory(t) : t->store.state.part[r->role].region[r->index];
}

/* ---- A sample of the pairs ------------------------------------------------------------------- */

typedef struct sample {
  void *keys, *values; /* in the table's memory; values: NULL for a set */
  uint64_t pairs, sum;
} sample;

static void free_sample(const tsr_table *t, sample *taken) {
  if (taken->keys) t->backend->free(t->device, taken->keys);
  if (taken->values) t->backend->free(t->device, taken->values);
}

static uint64_t number_at(const char *numbers, uint64_t i, uint64_t bytes) {
  uint64_t number = 0;
  memcpy(&number, numbers + i * bytes, bytes);
  return number;
}

/* Of a key of 128 bits a checksum. */
static uint64_t key_at(const char *keys, uint64_t i, uint64_t bytes) {
  return bytes > sizeof(uint64_t) ? tsr_save_checksum(0, keys + i * bytes, bytes) : number_at(keys, i, bytes);
}

/* In pieces that fit into the buffer, a half of it for each array. */
static tsr_status sum_up(const stream *s, const tsr_save_head *h, const tsr_table *t, sample *taken) {
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint64_t value_bytes = t->store.composition->shape.value_bits / 8;
  const uint64_t room = BUFFER_BYTES / 2 / (2 * sizeof(uint64_t));
  char *keys = s->buffer, *values = s->buffer + BUFFER_BYTES / 2;
  tsr_status status = TSR_OK;
  for (uint64_t done = 0, step; status == TSR_OK && done < taken->pairs; done += step) {
    step = taken->pairs - done < room ? taken->pairs - done : room;
    status = copy_between(t, keys, (char *)taken->keys + done * key_bytes, step * key_bytes, s->error);
    if (status == TSR_OK && value_bytes)
      status = copy_between(t, values, (char *)taken->values + done * value_bytes, step * value_bytes, s->error);
    for (uint64_t i = 0; status == TSR_OK && i < step; i++)
      taken->sum += tsr_save_pair(h, key_at(keys, i, key_bytes), number_at(values, i, value_bytes));
  }
  return status;
}

/* The pairs of the first buckets; h: what the table holds. The caller frees the sample, on failure too. */
static tsr_status take_sample(const stream *s, const tsr_save_head *h, tsr_table *t, sample *taken) {
  const tsr_shape *shape = &t->store.composition->shape;
  uint64_t buckets = tsr_save_sample_buckets(h), room = buckets * shape->bucket_slots;
  tsr_tally exported = {.hits = 0};
  tsr_status status = TSR_OK;
  *taken = (sample){.keys = NULL};
  if (h->pairs == 0) return TSR_OK;
  if (t->store.composition->facts.value_list_first) { /* a slot's key has any number of pairs */
    const tsr_bulk counts = {.n = buckets};
    status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &counts, NULL, &exported, s->error);
    room = exported.hits;
  }
  if (room > h->pairs) room = h->pairs;
  if (status || room == 0) return status;
  status = t->backend->allocate(t->device, room * (shape->key_bits / 8), &taken->keys, s->error);
  if (status == TSR_OK && shape->value_bits)
    status = t->backend->allocate(t->device, room * (shape->value_bits / 8), &taken->values, s->error);
  tsr_bulk bulk = {.n = buckets, .keys_out = taken->keys, .values_out = taken->values};
  if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, TSR_BULK_export, &bulk, NULL, &exported, s->error);
  taken->pairs = exported.hits;
  return status ? status : sum_up(s, h, t, taken);
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Empty lines behind the spec, with which a large region begins at a page of the file, so that it can be mapped. */
static bool fill_page(front *f, uint64_t base) {
  const uint64_t past = (base + tsr_save_front_bytes(&f->head)) % TSR_MAP_PAGE, more = past ? TSR_MAP_PAGE - past : 0;
  if (f->head.region_count == 0 || f->rows[0].bytes < TSR_MAP_LEAST) return true;
  char *longer = realloc(f->text, f->head.text_bytes + more + 1);
  if (!longer) return false;
  memset(longer + f->head.text_bytes, '\n', more);
  longer[f->head.text_bytes + more] = 0;
  f->text = longer;
  f->head.text_bytes += more;
  return true;
}

static tsr_status describe(tsr_table *t, uint64_t base, front *f, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_status status = tsr_numbering_check(t, error);
  if (status == TSR_OK) status = t->values->reserve(t, 0, error); /* a rehash may have made more slots than rows */
  if (status) return status;
  f->head = (tsr_save_head){.version = TSR_SAVE_VERSION,
                            .capacity = shape->capacity,
                            .seed = shape->seed,
                            .buckets = tsr_composition_buckets(t->store.composition),
                            .has_erased = t->store.state.has_erased != 0};
  memcpy(f->head.magic, TSR_SAVE_MAGIC, sizeof f->head.magic);
  f->text = tsr_save_text(t->spec);
  if (!f->text) return tsr_fail(error, TSR_NO_MEMORY, "no memory to save a table's spec");
  f->head.text_bytes = strlen(f->text);
  describe_regions(t, f);
  if (!fill_page(f, base)) return tsr_fail(error, TSR_NO_MEMORY, "no memory to save a table's spec");
  f->head.file_bytes = file_bytes(f);
  return tsr_is_filter(t) ? TSR_OK : tsr_size(t, &f->head.pairs, error);
}

static tsr_status note_sample(const stream *s, tsr_table *t, front *f) {
  sample taken;
  tsr_status status = take_sample(s, &f->head, t, &taken);
  f->head.sample = taken.sum;
  free_sample(t, &taken);
  return status;
}

static bool is_stopped(const stream *s) { return s->stops && __atomic_load_n(s->stops, __ATOMIC_RELAXED); }

/* copy: where the region's bytes are; NULL: in the table. */
static tsr_status write_region(stream *s, const tsr_table *t, const char *copy, tsr_save_row *r) {
  tsr_status status = TSR_OK;
  r->checksum = 0;
  for (uint64_t done = 0, step; status == TSR_OK && done < r->bytes; done += step) {
    step = r->bytes - done < BUFFER_BYTES ? r->bytes - done : BUFFER_BYTES;
    const char *from = copy ? copy + done : s->buffer;
    if (is_stopped(s)) return io_failed(s, "written", ECANCELED);
    if (!copy) status = copy_between(t, s->buffer, (char *)region_of(t, r) + done, step, s->error);
    if (status == TSR_OK) status = write_bytes(s, from, step);
    if (status == TSR_OK) r->checksum = tsr_save_checksum(r->checksum, from, step);
    s->done += step;
    if (status == TSR_OK && t && t->listener.watch) t->listener.watch(t->listener.context, s->done, s->whole);
  }
  return status;
}

/* The front comes last, when the regions' checksums are known. */
static tsr_status write_table(stream *s, tsr_taken *taken) {
  front *f = &taken->f;
  const char *copy = taken->memory;
  s->done = s->base + tsr_save_front_bytes(&f->head);
  s->whole = s->base ? 0 : f->head.file_bytes;
  if (lseek(s->written->descriptor, (off_t)(s->base + tsr_save_front_bytes(&f->head)), SEEK_SET) < 0)
    return io_failed(s, "written", errno);
  tsr_status status = TSR_OK;
  for (uint64_t i = 0; status == TSR_OK && i < f->head.region_count; i++) {
    status = write_region(s, taken->table, copy, &f->rows[i]);
    if (copy) copy += f->rows[i].bytes;
  }
  if (status) return status;
  if (lseek(s->written->descriptor, (off_t)s->base, SEEK_SET) < 0) return io_failed(s, "written", errno);
  uint64_t sum = tsr_save_front_checksum(&f->head, f->text, f->rows);
  status = write_bytes(s, &f->head, sizeof f->head);
  if (status == TSR_OK) status = write_bytes(s, f->text, f->head.text_bytes);
  if (status == TSR_OK) status = write_bytes(s, f->rows, f->head.region_count * sizeof *f->rows);
  if (status == TSR_OK) status = write_bytes(s, &sum, sizeof sum);
  return status;
}

/* A region's pieces, copied by all threads where the memory is the host's. */
typedef struct copying {
  const tsr_table *t;
  char *to;
  const char *from;
  uint64_t bytes;
  tsr_status status;
} copying;

static void copy_piece(void *argument, uint64_t begin, uint64_t end) {
  copying *c = argument;
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t at = i * BUFFER_BYTES, step = c->bytes - at < BUFFER_BYTES ? c->bytes - at : BUFFER_BYTES;
    const tsr_status status = c->t->backend->copy(c->t->device, c->to + at, c->from + at, step, NULL, NULL);
    if (status) __atomic_store_n(&c->status, status, __ATOMIC_RELAXED);
  }
}

static tsr_status copy_region(const tsr_table *t, char *to, const tsr_save_row *r, tsr_error *error) {
  copying c = {t, to, region_of(t, r), r->bytes, TSR_OK};
  if (!t->backend->events->are_immediate) return copy_between(t, to, c.from, r->bytes, error);
  tsr_parallel_each((r->bytes + BUFFER_BYTES - 1) / BUFFER_BYTES, copy_piece, &c);
  return c.status ? tsr_fail(error, c.status, "a table's memory cannot be copied") : TSR_OK;
}

/* Mapped for itself, so that it goes back to the system at once. */
static tsr_status copy_regions(tsr_taken *taken, const tsr_table *t, tsr_error *error) {
  uint64_t done = 0;
  tsr_status status = TSR_OK;
  taken->bytes = taken->f.head.file_bytes - tsr_save_front_bytes(&taken->f.head) + 1; /* a filter may have none */
  taken->memory = mmap(NULL, taken->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken->memory == MAP_FAILED) {
    taken->memory = NULL;
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a copy of the table, of %llu bytes",
                    (unsigned long long)taken->bytes);
  }
  for (uint64_t i = 0; status == TSR_OK && i < taken->f.head.region_count; i++) {
    status = copy_region(t, taken->memory + done, &taken->f.rows[i], error);
    done += taken->f.rows[i].bytes;
  }
  return status;
}

tsr_status tsr_save_take(tsr_table *t, uint64_t base, bool copies, tsr_taken **taken, tsr_error *error) {
  tsr_taken *made = calloc(1, sizeof *made);
  stream s = {.base = base, .buffer = malloc(BUFFER_BYTES), .error = error};
  tsr_status status = made && s.buffer ? describe(t, base, &made->f, error)
                                       : tsr_fail(error, TSR_NO_MEMORY, "no memory to save a table");
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) {
    made->table = t;
    made->base = base;
    status = note_sample(&s, t, &made->f);
  }
  if (status == TSR_OK && copies) status = copy_regions(made, t, error);
  if (status == TSR_OK && copies) {
    made->table = NULL;
    status = tsr_table_leave(t, NULL, error);
  }
  free(s.buffer);
  if (status) tsr_save_drop(made);
  *taken = status ? NULL : made;
  return status;
}

uint64_t tsr_save_taken_bytes(const tsr_taken *taken) { return taken->f.head.file_bytes; }

void tsr_save_drop(tsr_taken *taken) {
  if (!taken) return;
  const tsr_status left = taken->table ? tsr_table_leave(taken->table, NULL, NULL) : TSR_OK;
  (void)left; /* whatever the device reports now, the next call on the table reports too */
  if (taken->memory) munmap(taken->memory, taken->bytes);
  free(taken->f.text);
  free(taken);
}

void tsr_snapshot_drop(tsr_snapshot *snapshot) {
  for (uint32_t i = 0; i < snapshot->count; i++) tsr_save_drop(snapshot->parts[i]);
  free(snapshot->head);
  *snapshot = (tsr_snapshot){.count = 0};
}

tsr_status tsr_snapshot_put(const tsr_snapshot *snapshot, const tsr_file *file, const char *path, tsr_error *error) {
  stream s = {.path = path, .written = file, .stops = snapshot->stops, .error = error};
  s.buffer = malloc(BUFFER_BYTES);
  tsr_status status = s.buffer ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory to save a table");
  for (uint32_t i = 0; status == TSR_OK && i < snapshot->count; i++) {
    s.base = snapshot->parts[i]->base;
    status = write_table(&s, snapshot->parts[i]);
  }
  if (status == TSR_OK && snapshot->head)
    status = lseek(file->descriptor, 0, SEEK_SET) < 0 ? io_failed(&s, "written", errno)
                                                      : write_bytes(&s, snapshot->head, snapshot->head_bytes);
  free(s.buffer);
  return status;
}

tsr_status tsr_save_begin(tsr_file *file, const char *path, tsr_error *error) {
  struct stat old;
  if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
    return tsr_fail(error, TSR_IO, "%s: is %s: a table can be saved in a regular file only", path,
                    S_ISDIR(old.st_mode) ? "a directory" : "a pipe or a device");
  const int failure = tsr_file_begin(file, path, 0666);
  return failure ? tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(failure)) : TSR_OK;
}

tsr_status tsr_save_end(tsr_file *file, const char *path, tsr_status status, tsr_error *error) {
  const int failure = tsr_file_end(file, status ? ECANCELED : 0);
  if (status || !failure) return status;
  return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(failure));
}

tsr_status tsr_table_save(tsr_table *t, const char *path, tsr_error *error) {
  return tsr_table_save_watched(t, path, NULL, NULL, error);
}

tsr_status tsr_table_save_watched(tsr_table *t, const char *path, tsr_watch *watch, void *context, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !path) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_save needs a table and a path");
  t->listener.watch = watch;
  t->listener.context = context;
  tsr_status status = t->methods->save(t, path, error);
  t->listener.watch = NULL;
  return status;
}

tsr_status tsr_single_take(tsr_table *t, bool copies, tsr_snapshot *snapshot, tsr_error *error) {
  const tsr_status status = tsr_save_take(t, 0, copies, &snapshot->parts[0], error);
  snapshot->count = status == TSR_OK;
  return status;
}

tsr_status tsr_single_save(tsr_table *t, const char *path, tsr_error *error) {
  tsr_file file;
  tsr_snapshot snapshot = {.count = 0};
  tsr_status status = tsr_save_begin(&file, path, error);
  if (status) return status;
  status = tsr_single_take(t, false, &snapshot, error);
  if (status == TSR_OK) status = tsr_snapshot_put(&snapshot, &file, path, error);
  tsr_snapshot_drop(&snapshot);
  return tsr_save_end(&file, path, status, error);
}

/* ---- Loading: the front ---------------------------------------------------------------------- */

static tsr_status damaged(const stream *s, const char *what) {
  return tsr_fail(s->error, TSR_IO, "%s: %s: the saved table is damaged, save it again", s->path, what);
}

/* Sizes are judged before anything is allocated for them: nothing is larger than the file. */
/* What it begins with is looked at before more is read: a short file may be none, and is not cut then. */
static tsr_status read_head(const stream *s, tsr_save_head *h) {
  const size_t magic_bytes = sizeof h->magic;
  tsr_status status = read_bytes(s, h, magic_bytes);
  if (status) return status;
  if (memcmp(h->magic, TSR_SAVE_MAGIC, magic_bytes) != 0)
    return tsr_fail(s->error, TSR_IO, "%s: is no saved table: tsr_table_save or `tessera run --save` writes one",
                    s->path);
  return read_bytes(s, (char *)h + magic_bytes, sizeof *h - magic_bytes);
}

tsr_status tsr_save_check_version(const char *path, uint32_t version, tsr_error *error) {
  if (version >= TSR_SAVE_OLDEST && version <= TSR_SAVE_VERSION) return TSR_OK;
  return tsr_fail(
      error, TSR_IO, "%s: was saved in version %u of the format, and this library reads versions %d to %d: %s", path,
      version, TSR_SAVE_OLDEST, TSR_SAVE_VERSION,
      version < TSR_SAVE_OLDEST ? "insert the pairs into a new table and save that"
                                : "load it with a library as new as the one that saved it, or export its pairs there");
}

static tsr_status check_head(const stream *s, const tsr_save_head *h, uint64_t bytes) {
  tsr_status status = tsr_save_check_version(s->path, h->version, s->error);
  if (status) return status;
  if (h->text_bytes > TSR_SAVE_TEXT_MAX || h->region_count > TSR_SAVE_REGIONS_MAX)
    return damaged(s, "its head has impossible sizes");
  if (h->file_bytes != bytes)
    return tsr_fail(s->error, TSR_IO,
                    "%s: has %llu bytes, its head says %llu: the saved table was cut or damaged, save it again",
                    s->path, (unsigned long long)bytes, (unsigned long long)h->file_bytes);
  return TSR_OK;
}

static tsr_status read_front(const stream *s, front *f, uint64_t bytes) {
  uint64_t sum;
  tsr_status status = read_head(s, &f->head);
  if (status == TSR_OK) status = check_head(s, &f->head, bytes);
  if (status) return status;
  f->text = calloc(1, f->head.text_bytes + 1);
  if (!f->text) return tsr_fail(s->error, TSR_NO_MEMORY, "%s: no memory to load it", s->path);
  status = read_bytes(s, f->text, f->head.text_bytes);
  if (status == TSR_OK) status = read_bytes(s, f->rows, f->head.region_count * sizeof *f->rows);
  if (status == TSR_OK) status = read_bytes(s, &sum, sizeof sum);
  if (status == TSR_OK && sum != tsr_save_front_checksum(&f->head, f->text, f->rows))
    status = damaged(s, "the checksum of its head is wrong");
  return status;
}

/* ---- Loading: the table ---------------------------------------------------------------------- */

static tsr_status put_entry(tsr_spec *spec, const char *key, const char *value, tsr_error *error) {
  char assignment[32 + TSR_SPEC_LINE_MAX];
  if (!value) return TSR_OK;
  snprintf(assignment, sizeof assignment, "table.%s=%.*s", key, TSR_SPEC_LINE_MAX, value);
  return tsr_spec_set(spec, assignment, error);
}

tsr_status tsr_save_spec(const char *text, const char *path, const tsr_load_options *options, tsr_spec **spec,
                         tsr_error *error) {
  tsr_status status = tsr_spec_parse(text, path, spec, error);
  if (status) return status;
  const bool has_list = tsr_spec_get(*spec, "table", "devices") != NULL;
  status = put_entry(*spec, "backend", options->backend, error);
  return status ? status : put_entry(*spec, has_list ? "devices" : "device", options->device, error);
}

/* Whether what was composed here has the memory that was saved. */
static bool has_regions(const front *f, const tsr_table *t) {
  front here = {.text = NULL};
  describe_regions(t, &here);
  bool same = here.head.region_count == f->head.region_count &&
              f->head.buckets == tsr_composition_buckets(t->store.composition);
  for (uint64_t i = 0; same && i < f->head.region_count; i++) {
    here.rows[i].checksum = f->rows[i].checksum;
    if (here.rows[i].role == TSR_SAVE_VALUES && t->values->saved->may_be(t, f->rows[i].bytes))
      here.rows[i].bytes = f->rows[i].bytes; /* the table has had more slots */
    same = memcmp(&here.rows[i], &f->rows[i], sizeof(tsr_save_row)) == 0;
  }
  return same;
}

static tsr_status check_regions(const stream *s, const front *f, const tsr_table *t) {
  if (has_regions(f, t)) return TSR_OK;
  return tsr_fail(s->error, TSR_INCOMPATIBLE,
                  "%s: the plugins here plan other memory than those that saved it: load it with the same plugins",
                  s->path);
}

/* A handle that has the memory that was saved, but not yet allocated. What an older version laid out otherwise is composed
 * as that version did. */
static tsr_status open_table(const stream *s, const front *f, const tsr_spec *spec, const tsr_options *sizes,
                             tsr_table **table) {
  tsr_status status = tsr_table_open(spec, sizes, table, s->error);
  if (status == TSR_OK && (*table)->methods != &tsr_methods_store)
    return damaged(s, "its spec is of several devices, and it holds the memory of one");
  if (status || f->head.version == TSR_SAVE_VERSION || has_regions(f, *table)) return status;
  tsr_composition *as_saved;
  status = tsr_compose_as_saved(spec, sizes, (*table)->device->info.sm, &as_saved, s->error);
  if (status) return status;
  tsr_composition_free((*table)->store.composition);
  (*table)->store.composition = as_saved;
  return TSR_OK;
}

/* The pairs of a table that is laid out as an older version did, into one that is laid out as tables are today. */
static tsr_status renew(const stream *s, tsr_table *t) {
  const tsr_shape *shape = &t->store.composition->shape;
  if (!t->store.composition->is_as_saved) return TSR_OK;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, s->error);
  if (status == TSR_OK) status = tsr_rebuild(t, t->spec, shape->capacity, shape->seed, NULL, NULL, s->error);
  return status ? status : tsr_table_leave(t, NULL, s->error);
}

/* The regions fill the rest of the file: so no table is larger than its file. */
static tsr_status check_rows(const stream *s, const front *f) {
  uint64_t rest = f->head.file_bytes - tsr_save_front_bytes(&f->head);
  bool fits = true;
  for (uint64_t i = 0; fits && i < f->head.region_count; i++) {
    fits = f->rows[i].bytes <= rest;
    rest -= f->rows[i].bytes;
  }
  return fits && rest == 0 ? TSR_OK : damaged(s, "its regions are not as long as the file");
}

/* Maps a region where that is asked for and possible, and passes over it in the file. */
static bool map_region(const stream *s, const tsr_table *t, const tsr_save_row *r, uint64_t *sum) {
  const off_t at = s->maps && t->backend->extents->map ? lseek(s->file, 0, SEEK_CUR) : -1;
  if (at < 0 || !t->backend->extents->map(t->device, region_of(t, r), r->bytes, s->file, (uint64_t)at)) return false;
  *sum = tsr_save_checksum(0, region_of(t, r), r->bytes);
  return lseek(s->file, (off_t)r->bytes, SEEK_CUR) >= 0;
}

static tsr_status read_region(const stream *s, const tsr_table *t, const tsr_save_row *r) {
  uint64_t sum = 0;
  tsr_status status = TSR_OK;
  const bool is_mapped = map_region(s, t, r, &sum);
  for (uint64_t done = is_mapped ? r->bytes : 0, step; status == TSR_OK && done < r->bytes; done += step) {
    step = r->bytes - done < BUFFER_BYTES ? r->bytes - done : BUFFER_BYTES;
    status = read_bytes(s, s->buffer, step);
    if (status) break;
    sum = tsr_save_checksum(sum, s->buffer, step);
    status = copy_between(t, (char *)region_of(t, r) + done, s->buffer, step, s->error);
  }
  if (status == TSR_OK && sum != r->checksum) status = damaged(s, "the checksum of its pairs is wrong");
  return status;
}

/* Whether the parts at hand read the memory as the parts did that wrote it, and look for each key where it is. */
static tsr_status check_sample(const stream *s, const front *f, tsr_table *t) {
  sample taken;
  void *found = NULL;
  tsr_tally seen = {.hits = 0};
  tsr_status status = take_sample(s, &f->head, t, &taken);
  if (status == TSR_OK && taken.sum != f->head.sample)
    status =
        tsr_fail(s->error, TSR_INCOMPATIBLE,
                 "%s: the plugins here read other pairs from its memory than those that saved it: load it with the "
                 "same plugins",
                 s->path);
  if (status == TSR_OK && taken.pairs) {
    tsr_bulk bulk = {.n = taken.pairs, .keys = taken.keys};
    status = t->backend->allocate(t->device, taken.pairs, &found, s->error);
    bulk.results = found;
    if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, TSR_BULK_contains, &bulk, NULL, &seen, s->error);
  }
  if (status == TSR_OK && seen.hits != taken.pairs)
    status = tsr_fail(s->error, TSR_INCOMPATIBLE,
                      "%s: the plugins here look for its keys in other buckets than those that saved it: load it with "
                      "the same plugins",
                      s->path);
  if (found) t->backend->free(t->device, found);
  free_sample(t, &taken);
  return status;
}

static tsr_status fill_table(const stream *s, const front *f, tsr_table *t) {
  uint64_t pairs = 0;
  tsr_status status = tsr_table_furnish(t, s->error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, s->error);
  if (status == TSR_OK && t->values->saved)
    status = t->values->saved->make(t, f->rows[f->head.region_count - 1].bytes, s->error);
  for (uint64_t i = 0; status == TSR_OK && i < f->head.region_count; i++) status = read_region(s, t, &f->rows[i]);
  if (status) return status;
  t->store.is_clear = false;
  t->store.held = f->head.pairs;
  t->store.state.has_erased = f->head.has_erased != 0;
  if (tsr_is_filter(t)) return TSR_OK; /* its blocks are all, and have their checksum */
  status = tsr_size(t, &pairs, s->error);
  if (status == TSR_OK && pairs != f->head.pairs) status = damaged(s, "it holds another number of pairs than it says");
  if (status == TSR_OK && t->values->saved && t->values->saved->check(t, pairs, NULL))
    status = damaged(s, t->values->saved->damage);
  return status ? status : check_sample(s, f, t);
}

static tsr_status load_file(const stream *s, uint64_t bytes, const tsr_load_options *options, front *f,
                            tsr_table **table) {
  tsr_spec *spec = NULL;
  tsr_status status = read_front(s, f, bytes);
  if (status == TSR_OK) status = tsr_save_spec(f->text, s->path, options, &spec, s->error);
  tsr_options sizes = {.plugins = options->plugins, .capacity = f->head.capacity, .seed = f->head.seed};
  if (status == TSR_OK) status = open_table(s, f, spec, &sizes, table);
  if (status == TSR_OK) status = check_regions(s, f, *table);
  if (status == TSR_OK) status = check_rows(s, f);
  if (status == TSR_OK) status = fill_table(s, f, *table);
  if (status == TSR_OK) status = renew(s, *table);
  tsr_spec_free(spec);
  return status;
}

tsr_status tsr_single_load(const char *path, int file, uint64_t bytes, const tsr_load_options *options,
                           tsr_table **table, tsr_error *error) {
  front f = {.text = NULL};
  stream s = {.path = path, .file = file, .maps = options->mapped != 0, .error = error};
  s.buffer = malloc(BUFFER_BYTES);
  tsr_status status = s.buffer ? load_file(&s, bytes, options, &f, table)
                               : tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to load it", path);
  free(s.buffer);
  free(f.text);
  return status;
}

/* Its first bytes say which kind of table a file holds. */
static tsr_status load_form(const char *path, int file, const tsr_load_options *options, tsr_table **table,
                            tsr_error *error) {
  char magic[sizeof(TSR_SAVE_SHARDS_MAGIC) - 1] = "";
  struct stat facts;
  if (fstat(file, &facts) != 0) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return tsr_fail(error, TSR_IO, "%s: is %s: a saved table must be a regular file", path,
                    S_ISDIR(facts.st_mode) ? "a directory" : "a pipe or a device");
  if (pread(file, magic, sizeof magic, 0) < 0)
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  const bool has_shards = memcmp(magic, TSR_SAVE_SHARDS_MAGIC, sizeof magic) == 0;
  const bool wants_shards = options->device && (strchr(options->device, ',') || strcmp(options->device, "all") == 0);
  const tsr_methods *methods = has_shards || wants_shards ? &tsr_methods_shards : &tsr_methods_store;
  return methods->load(path, file, (uint64_t)facts.st_size, options, table, error);
}

tsr_status tsr_table_load(const char *path, const tsr_load_options *options, tsr_table **table, tsr_error *error) {
  tsr_load_options known;
  tsr_table *loaded = NULL;
  if (!path || !table)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_load needs a path and a place for the table");
  tsr_status status = tsr_take_over("tsr_table_load", &known, options, sizeof known, error);
  if (status) return status;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe that nobody writes must not hang */
  if (file < 0) {
    bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return tsr_fail(error, is_missing ? TSR_NOT_FOUND : TSR_IO, "%s: cannot be opened as a saved table: %s", path,
                    strerror(errno));
  }
  status = load_form(path, file, &known, &loaded, error);
  if (status)
    tsr_table_destroy(loaded);
  else
    *table = loaded;
  close(file);
  return status;
}
