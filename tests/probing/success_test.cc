// SPDX-License-Identifier: Apache-2.0
//
// The loads that schemes reach: BGHT 7.3 builds a table with 200 hash functions at each load and calls a load reached
// when 99 % of the builds place every pair. Here in small; success_rates.cc does it at any size. Each scheme also has a
// load that it cannot reach.
//
// The loads that `check` states, and the default load factor, are measured for the shipped schemes too.
//
// Threads race, so that builds differ from run to run. Of 2000 builds at these loads, measured, at least 99 % were whole
// (cht1: 1981), and of 300 at the loads beyond none. Of 300 at the loads that are stated 98 % were, and of 400 at 0.3 more
// none; at 0.15 more it were a half of them with iceberg, threshold = 100. What is asked is what tables of which 97 %, and
// 5 %, are whole would fail with a probability of 10^-10 (chance.h). Read next: success_rates.cc.
#include "tests/oracle/chance.h"
#include "tests/probing/tables.h"

namespace tessera_test {
namespace {

struct Claim {
  const char *name;
  Scheme scheme;
  double reached, beyond;
};

class Success : public testing::TestWithParam<Claim> {};

TEST_P(Success, ReachesItsLoad) {
  TSR_TRACE_SEED;
  const uint64_t builds = 200, beyond = 20, pairs = 1 << 13;
  uint64_t whole = whole_builds(GetParam().scheme, pairs, GetParam().reached, builds, 1 + seed() % 1000);
  EXPECT_GE(whole, fewest_of(builds, .97)) << "at load " << GetParam().reached;
  whole = whole_builds(GetParam().scheme, pairs, GetParam().beyond, beyond, 1 + seed() % 1000);
  EXPECT_LE(whole, most_of(beyond, .05)) << "at load " << GetParam().beyond;
}

INSTANTIATE_TEST_SUITE_P(
    All, Success,
    testing::Values(Claim{"bcht", {"cuckoo", "", 16}, .98, 1},
                    Claim{"bcht_least_loaded", {"cuckoo", "hash_functions = 2\nleast_loaded = 1\n", 16}, .95, 1},
                    Claim{"cht1", {"cuckoo", "hash_functions = 4\n", 1}, .88, .98},
                    Claim{"iht", {"iceberg", "", 32}, .91, .99}, Claim{"p2bht", {"two_choice", "", 32}, .85, .99}),
    [](const testing::TestParamInfo<Claim> &info) { return std::string(info.param.name); });

// The load that `check` says a scheme reaches, and the default load factor.
struct Default {
  Scheme scheme;
  bool is_bounded; // by the buckets that a pair may choose from
};

class Stated : public testing::TestWithParam<Default> {};

// What check says of a table of that many pairs at load factor 1.
double stated_load(const Scheme &scheme, uint64_t pairs) {
  TablePointer table = table_of(scheme, pairs, 1, 1, false);
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:eviction";
  char *text = nullptr;
  EXPECT_EQ(tsr_spec_check(tsr_table_spec(table.get()), &options, &text, &error), TSR_OK) << error.message;
  const std::string lines = text ? text : "";
  free(text);
  const size_t warning = lines.find("\nwarning"), number = lines.find(" reach ", warning);
  return warning == std::string::npos ? 1 : strtod(lines.c_str() + number + 7, nullptr);
}

TEST_P(Stated, LoadIsReachedAndNotFarFromTheHighest) {
  TSR_TRACE_SEED;
  const uint64_t builds = GetParam().is_bounded ? 60 : 20, pairs = 1 << 13;
  const Scheme &scheme = GetParam().scheme;
  const double stated = stated_load(scheme, pairs);
  EXPECT_EQ(stated < 1, GetParam().is_bounded);
  const double load = GetParam().is_bounded ? stated - .005 : .8; // it is written with two digits
  EXPECT_GE(whole_builds(scheme, pairs, load, builds, 1 + seed() % 1000), fewest_of(builds, .97)) << load;
  if (!GetParam().is_bounded) return;
  const double beyond = std::min(1., stated + .3);
  EXPECT_LE(whole_builds(scheme, pairs, beyond, 20, 1 + seed() % 1000), most_of(20, .05)) << beyond;
}

TEST_P(Stated, DefaultLoadFactorIsReached) {
  const uint64_t pairs = 1 << 13, builds = 20;
  uint64_t whole = 0;
  if (!GetParam().is_bounded) return; // it is 0.8, see above
  for (uint64_t i = 0; i < builds; i++) {
    TablePointer table = table_of(GetParam().scheme, pairs, 0, 1 + i, false);
    whole += fill(table.get(), keys_from(0, pairs)) == 0;
  }
  EXPECT_GE(whole, fewest_of(builds, .97));
}

std::vector<Default> defaults() {
  std::vector<Default> all;
  for (uint32_t slots = 1; slots <= 32; slots *= 2) {
    for (const char *scheme : {"linear", "quadratic", "double_hashing", "robin_hood", "cuckoo"})
      all.push_back({{scheme, "", slots}, false});
    if (slots < 4) continue;
    all.push_back({{"two_choice", "", slots}, true});
    for (const char *threshold : {"50", "80", "100"})
      all.push_back({{"iceberg", std::string("threshold = ") + threshold + "\n", slots}, true});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Stated, testing::ValuesIn(defaults()));

// Two keys in a table with room for eight. Where each has the same bucket by two of its functions, they must not evict
// each other from it until they give up: of 50 million keys some are such a pair with one seed in a hundred.
TEST(Evictions, EndWhereFunctionsOfAKeyAgree) {
  TSR_TRACE_SEED;
  for (uint32_t functions : {3u, 4u}) {
    const Scheme scheme = {"cuckoo", "hash_functions = " + std::to_string(functions) + "\n", 1};
    TablePointer table = table_of(scheme, 4, 0.5, seed(), false);
    tsr_error error = {};
    uint64_t unplaced = 0, pairs = scaled(20000);
    for (uint64_t i = 0; i < pairs; i++) {
      ASSERT_EQ(tsr_clear(table.get(), nullptr, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_table_report_reset(table.get(), &error), TSR_OK) << error.message;
      unplaced += fill(table.get(), keys_from(2 * i, 2));
    }
    const double agree = std::pow(8, 1 - 2. * functions); // all functions of both keys, on one of eight buckets
    EXPECT_LE(unplaced, most_of(pairs, agree)) << functions << " functions";
  }
}

} // namespace
} // namespace tessera_test
