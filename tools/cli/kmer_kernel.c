/* SPDX-License-Identifier: Apache-2.0
 *
 * K-mers made of letters on the table's device (kmer_kernel.h), by a kernel of tessera.cuh. Each thread reads all letters of its
 * k-mer, from the L1 cache: that takes a fraction of what the table's random accesses take.
 */
#define _GNU_SOURCE /* asprintf */
#include "tools/cli/kmer_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tessera_kernels.h"
#include "tools/cli/sequence.h"

struct tsr_kmer_kernel {
  tsr_table *table;
  tsr_kernel *kernel; /* NULL: the host makes the k-mers */
  uint32_t kmers, key_bits;
  bool canonical;
  uint8_t *letters; /* on the device: `room` of them */
  void *keys;       /* on the device, otherwise on the host */
  uint64_t *number; /* on the device: how many k-mers there are */
  tsr_error why;    /* of having no kernel */
};

static const char kernel_text[] =
    "#include \"tessera.cuh\"\n"
    "enum { LENGTH = %u, BREAK = %d, CANONICAL = %d };\n"
    "typedef %s key;\n"
    "%s(counts, finds)\n"
    "TSR_KERNEL(make_kmers, (tsr_table_ref counts, const uint8_t *letters, %s *kmers, uint64_t *number)) {\n"
    "  const uint64_t at = tsr_item();\n"
    "  const uint32_t is_item = at < tsr_items();\n"
    "  key forward = 0, reverse = 0;\n"
    "  uint32_t worst = is_item ? 0 : BREAK;\n"
    "  (void)counts;\n"
    "  for (uint32_t j = 0; is_item && j < LENGTH; j++) {\n"
    "    const uint32_t letter = letters[at + j];\n"
    "    forward = forward << 2 | (letter & 3);\n"
    "    reverse |= (key)(3 - (letter & 3)) << 2 * j;\n"
    "    worst = letter > worst ? letter : worst;\n"
    "  }\n"
    "  const uint32_t is_kmer = worst < BREAK;\n"
    "  const uint64_t place = tsr_append(number, is_kmer);\n"
    "  if (is_kmer) kmers[place] = CANONICAL && reverse < forward ? reverse : forward;\n"
    "}\n";

static tsr_status make_kernel(tsr_kmer_kernel *k, tsr_error *error) {
  static const char *const names[] = {"counts"};
  const bool is_wide = k->key_bits > 64;
  const char *type = is_wide ? "tsr_key128" : k->key_bits > 32 ? "uint64_t" : "uint32_t";
  char *text = NULL;
  if (asprintf(&text, kernel_text, k->kmers, TSR_LETTER_BREAK, k->canonical, type,
               is_wide ? "TSR_TABLE_128" : "TSR_TABLE", type) < 0)
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of a kernel");
  const tsr_kernel_source source = {.text = text, .file = "the k-mers' kernel"};
  const tsr_status status = tsr_kernel_create(&source, "make_kmers", &k->table, names, 1, &k->kernel, error);
  free(text);
  return status;
}

tsr_status tsr_kmer_kernel_new(tsr_table *table, uint32_t kmers, bool canonical, uint64_t room,
                               tsr_kmer_kernel **kernel, tsr_error *error) {
  tsr_table_info info = {.size = sizeof info};
  tsr_kmer_kernel *k = calloc(1, sizeof *k);
  if (!k) return tsr_fail(error, TSR_NO_MEMORY, "no memory to count k-mers");
  tsr_table_describe(table, &info);
  k->table = table;
  k->kmers = kmers;
  k->canonical = canonical;
  k->key_bits = info.key_bits;
  *kernel = k;
  const uint64_t key_bytes = room * (info.key_bits / 8);
  void *number = NULL, *letters = NULL;
  if (make_kernel(k, &k->why) != TSR_OK) {
    k->keys = malloc(key_bytes);
    return k->keys ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for %llu k-mers", (unsigned long long)room);
  }
  tsr_status status = tsr_memory_allocate(table, room, &letters, error);
  if (status == TSR_OK) status = tsr_memory_allocate(table, key_bytes, &k->keys, error);
  if (status == TSR_OK) status = tsr_memory_allocate(table, sizeof *k->number, &number, error);
  k->letters = letters;
  k->number = number;
  return status;
}

bool tsr_kmer_kernel_is_on_device(const tsr_kmer_kernel *kernel, const char **why) {
  *why = kernel->why.message;
  return kernel->kernel != NULL;
}

void tsr_kmer_kernel_free(tsr_kmer_kernel *k) {
  if (!k) return;
  if (k->letters) tsr_memory_free(k->table, k->letters);
  if (k->number) tsr_memory_free(k->table, k->number);
  if (k->kernel && k->keys) tsr_memory_free(k->table, k->keys);
  if (!k->kernel) free(k->keys);
  tsr_kernel_destroy(k->kernel);
  free(k);
}

/* ---- The histogram --------------------------------------------------------------------------- */

/* Of the array of small values: most k-mers have one of a few counts, and threads that add to one number wait. */
enum { COPIES = 16 };

static const char tally_text[] = "if (value < SMALL) tsr_add(&small[((uint64_t)key % COPIES) * SMALL + value], 1);\n"
                                 "else large[tsr_add(large_count, 1)] = value;\n";

/* The arrays of the device: `small` has an item more, the number of large values. */
static tsr_status tally_on_device(tsr_kmer_kernel *k, uint64_t *small, uint64_t *large, tsr_error *error) {
  uint64_t *const large_count = small + (size_t)COPIES * TSR_TALLY_SMALL;
  const void *arguments[] = {&small, &large, &large_count};
  char text[512];
  snprintf(text, sizeof text, "enum { SMALL = %d, COPIES = %d };\n%s", TSR_TALLY_SMALL, COPIES, tally_text);
  const tsr_statements statements = {.text = text,
                                     .parameters = "uint64_t *small, uint64_t *large, uint64_t *large_count",
                                     .arguments = arguments,
                                     .count = 3};
  return tsr_for_all(k->table, &statements, NULL, error);
}

tsr_status tsr_kmer_kernel_tally(tsr_kmer_kernel *k, uint64_t added, tsr_tally *tally, tsr_error *error) {
  const size_t items = (size_t)COPIES * TSR_TALLY_SMALL + 1, bytes = items * sizeof(uint64_t);
  uint64_t *numbers = calloc(items, sizeof *numbers);
  void *small = NULL, *large = NULL;
  memset(tally, 0, sizeof *tally);
  tally->large_room = added / TSR_TALLY_SMALL + 1;
  tally->large = malloc(tally->large_room * sizeof *tally->large);
  tsr_status status = numbers && tally->large ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for a histogram");
  if (status == TSR_OK) status = tsr_memory_allocate(k->table, bytes, &small, error);
  if (status == TSR_OK) status = tsr_memory_allocate(k->table, tally->large_room * sizeof(uint64_t), &large, error);
  if (status == TSR_OK) status = tsr_memory_copy(k->table, small, numbers, bytes, error);
  if (status == TSR_OK) status = tally_on_device(k, small, large, error);
  if (status == TSR_OK) status = tsr_memory_copy(k->table, numbers, small, bytes, error);
  if (status == TSR_OK) tally->large_count = numbers[items - 1];
  if (status == TSR_OK && tally->large_count)
    status = tsr_memory_copy(k->table, tally->large, large, tally->large_count * sizeof(uint64_t), error);
  for (size_t i = 0; status == TSR_OK && i < items - 1; i++) tally->small[i % TSR_TALLY_SMALL] += numbers[i];
  if (small) tsr_memory_free(k->table, small);
  if (large) tsr_memory_free(k->table, large);
  free(numbers);
  return status;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* The k-mers of letters, on the host; returns how many. */
static uint64_t roll(tsr_kmer_kernel *k, const uint8_t *letters, uint64_t count) {
  const uint32_t length = k->kmers, top = 2 * (length - 1);
  const tsr_any_key mask = ~(tsr_any_key)0 >> (128 - 2 * length);
  tsr_any_key forward = 0, reverse = 0;
  uint64_t run = 0, made = 0;
  for (uint64_t i = 0; i < count; i++) {
    run = letters[i] < TSR_LETTER_BREAK ? run + 1 : 0;
    forward = (forward << 2 | (letters[i] & 3)) & mask;
    reverse = reverse >> 2 | (tsr_any_key)(3 - (letters[i] & 3)) << top;
    if (run < length) continue;
    tsr_key_put(k->keys, k->key_bits, made++, k->canonical && reverse < forward ? reverse : forward);
  }
  return made;
}

tsr_status tsr_kmer_kernel_add(tsr_kmer_kernel *k, const uint8_t *letters, uint64_t count, tsr_error *error) {
  uint64_t made = 0;
  if (count < k->kmers) return TSR_OK;
  if (!k->kernel) return tsr_insert(k->table, roll(k, letters, count), k->keys, NULL, NULL, error);
  const void *arguments[] = {&k->letters, &k->keys, &k->number};
  tsr_status status = tsr_memory_copy(k->table, k->letters, letters, count, error);
  if (status == TSR_OK) status = tsr_memory_copy(k->table, k->number, &made, sizeof made, error);
  if (status == TSR_OK) status = tsr_kernel_launch(k->kernel, count - k->kmers + 1, arguments, 3, NULL, error);
  if (status == TSR_OK) status = tsr_table_wait(k->table, error);
  if (status == TSR_OK) status = tsr_memory_copy(k->table, &made, k->number, sizeof made, error);
  return status || !made ? status : tsr_insert(k->table, made, k->keys, NULL, NULL, error);
}
