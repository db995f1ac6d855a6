// SPDX-License-Identifier: Apache-2.0
//
// BGHT 7.3 at any size: how many builds of a table, each with another seed, place every pair, over a range of loads. By
// hand, where the plugins' folders are: success_rates BACKEND PAIRS BUILDS [SCHEME [LOAD...]]; prints CSV.
#include <cstdio>
#include <cstring>

#include "tests/probing/tables.h"

using namespace tessera_test;

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: success_rates cpu|cuda PAIRS BUILDS [SCHEME [LOAD...]]\n");
    return 2;
  }
  struct Row {
    const char *name;
    Scheme scheme;
    double from, to;
  };
  const Row rows[] = {{"bcht", {"cuckoo", "", 16}, .97, .995},
                      {"bcht_two_functions", {"cuckoo", "hash_functions = 2\n", 16}, .80, .98},
                      {"bcht_least_loaded", {"cuckoo", "hash_functions = 2\nleast_loaded = 1\n", 16}, .93, .99},
                      {"1cht", {"cuckoo", "hash_functions = 4\n", 1}, .86, .93},
                      {"1cht_50M", {"cuckoo", "hash_functions = 4\nmax_chain = 180\n", 1}, .86, .93}, // BGHT's chain
                      {"1cht_xor_add", {"cuckoo", "hash_functions = 4\n", 1, "xor_add"}, .86, .93},   // its hashes
                      {"iht_32", {"iceberg", "", 32}, .90, .95},
                      {"iht_16", {"iceberg", "", 16}, .80, .88},
                      {"p2bht_32", {"two_choice", "", 32}, .84, .92},
                      {"p2bht_16", {"two_choice", "", 16}, .70, .84}};
  uint64_t pairs = strtoull(argv[2], nullptr, 10), builds = strtoull(argv[3], nullptr, 10);
  puts("scheme,pairs,load,builds,whole");
  for (const Row &row : rows) {
    if (argc > 4 && strcmp(argv[4], row.name) != 0) continue;
    std::vector<double> loads;
    for (int i = 0; i < 12; i++) loads.push_back(row.from + (row.to - row.from) / 11 * i);
    if (argc > 5) loads.clear();
    for (int i = 5; i < argc; i++) loads.push_back(strtod(argv[i], nullptr));
    for (double load : loads) {
      uint64_t whole = whole_builds(row.scheme, pairs, load, builds, 1, argv[1]);
      printf("%s,%llu,%.4f,%llu,%llu\n", row.name, (unsigned long long)pairs, load, (unsigned long long)builds,
             (unsigned long long)whole);
      fflush(stdout);
      if (whole < builds / 2) break;
    }
  }
  return 0;
}
