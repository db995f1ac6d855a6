/* SPDX-License-Identifier: Apache-2.0
 *
 * A dictionary of k-mers: each distinct one of a random text gets a number, and arrays at that number say where it came first
 * and how often it came. Reads are then looked up in it. An oracle compares the letters themselves.
 *
 *   dictionary [--times N] [FOLDER]     N letters; FOLDER holds words.ini
 */
#include "../example.h"

enum { K = 21, NONE = -1 };

/* The k-mers of a text, of both strands the smaller one; returns how many. */
static uint64_t words_of(const char *text, uint64_t length, uint64_t *words) {
  const uint64_t mask = ((uint64_t)1 << 2 * K) - 1;
  uint64_t forward = 0, backward = 0, count = 0;
  for (uint64_t i = 0; i < length; i++) {
    const uint64_t base = (uint64_t)(strchr("ACGT", text[i]) - "ACGT");
    forward = (forward << 2 | base) & mask;
    backward = backward >> 2 | (3 - base) << 2 * (K - 1);
    if (i + 1 >= K) words[count++] = forward < backward ? forward : backward;
  }
  return count;
}

/* Random letters, of which parts come again. */
static void write_text(char *text, uint64_t length) {
  uint64_t state = 5;
  for (uint64_t i = 0; i < length; i++) text[i] = "ACGT"[random_number(&state) >> 62];
  for (uint64_t i = length / 2; i + 500 < length; i += 2000)
    memcpy(text + i, text + random_number(&state) % (length / 2 - 500), 500);
}

static bool same_word(const char *text, uint64_t a, uint64_t b) {
  bool same = memcmp(text + a, text + b, K) == 0, reverse = true;
  for (uint64_t i = 0; i < K; i++)
    reverse = reverse && strchr("ACGT", text[a + i]) - "ACGT" == 3 - (strchr("ACGT", text[b + K - 1 - i]) - "ACGT");
  return same || reverse;
}

int main(int argc, char **argv) {
  const example_arguments arguments = read_arguments(argc, argv, "examples/dictionary", 100000);
  const uint64_t length = arguments.items < 4096 ? 4096 : arguments.items;
  char *text = malloc(length);
  uint64_t *words = malloc(length * sizeof *words), *first = malloc(length * sizeof *first), given = 0, total = 0;
  uint32_t *numbers = malloc(length * sizeof *numbers), *times = calloc(length, sizeof *times);
  if (!text || !words || !first || !numbers || !times) return 1;
  write_text(text, length);
  const uint64_t count = words_of(text, length, words);
  tsr_table *dictionary = make_table(arguments.folder, "words.ini", 1024);
  tsr_error error;
  must(tsr_number(dictionary, count, words, numbers, NULL, &error), &error);
  must(tsr_numbers_given(dictionary, &given, &error), &error);
  bool right = true;
  for (uint64_t i = 0, next = 0; i < count; i++) {
    if (numbers[i] == next) first[next++] = i;
    right = right && numbers[i] < next && same_word(text, i, first[numbers[i]]);
    times[numbers[i]]++;
  }
  for (uint64_t i = 0; i < given; i++) total += times[i];
  words[0] =
      ~words[0] & (((uint64_t)1 << 2 * K) - 1); /* a read: one word that nobody has seen, then some of the text */
  const tsr_call call = {.missing = (uint32_t)NONE};
  must(tsr_find(dictionary, 100, words, numbers, &call, &error), &error);
  right = right && numbers[0] == (uint32_t)NONE && total == count;
  for (uint64_t i = 1; i < 100; i++) right = right && same_word(text, i, first[numbers[i]]);
  printf("%llu letters have %llu distinct %d-mers; the oracle %s\n", (unsigned long long)length,
         (unsigned long long)given, K, right ? "agrees" : "DISAGREES");
  tsr_table_destroy(dictionary);
  free(text);
  free(words);
  free(first);
  free(numbers);
  free(times);
  return !right;
}
