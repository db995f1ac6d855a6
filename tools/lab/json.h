/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON: the only writer of it. A name is that of a member of an object, or NULL in a list. Read next: job_json.c in
 * ../cli, which uses it.
 */
#ifndef TSR_JSON_H
#define TSR_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_json {
  FILE *out;
  uint32_t depth;
  bool has_items; /* of the object or list that is open */
} tsr_json;

/* Objects and lists: closed in the reverse order. The last end of all also ends the line. */
void tsr_json_object(tsr_json *json, const char *name);
void tsr_json_list(tsr_json *json, const char *name);
void tsr_json_end_object(tsr_json *json);
void tsr_json_end_list(tsr_json *json);

/* NULL is null. What is no UTF-8 becomes the replacement character. */
void tsr_json_text(tsr_json *json, const char *name, const char *text);
void tsr_json_number(tsr_json *json, const char *name, uint64_t number);
void tsr_json_real(tsr_json *json, const char *name, double number, int decimals);
void tsr_json_bool(tsr_json *json, const char *name, bool is_so);
/* A number that is written already; "" is null. */
void tsr_json_written(tsr_json *json, const char *name, const char *number);

#ifdef __cplusplus
}
#endif
#endif
