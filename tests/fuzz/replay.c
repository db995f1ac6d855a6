/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over the files of a corpus, given as arguments: the part of fuzzing that every test run repeats.
 */
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 22 };

int main(int argc, char **argv) {
  uint8_t *bytes = malloc(INPUT_MAX);
  FUZZ_CHECK(bytes);
  if (argc < 2) {
    fprintf(stderr, "usage: %s FILE...: a corpus without files tests nothing\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; i++) {
    printf("%s\n", argv[i]);
    fflush(stdout); /* names the one that crashes */
    FILE *input = fopen(argv[i], "rb");
    FUZZ_CHECK(input);
    size_t size = fread(bytes, 1, INPUT_MAX, input);
    FUZZ_CHECK(feof(input) && !ferror(input));
    fclose(input);
    uint8_t *exact = malloc(size ? size : 1); /* so that AddressSanitizer knows where the input ends */
    FUZZ_CHECK(exact);
    memcpy(exact, bytes, size);
    FUZZ_CHECK(LLVMFuzzerTestOneInput(exact, size) == 0);
    free(exact);
  }
  free(bytes);
  printf("%d inputs\n", argc - 1);
  return 0;
}
