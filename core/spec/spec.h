/* SPDX-License-Identifier: Apache-2.0
 *
 * The raw spec: what an INI file and the --set options say, with the place of each entry.
 *
 * Only the grammar is judged here. Which sections and keys exist, and which values they may have, is judged by the
 * code that composes a table. It finds entries by name, and names the place of an entry in every sentence that it
 * writes (tsr_spec_refuse). Read next: number.h, which reads the values.
 */
#ifndef TSR_SPEC_H
#define TSR_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The grammar:
 *
 *   # A comment starts with '#' or ';' on a line of its own,
 *   [table]
 *   kind = map    ; or with ';' behind a blank.
 *
 * Names of sections and keys are made of a-z, 0-9 and _; a key may have points within, where it names an entry of another
 * section ([sweep] layout.bucket_slots). Each section, and each key of a section,
 * stands in a file once. Files hold up to 1 MiB and must be regular files. Whatever breaks a rule
 * is refused with a sentence that starts with file:line or --set; nothing is skipped or repaired.
 * In a --set, the value goes to the end of the text: there are no comments. */
enum {
  TSR_SPEC_NAME_MAX = 48,  /* letters of a section or key: inih would cut sections at 49 silently */
  TSR_SPEC_LINE_MAX = 190, /* bytes of a line: inih splits lines of 200, line end included */
  TSR_SPEC_KEYS_MAX = 1024 /* of keys and of sections: bounds the time to look for doubles */
};

/* Pointers to entries and sections are valid until the spec is changed or freed. */
typedef struct tsr_spec_entry {
  char section[TSR_SPEC_NAME_MAX + 1];
  char key[TSR_SPEC_NAME_MAX + 1];
  char value[TSR_SPEC_LINE_MAX + 1]; /* printable ASCII and tabs, no blanks around it, not empty */
  const char *file;                  /* the spec's name; NULL if the entry comes from tsr_spec_set */
  uint64_t line;                     /* counted from 1; 0 if the entry comes from tsr_spec_set */
} tsr_spec_entry;

/* A section is listed even if it holds no key, so that a misspelt empty one can be refused. */
typedef struct tsr_spec_section {
  char name[TSR_SPEC_NAME_MAX + 1];
  const char *file; /* as in tsr_spec_entry */
  uint64_t line;
} tsr_spec_section;

/* A spec that says nothing, or NULL without memory. The caller frees it with tsr_spec_free. */
tsr_spec *tsr_spec_new(const char *name);

/* The section of that name, or NULL. */
const tsr_spec_section *tsr_spec_find_section(const tsr_spec *spec, const char *name);

/* Add one to the list. line: where the spec's text says it; 0: --set does. pre: names and value are legal, the list has
 * no such section or entry and holds fewer than TSR_SPEC_KEYS_MAX. Status: TSR_NO_MEMORY. */
tsr_status tsr_spec_add_section(tsr_spec *spec, const char *name, uint64_t line, tsr_error *error);
tsr_status tsr_spec_add_entry(tsr_spec *spec, const char *section, const char *key, const char *value, uint64_t line,
                              tsr_error *error);
/* Replaces the value of an entry, or adds it, as one --set. Status: TSR_BAD_SPEC if it is one too many. */
tsr_status tsr_spec_put(tsr_spec *spec, const char *section, const char *key, const char *value, tsr_error *error);

/* Takes an entry out, if there is one. */
void tsr_spec_take_out(tsr_spec *spec, const char *section, const char *key);

/* The path or name that the spec was read from; lives as long as the spec. */
const char *tsr_spec_name(const tsr_spec *spec);

/* The entry of that section and key, or NULL. */
const tsr_spec_entry *tsr_spec_find(const tsr_spec *spec, const char *section, const char *key);

/* All entries in the order in which they were first written; pre: i < tsr_spec_count. */
size_t tsr_spec_count(const tsr_spec *spec);
const tsr_spec_entry *tsr_spec_at(const tsr_spec *spec, size_t i);

/* All sections in the order in which they were first opened; pre: i < tsr_spec_section_count. */
size_t tsr_spec_section_count(const tsr_spec *spec);
const tsr_spec_section *tsr_spec_section_at(const tsr_spec *spec, size_t i);

/* Writes where an entry was said and what it says, the beginning of every sentence about it:
 *   users.ini:14: [layout] tile_lanes = 48
 *   --set layout.tile_lanes=48
 * Cut if it is longer than `bytes`, always terminated; pre: bytes > 0. */
void tsr_spec_where(const tsr_spec_entry *entry, char *buffer, size_t bytes);

/* Refuses what an entry asks for: writes that place, a colon and the sentence, and returns TSR_INCOMPATIBLE. pre: the spec
 * has the entry. */
TSR_PRINTF(5, 6)
tsr_status tsr_spec_refuse(const tsr_spec *spec, const char *section, const char *key, tsr_error *error,
                           const char *format, ...) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
