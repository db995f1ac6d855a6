// SPDX-License-Identifier: Apache-2.0
//
// Mean probes per key, against what BGHT measured (its abstract, 7.1 and 7.4) and what theory says. A probe is a bucket
// looked at, or exchanged with without a look. BGHT's tables hold 50 million keys; means do not depend on that.
//
// The seed is fixed, so only the order of threads differs from run to run. Over repeated runs it moves means by a standard
// deviation of 0.2 % at most; what is asked, 3 %, is ten of those and more away from every mean, a probability below 10^-20.
// Read next: success_test.cc.
#include <iostream>

#include "tests/probing/tables.h"

namespace tessera_test {
namespace {

struct Probes {
  double insert, find100, find0; // of a new, a present, an absent key
};

Probes measure(const Scheme &scheme, double load) {
  constexpr uint64_t pairs = scaled(1 << 18);
  TSR_TRACE_SEED;
  TablePointer table = table_of(scheme, pairs, load, 1 + seed() % 1000, true);
  std::vector<uint32_t> present = keys_from(0, pairs), absent = keys_from(pairs, pairs), values(pairs);
  const uint64_t lost = fill(table.get(), present);
  EXPECT_LE(lost, pairs / 10000); // a load of 0.99 is beyond what every build reaches
  tsr_error error = {};
  tsr_report report = {};
  EXPECT_EQ(tsr_table_report(table.get(), &report, &error), TSR_OK) << error.message;
  double means[3] = {static_cast<double>(report.insert_probes) / pairs, 0, 0}, *mean = means;
  for (const std::vector<uint32_t> *keys : {&present, &absent}) {
    EXPECT_EQ(tsr_table_report_reset(table.get(), &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_find(table.get(), pairs, keys->data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_table_report(table.get(), &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.found, keys == &present ? pairs - lost : 0);
    *++mean = static_cast<double>(report.find_probes) / pairs;
  }
  std::cout << scheme << ", load " << load << ": insert " << means[0] << ", find100 " << means[1] << ", find0 "
            << means[2] << "\n";
  return {means[0], means[1], means[2]};
}

// Expected 0: nothing was published.
void expect_near(double measured, double expected, const char *what) {
  if (expected > 0) {
    EXPECT_NEAR(measured, expected, 0.03 * expected) << what;
  }
}

void expect_probes(const Scheme &scheme, double load, Probes expected) {
  Probes probes = measure(scheme, load);
  expect_near(probes.insert, expected.insert, "insert");
  expect_near(probes.find100, expected.find100, "find100");
  expect_near(probes.find0, expected.find0, "find0");
}

TEST(Probes, BucketedCuckoo) {
  expect_probes({"cuckoo", "", 8}, .9, {1.23, 0, 0});
  expect_probes({"cuckoo", "", 16}, .9, {1.11, 0, 0});
  expect_probes({"cuckoo", "", 32}, .9, {1.05, 0, 0});
  expect_probes({"cuckoo", "", 16}, .99, {1.43, 1.39, 2.80});
}

TEST(Probes, CuckooWithOneSlot) { expect_probes({"cuckoo", "hash_functions = 4\n", 1}, .9, {2.75, 2.26, 3.44}); }

// Least loaded: every new pair looks at all its buckets, hardly any moves, and a negative find reads all.
TEST(Probes, CuckooLeastLoaded) {
  expect_probes({"cuckoo", "hash_functions = 2\nleast_loaded = 1\n", 16}, .9, {2, 0, 2});
}

// A negative find may end at the first bucket here, and never does in BGHT: it reads 3 there.
TEST(Probes, Iceberg) {
  Probes probes = measure({"iceberg", "", 32}, .92);
  expect_near(probes.insert, 1.46, "insert");
  expect_near(probes.find100, 1.32, "find100");
  EXPECT_LE(probes.find0, 3);
  expect_probes({"iceberg", "", 16}, .86, {1.49, 1.33, 0});
  expect_probes({"iceberg", "threshold = 60\n", 16}, .86, {1.89, 1.60, 0});
  EXPECT_LT(measure({"iceberg", "", 32}, .6).find0, 1.5);
}

TEST(Probes, TwoChoice) { expect_probes({"two_choice", "", 32}, .9, {2, 0, 2}); }

// Knuth 6.4: linear probing and uniform probing, which double hashing comes close to; (n, m) large.
TEST(Probes, OpenAddressing) {
  const double load = .8, room = 1 - load;
  expect_probes({"linear", "", 1}, load, {(1 + 1 / room) / 2, (1 + 1 / room) / 2, (1 + 1 / room / room) / 2});
  double uniform = -std::log(room) / load;
  expect_probes({"double_hashing", "window_buckets = 1\n", 1}, load, {uniform, uniform, 1 / room});
  double secondary = 1 - std::log(room) - load / 2; // keys of one first slot share the walk
  expect_probes({"quadratic", "", 1}, load, {secondary, secondary, 0});
}

// Who displaces whom changes no sum of distances, so means of present keys are those of linear probing; what is gained
// are bounds that are close to them.
TEST(Probes, RobinHood) {
  struct Case {
    uint32_t slots;
    double load;
  };
  for (Case one : {Case{1, .9}, Case{8, .95}}) {
    Probes linear = measure({"linear", "", one.slots}, one.load);
    Probes robin_hood = measure({"robin_hood", "", one.slots}, one.load);
    expect_near(robin_hood.insert, linear.insert, "insert");
    expect_near(robin_hood.find100, linear.find100, "find100");
    EXPECT_LT(robin_hood.find0, linear.find0 / 8);
    EXPECT_LT(robin_hood.find0, 1.3 * linear.find100);
  }
}

} // namespace
} // namespace tessera_test
