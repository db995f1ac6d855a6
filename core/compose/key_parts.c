/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading [table] key_columns (key_parts.h).
 */
#include "core/compose/key_parts.h"

#include <stdio.h>
#include <string.h>

#include "core/sized.h"
#include "core/spec/number.h"
#include "core/spec/spec.h"

static const struct {
  const char *word;
  uint32_t bytes;
  bool is_signed;
} types[] = {{"i8", 1, true},  {"i16", 2, true},  {"i32", 4, true},  {"i64", 8, true},
             {"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false}};
enum { TYPES = sizeof types / sizeof types[0], KEY_BYTES_MAX = 16, KEY_BITS_OF_THREE = 96 };

#define RULE "must be types between commas, i8 to i64 or u8 to u64, as u32, u32 or x:i32, y:i32"

static bool says(const char *text, size_t length, const char *word) {
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

static size_t trimmed(const char *text, size_t length) {
  while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
  return length;
}

/* `type` or `name:type`, without blanks around it. */
static bool read_column(const char *text, size_t length, tsr_key_part *column, char *rule, size_t rule_bytes) {
  const char *colon = memchr(text, ':', length);
  size_t name = colon ? trimmed(text, (size_t)(colon - text)) : 0, at = colon ? (size_t)(colon - text) + 1 : 0;
  at += strspn(text + at, " \t");
  if ((colon && !name) || name >= sizeof column->name) {
    snprintf(rule, rule_bytes, "has a column whose name is empty or longer than %zu letters; " RULE,
             sizeof column->name - 1);
    return false;
  }
  if (says(text + at, length - at, "f32") || says(text + at, length - at, "f64")) {
    snprintf(
        rule, rule_bytes,
        "has a column of floats: keys are compared bit by bit, and 0.0 and -0.0 have different bits. Give their bits "
        "as u%.2s",
        text + at + 1);
    return false;
  }
  for (size_t i = 0; i < TYPES; i++) {
    if (!says(text + at, length - at, types[i].word)) continue;
    *column = (tsr_key_part){.bytes = types[i].bytes, .is_signed = types[i].is_signed};
    if (colon) memcpy(column->name, text, name);
    return true;
  }
  snprintf(rule, rule_bytes, RULE);
  return false;
}

bool tsr_key_parts_read(const char *text, tsr_key_parts *columns, char *rule, size_t rule_bytes) {
  tsr_key_parts read = {.count = 0};
  for (const char *at = text;; at++) {
    const size_t length = strcspn(at, ","), blanks = strspn(at, " \t");
    tsr_key_part *column = &read.part[read.count];
    if (read.count == TSR_KEY_PARTS_MAX) {
      snprintf(rule, rule_bytes, "names more than %d columns", (int)TSR_KEY_PARTS_MAX);
      return false;
    }
    const size_t blank = blanks < length ? blanks : length;
    if (!read_column(at + blank, trimmed(at + blank, length - blank), column, rule, rule_bytes)) return false;
    column->offset = read.bytes;
    read.bytes += column->bytes;
    read.count++;
    at += length;
    if (!*at) break;
  }
  if (read.bytes > KEY_BYTES_MAX) {
    snprintf(rule, rule_bytes,
             "has %u bits together, and a key has at most %d: use narrower types, or a hash of the columns as the key",
             8 * read.bytes, 8 * KEY_BYTES_MAX);
    return false;
  }
  read.key_bits = read.bytes <= 4 ? 32 : read.bytes <= 8 ? 64 : 8 * KEY_BYTES_MAX;
  *columns = read;
  return true;
}

tsr_status tsr_spec_key_parts(const tsr_spec *spec, tsr_key_parts *columns, tsr_error *error) {
  const tsr_spec_entry *entry = tsr_spec_find(spec, "table", "key_columns");
  const tsr_spec_entry *bits = tsr_spec_find(spec, "table", "key_bits");
  char rule[256], where[512];
  uint64_t number = 0;
  tsr_key_parts read = {.count = 0};
  const bool has_three_words = bits && tsr_parse_u64(bits->value, &number) && number == KEY_BITS_OF_THREE;
  const char *columns_said = entry ? entry->value : has_three_words ? "u32, u32, u32" : NULL;
  if (columns_said && !tsr_key_parts_read(columns_said, &read, rule, sizeof rule)) {
    tsr_spec_where(entry, where, sizeof where);
    return tsr_fail(error, TSR_BAD_SPEC, "%s: %s", where, rule);
  }
  const bool is_same = has_three_words ? 8 * read.bytes == number : number == read.key_bits;
  const bool is_replaced = entry && bits && !entry->line && bits->line; /* --set says columns of a spec that has none */
  if (entry && bits && !is_replaced && !is_same) {
    tsr_spec_where(bits, where, sizeof where);
    return tsr_fail(error, TSR_BAD_SPEC, "%s: key_columns makes keys of %u bits: remove the line", where,
                    read.key_bits);
  }
  if (!columns_said) read.key_bits = (uint32_t)number;
  tsr_hand_over(columns, &read, sizeof read);
  return TSR_OK;
}
