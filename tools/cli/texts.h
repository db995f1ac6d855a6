/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that are texts (--key-text): their hashes of 128 bits are the keys of tables, and each text is kept once, for outputs.
 * Two texts of one hash are refused. Read next: tsv.c (reads them), rows.c (writes them).
 */
#ifndef TSR_TEXTS_H
#define TSR_TEXTS_H

#include "core/tessera_tools.h"

typedef struct tsr_texts tsr_texts;

/* The caller frees. seed: of the hash. */
TSR_MUST_CHECK tsr_status tsr_texts_create(uint64_t seed, const char *plugins, tsr_texts **texts, tsr_error *error);
void tsr_texts_free(tsr_texts *texts); /* NULL is fine */

/* Writes the keys of n texts, as of tsr_text_keys, and keeps those that are new. Any thread. TSR_UNSUPPORTED: two texts have one
 * hash. */
TSR_MUST_CHECK tsr_status tsr_texts_add(tsr_texts *texts, uint64_t n, const char *bytes, const uint64_t *offsets,
                                        void *keys, tsr_error *error);

/* Writes where the texts of n keys are, and their lengths. A key whose text is not known, as of a table that was loaded, gets NULL.
 * They are valid until tsr_texts_done, and until then nobody adds. TSR_OK: tsr_texts_done is to be called. */
TSR_MUST_CHECK tsr_status tsr_texts_find(tsr_texts *texts, uint64_t n, const void *keys, const char **bytes,
                                         size_t *lengths, tsr_error *error);
void tsr_texts_done(tsr_texts *texts);

#endif
