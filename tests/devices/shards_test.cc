// SPDX-License-Identifier: Apache-2.0
//
// Tables of several devices against the oracle, on the cpu backend: whatever the number of shards and the way in which
// pairs are parted, they answer as a table of one device does, in the caller's order. Chunks are so short that batches
// make several. Read next: whole_test.cc.
#include <gtest/gtest.h>

#include "tests/devices/tables.h"
#include "tests/oracle/draw.h"

namespace {

using namespace tessera_test;

struct Case {
  Made made;
  unsigned devices;
  const char *split;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.made.words << "\ndevices=" << c.devices << "\n" << c.split;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Made &made : kinds())
    for (unsigned devices : {1u, 2u, 3u, 8u})
      for (const char *split :
           {"hash", "hash devices.exchange=copy", "hash devices.combine=always", "independent", "replicated"}) {
        if (std::string(split) == "independent" && TSR_POLICY_LOOKS(made.policy)) continue;
        if (std::string(split) != "hash" && devices == 1) continue;
        if (std::string(split) == "hash devices.combine=always" && !TSR_POLICY_LOOKS(made.policy)) continue;
        all.push_back({made, devices, split});
      }
  return covering(all, [](const Case &c) -> Options { return {c.made.words, std::to_string(c.devices), c.split}; });
}

class Shards : public testing::TestWithParam<Case> {
protected:
  tsr_table *table(const std::string &more) {
    const Case &c = GetParam();
    return table_of(c.made.words + " devices=" + numbers(c.devices) + " devices.split=" + c.split +
                    (finds_races ? " devices.chunk=8192 " : " devices.chunk=256 ") + more);
  }
};

TEST_P(Shards, RandomOperations) {
  TSR_TRACE_SEED;
  const Made &made = GetParam().made;
  Random random(1);
  const uint64_t capacity = finds_races ? 12000 : 1500; // batches of which a shard's part has several threads
  Table subject(table("capacity=" + std::to_string(capacity)), made.key_bits, made.value_bits, made.row_bits);
  Exercise::Options options;
  options.slots = capacity;
  options.batch_max = capacity * 3 / 5;
  options.operations = scaled(30, 3);
  options.pool = capacity - capacity / 15;
  options.erases_pairs = made.row_bits == 0;
  Exercise exercise(subject, made.policy, random, options);
  EXPECT_EQ(exercise.run(), "");
}

// One shard is full before the others; what it hands back comes to the index of its own batch.
TEST_P(Shards, TooManyKeys) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  const Made &made = GetParam().made;
  Random random(2);
  tsr_table *full = table("capacity=400");
  const uint64_t slots = info_of(full).slots;
  Table subject(full, made.key_bits, made.value_bits, made.row_bits);
  Exercise::Options options;
  options.slots = slots;
  options.batch_max = 600;
  options.erases_pairs = made.row_bits == 0;
  Exercise exercise(subject, made.policy, random, options);
  EXPECT_EQ(exercise.overfill(), "");
}

TEST_P(Shards, Growing) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  const Made &made = GetParam().made;
  Random random(3);
  Table subject(table("capacity=200 growth=double"), made.key_bits, made.value_bits, made.row_bits);
  Exercise::Options options;
  options.slots = 3000;
  options.batch_max = 900;
  options.operations = scaled(20, 3);
  options.pool = 2500;
  options.erases_pairs = made.row_bits == 0;
  Exercise exercise(subject, made.policy, random, options);
  EXPECT_EQ(exercise.run(), "");
  // where every pair is kept, the keys that mark slots have a bucket each, and no more room
  EXPECT_TRUE(made.policy == TSR_DUPLICATES_KEEP || exercise.oracle().handed_back() == 0);
}

INSTANTIATE_TEST_SUITE_P(All, Shards, testing::ValuesIn(enough_for_sanitizers(cases())));

TEST(Mixed, OperationsOfAllKinds) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  Random random(4);
  Table subject(table_of("kind=map key_bits=32 value_bits=32 layout=packed probing=double_hashing hasher=murmur3 "
                         "capacity=1500 concurrency=mixed devices.chunk=256 devices=" +
                         numbers(3)),
                32, 32);
  Exercise::Options options;
  options.slots = 1500;
  options.batch_max = 900;
  options.operations = scaled(60, 3);
  options.pool = 1400;
  options.mixes = true;
  Exercise exercise(subject, TSR_DUPLICATES_FIRST, random, options);
  EXPECT_EQ(exercise.run(), "");
}

} // namespace
