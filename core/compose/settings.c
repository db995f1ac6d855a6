/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading [table] and the parts' sections (settings.h). A key of [table] is one row below.
 */
#include "core/compose/settings.h"

#include <stdlib.h>
#include <string.h>

#include "core/compose/key_parts.h"
#include "core/compose/registry.h"
#include "core/spec/number.h"
#include "core/tessera_devices.h"

typedef enum row_type {
  ROW_CHOICE,
  ROW_NUMBER,
  ROW_FRACTION,
  ROW_PAGE,
  ROW_BATCH,
  ROW_NONE,
  ROW_PART,
  ROW_DEVICES,
  ROW_COLUMNS
} row_type;

typedef struct row {
  row_type type;
  size_t offset;
  uint64_t minimum, maximum;
} row;

#define WORDS_MAX 8
enum { ROW_WORD_BYTES = 24 };

#define ROW(member) offsetof(tsr_settings, member)
#define ROW_PART_OF(role) (offsetof(tsr_settings, part) + (role) * sizeof(const char *))

/* R(key, values, default, doc, type, place, minimum, maximum): what is shown of a key, and then what it means. `values` of
 * a choice lists its words in the order of the enum of plugins/table.h. */
#define SETTINGS(R)                                                                                                    \
  R("kind", "set | map | multiset | multimap | counter | filter | index | cache", NULL,                                \
    "What the table stores. set: keys. map: one value per key. multiset and multimap: every pair that is inserted. "   \
    "counter: how often each key was inserted. filter: a Bloom filter, see [filter]; with a layout and a scheme of "   \
    "fingerprints, one that keys can be erased from. index: a number for each key, "                                   \
    "from 0 on. cache: a set or map that gives up a pair for a new one when it is full.",                              \
    ROW_CHOICE, ROW(kind), 0, 0)                                                                                       \
  R("key_bits", "32 | 64 | 96 | 128", NULL,                                                                            \
    "Width of a key in bits. A key of 128 bits is 16 bytes, the lower half first. 96 means key_columns = u32, u32, "   \
    "u32: a key is three numbers, and is stored as one of 128 bits whose upper bits are 0.",                           \
    ROW_NUMBER, ROW(key_bits), 32, 128)                                                                                \
  R("key_columns", "[name:]type, ...", "",                                                                             \
    "Makes a key of several whole numbers, in place of key_bits. Types are i8 to i64 and u8 to u64, and a column may " \
    "have a name: x:i32, y:i32. Together they have at most 128 bits. The width of a key is the next one of 32, 64 "    \
    "and 128 bits.",                                                                                                   \
    ROW_COLUMNS, ROW(key_bits), 0, 0)                                                                                  \
  R("value_bits", "8 | 16 | 32 | 64", "",                                                                              \
    "Width of a value in bits. A map or multimap needs 32 or 64 here, or value_bytes. A counter takes any of the "     \
    "four: its counts stop at the largest number, and counts of 8 and 16 bits take 32 bits of memory.",                \
    ROW_NUMBER, ROW(value_bits), 8, 64)                                                                                \
  R("value_bytes", "16 .. 4096", "",                                                                                   \
    "Size of a value in bytes (a multiple of 4, and above 256 of 16), in place of value_bits. Values are stored in "   \
    "a separate array; the slot holds an index into it. In an index: size of the row that each number has.",           \
    ROW_NUMBER, ROW(value_bytes), 16, 4096)                                                                            \
  R("capacity", "1 .. 2^40", "", "Pairs to hold. `run` derives it from the input when it is missing.", ROW_NUMBER,     \
    ROW(capacity), 1, TSR_CAPACITY_MAX)                                                                                \
  R("layout", "a layout", NULL, "How a bucket stores its pairs in memory; `tessera list layout`.", ROW_PART,           \
    ROW_PART_OF(TSR_ROLE_LAYOUT), 0, 0)                                                                                \
  R("probing", "a probing scheme", NULL,                                                                               \
    "Which buckets may hold a key, and in which order they are tried; `tessera list probing`.", ROW_PART,              \
    ROW_PART_OF(TSR_ROLE_PROBING), 0, 0)                                                                               \
  R("hasher", "a hasher", NULL, "Hash function; `tessera list hasher`.", ROW_PART, ROW_PART_OF(TSR_ROLE_HASHER), 0, 0) \
  R("allocator", "an allocator", "",                                                                                   \
    "Source of further memory, for layouts whose buckets link and for values = buckets; `tessera list allocator`.",    \
    ROW_PART, ROW_PART_OF(TSR_ROLE_ALLOCATOR), 0, 0)                                                                   \
  R("load_factor", "auto | 0.01 .. 64", "0.8",                                                                         \
    "capacity / slots, which sets the size of the table. The default is lower where the probing scheme reaches less. " \
    "auto: a small table is emptier, which is faster: 0.25 up to 16 MiB of slots, 0.5 up to 64 MiB, then up to the "   \
    "default. Above 1 only where buckets link; their lists then get long.",                                            \
    ROW_FRACTION, ROW(load_factor), 0, 0)                                                                              \
  R("stash", "0 .. 65536", "0", "Pairs that fit in the stash, an overflow area for pairs whose own buckets are full.", \
    ROW_NUMBER, ROW(stash), 0, 65536)                                                                                  \
  R("page_bytes", "0 | auto | 1Ki .. 128Ki", "0",                                                                      \
    "Divides the table into pages of at most this many bytes. All buckets of a key are in one page, so large batches " \
    "can be inserted page by page. 0: no pages, unless the layout needs them. auto: 60Ki.",                            \
    ROW_PAGE, ROW(pages.bytes), 1 << 10, 128 << 10)                                                                    \
  R("page_batch", "auto | 0 .. 2^40", "auto",                                                                          \
    "Smallest insert, in pairs, that goes page by page. 0: none does. auto: where that is faster. `check` prints the " \
    "number; `run` and `tsr_table_report` say which inserts did.",                                                     \
    ROW_BATCH, ROW(pages.batch), 0, TSR_CAPACITY_MAX)                                                                  \
  R("find_batch", "auto | 0 .. 2^40", "auto",                                                                          \
    "Smallest batch of finds or erases, in keys, that is sorted by zones: runs of pages that fit the L2 cache. "       \
    "Answers return in the caller's order. 0: none is. auto: where that is faster.",                                   \
    ROW_BATCH, ROW(pages.find_batch), 0, TSR_CAPACITY_MAX)                                                             \
  R("device_bytes", "0 .. 2^50", "0",                                                                                  \
    "Device memory limit in bytes. A larger table is kept in host memory and streamed through this budget. 0: every "  \
    "table is in device memory.",                                                                                      \
    ROW_NUMBER, ROW(pages.device_bytes), 0, 1ull << 50)                                                                \
  R("growth", "none | double | split", "none",                                                                         \
    "none: pairs that do not fit are not placed. double: an insert that finds the table full doubles its capacity, "   \
    "and the call waits for the device. split: it adds as many buckets as the call needs, in place, and moves pairs "  \
    "of as many others; the call waits too.",                                                                          \
    ROW_CHOICE, ROW(upkeep.growth), 0, 0)                                                                              \
  R("growth_limit", "0 .. 2^40", "0",                                                                                  \
    "Largest capacity that growth reaches. 0: until memory runs out, or until there is room for 256 times as many "    \
    "pairs.",                                                                                                          \
    ROW_NUMBER, ROW(upkeep.growth_limit), 0, TSR_CAPACITY_MAX)                                                         \
  R("clean", "auto | no", "auto",                                                                                      \
    "auto: an insert into a table with more than half as many erased as empty slots first rebuilds the table in "      \
    "place, and the call waits. no: erased slots stay until an insert takes them or the table is rehashed.",           \
    ROW_CHOICE, ROW(upkeep.clean), 0, 0)                                                                               \
  R("duplicates", "first | replace | add | min | max | promise_unique", "first",                                       \
    "What inserting a present key does to its value. first: it stays. replace: the new one is taken. add, min, max: "  \
    "both are combined. promise_unique: no key is inserted twice, so inserts skip the look-up. A set takes first or "  \
    "promise_unique; other kinds than set and map take none.",                                                         \
    ROW_CHOICE, ROW(policy.duplicates), 0, 0)                                                                          \
  R("overflow", "report | saturate | wrap", "report",                                                                  \
    "What duplicates = add does with a sum past the largest unsigned value. report: it wraps modulo 2^value_bits and " \
    "is counted; `run` prints the count and ends with status 3. saturate: it stops at the largest value. wrap: it "    \
    "wraps and is not counted, as sums of signed values need.",                                                        \
    ROW_CHOICE, ROW(policy.overflow), 0, 0)                                                                            \
  R("numbering", "any | first_seen", "any",                                                                            \
    "Order in which an index numbers the new keys of a call. any: in no order. first_seen: in the order of their "     \
    "first items, so that equal calls give equal numbers.",                                                            \
    ROW_CHOICE, ROW(numbers.numbering), 0, 0)                                                                          \
  R("reuse", "yes | no", "yes",                                                                                        \
    "yes: an index gives the number of an erased key to a new one, so its numbers stay below its slots. no: a number " \
    "is given once, until the table is cleared.",                                                                      \
    ROW_CHOICE, ROW(numbers.reuse), 0, 0)                                                                              \
  R("eviction", "none | an eviction part", "none",                                                                     \
    "Which pair a full cache gives up, and which key an index of `capacity` keys; `tessera list eviction`. none, for " \
    "an index: it fills its slots, then hands keys back.",                                                             \
    ROW_PART, ROW_PART_OF(TSR_ROLE_EVICTION), 0, 0)                                                                    \
  R("concurrency", "phased | mixed", "phased",                                                                         \
    "Which operations on the table may overlap. phased: only those of one class (inserts, finds or erases). mixed: "   \
    "all, but in open addressing inserts and erases take turns.",                                                      \
    ROW_CHOICE, ROW(concurrency), 0, 0)                                                                                \
  R("values", "inline | buckets", "inline",                                                                            \
    "inline: each value is stored with its key. buckets, for a multimap: each key is stored once, and its values are " \
    "in a linked list of the allocator's units; see [values].",                                                        \
    ROW_CHOICE, ROW(values.kind), 0, 0)                                                                                \
  R("filter", "none | 2 .. 48", "none",                                                                                \
    "Bits per key of a Bloom filter that is checked first. It rejects most absent keys: with 8 bits about 1 in 40 "    \
    "gets through.",                                                                                                   \
    ROW_NONE, ROW(filter.before), 2, 48)                                                                               \
  R("seed", "1 .. 2^63", "1", "Seed of the hash functions.", ROW_NUMBER, ROW(seed), 1, 1ull << 63)                     \
  R("backend", "auto | cuda | cpu", "auto",                                                                            \
    "Where the table is. auto: on a GPU if CUDA can be used, otherwise on the CPU.", ROW_CHOICE, ROW(target.backend),  \
    0, 0)                                                                                                              \
  R("device", "0 .. 63", "0", "Number of the GPU.", ROW_NUMBER, ROW(target.device), 0, 63)                             \
  R("devices", "numbers | all", "", "Several GPUs that share the pairs, as 0,1,2; see [devices].", ROW_DEVICES,        \
    ROW(sharing.devices), 0, TSR_DEVICES_MAX - 1)                                                                      \
  R("statistics", "no | yes", "no", "yes: probes are counted. no: they are not, and it costs nothing.", ROW_CHOICE,    \
    ROW(statistics), 0, 0)

/* The keys of [devices], which is there only beside [table] devices. */
#define DEVICE_SETTINGS(R)                                                                                             \
  R("split", "hash | independent | replicated", "hash",                                                                \
    "Which device holds a pair. hash: a hash of the key decides, and a histogram balances the parts. independent: "    \
    "any device. replicated: every device holds all pairs.",                                                           \
    ROW_CHOICE, ROW(sharing.split), 0, 0)                                                                              \
  R("chunk", "auto | 256 .. 2^31", "auto",                                                                             \
    "Items per chunk; a chunk is worked on while the next one is split. auto: half of the batch, at most 32Mi "        \
    "per device; all of it where each device sorts what it gets (page_batch, find_batch).",                            \
    ROW_BATCH, ROW(sharing.chunk), 256, 1ull << 31)                                                                    \
  R("exchange", "direct | copy", "direct",                                                                             \
    "How items and answers travel between devices. direct: kernels write to and read from the other devices' memory, " \
    "where they reach it. copy: by memory copies.",                                                                    \
    ROW_CHOICE, ROW(sharing.exchange), 0, 0)                                                                           \
  R("combine", "auto | always | never", "auto",                                                                        \
    "Whether an insert combines the items of a key before they travel to the key's device. auto: if a sample of a "    \
    "large batch repeats its keys. Where each pair of a key is kept, nothing is combined.",                            \
    ROW_CHOICE, ROW(sharing.combine), 0, 0)

/* The keys of [filter], which is there only with kind = filter. */
#define FILTER_SETTINGS(R)                                                                                             \
  R("block_bytes", "32 | 64", "32",                                                                                    \
    "Bytes per block. All bits of a key are in one block; a GPU reads 32 bytes at once.", ROW_NUMBER,                  \
    ROW(filter.block_bytes), 32, 64)                                                                                   \
  R("functions", "1 .. 8", "6", "Bits that each key sets.", ROW_NUMBER, ROW(filter.functions), 1, 8)                   \
  R("bits_per_key", "2 .. 48", "16", "Bits of the filter per key of `capacity`.", ROW_NUMBER,                          \
    ROW(filter.bits_per_key), 2, 48)                                                                                   \
  R("one_in", "0 .. 10^6", "0",                                                                                        \
    "Target false-positive rate at capacity: 1 in N. It sets the bits per key. 0: bits_per_key does.", ROW_NUMBER,     \
    ROW(filter.one_in), 0, 1000000)

/* The keys of [values], which is there only with values = buckets. */
#define VALUE_SETTINGS(R)                                                                                              \
  R("first", "1 .. 1024", "1", "Values that a key's first bucket has room for (WarpCore's s_0).", ROW_NUMBER,          \
    ROW(values.first), 1, 1024)                                                                                        \
  R("growth", "1 .. 64", "1.1",                                                                                        \
    "How many times as many values each further bucket has room for, up to 65536 (WarpCore's lambda). Every bucket "   \
    "also uses what is left of its last unit.",                                                                        \
    ROW_FRACTION, ROW(values.growth), 1, 0)                                                                            \
  R("per_key", "1 .. 2^20", "1",                                                                                       \
    "Expected values per key. The table is sized for capacity / per_key keys, and the pool of units for capacity "     \
    "values.",                                                                                                         \
    ROW_NUMBER, ROW(values.per_key), 1, 1 << 20)

#define SHOWN(key, values, initial, doc, type, offset, minimum, maximum) {key, values, initial, doc},
#define MEANING(key, values, initial, doc, type, offset, minimum, maximum) {type, offset, minimum, maximum},
static const tsr_setting_info shown[] = {SETTINGS(SHOWN)}, shown_devices[] = {DEVICE_SETTINGS(SHOWN)},
                              shown_filter[] = {FILTER_SETTINGS(SHOWN)}, shown_values[] = {VALUE_SETTINGS(SHOWN)};
static const row rows[] = {SETTINGS(MEANING)}, rows_devices[] = {DEVICE_SETTINGS(MEANING)},
                 rows_filter[] = {FILTER_SETTINGS(MEANING)}, rows_values[] = {VALUE_SETTINGS(MEANING)};

/* A section of which the core knows the keys. */
typedef struct known_section {
  const char *name;
  const tsr_setting_info *shown;
  const row *rows;
  size_t count;
} known_section;

enum { ROWS = sizeof rows / sizeof rows[0], DEVICE_ROWS = sizeof rows_devices / sizeof rows_devices[0] };
static const known_section table_section = {"table", shown, rows, ROWS};
static const known_section devices_section = {"devices", shown_devices, rows_devices, DEVICE_ROWS};
static const known_section filter_section = {"filter", shown_filter, rows_filter,
                                             sizeof rows_filter / sizeof rows_filter[0]};

static const known_section values_section = {"values", shown_values, rows_values,
                                             sizeof rows_values / sizeof rows_values[0]};

/* ---- Words ----------------------------------------------------------------------------------- */

/* Splits "a | b | c"; returns the number of words. */
static size_t split_words(const char *values, char words[WORDS_MAX][ROW_WORD_BYTES]) {
  size_t count = 0;
  while (*values && count < WORDS_MAX) {
    size_t length = strcspn(values, " ");
    snprintf(words[count++], ROW_WORD_BYTES, "%.*s", (int)length, values);
    values += length;
    values += strspn(values, " |");
  }
  return count;
}

const char *tsr_settings_word(const char *key, uint64_t value) {
  static _Thread_local char words[WORDS_MAX][ROW_WORD_BYTES];
  for (size_t i = 0; i < ROWS; i++)
    if (strcmp(shown[i].key, key) == 0 && value < split_words(shown[i].values, words)) return words[value];
  return "?";
}

size_t tsr_settings_list(const tsr_setting_info **list) {
  *list = shown;
  return ROWS;
}

size_t tsr_devices_settings_list(const tsr_setting_info **list) {
  *list = shown_devices;
  return DEVICE_ROWS;
}

size_t tsr_filter_settings_list(const tsr_setting_info **list) {
  *list = shown_filter;
  return filter_section.count;
}

size_t tsr_values_settings_list(const tsr_setting_info **list) {
  *list = shown_values;
  return values_section.count;
}

/* ---- Reading one entry ----------------------------------------------------------------------- */

static tsr_status bad_entry(const tsr_spec_entry *entry, tsr_error *error, const char *rule) {
  char where[512];
  tsr_spec_where(entry, where, sizeof where);
  return tsr_fail(error, TSR_BAD_SPEC, "%s: %s", where, rule);
}

/* What is wrong with an entry's value: the rule that it breaks. */
typedef char broken_rule[320];

/* `must be RANGE`, and how to write a number that nobody but a person can read. */
static bool bad_number(const tsr_spec_entry *entry, const char *range, broken_rule rule) {
  char advice[TSR_ADVICE_BYTES];
  uint64_t number;
  const bool is_between =
      strcmp(entry->key, "key_bits") == 0 && tsr_parse_u64(entry->value, &number) && number > 64 && number < 128;
  snprintf(rule, sizeof(broken_rule), "must be %s%s%s", range, tsr_number_advice(entry->value, advice),
           is_between ? "; a shorter key is one of 128 bits whose upper bits are 0" : "");
  return false;
}

/* 80% and 0,8 are 0.8 to those who write them. */
static bool bad_fraction(const tsr_spec_entry *entry, const char *range, broken_rule rule) {
  const char *at = entry->value + strcspn(entry->value, "%,");
  snprintf(rule, sizeof(broken_rule), "must be %s%s", range, *at ? "; write it with a point, such as 0.8" : "");
  return false;
}

static bool read_choice(const char *values, const tsr_spec_entry *entry, uint64_t *out, broken_rule rule) {
  char words[WORDS_MAX][ROW_WORD_BYTES];
  const char *names[WORDS_MAX];
  size_t count = split_words(values, words);
  for (size_t i = 0; i < count; i++) {
    names[i] = words[i];
    if (strcmp(entry->value, words[i]) == 0) {
      *out = i;
      return true;
    }
  }
  const char *nearest = tsr_nearest(entry->value, names, count);
  if (strcmp(entry->key, "split") == 0 && strcmp(entry->value, "pages") == 0)
    snprintf(rule, sizeof(broken_rule),
             "must be hash, independent or replicated. For inserts page by page on each device use split = hash and "
             "[table] page_bytes = auto");
  else
    snprintf(rule, sizeof(broken_rule), "must be one of %s%s%s%s", values, nearest ? "; did you mean " : "",
             nearest ? nearest : "", nearest ? "?" : "");
  return false;
}

/* A number for each shard: the same one twice makes two shards on one device. */
static bool read_devices(const tsr_spec_entry *entry, tsr_devices *devices, broken_rule rule) {
  char number[8];
  snprintf(rule, sizeof(broken_rule),
           "must be all, or at most 64 numbers of devices from 0 to 63 between commas, as 0,1,2");
  devices->count = TSR_DEVICES_ALL;
  if (strcmp(entry->value, "all") == 0) return true;
  devices->count = 0;
  for (const char *at = entry->value;; at++) {
    uint64_t value;
    const size_t length = strcspn(at, ","), blanks = strspn(at, " \t");
    if (length >= sizeof number || blanks > length || devices->count == TSR_DEVICES_MAX) return false;
    snprintf(number, sizeof number, "%.*s", (int)(length - blanks), at + blanks);
    number[strcspn(number, " \t")] = '\0';
    if (!tsr_parse_u64(number, &value) || value >= TSR_DEVICES_MAX) return false;
    devices->numbers[devices->count++] = (uint8_t)value;
    at += length;
    if (!*at) return true;
  }
}

/* The word that a number may be instead, and what it then is. */
static bool read_word(const row *r, const char *text, uint64_t *value) {
  const char *word = r->type == ROW_NONE ? "none" : r->type == ROW_NUMBER ? NULL : "auto";
  if (!word || strcmp(text, word) != 0) return false;
  *value = r->type == ROW_PAGE ? TSR_PAGE_BYTES_AUTO : r->type == ROW_BATCH ? TSR_PAGE_BATCH_AUTO : 0;
  return true;
}

static bool read_number(const row *r, const char *text, uint64_t *out) {
  uint64_t value;
  if (read_word(r, text, out)) return true;
  if (!tsr_parse_u64(text, &value) || value > r->maximum) return false;
  if (value < r->minimum && !(value == 0 && r->type == ROW_PAGE)) return false;
  const bool is_width = r->type == ROW_NUMBER && (r->maximum == 64 || r->maximum == 128);
  const bool is_three_words = r->maximum == 128 && value == 96; /* key_parts.c */
  if (is_width && !is_three_words && (value & (value - 1))) return false;
  *out = value;
  return true;
}

static bool has_auto(const char *values) { return strncmp(values, "auto", 4) == 0; }

/* False: `rule` says what the value must be. */
static bool read_value(const known_section *section, size_t at, const tsr_spec_entry *entry, tsr_settings *settings,
                       broken_rule rule) {
  const row *r = &section->rows[at];
  const char *values = section->shown[at].values;
  void *out = (char *)settings + r->offset;
  double fraction;
  switch (r->type) {
  case ROW_CHOICE:
    return read_choice(values, entry, out, rule);
  case ROW_NUMBER:
  case ROW_PAGE:
  case ROW_BATCH:
  case ROW_NONE:
    return read_number(r, entry->value, out) || bad_number(entry, values, rule);
  case ROW_FRACTION:
    if (has_auto(values) && strcmp(entry->value, "auto") == 0) {
      *(double *)out = TSR_LOAD_AUTO;
      return true;
    }
    if (!tsr_parse_double(entry->value, &fraction) || fraction < 0.01 || fraction > 64 || fraction < (double)r->minimum)
      return bad_fraction(entry, values, rule);
    *(double *)out = fraction;
    return true;
  case ROW_PART:
    *(const char **)out = strncmp(values, "none", 4) == 0 && strcmp(entry->value, "none") == 0 ? NULL : entry->value;
    return true;
  case ROW_DEVICES:
    return read_devices(entry, out, rule);
  case ROW_COLUMNS:
    return tsr_key_parts_read(entry->value, &(tsr_key_parts){.count = 0}, rule, sizeof(broken_rule));
  }
  return true;
}

static tsr_status read_row(const known_section *section, size_t at, const tsr_spec_entry *entry, tsr_settings *settings,
                           tsr_error *error) {
  broken_rule rule;
  return read_value(section, at, entry, settings, rule) ? TSR_OK : bad_entry(entry, error, rule);
}

/* ---- [table] --------------------------------------------------------------------------------- */

static tsr_status unknown_key(const tsr_spec_entry *entry, const char *const *names, size_t count, tsr_error *error) {
  char rule[256];
  const char *nearest = tsr_nearest(entry->key, names, count);
  if (nearest)
    snprintf(rule, sizeof rule, "there is no such key; did you mean %s?", nearest);
  else if (count)
    snprintf(rule, sizeof rule, "there is no such key in [%.48s]; see `tessera describe %.48s`", entry->section,
             entry->section);
  else
    snprintf(rule, sizeof rule, "this part has no parameters; remove the line");
  return bad_entry(entry, error, rule);
}

static tsr_status read_section(const known_section *section, const tsr_spec *spec, tsr_settings *settings,
                               tsr_error *error) {
  const char *names[ROWS];
  for (size_t i = 0; i < section->count; i++) names[i] = section->shown[i].key;
  for (size_t i = 0; i < tsr_spec_count(spec); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(spec, i);
    if (strcmp(entry->section, section->name) != 0) continue;
    size_t at = 0;
    while (at < section->count && strcmp(entry->key, names[at]) != 0) at++;
    tsr_status status = at < section->count ? read_row(section, at, entry, settings, error)
                                            : unknown_key(entry, names, section->count, error);
    if (status) return status;
  }
  return TSR_OK;
}

/* Where a section was opened: its line, or the first argument that names it. */
static void section_where(const tsr_spec *spec, const tsr_spec_section *section, char *buffer, size_t bytes) {
  size_t i = 0;
  if (section->file) {
    snprintf(buffer, bytes, "%s:%llu: [%s]", section->file, (unsigned long long)section->line, section->name);
    return;
  }
  while (i < tsr_spec_count(spec) && strcmp(tsr_spec_at(spec, i)->section, section->name) != 0) i++;
  if (i < tsr_spec_count(spec)) tsr_spec_where(tsr_spec_at(spec, i), buffer, bytes);
}

enum { OWN_SECTIONS = 4, SECTIONS = OWN_SECTIONS + TSR_ROLES };

/* Those of the core, then those of the roles. */
static const char *section_name(size_t at) {
  static const char *const own[OWN_SECTIONS] = {"table", "devices", "filter", "values"};
  return at < OWN_SECTIONS ? own[at] : tsr_role_names[at - OWN_SECTIONS];
}

/* SECTIONS if there is none of this name. */
static size_t section_number(const char *name) {
  size_t at = 0;
  while (at < SECTIONS && strcmp(name, section_name(at)) != 0) at++;
  return at;
}

/* Before anything is said to be missing: it may stand in a section that is misspelt. */
static tsr_status check_section_names(const tsr_spec *spec, tsr_error *error) {
  const char *names[SECTIONS];
  for (size_t i = 0; i < SECTIONS; i++) names[i] = section_name(i);
  for (size_t i = 0; i < tsr_spec_section_count(spec); i++) {
    const tsr_spec_section *section = tsr_spec_section_at(spec, i);
    char where[512] = "";
    if (section_number(section->name) < SECTIONS) continue;
    section_where(spec, section, where, sizeof where);
    const char *nearest = tsr_nearest(section->name, names, SECTIONS);
    return tsr_fail(
        error, TSR_BAD_SPEC,
        "%s: sections are table, devices, filter, values, layout, probing, hasher, allocator and eviction%s%s%s", where,
        nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
  }
  return TSR_OK;
}

/* Keys of several columns have a width that nobody needs to write. */
static tsr_status read_key_columns(const tsr_spec *spec, tsr_settings *settings, tsr_error *error) {
  tsr_key_parts columns = {.size = sizeof columns};
  const tsr_status status = tsr_spec_key_parts(spec, &columns, error);
  if (status == TSR_OK && columns.count) settings->key_bits = columns.key_bits;
  return status;
}

static tsr_status read_table(const tsr_spec *spec, tsr_settings *settings, tsr_error *error) {
  settings->sharing.chunk = TSR_CHUNK_AUTO;
  settings->filter.block_bytes = 32;
  settings->filter.functions = 6;
  settings->filter.bits_per_key = 16;
  settings->values.first = settings->values.per_key = 1;
  settings->values.growth = 1.1;
  tsr_status status = check_section_names(spec, error);
  if (status == TSR_OK) status = read_section(&table_section, spec, settings, error);
  if (status == TSR_OK) status = read_key_columns(spec, settings, error);
  if (status == TSR_OK) status = read_section(&devices_section, spec, settings, error);
  if (status == TSR_OK) status = read_section(&filter_section, spec, settings, error);
  return status ? status : read_section(&values_section, spec, settings, error);
}

static tsr_status check_complete(const tsr_spec *spec, const tsr_settings *read, tsr_error *error) {
  const bool is_filter = read->kind == TSR_KIND_FILTER;
  for (size_t i = 0; i < ROWS; i++)
    if (!shown[i].initial && (!is_filter || tsr_is_key_of_filter(shown[i].key, read->filter.has_slots)) &&
        !tsr_spec_find(spec, "table", shown[i].key) &&
        !(rows[i].offset == ROW(key_bits) && tsr_spec_find(spec, "table", "key_columns")))
      return tsr_fail(error, TSR_BAD_SPEC, "%s: [table] %s is missing: add `%s = %s`", tsr_spec_name(spec),
                      shown[i].key, shown[i].key, shown[i].values);
  return TSR_OK;
}

/* Whether --set gave this key of [table]. Then what the file says about the choice before does not count. */
static bool is_replaced(const tsr_spec *spec, const char *key) {
  const tsr_spec_entry *entry = tsr_spec_find(spec, "table", key);
  return entry && !entry->file;
}

/* A section belongs to [table] or to the role of a chosen part. */
static tsr_status check_sections(const tsr_spec *spec, const tsr_settings *settings, tsr_error *error) {
  const bool is_wanted[OWN_SECTIONS] = {true, settings->sharing.devices.count != 0, tsr_is_bloom(settings),
                                        settings->values.kind == TSR_VALUES_BUCKETS};
  static const char *const keys[OWN_SECTIONS] = {"kind", "devices", "kind", "values"};
  static const char *const reasons[OWN_SECTIONS] = {
      "", "[table] names no devices; name them, or remove it",
      "[table] has another kind than filter, or it has a layout; remove it",
      "[table] does not say values = buckets; add that, or remove it"};
  for (size_t i = 0; i < tsr_spec_section_count(spec); i++) {
    const tsr_spec_section *section = tsr_spec_section_at(spec, i);
    const size_t at = section_number(section->name);
    char where[512] = "";
    if (section->file && is_replaced(spec, at < OWN_SECTIONS ? keys[at] : section->name)) continue;
    section_where(spec, section, where, sizeof where);
    if (at < OWN_SECTIONS && !is_wanted[at]) return tsr_fail(error, TSR_BAD_SPEC, "%s: %s", where, reasons[at]);
    if (at >= OWN_SECTIONS && !settings->part[at - OWN_SECTIONS])
      return tsr_fail(error, TSR_BAD_SPEC, "%s: [table] names no %s; remove it", where, section->name);
  }
  return TSR_OK;
}

/* A counter is a map whose values are added up and stop at their largest; its policy says where. */
static void make_counter(tsr_settings *read) {
  read->policy.duplicates = read->value_bits == 8    ? TSR_DUPLICATES_COUNT_8
                            : read->value_bits == 16 ? TSR_DUPLICATES_COUNT_16
                                                     : TSR_DUPLICATES_COUNT;
  if (read->value_bits < 32) read->value_bits = 32;
}

/* Sums that stop at the largest value are what a counter has. */
static void make_sums(tsr_settings *read) {
  if (read->policy.duplicates == TSR_DUPLICATES_ADD && read->policy.overflow == TSR_OVERFLOW_SATURATE)
    read->policy.duplicates = TSR_DUPLICATES_COUNT;
}

/* Whether [table] or another section has such an entry. */
static bool is_written(const tsr_spec *spec, const char *section, const char *key) {
  return tsr_spec_find(spec, section, key) != NULL;
}

static void find_traits_of_kind(const tsr_spec *spec, const tsr_settings *read, tsr_traits *traits) {
  const uint64_t kind = read->kind, policy = read->policy.duplicates;
  bool *has = traits->has;
  const bool keeps_all = kind == TSR_KIND_MULTISET || kind == TSR_KIND_MULTIMAP;
  has[TSR_HAS_NO_VALUES] =
      kind == TSR_KIND_SET || kind == TSR_KIND_MULTISET ||
      (kind == TSR_KIND_CACHE && !is_written(spec, "table", "value_bits") && !is_written(spec, "table", "value_bytes"));
  has[TSR_HAS_KEEPS_ALL] = keeps_all;
  has[TSR_HAS_COUNTER] = kind == TSR_KIND_COUNTER;
  has[TSR_HAS_NO_COUNTER] = kind != TSR_KIND_COUNTER;
  has[TSR_HAS_FILTER] = kind == TSR_KIND_FILTER;
  has[TSR_HAS_BLOOM] = tsr_is_bloom(read);
  has[TSR_HAS_SLOTS_OF_FILTER] = read->filter.has_slots;
  has[TSR_HAS_NO_FILTER] = kind != TSR_KIND_FILTER;
  has[TSR_HAS_INDEX] = kind == TSR_KIND_INDEX;
  has[TSR_HAS_NO_INDEX] = kind != TSR_KIND_INDEX;
  has[TSR_HAS_NUMBERING] = is_written(spec, "table", "numbering");
  has[TSR_HAS_FIRST_SEEN] = kind == TSR_KIND_INDEX && read->numbers.numbering == TSR_NUMBERING_FIRST_SEEN;
  has[TSR_HAS_REUSE] = is_written(spec, "table", "reuse");
  has[TSR_HAS_CACHE] = kind == TSR_KIND_CACHE;
  has[TSR_HAS_NO_CACHE] = kind != TSR_KIND_CACHE;
  has[TSR_HAS_KEEPS_KEYS] = kind != TSR_KIND_INDEX && kind != TSR_KIND_CACHE;
  has[TSR_HAS_EVICTION] = is_written(spec, "table", "eviction");
  has[TSR_HAS_EVICTS] = kind == TSR_KIND_INDEX && read->part[TSR_ROLE_EVICTION];
  has[TSR_HAS_EVICTS_NOTHING] = !read->part[TSR_ROLE_EVICTION];
  has[TSR_HAS_KEEPS_NUMBERS] = kind == TSR_KIND_INDEX && read->numbers.reuse == TSR_REUSE_NO;
  has[TSR_HAS_NO_MULTIMAP] = kind != TSR_KIND_MULTIMAP;
  has[TSR_HAS_NO_MAP] =
      kind != TSR_KIND_MAP && kind != TSR_KIND_MULTIMAP && kind != TSR_KIND_CACHE && kind != TSR_KIND_INDEX;
  for (size_t i = 0; i < tsr_spec_count(spec); i++)
    if (strcmp(tsr_spec_at(spec, i)->section, "table") == 0 &&
        !tsr_is_key_of_filter(tsr_spec_at(spec, i)->key, read->filter.has_slots))
      has[TSR_HAS_SLOT_KEY] = true;
  has[TSR_HAS_WIDE_KEYS] = read->key_bits > 64;
  has[TSR_HAS_VALUE_BITS] = read->value_bits != 0;
  has[TSR_HAS_NARROW] = read->value_bits && read->value_bits < 32;
  has[TSR_HAS_NUMBERED_ROWS] = kind == TSR_KIND_INDEX && read->value_bytes;
  has[TSR_HAS_NO_NUMBERED_ROWS] = !has[TSR_HAS_NUMBERED_ROWS];
  has[TSR_HAS_VALUE_BYTES] = kind != TSR_KIND_INDEX && read->value_bytes;
  has[TSR_HAS_LONG_ROWS] = has[TSR_HAS_VALUE_BYTES] && read->value_bytes > TSR_SHORT_ROW;
  has[TSR_HAS_REPLACES_LATE] = read->value_bytes && policy == TSR_DUPLICATES_REPLACE; /* unless the layout is whole */
  has[TSR_HAS_OVERFLOW] = is_written(spec, "table", "overflow");
  has[TSR_HAS_SATURATES] = read->policy.overflow == TSR_OVERFLOW_SATURATE;
  has[TSR_HAS_NO_SUMS] = policy != TSR_DUPLICATES_ADD;
  has[TSR_HAS_POLICY] = is_written(spec, "table", "duplicates");
  has[TSR_HAS_PROMISE] = policy == TSR_DUPLICATES_PROMISE_UNIQUE;
  has[TSR_HAS_COMBINES] = TSR_POLICY_COMBINES(policy);
  has[TSR_HAS_NUMBERS] = TSR_POLICY_COMBINES(policy) && policy != TSR_DUPLICATES_REPLACE;
  has[TSR_HAS_LOOKS] = TSR_POLICY_LOOKS(policy) && (!keeps_all || read->values.kind == TSR_VALUES_BUCKETS);
}

/* Of the entries alone: no part is known yet. */
static void find_traits(const tsr_spec *spec, const tsr_settings *read, tsr_traits *traits) {
  bool *has = traits->has;
  find_traits_of_kind(spec, read, traits);
  has[TSR_HAS_MIXED] = read->concurrency == TSR_CONCURRENCY_MIXED;
  has[TSR_HAS_PHASED] = read->concurrency == TSR_CONCURRENCY_PHASED;
  has[TSR_HAS_BUCKETS] = read->values.kind == TSR_VALUES_BUCKETS;
  has[TSR_HAS_BEFORE] = read->filter.before != 0;
  has[TSR_HAS_STASH] = read->stash != 0;
  has[TSR_HAS_PAGES] = read->pages.bytes != 0;
  has[TSR_HAS_NO_PAGES] = read->pages.bytes == 0;
  has[TSR_HAS_PAGE_BATCH] = is_written(spec, "table", "page_batch");
  has[TSR_HAS_FIND_BATCH] = is_written(spec, "table", "find_batch");
  has[TSR_HAS_NO_ZONES] = read->pages.bytes == 0 && !tsr_is_bloom(read);
  has[TSR_HAS_GROWTH] = read->upkeep.growth != TSR_GROWTH_NONE;
  has[TSR_HAS_SPLITTING] = read->upkeep.growth == TSR_GROWTH_SPLIT;
  has[TSR_HAS_NO_GROWTH] = read->upkeep.growth == TSR_GROWTH_NONE;
  has[TSR_HAS_GROWTH_LIMIT] = is_written(spec, "table", "growth_limit");
  has[TSR_HAS_DEVICE_BYTES] = read->pages.device_bytes != 0;
  has[TSR_HAS_DEVICE] = is_written(spec, "table", "device");
  has[TSR_HAS_DEVICES] = read->sharing.devices.count != 0;
  has[TSR_HAS_DEALT_INDEX] = has[TSR_HAS_DEVICES] && read->kind == TSR_KIND_INDEX;
  has[TSR_HAS_SEVERAL_DEVICES] = read->sharing.devices.count > 1;
  has[TSR_HAS_REPLICATED] = read->sharing.split == TSR_SPLIT_REPLICATED;
  has[TSR_HAS_INDEPENDENT] = read->sharing.split == TSR_SPLIT_INDEPENDENT;
  has[TSR_HAS_BITS_PER_KEY] = is_written(spec, "filter", "bits_per_key");
  has[TSR_HAS_ONE_IN] = read->filter.one_in != 0;
  has[TSR_HAS_OVERLOAD] = read->load_factor > 1;
  has[TSR_HAS_ALLOCATOR] = read->part[TSR_ROLE_ALLOCATOR] != NULL;
  has[TSR_HAS_NO_ALLOCATOR] = !read->part[TSR_ROLE_ALLOCATOR];
}

/* Rows are stored apart, so that no operation changes a slot and its row at one moment, and only whoever asks knows what is
 * in them. To parts and walk such a table is one of 32-bit values, the rows' numbers. */
static tsr_status make_wide(const tsr_spec *spec, tsr_settings *read, tsr_error *error) {
  if (!read->value_bytes) return TSR_OK;
  if (read->value_bytes > TSR_SHORT_ROW && read->value_bytes % 16)
    return bad_entry(tsr_spec_find(spec, "table", "value_bytes"), error,
                     "must be a multiple of 16, as it is above 256: rows are copied 16 bytes at a time");
  if (read->value_bytes % 4)
    return bad_entry(tsr_spec_find(spec, "table", "value_bytes"), error,
                     "must be a multiple of 4, as rows are copied word by word; multiples of 16 are fastest");
  read->value_bits = 32;
  if (read->kind == TSR_KIND_INDEX) {
    read->numbers.row_bytes = read->value_bytes;
    read->value_bytes = 0; /* of a slot, which has a number */
    return TSR_OK;
  }
  if (read->kind == TSR_KIND_CACHE) return TSR_OK; /* the slot gets the number of another row, with its score */
  read->policy.replaces_rows = read->policy.duplicates == TSR_DUPLICATES_REPLACE;
  if (read->policy.replaces_rows)
    read->policy.duplicates = TSR_DUPLICATES_FIRST; /* the slot's row stays, and gets another value */
  return TSR_OK;
}

/* To parts and walk an index is a map whose values are numbers. Nobody but the table writes them, and it replaces marks by
 * them. In pages the least value stays: a number is less than any mark (../table/numbering.h). */
static void make_index(tsr_settings *read) {
  read->value_bits = 32;
  read->policy.duplicates = read->pages.bytes ? TSR_DUPLICATES_MIN : TSR_DUPLICATES_REPLACE;
}

/* What the kind needs, and its policy: a multiset, a multimap and a counter have one of their own. */
static tsr_status make_kind(const tsr_spec *spec, tsr_settings *read, tsr_error *error) {
  const bool counts = read->kind == TSR_KIND_COUNTER;
  const bool has_values = read->kind == TSR_KIND_MAP || read->kind == TSR_KIND_MULTIMAP || counts;
  if (has_values && !read->value_bits)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: [table] kind = %s needs value_bits = %s32 | 64%s", tsr_spec_name(spec),
                    tsr_settings_word("kind", read->kind), counts ? "8 | 16 | " : "",
                    counts ? "" : ", or value_bytes = 16 .. 4096");
  if (read->kind == TSR_KIND_MULTISET || read->kind == TSR_KIND_MULTIMAP)
    /* to the walk keys with buckets of values are a set */
    read->policy.duplicates = read->values.kind == TSR_VALUES_BUCKETS ? TSR_DUPLICATES_FIRST : TSR_DUPLICATES_KEEP;
  if (read->filter.has_slots) read->policy.duplicates = TSR_DUPLICATES_KEEP; /* two keys may have one fingerprint */
  if (counts) make_counter(read);
  if (read->kind == TSR_KIND_INDEX) make_index(read);
  if (read->kind == TSR_KIND_CACHE && (!is_written(spec, "table", "load_factor") || read->load_factor == TSR_LOAD_AUTO))
    read->load_factor = 1; /* it may be full */
  make_sums(read);
  return TSR_OK;
}

tsr_status tsr_settings_read(const tsr_spec *spec, const tsr_options *options, tsr_settings *settings,
                             tsr_error *error) {
  tsr_settings read = {
      .load_factor = 0.8, .seed = 1, .pages = {.batch = TSR_PAGE_BATCH_AUTO, .find_batch = TSR_PAGE_BATCH_AUTO}};
  tsr_status status = read_table(spec, &read, error);
  read.filter.has_slots = read.kind == TSR_KIND_FILTER && tsr_spec_has_slots(spec);
  if (status == TSR_OK) status = check_complete(spec, &read, error);
  if (status == TSR_OK) status = check_sections(spec, &read, error);
  if (status) return status;
  find_traits(spec, &read, &read.traits);
  status = tsr_compatible_check(&read.traits, spec, TSR_BAD_SPEC, error);
  if (status == TSR_OK) status = make_wide(spec, &read, error);
  if (status == TSR_OK) status = make_kind(spec, &read, error);
  if (status) return status;
  if (options->capacity > TSR_CAPACITY_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "capacity = %llu: must be 1 .. 2^40",
                    (unsigned long long)options->capacity);
  if (options->capacity) read.capacity = options->capacity;
  if (options->seed) read.seed = options->seed;
  if (!read.capacity)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: [table] capacity is missing: add `capacity = 100M` (pairs to hold)",
                    tsr_spec_name(spec));
  if (read.upkeep.growth_limit && read.upkeep.growth_limit < read.capacity)
    return bad_entry(tsr_spec_find(spec, "table", "growth_limit"), error, "must be at least the capacity, or 0");
  if (read.sharing.devices.count && read.sharing.devices.count != TSR_DEVICES_ALL)
    read.target.device = read.sharing.devices.numbers[0];
  *settings = read;
  return TSR_OK;
}

/* How a spec says how large a value is. */
static uint64_t row_size(const tsr_settings *s) { return s->value_bytes ? s->value_bytes : s->numbers.row_bytes; }
static const char *value_key(const tsr_settings *s) { return row_size(s) ? "value_bytes" : "value_bits"; }
static uint64_t value_size(const tsr_settings *s) { return row_size(s) ? row_size(s) : s->value_bits; }

tsr_status tsr_settings_check_same(const tsr_settings *asked, const tsr_settings *own, const char *call,
                                   tsr_error *error) {
  if (asked->kind == own->kind && asked->key_bits == own->key_bits && asked->value_bits == own->value_bits &&
      row_size(asked) == row_size(own))
    return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "%s: the spec has kind = %s, key_bits = %llu, %s = %llu; the table has kind = %s, key_bits = %llu, "
                  "%s = %llu. They must be the same. Make a table of another kind anew",
                  call, tsr_settings_word("kind", asked->kind), (unsigned long long)asked->key_bits, value_key(asked),
                  (unsigned long long)value_size(asked), tsr_settings_word("kind", own->kind),
                  (unsigned long long)own->key_bits, value_key(own), (unsigned long long)value_size(own));
}

tsr_status tsr_settings_read_pool(const tsr_spec *spec, const tsr_options *options, tsr_settings *settings,
                                  tsr_error *error) {
  tsr_settings read = {.load_factor = 1, .seed = 1};
  tsr_status status = read_table(spec, &read, error);
  if (status == TSR_OK) status = check_sections(spec, &read, error);
  if (status) return status;
  if (!read.part[TSR_ROLE_ALLOCATOR])
    return tsr_fail(error, TSR_BAD_SPEC,
                    "%s: [table] names no allocator, and a pool is made of one: add `allocator = NAME`; `tessera list "
                    "allocator` shows them",
                    tsr_spec_name(spec));
  if (options->capacity) read.capacity = options->capacity;
  if (!read.capacity)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: [table] capacity is missing: add `capacity = 1M` (units of the pool)",
                    tsr_spec_name(spec));
  *settings = read;
  return TSR_OK;
}

/* ---- A part's section ------------------------------------------------------------------------ */

static tsr_status read_parameter(const tsr_parameter *parameter, const tsr_spec_entry *entry, void *config,
                                 tsr_error *error) {
  uint64_t value = parameter->initial;
  if (entry && (!tsr_parse_u64(entry->value, &value) || value < parameter->minimum || value > parameter->maximum)) {
    char range[256];
    broken_rule rule;
    snprintf(range, sizeof range, "a whole number from %llu to %llu: %s", (unsigned long long)parameter->minimum,
             (unsigned long long)parameter->maximum, parameter->doc);
    bad_number(entry, range, rule);
    return bad_entry(entry, error, rule);
  }
  void *member = (char *)config + parameter->offset;
  if (parameter->type == TSR_PARAMETER_U32)
    *(uint32_t *)member = (uint32_t)value;
  else
    *(uint64_t *)member = value;
  return TSR_OK;
}

tsr_status tsr_settings_read_part(const tsr_spec *spec, const tsr_plugin *plugin, void *config, tsr_error *error) {
  const char *section = tsr_role_names[plugin->role];
  size_t count = 0;
  for (; plugin->parameters[count].name; count++) {
    const tsr_parameter *parameter = &plugin->parameters[count];
    tsr_status status = read_parameter(parameter, tsr_spec_find(spec, section, parameter->name), config, error);
    if (status) return status;
  }
  const char **names = calloc(count + 1, sizeof *names);
  if (!names) return tsr_fail(error, TSR_NO_MEMORY, "no memory to read [%s]", section);
  for (size_t i = 0; i < count; i++) names[i] = plugin->parameters[i].name;
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < tsr_spec_count(spec); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(spec, i);
    if (strcmp(entry->section, section) != 0) continue;
    size_t at = 0;
    while (at < count && strcmp(entry->key, names[at]) != 0) at++;
    if (at == count && !(entry->file && is_replaced(spec, section))) status = unknown_key(entry, names, count, error);
  }
  free(names);
  return status;
}
