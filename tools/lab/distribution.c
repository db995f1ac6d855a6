/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and drawing distributions of keys (distribution.h).
 */
#define _POSIX_C_SOURCE 200809L /* fileno */
#include "tools/lab/distribution.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/spec/number.h"

#ifdef TSR_PTHREADS
#define PARALLEL_FOR
#else
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#endif

typedef unsigned long long llu; /* for printf */

#define IDS_MAX (1ull << 39)
#define EXPONENT_MAX 8.0

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct form {
  const char *name; /* before the colon */
  bool has_value;
} form;
static const form forms[TSR_KEYS_DISTRIBUTIONS] = {
    [TSR_KEYS_DISTINCT] = {"distinct", false},     [TSR_KEYS_REPEAT] = {"repeat", true},
    [TSR_KEYS_EQUAL] = {"equal", false},           [TSR_KEYS_ZIPF] = {"zipf", true},
    [TSR_KEYS_SEQUENTIAL] = {"sequential", false}, [TSR_KEYS_STRIDED] = {"strided", true},
    [TSR_KEYS_LOW_BITS] = {"low_bits", true},      [TSR_KEYS_FILE] = {"file", true}};

static tsr_status refuse(const char *text, const char *rule, tsr_error *error) {
  return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --keys %s: %s", text, rule);
}

static tsr_status read_zipf(const char *value, tsr_distribution *d, tsr_error *error) {
  char exponent[32];
  const char *colon = strchr(value, ':');
  const size_t letters = colon ? (size_t)(colon - value) : strlen(value);
  if (letters < sizeof exponent) {
    memcpy(exponent, value, letters);
    exponent[letters] = 0;
  }
  if (letters >= sizeof exponent || !tsr_parse_double(exponent, &d->exponent) || d->exponent < 0 ||
      d->exponent > EXPONENT_MAX)
    return refuse(d->text, "the exponent must be a number from 0 to 8, such as zipf:1.0", error);
  if (colon && (!tsr_parse_u64(colon + 1, &d->number) || d->number == 0 || d->number > IDS_MAX))
    return refuse(d->text, "the number of ids must be a whole number from 1 to 2^39, such as zipf:1.0:1M", error);
  return TSR_OK;
}

static tsr_status read_value(const char *value, tsr_distribution *d, tsr_error *error) {
  switch (d->kind) {
  case TSR_KEYS_ZIPF:
    return read_zipf(value, d, error);
  case TSR_KEYS_FILE:
    d->path = value;
    return *value ? TSR_OK : refuse(d->text, "names no file", error);
  default:
    if (tsr_parse_u64(value, &d->number) && d->number) return TSR_OK;
    return refuse(d->text, "needs a whole number from 1 on after the colon, such as repeat:64", error);
  }
}

tsr_status tsr_distribution_read(const char *text, tsr_distribution *distribution, tsr_error *error) {
  const size_t letters = strcspn(text, ":");
  for (uint32_t i = 0; i < TSR_KEYS_DISTRIBUTIONS; i++) {
    if (strlen(forms[i].name) != letters || strncmp(text, forms[i].name, letters) != 0) continue;
    *distribution = (tsr_distribution){.text = text, .kind = i};
    if (forms[i].has_value && !text[letters]) return refuse(text, "needs a colon and a value, see bench --help", error);
    if (!forms[i].has_value && text[letters]) return refuse(text, "takes no value", error);
    return forms[i].has_value ? read_value(text + letters + 1, distribution, error) : TSR_OK;
  }
  return refuse(text, "is no distribution of keys: they are " TSR_DISTRIBUTION_LIST, error);
}

/* ---- Zipf's law ------------------------------------------------------------------------------ */

/* Rejection-inversion (Hörmann and Derflinger 1996): a point below the hat, which is the integral of x^-s made of
 * steps, is drawn by the inverse, and refused if it is above the step of its number. */
typedef struct zipf {
  double exponent, first, last, sure;
  uint64_t ids;
} zipf;

/* (e^x - 1) / x and log(1 + x) / x, both 1 at 0. */
static double expm1_by(double x) { return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2; }
static double log1p_by(double x) { return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2; }

static double area(const zipf *z, double x) { return expm1_by((1 - z->exponent) * log(x)) * log(x); }
static double area_inverse(const zipf *z, double a) {
  const double t = a * (1 - z->exponent);
  return exp(log1p_by(t > -1 ? t : -1) * a);
}
static double weight(const zipf *z, double x) { return exp(-z->exponent * log(x)); }

static zipf zipf_of(double exponent, uint64_t ids) {
  zipf z = {.exponent = exponent, .ids = ids};
  z.first = area(&z, 1.5) - 1;
  z.last = area(&z, (double)ids + 0.5);
  z.sure = 2 - area_inverse(&z, area(&z, 2.5) - weight(&z, 2));
  return z;
}

/* The number that pair i draws, from 1; every try takes another number of a stream of its own. */
static uint64_t zipf_at(const zipf *z, uint64_t seed, uint64_t i) {
  for (uint64_t state = tsr_keys_mix(64, seed) ^ tsr_keys_mix(64, i);; state++) {
    state = tsr_keys_mix(64, state + 0x9E3779B97F4A7C15ull);
    const double fraction = (double)(state >> 11) * 0x1p-53;
    const double a = z->last + fraction * (z->first - z->last), x = area_inverse(z, a);
    uint64_t k = x < 1 ? 1 : (uint64_t)(x + 0.5);
    if (k > z->ids) k = z->ids;
    if ((double)k - x <= z->sure || a >= area(z, (double)k + 0.5) - weight(z, (double)k)) return k;
  }
}

/* ---- Drawing --------------------------------------------------------------------------------- */

static void *numbers(uint64_t count) { return count < SIZE_MAX / 8 ? calloc(count ? count : 1, 8) : NULL; }

static tsr_status no_memory(const tsr_distribution *d, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "bench: --keys %s: no memory to draw the keys: use a smaller --n", d->text);
}

/* pre: drawn->indices says which of `ids` each pair drew. Numbers those that were drawn without gaps, and the pairs of
 * each; id_keys: the key of each id, NULL = as they are scattered. The ids are drawn in no order, so that one pass over
 * the pairs, which gives each its rank, waits for memory most of the time; it runs on one processor all the same, and
 * the ranks are a function of the seed. */
static tsr_status number_drawn(const tsr_distribution *d, uint64_t ids, const uint64_t *id_keys, tsr_keys *keys,
                               tsr_error *error) {
  tsr_drawn *drawn = keys->drawn;
  uint64_t *map = numbers(ids); /* first the pairs of each id, then its index */
  if (map)
    for (uint64_t i = 0; i < keys->pairs; i++) drawn->ranks[i] = map[drawn->indices[i]]++;
  for (uint64_t id = 0; map && id < ids; id++) keys->n += map[id] > 0;
  drawn->keys = numbers(keys->n);
  drawn->counts = numbers(keys->n);
  if (!map || !drawn->keys || !drawn->counts) {
    free(map);
    return no_memory(d, error);
  }
  for (uint64_t id = 0, index = 0; id < ids; id++) {
    if (!map[id]) continue;
    drawn->keys[index] = id_keys ? id_keys[id] : tsr_keys_scatter(keys, id);
    drawn->counts[index] = map[id];
    map[id] = index++;
  }
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++) drawn->indices[i] = map[drawn->indices[i]];
  free(map);
  return TSR_OK;
}

static tsr_status draw_zipf(const tsr_distribution *d, tsr_keys *keys, tsr_error *error) {
  const zipf z = zipf_of(d->exponent, d->number ? d->number : keys->pairs);
  keys->drawn->scattered = z.ids;
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++) keys->drawn->indices[i] = zipf_at(&z, keys->seed, i) - 1;
  return number_drawn(d, z.ids, NULL, keys, error);
}

static int compare(const void *left, const void *right) {
  uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
  return (l > r) - (l < r);
}

/* pre: drawn->indices has the keys themselves. */
static tsr_status number_file(const tsr_distribution *d, tsr_keys *keys, tsr_error *error) {
  uint64_t *indices = keys->drawn->indices, *sorted = numbers(keys->pairs), distinct = 0;
  if (!sorted) return no_memory(d, error);
  memcpy(sorted, indices, keys->pairs * sizeof *sorted);
  qsort(sorted, keys->pairs, sizeof *sorted, compare);
  for (uint64_t i = 0; i < keys->pairs; i++)
    if (i == 0 || sorted[i] != sorted[i - 1]) sorted[distinct++] = sorted[i];
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++)
    indices[i] = (uint64_t)((uint64_t *)bsearch(&indices[i], sorted, distinct, sizeof *sorted, compare) - sorted);
  tsr_status status = number_drawn(d, distinct, sorted, keys, error);
  free(sorted);
  return status;
}

static tsr_status file_failed(const tsr_distribution *d, tsr_error *error) {
  return tsr_fail(error, TSR_IO, "bench: --keys %s: cannot be read: %s", d->text, strerror(errno));
}

/* How many keys the file has. */
static tsr_status measure_file(const tsr_distribution *d, FILE *file, uint32_t key_bits, uint64_t *count,
                               tsr_error *error) {
  struct stat about;
  if (fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return file_failed(d, error);
  }
  const long bytes = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  if (bytes < 0 || fseek(file, 0, SEEK_SET)) return file_failed(d, error);
  *count = (uint64_t)bytes / (key_bits / 8);
  if (bytes > 0 && (uint64_t)bytes % (key_bits / 8) == 0) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "bench: --keys %s: has %ld bytes, but must be keys of %u bits one after the other, without a head",
                  d->text, bytes, key_bits);
}

static tsr_status allocate_drawn(const tsr_distribution *d, tsr_keys *keys, tsr_error *error) {
  keys->drawn = calloc(1, sizeof *keys->drawn);
  if (!keys->drawn) return no_memory(d, error);
  keys->drawn->indices = numbers(keys->pairs);
  keys->drawn->ranks = numbers(keys->pairs);
  return keys->drawn->indices && keys->drawn->ranks ? TSR_OK : no_memory(d, error);
}

static tsr_status read_file(const tsr_distribution *d, FILE *file, tsr_keys *keys, tsr_error *error) {
  uint64_t count = 0;
  tsr_status status = measure_file(d, file, keys->key_bits, &count, error);
  if (status) return status;
  if (keys->pairs > count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --keys %s: has %llu keys, fewer than --n %llu: leave --n out",
                    d->text, (llu)count, (llu)keys->pairs);
  if (!keys->pairs) keys->pairs = count;
  status = allocate_drawn(d, keys, error);
  if (status) return status;
  uint64_t *indices = keys->drawn->indices; /* wide enough for the keys, which are widened from the end */
  if (fread(indices, keys->key_bits / 8, keys->pairs, file) != keys->pairs) return file_failed(d, error);
  for (uint64_t i = keys->pairs; i-- > 0;) indices[i] = tsr_keys_load(indices, keys->key_bits, i);
  return number_file(d, keys, error);
}

static tsr_status draw_file(const tsr_distribution *d, tsr_keys *keys, tsr_error *error) {
  if (keys->key_bits > 64)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --keys %s: a file has keys of 32 or 64 bits, and the spec has "
                    "key_bits = %u: use another distribution",
                    d->text, keys->key_bits);
  FILE *file = fopen(d->path, "rb");
  if (!file) return file_failed(d, error);
  tsr_status status = read_file(d, file, keys, error);
  fclose(file);
  return status;
}

/* Whether the numbers below `ids` have keys of their own. */
static bool has_keys(const tsr_keys *keys, uint64_t ids) {
  const uint32_t bits = tsr_keys_number_bits(keys);
  if (keys->low_bits >= bits) return false;
  const uint64_t last = UINT64_MAX >> (64 - bits);
  return keys->stride ? ids - 1 <= last / keys->stride : ids - 1 <= last >> keys->low_bits;
}

static tsr_status check_keys(const tsr_distribution *d, bool needs_absent, const tsr_keys *keys, tsr_error *error) {
  uint64_t ids = keys->n;
  if (keys->drawn && keys->drawn->scattered) ids = keys->drawn->scattered;
  if (has_keys(keys, needs_absent ? 2 * ids : ids)) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "bench: --keys %s: there are only 2^%u keys of %u bits, too few for %llu of this kind%s: use a "
                  "smaller --n or key_bits = 64",
                  d->text, keys->key_bits, keys->key_bits, (llu)ids,
                  needs_absent ? " and as many absent ones, which find50, find0 and mixed need" : "");
}

static tsr_status draw(const tsr_distribution *d, tsr_keys *keys, tsr_error *error) {
  switch (d->kind) {
  case TSR_KEYS_FILE:
    return draw_file(d, keys, error);
  case TSR_KEYS_ZIPF: {
    tsr_status status = allocate_drawn(d, keys, error);
    return status ? status : draw_zipf(d, keys, error);
  }
  case TSR_KEYS_REPEAT:
    keys->n = keys->pairs / d->number;
    if (keys->n) return TSR_OK;
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --keys %s: one key would have more than the %llu pairs of --n: use a larger --n", d->text,
                    (llu)keys->pairs);
  case TSR_KEYS_EQUAL:
    keys->n = 1;
    return TSR_OK;
  case TSR_KEYS_LOW_BITS:
    if (d->number >= tsr_keys_number_bits(keys))
      return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --keys %s: must leave some of the key's %u bits", d->text,
                      tsr_keys_number_bits(keys));
    keys->low_bits = (uint32_t)d->number;
    break;
  case TSR_KEYS_SEQUENTIAL:
    keys->stride = 1;
    break;
  case TSR_KEYS_STRIDED:
    keys->stride = d->number;
    break;
  default:
    break;
  }
  keys->n = keys->pairs;
  return TSR_OK;
}

tsr_status tsr_distribution_draw(const tsr_distribution *distribution, bool needs_absent, tsr_keys *keys,
                                 tsr_error *error) {
  keys->n = keys->stride = keys->low_bits = 0;
  keys->drawn = NULL;
  tsr_status status = draw(distribution, keys, error);
  if (status == TSR_OK) status = check_keys(distribution, needs_absent, keys, error);
  if (status) tsr_keys_free(keys);
  return status;
}
