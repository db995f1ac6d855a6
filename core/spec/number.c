/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact numbers and nearest names; number.h says what is accepted.
 *
 * strtoull and strtod are not used on raw text. They accept blanks, signs, nan, inf and the decimal point of the
 * process's locale, and strtoull clamps.
 */
#define _GNU_SOURCE 1 /* strtod_l */

#include "core/spec/number.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a digit in base 16, or 16 if it is none. */
static unsigned digit_value(char c) {
  if (c >= '0' && c <= '9') {
    return (unsigned)(c - '0');
  }
  if (c >= 'a' && c <= 'f') {
    return (unsigned)(c - 'a') + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return (unsigned)(c - 'A') + 10;
  }
  return 16;
}

/* Reads one or more digits at *text and moves *text behind them. */
static bool read_digits(const char **text, unsigned base, uint64_t *out) {
  const char *at = *text;
  uint64_t value = 0;
  unsigned digit = digit_value(*at);
  if (digit >= base) {
    return false;
  }
  for (; digit < base; digit = digit_value(*++at)) {
    if (value > (UINT64_MAX - digit) / base) {
      return false;
    }
    value = value * base + digit;
  }
  *text = at;
  *out = value;
  return true;
}

static bool read_suffix(const char *suffix, uint64_t *scale) {
  static const struct {
    const char *name;
    uint64_t scale;
  } suffixes[] = {
      {"", 1},
      {"K", UINT64_C(1000)},
      {"M", UINT64_C(1000000)},
      {"G", UINT64_C(1000000000)},
      {"T", UINT64_C(1000000000000)},
      {"Ki", UINT64_C(1) << 10},
      {"Mi", UINT64_C(1) << 20},
      {"Gi", UINT64_C(1) << 30},
      {"Ti", UINT64_C(1) << 40},
  };
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    if (strcmp(suffix, suffixes[i].name) == 0) {
      *scale = suffixes[i].scale;
      return true;
    }
  }
  return false;
}

/* Reads the exponent, which ends the text. */
static bool read_power(const char *text, uint64_t base, uint64_t *out) {
  uint64_t exponent, value = 1;
  if (!read_digits(&text, 10, &exponent) || *text || exponent > 63) {
    return false;
  }
  for (; exponent; exponent--) {
    if (__builtin_mul_overflow(value, base, &value)) {
      return false;
    }
  }
  *out = value;
  return true;
}

bool tsr_parse_u64(const char *text, uint64_t *out) {
  if (!text) {
    return false;
  }
  uint64_t value = 0;
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text += 2;
    if (!read_digits(&text, 16, &value) || *text) {
      return false;
    }
    *out = value;
    return true;
  }
  uint64_t scale = 1;
  if (!read_digits(&text, 10, &value)) {
    return false;
  }
  if (*text == '^') {
    return read_power(text + 1, value, out);
  }
  if (!read_suffix(text, &scale) || value > UINT64_MAX / scale) {
    return false;
  }
  *out = value * scale;
  return true;
}

/* ---- What was meant -------------------------------------------------------------------------- */

/* Reads the digits at *text, in groups of three if something stands between them. */
static bool read_grouped(const char **text, uint64_t *out) {
  char digits[32];
  size_t count = strspn(*text, "0123456789");
  const char *at = *text + count, *separator = strchr(",_' ", *at);
  if (count == 0 || count >= sizeof digits) return false;
  memcpy(digits, *text, count);
  if (*at && separator && count <= 3)
    for (; *at == *separator && strspn(at + 1, "0123456789") == 3 && count + 3 < sizeof digits; at += 4, count += 3)
      memcpy(digits + count, at + 1, 3);
  digits[count] = '\0';
  *text = at;
  const char *first = digits;
  return read_digits(&first, 10, out);
}

/* The suffix in any case, perhaps with a B for bytes. */
static bool guess_suffix(const char *text, uint64_t *scale) {
  char suffix[4] = "";
  size_t length = strlen(text);
  if (length && (text[length - 1] == 'B' || text[length - 1] == 'b')) length--;
  if (length > 2 || strspn(text, "KMGTkmgti") < length) return false;
  for (size_t i = 0; i < length; i++) suffix[i] = (char)(i ? text[i] | 0x20 : text[i] & ~0x20);
  return read_suffix(suffix, scale);
}

static bool scale_by_ten(int64_t power, uint64_t *value) {
  for (; power > 0; power--)
    if (__builtin_mul_overflow(*value, UINT64_C(10), value)) return false;
  for (; power < 0; power++, *value /= 10)
    if (*value % 10) return false;
  return true;
}

/* digits [. digits] [e [+] digits] [suffix] */
static bool guess(const char *text, uint64_t *out) {
  uint64_t value, exponent = 0, scale;
  int64_t power = 0;
  if (!read_grouped(&text, &value)) return false;
  if (*text == '.')
    for (text++; *text >= '0' && *text <= '9'; text++, power--)
      if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
          __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
        return false;
  if (*text == 'e' || *text == 'E') {
    text += text[1] == '+' ? 2 : 1;
    if (!read_digits(&text, 10, &exponent) || exponent > 64) return false;
    power += (int64_t)exponent;
  }
  if (!guess_suffix(text, &scale) || __builtin_mul_overflow(value, scale, &value) || !scale_by_ten(power, &value))
    return false;
  *out = value;
  return true;
}

bool tsr_guess_u64(const char *text, uint64_t *out) {
  char bare[64];
  if (!text) return false;
  text += strspn(text, "\"'");
  size_t length = strcspn(text, "\"");
  if (length >= sizeof bare) return false;
  memcpy(bare, text, length);
  bare[length] = '\0';
  if (length && bare[length - 1] == '\'') bare[length - 1] = '\0';
  return guess(bare, out);
}

const char *tsr_number_advice(const char *text, char advice[TSR_ADVICE_BYTES]) {
  static const char *const suffixes[] = {"", "K", "M", "G", "T"};
  uint64_t value, scaled;
  size_t thousands = 0;
  advice[0] = '\0';
  if (tsr_parse_u64(text, &value) || !tsr_guess_u64(text, &value)) return advice;
  for (scaled = value; scaled && scaled % 1000 == 0 && thousands < 4; scaled /= 1000) thousands++;
  if (thousands)
    snprintf(advice, TSR_ADVICE_BYTES, "; write %llu or %llu%s", (unsigned long long)value, (unsigned long long)scaled,
             suffixes[thousands]);
  else
    snprintf(advice, TSR_ADVICE_BYTES, "; write %llu", (unsigned long long)value);
  return advice;
}

/* ---- Fractions ------------------------------------------------------------------------------- */

static size_t count_digits(const char *text) { return strspn(text, "0123456789"); }

/* digits [. digits] [e [sign] digits], with a digit before or behind the point. */
static bool is_decimal(const char *text) {
  size_t whole = count_digits(text);
  size_t fraction = 0;
  text += whole;
  if (*text == '.') {
    fraction = count_digits(++text);
    text += fraction;
  }
  if (whole + fraction == 0) {
    return false;
  }
  if (*text == 'e' || *text == 'E') {
    text++;
    text += *text == '+' || *text == '-';
    size_t exponent = count_digits(text);
    if (exponent == 0) {
      return false;
    }
    text += exponent;
  }
  return *text == '\0';
}

bool tsr_parse_double(const char *text, double *out) {
  if (!text || !is_decimal(text)) {
    return false;
  }
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) {
    return false;
  }
  int saved = errno;
  errno = 0;
  double value = strtod_l(text, NULL, plain);
  bool is_exact_range = errno != ERANGE;
  errno = saved;
  freelocale(plain);
  if (is_exact_range) {
    *out = value;
  }
  return is_exact_range;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static char small(char letter) { return (char)(letter >= 'A' && letter <= 'Z' ? letter | 0x20 : letter); }

enum {
  TSR_EDITS_MAX = 3,
  TSR_EDITS_FAR = TSR_EDITS_MAX + 1,
  TSR_EDITS_BAND = 2 * TSR_EDITS_MAX + 1,
  TSR_WORD_LONG = 5
};

/* Edit distance, or TSR_EDITS_FAR if it is larger than TSR_EDITS_MAX. A path of at most TSR_EDITS_MAX edits
 * stays within that many payloads of the diagonal, so only this band of the usual table is computed,
 * in place: band[d] is the distance between the first i letters of a and the first i + d -
 * TSR_EDITS_MAX of b. This needs no allocation and no limit on the lengths. */
static unsigned edit_distance(const char *a, const char *b) {
  size_t a_length = strlen(a);
  size_t b_length = strlen(b);
  if (a_length > b_length + TSR_EDITS_MAX || b_length > a_length + TSR_EDITS_MAX) {
    return TSR_EDITS_FAR;
  }
  unsigned band[TSR_EDITS_BAND];
  for (unsigned d = 0; d < TSR_EDITS_BAND; d++) {
    band[d] = d < TSR_EDITS_MAX ? TSR_EDITS_FAR : d - TSR_EDITS_MAX;
  }
  for (size_t i = 1; i <= a_length; i++) {
    for (unsigned d = 0; d < TSR_EDITS_BAND; d++) {
      if (i + d < TSR_EDITS_MAX || i + d > b_length + TSR_EDITS_MAX) {
        band[d] = TSR_EDITS_FAR;
        continue;
      }
      size_t j = i + d - TSR_EDITS_MAX;
      unsigned best = TSR_EDITS_FAR;
      if (j > 0) {
        best = band[d] + (small(a[i - 1]) != small(b[j - 1]));
      }
      if (d + 1 < TSR_EDITS_BAND && band[d + 1] + 1 < best) {
        best = band[d + 1] + 1;
      }
      if (j > 0 && d > 0 && band[d - 1] + 1 < best) {
        best = band[d - 1] + 1;
      }
      band[d] = best < TSR_EDITS_FAR ? best : TSR_EDITS_FAR;
    }
  }
  return band[b_length + TSR_EDITS_MAX - a_length];
}

const char *tsr_nearest(const char *word, const char *const *names, size_t count) {
  if (!word || !names) {
    return NULL;
  }
  const char *nearest = NULL;
  size_t length = strlen(word);
  size_t limit = length < TSR_EDITS_FAR ? length : TSR_EDITS_FAR;
  for (size_t i = 0; i < count; i++) {
    if (length < TSR_WORD_LONG && small(word[0]) != small(names[i][0])) continue;
    size_t distance = edit_distance(word, names[i]);
    if (distance < limit) {
      limit = distance;
      nearest = names[i];
    }
  }
  return nearest;
}

void tsr_plain_numbers_begin(tsr_plain_numbers *numbers) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  *numbers = (tsr_plain_numbers){plain, plain == (locale_t)0 ? NULL : uselocale(plain)};
}

void tsr_plain_numbers_end(const tsr_plain_numbers *numbers) {
  if (!numbers->plain) return;
  uselocale(numbers->former);
  freelocale(numbers->plain);
}

int tsr_first_sentence(const char *text) {
  const char *stop = strstr(text, ". ");
  return (int)(stop ? (size_t)(stop - text) + 1 : strlen(text));
}
