/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing JSON (json.h).
 */
#include "tools/lab/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Bytes of the UTF-8 sequence that starts here; 0 if there is none: a file's name may hold any bytes. */
static size_t sequence_bytes(const unsigned char *at) {
  size_t bytes = at[0] < 0x80 ? 1 : at[0] >= 0xC2 && at[0] < 0xE0 ? 2 : at[0] >= 0xE0 && at[0] < 0xF0 ? 3 : 0;
  if (at[0] >= 0xF0 && at[0] < 0xF5) bytes = 4;
  for (size_t i = 1; i < bytes; i++)
    if ((at[i] & 0xC0) != 0x80) return 0;
  bool is_overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
  bool is_surrogate = at[0] == 0xED && at[1] >= 0xA0, is_beyond = at[0] == 0xF4 && at[1] >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : bytes;
}

static void put_string(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    size_t bytes = sequence_bytes(at);
    if (bytes == 0)
      fputs("\\ufffd", out); /* the replacement character */
    else if (*at == '"' || *at == '\\')
      fprintf(out, "\\%c", *at);
    else if (*at < 0x20)
      fprintf(out, "\\u%04x", *at);
    else
      fwrite(at, 1, bytes, out);
    at += bytes ? bytes : 1;
  }
  fputc('"', out);
}

/* What stands before a value. Objects of a list begin a line each. */
static void begin_value(tsr_json *json, const char *name, bool on_a_line) {
  if (json->has_items) fputs(on_a_line ? "," : ", ", json->out);
  if (on_a_line) fprintf(json->out, "\n%*s", (int)(2 * (json->depth - 1)), "");
  json->has_items = true;
  if (!name) return;
  put_string(json->out, name);
  fputs(": ", json->out);
}

static void open_value(tsr_json *json, const char *name, char bracket) {
  begin_value(json, name, bracket == '{' && !name && json->depth > 0);
  fputc(bracket, json->out);
  json->depth++;
  json->has_items = false;
}

static void close_value(tsr_json *json, char bracket) {
  fputc(bracket, json->out);
  json->has_items = true;
  if (--json->depth == 0) fputc('\n', json->out);
}

void tsr_json_object(tsr_json *json, const char *name) { open_value(json, name, '{'); }
void tsr_json_list(tsr_json *json, const char *name) { open_value(json, name, '['); }
void tsr_json_end_object(tsr_json *json) { close_value(json, '}'); }
void tsr_json_end_list(tsr_json *json) { close_value(json, ']'); }

void tsr_json_text(tsr_json *json, const char *name, const char *text) {
  begin_value(json, name, false);
  if (text)
    put_string(json->out, text);
  else
    fputs("null", json->out);
}

void tsr_json_number(tsr_json *json, const char *name, uint64_t number) {
  begin_value(json, name, false);
  fprintf(json->out, "%" PRIu64, number);
}

void tsr_json_real(tsr_json *json, const char *name, double number, int decimals) {
  begin_value(json, name, false);
  if (isfinite(number))
    fprintf(json->out, "%.*f", decimals, number);
  else
    fputs("null", json->out);
}

void tsr_json_bool(tsr_json *json, const char *name, bool is_so) {
  begin_value(json, name, false);
  fputs(is_so ? "true" : "false", json->out);
}

void tsr_json_written(tsr_json *json, const char *name, const char *number) {
  begin_value(json, name, false);
  fputs(*number ? number : "null", json->out);
}
