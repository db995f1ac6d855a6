/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of tables of several devices (save.h). Of replicas only the first is saved. In a group each process saves its
 * shard in a file of its own, in which the other shards have no bytes.
 */
#define _GNU_SOURCE /* lseek of large files */
#include "core/devices/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/devices/group.h"
#include "core/devices/move.h"
#include "core/devices/whole.h"
#include "core/sized.h"
#include "core/table/create.h"
#include "core/table/save.h"
#include "core/table/save_format.h"
#include "core/table/single.h"

typedef tsr_save_shards_head head_of_all;
_Static_assert((int)TSR_SPLIT_SHARDS_MAX == 64 && (int)TSR_DEVICES_MAX == 64, "the arrays of a head");

static uint64_t checksum(const head_of_all *h, const char *text) {
  const uint64_t sum = tsr_save_checksum(h->version, h, offsetof(head_of_all, checksum));
  return tsr_save_checksum(sum, text, h->text_bytes);
}

/* ---- Saving ---------------------------------------------------------------------------------- */

static bool is_here(const tsr_table *t, uint32_t shard) {
  const tsr_transport *x = &t->shards->transport;
  return shard >= x->first && shard < x->first + x->here;
}

/* The head, with the spec's text behind it. The shards follow, each where the one before ends. */
static tsr_status take(tsr_table *t, bool copies, tsr_snapshot *snapshot, tsr_error *error) {
  const tsr_shards *s = t->shards;
  char *text = tsr_save_text(t->spec);
  head_of_all *h = text ? calloc(1, sizeof *h + strlen(text)) : NULL;
  snapshot->head = h;
  if (!h) {
    free(text);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory to save a table's spec");
  }
  *h = (head_of_all){.version = TSR_SAVE_VERSION,
                     .shards = s->transport.group ? s->transport.members : tsr_shards_holders(s),
                     .text_bytes = strlen(text),
                     .capacity = t->capacity,
                     .seed = t->store.composition->shape.seed};
  memcpy(h->magic, TSR_SAVE_SHARDS_MAGIC, sizeof h->magic);
  memcpy(h->first_bin, s->first_bin, sizeof h->first_bin);
  memcpy(h + 1, text, h->text_bytes);
  free(text);
  snapshot->head_bytes = sizeof *h + h->text_bytes;
  uint64_t at = snapshot->head_bytes;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < h->shards; i++) {
    h->ends[i] = at;
    if (!is_here(t, i)) continue;
    tsr_table *shard = t->shards->members[i - t->shards->transport.first].shard;
    tsr_taken **part = &snapshot->parts[snapshot->count];
    status = tsr_save_take(shard, at, copies, part, error);
    if (status) break;
    snapshot->count++;
    h->ends[i] = at += tsr_save_taken_bytes(*part);
  }
  h->checksum = checksum(h, (const char *)(h + 1));
  return status;
}

tsr_status tsr_shards_take(tsr_table *t, bool copies, tsr_snapshot *snapshot, tsr_error *error) {
  if (!t->shards->transport.group) return take(t, copies, snapshot, error);
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "a table of a group is saved by all of its processes at once: use "
                  "tsr_table_save");
}

/* The progress of a save is told of each shard. */
static void listen(const tsr_table *t, tsr_watch *watch) {
  for (uint32_t i = 0; i < t->shards->transport.here; i++) {
    tsr_listener *listener = &t->shards->members[i].shard->listener;
    listener->watch = watch;
    listener->context = t->listener.context;
  }
}

/* In a group the file gets its name when all processes have written theirs. */
static tsr_status save(tsr_table *t, const char *path, tsr_error *error) {
  tsr_shards *s = t->shards;
  tsr_file file;
  tsr_snapshot snapshot = {.count = 0};
  tsr_status status = tsr_save_begin(&file, path, error);
  const bool has_begun = status == TSR_OK;
  if (has_begun) status = take(t, false, &snapshot, error);
  if (status == TSR_OK) {
    listen(t, t->listener.watch);
    status = tsr_snapshot_put(&snapshot, &file, path, error);
    listen(t, NULL);
  }
  tsr_snapshot_drop(&snapshot);
  status = s->transport.agree(&s->transport, status, error);
  if (has_begun) status = tsr_save_end(&file, path, status, error);
  return s->transport.agree(&s->transport, status, error);
}

static tsr_status name_part(char *name, const char *path, uint32_t rank, tsr_error *error) {
  const int length = snprintf(name, PATH_MAX, "%s.%u", path, rank);
  if (length > 0 && length < PATH_MAX) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%.64s...: is too long for the name of a file", path);
}

tsr_status tsr_shards_save(tsr_table *t, const char *path, tsr_error *error) {
  const tsr_transport *x = &t->shards->transport;
  char name[PATH_MAX];
  if (!x->group) return save(t, path, error);
  const tsr_status status = name_part(name, path, x->first, error);
  return status ? status : save(t, name, error);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* What a shard is loaded from. */
typedef struct source {
  const char *path, *plugins;
  int file;
  head_of_all head;
} source;

static tsr_status damaged(const char *path, const char *what, tsr_error *error) {
  return tsr_fail(error, TSR_IO, "%s: %s: the saved table is damaged, save it again", path, what);
}

static tsr_status check_head(const char *path, const head_of_all *h, uint64_t bytes, tsr_error *error) {
  uint64_t at = sizeof *h + h->text_bytes;
  const tsr_status status = tsr_save_check_version(path, h->version, error);
  if (status) return status;
  if (h->text_bytes > TSR_SAVE_TEXT_MAX || h->shards == 0 || h->shards > TSR_DEVICES_MAX)
    return damaged(path, "its head has impossible sizes", error);
  for (uint32_t i = 0; i < h->shards; i++) {
    if (h->ends[i] < at) return damaged(path, "its head has impossible sizes", error);
    at = h->ends[i];
  }
  for (uint32_t i = 0; i < TSR_DEVICES_MAX; i++)
    if (h->first_bin[i] > TSR_SPLIT_BINS || (i == 0 && h->first_bin[0]))
      return damaged(path, "its head has impossible bins", error);
  if (at == bytes) return TSR_OK;
  return tsr_fail(error, TSR_IO,
                  "%s: has %llu bytes, its head says %llu: the saved table was cut or damaged, save it again", path,
                  (unsigned long long)bytes, (unsigned long long)at);
}

/* A shard must be as the table's own spec says; otherwise it would answer for other keys. */
static tsr_status check_shard(const tsr_table *t, const tsr_table *shard, const char *path, tsr_error *error) {
  const tsr_shape *all = &t->store.composition->shape, *one = &shard->store.composition->shape;
  const uint32_t value_bytes = tsr_composition_value_bytes(t->store.composition);
  if (value_bytes == tsr_composition_value_bytes(shard->store.composition) && all->kind == one->kind &&
      all->key_bits == one->key_bits && all->value_bits == one->value_bits && all->duplicates == one->duplicates &&
      all->concurrency == one->concurrency)
    return TSR_OK;
  return damaged(path, "a shard is another kind of table than the whole", error);
}

static tsr_status load_shard(const tsr_table *t, uint32_t i, const void *from, tsr_table **shard, tsr_error *error) {
  const source *s = from;
  const head_of_all *h = &s->head;
  char number[16];
  const uint32_t which = t->shards->transport.first + i;                     /* of all; i: of this process */
  if (which >= h->shards) return tsr_shard_create(t, i, NULL, shard, error); /* a replica; there is no copy of it */
  const uint64_t begin = which ? h->ends[which - 1] : sizeof *h + h->text_bytes;
  if (h->ends[which] == begin)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "%s: is one of the %u files that a group saved, and does not hold shard %u. Load all of them in a "
                    "group of as many processes, by tsr_group_table_load",
                    s->path, h->shards, which);
  snprintf(number, sizeof number, "%u", tsr_shard_device(t, i));
  const tsr_load_options options = {.plugins = s->plugins, .backend = t->backend->name, .device = number};
  if (lseek(s->file, (off_t)begin, SEEK_SET) < 0)
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", s->path, strerror(errno));
  tsr_status status = tsr_single_load(s->path, s->file, h->ends[which] - begin, &options, shard, error);
  return status ? status : check_shard(t, *shard, s->path, error);
}

/* The table's data other than its shards. */
static void remember(const source *s, tsr_table *t) {
  memcpy(t->shards->first_bin, s->head.first_bin, sizeof s->head.first_bin);
  t->shards->is_empty = false;
  t->shards->is_stale = t->store.composition->settings.sharing.split == TSR_SPLIT_REPLICATED;
}

static tsr_status fill_table(const source *s, tsr_table *t, tsr_error *error) {
  const head_of_all *h = &s->head;
  if (t->methods != &tsr_methods_shards)
    return damaged(s->path, "its spec is of one device, and it holds shards", error);
  const bool replicates = t->store.composition->settings.sharing.split == TSR_SPLIT_REPLICATED;
  if (h->shards != (replicates ? 1 : t->devices.count))
    return damaged(s->path, "its head has another number of shards than its spec", error);
  const tsr_status status = tsr_shards_furnish(t, load_shard, s, error);
  if (status == TSR_OK) remember(s, t);
  return status;
}

static tsr_status read_head(source *s, uint64_t bytes, char **text, tsr_error *error) {
  head_of_all *h = &s->head;
  tsr_status status = tsr_save_read(s->file, s->path, h, sizeof *h, error);
  if (status == TSR_OK) status = check_head(s->path, h, bytes, error);
  if (status) return status;
  *text = calloc(1, h->text_bytes + 1);
  if (!*text) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to load it", s->path);
  status = tsr_save_read(s->file, s->path, *text, h->text_bytes, error);
  if (status == TSR_OK && h->checksum != checksum(h, *text))
    status = damaged(s->path, "the checksum of its head is wrong", error);
  return status;
}

/* Whether there are as many devices as shards in the file, or copies of one shard. */
static bool suits(const source *s, const tsr_table *t) {
  return t->store.composition->settings.sharing.split == TSR_SPLIT_REPLICATED || t->devices.count == s->head.shards;
}

/* Loads the shards on the devices in turn, and moves their pairs. *table: open, on the wanted devices; it is
 * replaced. */
static tsr_status load_and_move(const source *s, const tsr_spec *spec, const tsr_options *sizes, tsr_table **table,
                                tsr_error *error) {
  char as_saved[16 + 4 * TSR_DEVICES_MAX] = "table.devices=";
  const tsr_devices *wanted = &(*table)->devices;
  tsr_spec *in_turn = NULL;
  tsr_table *saved = NULL, *made = NULL;
  for (uint32_t i = 0; i < s->head.shards; i++) {
    const size_t used = strlen(as_saved);
    snprintf(as_saved + used, sizeof as_saved - used, "%s%u", i ? "," : "", wanted->numbers[i % wanted->count]);
  }
  tsr_status status = tsr_spec_copy(spec, &in_turn, error);
  if (status == TSR_OK) status = tsr_spec_set(in_turn, as_saved, error);
  if (status == TSR_OK) status = tsr_table_open(in_turn, sizes, &saved, error);
  if (status == TSR_OK) status = fill_table(s, saved, error);
  if (status == TSR_OK) status = tsr_shards_move(saved, spec, &made, error);
  tsr_table_destroy(saved);
  tsr_spec_free(in_turn);
  tsr_table_destroy(status ? made : *table);
  if (status == TSR_OK) *table = made;
  return status;
}

static tsr_status load_shards(source *s, uint64_t bytes, const tsr_load_options *options, tsr_table **table,
                              tsr_error *error) {
  char *text = NULL;
  tsr_spec *spec = NULL;
  tsr_status status = read_head(s, bytes, &text, error);
  if (status == TSR_OK) status = tsr_save_spec(text, s->path, options, &spec, error);
  const tsr_options sizes = {.plugins = options->plugins, .capacity = s->head.capacity, .seed = s->head.seed};
  if (status == TSR_OK) status = tsr_table_open(spec, &sizes, table, error);
  if (status == TSR_OK)
    status = suits(s, *table) ? fill_table(s, *table, error) : load_and_move(s, spec, &sizes, table, error);
  free(text);
  tsr_spec_free(spec);
  return status;
}

/* The file of a table of one device: loaded on the first of several devices, and its pairs are dealt to all. */
static tsr_status load_single(const source *s, uint64_t bytes, const tsr_load_options *options, tsr_table **table,
                              tsr_error *error) {
  char first[16], text[512];
  const bool are_all = strcmp(options->device, "all") == 0;
  tsr_table *one = NULL;
  tsr_spec *devices = NULL;
  snprintf(first, sizeof first, "%.*s", are_all ? 1 : (int)strcspn(options->device, ","),
           are_all ? "0" : options->device);
  const tsr_load_options on_first = {.plugins = options->plugins, .backend = options->backend, .device = first};
  tsr_status status = tsr_single_load(s->path, s->file, bytes, &on_first, &one, error);
  if (status == TSR_OK) {
    snprintf(text, sizeof text, "[table]\nbackend = %s\ndevices = %s\n", one->backend->name, options->device);
    status = tsr_spec_parse(text, s->path, &devices, error);
  }
  if (status == TSR_OK) status = tsr_shards_move(one, devices, table, error);
  tsr_table_destroy(one);
  tsr_spec_free(devices);
  return status;
}

tsr_status tsr_shards_load(const char *path, int file, uint64_t bytes, const tsr_load_options *options,
                           tsr_table **table, tsr_error *error) {
  source s = {.path = path, .plugins = options->plugins, .file = file};
  char magic[sizeof(TSR_SAVE_SHARDS_MAGIC) - 1] = "";
  if (pread(file, magic, sizeof magic, 0) < 0)
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  if (memcmp(magic, TSR_SAVE_SHARDS_MAGIC, sizeof magic) != 0) return load_single(&s, bytes, options, table, error);
  return load_shards(&s, bytes, options, table, error);
}

/* ---- In a group of processes ----------------------------------------------------------------- */

/* This process's file, or the file of a table of one process with as many devices. */
static tsr_status open_part(const char *path, uint32_t rank, char *name, int *file, uint64_t *bytes, tsr_error *error) {
  struct stat facts;
  tsr_status status = name_part(name, path, rank, error);
  if (status) return status;
  *file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*file < 0 && errno == ENOENT) {
    snprintf(name, PATH_MAX, "%s", path);
    *file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  }
  if (*file < 0)
    return tsr_fail(error, errno == ENOENT ? TSR_NOT_FOUND : TSR_IO,
                    "%s.%u: cannot be opened as a saved table of a group: %s", path, rank, strerror(errno));
  if (fstat(*file, &facts) || !S_ISREG(facts.st_mode))
    return tsr_fail(error, TSR_IO, "%s: is no regular file, and so no saved table", name);
  *bytes = (uint64_t)facts.st_size;
  return TSR_OK;
}

static tsr_status load_part(tsr_group *group, const tsr_load_options *options, source *s, uint64_t bytes,
                            tsr_table **made, tsr_error *error) {
  char *text = NULL;
  tsr_spec *spec = NULL;
  tsr_status status = read_head(s, bytes, &text, error);
  if (status == TSR_OK && s->head.shards != tsr_group_size(group))
    status = tsr_fail(error, TSR_INCOMPATIBLE,
                      "%s: holds a table of %u shards, and the group has %u processes: load it in "
                      "a group of as many as it has shards",
                      s->path, s->head.shards, tsr_group_size(group));
  if (status == TSR_OK) status = tsr_save_spec(text, s->path, options, &spec, error);
  const tsr_options sizes = {.plugins = options->plugins, .capacity = s->head.capacity, .seed = s->head.seed};
  if (status == TSR_OK) status = tsr_group_make(group, spec, &sizes, load_shard, s, made, error);
  if (status == TSR_OK) remember(s, *made);
  free(text);
  tsr_spec_free(spec);
  return status;
}

tsr_status tsr_group_table_load(tsr_group *group, const char *path, const tsr_load_options *options, tsr_table **table,
                                tsr_error *error) {
  tsr_load_options known;
  tsr_table *made = NULL;
  char name[PATH_MAX];
  uint64_t bytes = 0;
  if (!group || !path || !table)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_table_load needs a group, a path and a place for the table");
  source s = {.path = name, .file = -1};
  tsr_status status = tsr_take_over("tsr_group_table_load", &known, options, sizeof known, error);
  if (status == TSR_OK) status = open_part(path, tsr_group_rank(group), name, &s.file, &bytes, error);
  s.plugins = known.plugins;
  if (status == TSR_OK) status = load_part(group, &known, &s, bytes, &made, error);
  if (s.file >= 0) close(s.file);
  return tsr_group_complete(group, made, status, table, error);
}
