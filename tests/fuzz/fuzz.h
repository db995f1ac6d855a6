/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets share. A target is <name>_fuzz.c with libFuzzer's one function; its seeds are in corpus/<name>.
 * run.sh searches with libFuzzer; //tests/fuzz runs the corpus alone (replay.c). A target checks more than that nothing
 * crashes: what is refused is refused with a sentence, what is read is whole.
 */
#ifndef TSR_TESTS_FUZZ_H
#define TSR_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* assert() may be compiled out. */
#define FUZZ_CHECK(condition)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                                   \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* A refusal is one sentence that starts with what it is about. It may quote a line, tabs included. */
static inline void fuzz_check_sentence(const tsr_error *error, tsr_status status, const char *about) {
  FUZZ_CHECK(error->status == status);
  FUZZ_CHECK(strncmp(error->message, about, strlen(about)) == 0);
  FUZZ_CHECK(strlen(error->message) > strlen(about) + 10);
  for (const char *at = error->message; *at; at++) FUZZ_CHECK((*at >= ' ' && *at <= '~') || *at == '\t');
}

/* The input as text; an input that holds a 0 ends there, as text does. The caller frees it. */
static inline char *fuzz_text(const uint8_t *bytes, size_t size) {
  char *text = malloc(size + 1);
  FUZZ_CHECK(text);
  if (size) memcpy(text, bytes, size);
  text[size] = '\0';
  return text;
}

/* Puts the input into a file of this process whose name has this ending; always the same file. */
const char *fuzz_file(const uint8_t *bytes, size_t size, const char *ending);

/* Reads every item, which shows that the arrays are as long as they say. */
static inline uint64_t fuzz_sum(const void *array, uint32_t bits, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) sum += bits == 64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
  return sum;
}

#endif
