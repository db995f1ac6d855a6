/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences of calls of the API, against a model of 64 keys. The first byte of an input chooses the table; each further one
 * is a call, and those behind it are its keys. What a caller may get wrong is among the calls, and is refused with a
 * sentence.
 */
#include "core/tessera.h"

#include "tests/fuzz/fuzz.h"

enum { KEYS = 64, ITEMS_MAX = 15, PATH_BYTES = 256, MISSING = 7777 };

static const char *const specs[] = {
    "layout = packed\nprobing = cuckoo\ngrowth = double\n",
    "layout = packed\nprobing = double_hashing\nstash = 8\n",
    "layout = soa\nprobing = double_hashing\ngrowth = double\n",
    "layout = packed\nprobing = cuckoo\nfilter = 8\n",
};

typedef struct input {
  const uint8_t *at, *end;
} input;

typedef struct world {
  tsr_table *table;
  bool has[KEYS]; /* the model: what is there, */
  uint32_t value[KEYS];
  uint64_t size;
} world;

static uint8_t next(input *in) { return in->at < in->end ? *in->at++ : 0; }

static tsr_table *create(uint8_t choice) {
  char text[512];
  tsr_error error;
  tsr_spec *spec = NULL;
  tsr_table *table = NULL;
  snprintf(text, sizeof text,
           "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\ncapacity = %u\nhasher = murmur3\nbackend = cpu\n%s",
           (choice >> 2) % 4 ? 100u : 200u, specs[choice % 4]);
  FUZZ_CHECK(tsr_spec_parse(text, "fuzz.ini", &spec, &error) == TSR_OK);
  FUZZ_CHECK(tsr_table_create(spec, NULL, &table, &error) == TSR_OK);
  tsr_spec_free(spec);
  return table;
}

/* The keys of a call: the marks of empty and erased slots among them. */
static uint32_t key_of(uint8_t byte) {
  return byte % KEYS < 4 ? UINT32_MAX - byte % KEYS : (byte % KEYS) * 2654435761u;
}

static uint64_t keys_of(input *in, uint32_t *keys, uint8_t *names) {
  const uint64_t n = next(in) & ITEMS_MAX;
  for (uint64_t i = 0; i < n; i++) {
    names[i] = next(in) % KEYS;
    keys[i] = key_of(names[i]);
  }
  return n;
}

static void insert(world *w, input *in) {
  uint32_t keys[ITEMS_MAX] = {0}, values[ITEMS_MAX] = {0};
  uint8_t names[ITEMS_MAX], results[ITEMS_MAX];
  const uint64_t n = keys_of(in, keys, names);
  const tsr_call call = {.results = results};
  tsr_error error;
  for (uint64_t i = 0; i < n; i++) values[i] = names[i] * 3u; /* equal keys have equal values: any of them may win */
  FUZZ_CHECK(tsr_insert(w->table, n, keys, values, &call, &error) == TSR_OK);
  for (uint64_t i = 0; i < n; i++) {
    FUZZ_CHECK(results[i] == TSR_INSERTED || results[i] == TSR_PRESENT);
    w->size += !w->has[names[i]];
    w->has[names[i]] = true;
    w->value[names[i]] = values[i];
  }
}

static void find(world *w, input *in) {
  uint32_t keys[ITEMS_MAX] = {0}, values[ITEMS_MAX] = {0};
  uint8_t names[ITEMS_MAX], present[ITEMS_MAX];
  const uint64_t n = keys_of(in, keys, names);
  const tsr_call call = {.missing = MISSING};
  tsr_error error;
  FUZZ_CHECK(tsr_find(w->table, n, keys, values, &call, &error) == TSR_OK);
  FUZZ_CHECK(tsr_contains(w->table, n, keys, present, NULL, &error) == TSR_OK);
  for (uint64_t i = 0; i < n; i++) {
    FUZZ_CHECK(present[i] == w->has[names[i]]);
    FUZZ_CHECK(values[i] == (w->has[names[i]] ? w->value[names[i]] : MISSING));
  }
}

static void erase(world *w, input *in) {
  uint32_t keys[ITEMS_MAX] = {0};
  uint8_t names[ITEMS_MAX];
  const uint64_t n = keys_of(in, keys, names);
  tsr_error error;
  FUZZ_CHECK(tsr_erase(w->table, n, keys, NULL, &error) == TSR_OK);
  for (uint64_t i = 0; i < n; i++) {
    w->size -= w->has[names[i]];
    w->has[names[i]] = false;
  }
}

static void count_and_export(world *w, input *in) {
  uint32_t keys[KEYS], values[KEYS];
  uint64_t size = 0, exported = 0;
  const uint64_t room = next(in) % (KEYS + 1);
  tsr_error error;
  FUZZ_CHECK(tsr_size(w->table, &size, &error) == TSR_OK && size == w->size);
  const tsr_status status = tsr_export(w->table, room, keys, values, &exported, &error);
  FUZZ_CHECK(exported == size && status == (room < size ? TSR_BAD_ARGUMENT : TSR_OK));
}

static void rebuild(world *w, input *in) {
  const tsr_rehash_options options = {.capacity = 100 + next(in), .seed = next(in)};
  tsr_error error;
  const tsr_status status = tsr_rehash(w->table, &options, &error);
  if (status) fuzz_check_sentence(&error, status, "");
}

static void clear(world *w, input *in) {
  tsr_error error;
  FUZZ_CHECK(tsr_clear(w->table, NULL, &error) == TSR_OK);
  memset(w->has, 0, sizeof w->has);
  w->size = 0;
  (void)in;
}

/* What a caller gets wrong changes nothing. */
static void misuse(world *w, input *in) {
  uint32_t keys[ITEMS_MAX] = {0}, values[ITEMS_MAX] = {0};
  uint64_t size;
  tsr_error error = {.status = TSR_OK};
  tsr_status status = TSR_OK;
  switch (next(in) % 6) {
  case 0:
    status = tsr_insert(w->table, 1, NULL, values, NULL, &error);
    break;
  case 1:
    status = tsr_insert(w->table, 1, keys, NULL, NULL, &error);
    break;
  case 2:
    status = tsr_find(NULL, 1, keys, values, NULL, &error);
    break;
  case 3:
    status = tsr_insert(w->table, UINT64_MAX, keys, values, NULL, &error);
    break;
  case 4:
    status = tsr_export(w->table, KEYS, NULL, values, &size, &error);
    break;
  default:
    status = tsr_table_save(w->table, "/nowhere/at/all", &error);
    break;
  }
  FUZZ_CHECK(status != TSR_OK);
  fuzz_check_sentence(&error, status, "");
}

/* Saved and loaded it is the same table. */
static void save_and_load(world *w, input *in) {
  const tsr_load_options options = {.backend = "cpu"};
  const char *path = fuzz_file(NULL, 0, ".tsr");
  tsr_table *loaded = NULL;
  tsr_error error;
  if (next(in) % 4) return; /* it writes to the disk */
  FUZZ_CHECK(tsr_table_save(w->table, path, &error) == TSR_OK);
  FUZZ_CHECK(tsr_table_load(path, &options, &loaded, &error) == TSR_OK);
  tsr_table_destroy(w->table);
  w->table = loaded;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static void (*const calls[])(world *, input *) = {insert,  find,  erase,  insert,       count_and_export,
                                                    rebuild, clear, misuse, save_and_load};
  input in = {bytes, bytes + size};
  world w = {.table = create(next(&in))};
  while (in.at < in.end) calls[next(&in) % (sizeof calls / sizeof calls[0])](&w, &in);
  in.at = in.end;
  count_and_export(&w, &in);
  tsr_table_destroy(w.table);
  return 0;
}
