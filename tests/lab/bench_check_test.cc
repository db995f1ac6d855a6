// SPDX-License-Identifier: Apache-2.0
//
// tools/lab/bench.h over a library that lies (faulty.h): every wrong answer is noticed, every path frees what it took.
#include <algorithm>

#include "command.h"
#include "faulty.h"
#include "tools/lab/bench.h"
#include "tools/lab/bench_session.h"
#include "tools/lab/roofline.h"

namespace {

using Words = std::vector<std::string>;

// A table named `name` takes 1 ms for an operation if it is a, else 2 ms.
std::string spec(const std::string &name, const std::string &kind = "map") {
  return write_file(name + ".ini", "[table]\nkind = " + kind + "\nlayout = " + name + "\n");
}

const Words multimap = {"--set", "table.kind=multimap", "--keys", "repeat:4"};

class Check : public testing::Test {
protected:
  void SetUp() override { faulty = {}; }
  void TearDown() override {
    EXPECT_EQ(faulty.tables, 0);
    EXPECT_EQ(faulty.memories, 0);
    EXPECT_EQ(faulty.pools, 0);
  }

  static Outcome bench(Fault fault, const std::string &ops, Words more = {}) {
    Words words = {spec("a"), "--n", "10000", "--repeat", "3", "--ops", ops};
    faulty.fault = fault;
    words.insert(words.end(), more.begin(), more.end());
    return run(tsr_bench_command, words);
  }

  // Only `op` is wrong, whatever else is measured.
  static void expect_wrong(Fault fault, const std::string &op, const std::string &sentence, Words more = {}) {
    Outcome outcome = bench(fault, op, more);
    EXPECT_EQ(outcome.status, 1) << sentence;
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
    ASSERT_EQ(outcome.rows().size(), 1u);
    EXPECT_EQ(outcome.rows()[0][11], "no") << sentence;
  }
};

TEST_F(Check, NothingIsWrong) {
  for (uint32_t value_bits : {0u, 32u, 64u}) {
    faulty.value_bits = value_bits;
    Outcome outcome =
        bench(Fault::NONE, "insert,incremental,rebuild,find100,find50,find0,count_all,erase,mixed,apply,grow",
              {"--batch", "3000"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    auto rows = outcome.rows();
    const Words probes = {"2.0000", "2.0000", "2.0000", "3.0000", "3.0000", "3.0000",
                          "3.0000", "4.0000", "5.0000", "5.0000", "2.0000"};
    ASSERT_EQ(rows.size(), probes.size());
    for (size_t i = 0; i < rows.size(); i++) {
      EXPECT_EQ(rows[i][8], "10.00");
      EXPECT_EQ(rows[i][9], probes[i]);
      EXPECT_EQ(rows[i][11], "yes");
      EXPECT_EQ(rows[i][12], "0.5000") << "of the full table";
    }
  }
}

TEST_F(Check, WrongAnswersOfSeveralDevices) {
  const Words devices = {"--devices", "0,1"};
  Outcome outcome = bench(Fault::NONE, "insert,find100,find50,find0", devices);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.rows().size(), 16u);
  const auto expect = [&](Fault fault, const std::string &op, const std::string &sentence) {
    Outcome wrong = bench(fault, op, devices);
    EXPECT_EQ(wrong.status, 1) << sentence;
    EXPECT_NE(wrong.err.find(sentence), std::string::npos) << wrong.err;
    ASSERT_EQ(wrong.rows().size(), 4u);
    EXPECT_EQ(wrong.rows()[0][11], "no") << sentence;
  };
  expect(Fault::LOSES_A_KEY, "insert", "stage one on devices 0: insert: 1 of 10000 keys are not there");
  expect(Fault::LOSES_A_KEY, "insert", "stage weak on devices 0,1: insert: 2 of 20000 keys are not there");
  expect(Fault::HANDS_BACK, "insert", "100 of 10000 keys are not there");
  for (std::string op : {"find100", "find50", "find0"}) {
    expect(Fault::WRONG_VALUE, op, op + ": 1 of 10000 answers are wrong");
    expect(Fault::FINDS_NOTHING_NEW, op, "answers are wrong");
  }
  EXPECT_EQ(bench(Fault::NO_MEMORY, "insert", devices).status, 1);
  EXPECT_EQ(bench(Fault::FIND_FAILS, "find100", devices).status, 1);
}

TEST_F(Check, WrongInserts) {
  expect_wrong(Fault::LOSES_A_KEY, "insert", "of 10000 keys 9999 were inserted and 0 handed back");
  expect_wrong(Fault::HIDES_A_KEY, "insert", "10000 keys were inserted, but the table holds 9999");
  expect_wrong(Fault::BACK_AND_HIDDEN, "insert", "of 10000 keys the table holds 9899 and handed back 100");
  expect_wrong(Fault::HANDS_BACK, "insert", "100 of 10000 keys found no room and were handed back");
}

TEST_F(Check, WrongFinds) {
  for (std::string op : {"find100", "find50", "find0"}) {
    expect_wrong(Fault::WRONG_VALUE, op, op + ": 1 of 10000 answers are wrong");
    expect_wrong(Fault::FINDS_NOTHING_NEW, op, "answers are wrong");
  }
  expect_wrong(Fault::MISCOUNTS_FOUND, "find100", "10000 keys were found, but the report says 9999");
  expect_wrong(Fault::FINDS_TOO_MUCH, "find0", "1 of 10000 answers are wrong");
  expect_wrong(Fault::LOSES_A_KEY, "find100", "1 of 10000 answers are wrong");
  expect_wrong(Fault::HIDES_A_KEY, "find100", "1 of 10000 answers are wrong");
  faulty.finds = 0;
  expect_wrong(Fault::ONLY_ONCE, "find100", "1 of 10000 answers are wrong");
}

TEST_F(Check, WrongFindsInSets) {
  faulty.value_bits = 0;
  expect_wrong(Fault::FINDS_TOO_MUCH, "find0", "1 of 10000 answers are wrong");
  expect_wrong(Fault::LOSES_A_KEY, "find100", "1 of 10000 answers are wrong");
  expect_wrong(Fault::FINDS_NOTHING_NEW, "find0", "answers are wrong");
  expect_wrong(Fault::FINDS_NOTHING_NEW, "find100", "answers are wrong");
}

// The stand-in replaces, so that it is wrong wherever values are to be combined.
TEST_F(Check, KeysThatComeAgain) {
  const std::string ops = "insert,incremental,rebuild,find100,find50,find0,count_all,erase";
  for (std::string keys : {"repeat:4", "zipf:1.0", "equal"}) {
    Outcome outcome = bench(Fault::NONE, ops, {"--keys", keys, "--set", "table.duplicates=replace", "--codes", "yes"});
    EXPECT_EQ(outcome.status, 0) << keys << outcome.err;
    EXPECT_EQ(outcome.rows().size(), 8u);
    for (std::string policy : {"add", "min"}) {
      const Words combines = {"--keys", keys, "--set", "table.duplicates=" + policy};
      expect_wrong(Fault::NONE, "insert", "have another value than their pairs make", combines);
      expect_wrong(Fault::NONE, "find100", "answers are wrong", combines);
    }
  }
  const Words more = {"--keys", "repeat:4", "--set", "table.duplicates=replace"};
  const Words rare = {"--keys", "zipf:0:1M", "--set", "table.duplicates=replace"};
  expect_wrong(Fault::WRONG_VALUE, "insert", "keys have another value", rare);
  expect_wrong(Fault::MISCOUNTS_FOUND, "find100", "10000 keys were found, but the report says 9999", more);
  expect_wrong(Fault::KEEPS_A_KEY, "erase", "and it still holds 1", more);
  expect_wrong(Fault::LOSES_A_KEY, "insert", "keys, but", rare);
  Words codes = more;
  codes.insert(codes.end(), {"--codes", "yes"});
  expect_wrong(Fault::WRONG_CODE, "insert", "result codes are", codes);
  expect_wrong(Fault::HANDS_BACK, "insert", "found no room", more);
}

TEST_F(Check, WrongHits) {
  const Words cache = {"--set", "table.kind=cache", "--keys", "zipf:1.0", "--batch", "1000"};
  const Outcome outcome = bench(Fault::NONE, "hits", cache);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_wrong(Fault::WRONG_VALUE, "hits", "10 of 10000 keys have another key's value", cache); // one of each call
  expect_wrong(Fault::WRONG_CODE, "hits", "have another key's value", cache);
}

TEST_F(Check, WrongErases) {
  expect_wrong(Fault::SHORTENS_A_LIST, "join", "holds 10000 pairs, and 9999 of them have a key", multimap);
  expect_wrong(Fault::FINDS_NOTHING_NEW, "join", "holds 10000 pairs, and 18446744073709551615 of them", multimap);
  expect_wrong(Fault::KEEPS_A_KEY, "erase", "of 10000 keys in the table 9999 were erased, and it still holds 1");
  expect_wrong(Fault::LOSES_A_KEY, "erase", "of 10000 keys 9999 were inserted");
}

TEST_F(Check, Codes) {
  const Words codes = {"--codes", "yes"};
  for (uint32_t value_bits : {0u, 32u, 64u}) {
    faulty.value_bits = value_bits;
    Outcome outcome = bench(Fault::NONE, "insert,incremental,rebuild,find100,find50,find0,erase,mixed", codes);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    expect_wrong(Fault::WRONG_CODE, "insert", "9999 result codes are 1, but the report has 10000 such keys", codes);
    expect_wrong(Fault::WRONG_CODE, "incremental", "9999 result codes are 1", codes);
    expect_wrong(Fault::WRONG_CODE, "erase", "9999 result codes are 8, but the report has 10000 such keys", codes);
    for (std::string op : {"find100", "find50", "find0"}) {
      if (value_bits) expect_wrong(Fault::WRONG_CODE, op, "1 of 10000 answers are wrong", codes);
      EXPECT_EQ(bench(Fault::WRONG_CODE, op).status, 0) << "nobody asked for codes";
    }
  }
  faulty.value_bits = 32;
  Words lists = multimap;
  lists.insert(lists.end(), codes.begin(), codes.end());
  EXPECT_EQ(bench(Fault::NONE, "insert,find100,find_all,count_all,erase", lists).status, 0);
}

TEST_F(Check, WrongBatches) {
  const Words batch = {"--batch", "4000"};
  expect_wrong(Fault::LOSES_A_KEY, "incremental", "of 10000 keys 9997 were inserted and 0 handed back", batch);
  expect_wrong(Fault::HIDES_A_KEY, "incremental", "10000 keys were inserted, but the table holds 9997", batch);
  expect_wrong(Fault::HANDS_BACK, "incremental", "100 of 10000 keys found no room", batch);
  expect_wrong(Fault::LOSES_A_KEY, "rebuild", "of 22000 keys 21997 were inserted and 0 handed back", batch);
  expect_wrong(Fault::HIDES_A_KEY, "rebuild", "10000 keys were inserted, but the table holds 9999", batch);
  expect_wrong(Fault::HANDS_BACK, "rebuild", "220 of 22000 keys found no room", batch);
  expect_wrong(Fault::KEEPS_ALL, "rebuild", "10000 keys were inserted, but the table holds 22000",
               {"--batch", "4000", "--set", "table.kind=multimap"});
}

TEST_F(Check, BatchesAreTimedAsAWhole) {
  Outcome outcome = bench(Fault::NONE, "incremental,rebuild", {"--batch", "4000"});
  Words turns(4 * 3, "a insert"); // in four turns of three batches
  for (int build = 0; build < 4 * 3; build++) turns.insert(turns.end(), {"a clear", "a insert"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(faulty.operations, turns);
}

TEST_F(Check, RowsOfAMultimapCountPairsOrKeys) {
  for (uint32_t value_bits : {32u, 64u}) {
    faulty.value_bits = value_bits;
    Outcome outcome = bench(Fault::NONE, "insert,incremental,find100,find50,find_all,count_all,erase", multimap);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Words mops = {"10.00", "10.00", "10.00", "10.00", "10.00", "2.50", "10.00"};
    ASSERT_EQ(outcome.rows().size(), mops.size());
    for (size_t i = 0; i < mops.size(); i++) EXPECT_EQ(outcome.rows()[i][8], mops[i]) << outcome.out;
  }
}

TEST_F(Check, WrongLists) {
  expect_wrong(Fault::SHORTENS_A_LIST, "find_all", "1 of 2500 keys have a wrong number of values", multimap);
  expect_wrong(Fault::SHIFTS_LISTS, "find_all", "1 of 2500 keys have a wrong number of values", multimap);
  expect_wrong(Fault::FINDS_NOTHING_NEW, "find_all", "keys have a wrong number of values", multimap);
  expect_wrong(Fault::LOSES_A_KEY, "find_all", "1 of 2500 keys have a wrong number of values", multimap);
  expect_wrong(Fault::REPEATS_A_VALUE, "find_all", "the values of 1 of 2500 keys are wrong", multimap);
  expect_wrong(Fault::WRONG_VALUE, "find_all", "the values of 1 of 2500 keys are wrong", multimap);
  expect_wrong(Fault::MISCOUNTS_FOUND, "find_all", "2500 keys were found, but the report says 2499", multimap);
  expect_wrong(Fault::SHORTENS_A_LIST, "count_all", "1 of 2500 keys are counted wrongly", multimap);
  expect_wrong(Fault::FINDS_NOTHING_NEW, "count_all", "keys are counted wrongly", multimap);
  expect_wrong(Fault::MISCOUNTS_FOUND, "count_all", "2500 keys were found, but the report says 2499", multimap);
  expect_wrong(Fault::KEEPS_A_KEY, "erase", "of 10000 keys in the table 9996 were erased, and it still holds 4",
               multimap);
}

TEST_F(Check, PairsHandedBackMayBeMissingAndNoOthers) {
  Outcome outcome = bench(Fault::HANDS_BACK, "find100,find_all,count_all", multimap);
  EXPECT_EQ(outcome.status, 1) << "not all pairs found a place";
  ASSERT_EQ(outcome.rows().size(), 3u);
  EXPECT_EQ(outcome.rows()[1][8], "9.90") << "values that are not there are not retrieved";
  for (auto &row : outcome.rows()) EXPECT_EQ(row[11], "yes") << outcome.err;
}

TEST_F(Check, WrongMixedBatches) {
  expect_wrong(Fault::WRONG_RESULT, "mixed", "1 of 10000 operations have a wrong result");
  expect_wrong(Fault::WRONG_VALUE, "mixed", "1 of 10000 operations have a wrong result");
  expect_wrong(Fault::FINDS_NOTHING_NEW, "mixed", "operations have a wrong result");
  expect_wrong(Fault::FORGETS_AN_INSERT, "mixed", "the table should hold 10000 keys then, but holds 9999");
  expect_wrong(Fault::FORGETS_AN_ERASE, "mixed", "the table should hold 10000 keys then, but holds 10001");
  expect_wrong(Fault::MISCOUNTS_FOUND, "mixed", "the report says 2000 inserted, 2000 erased, 2999 found",
               {"--mix", ".2,.2,.3,.3"});
  expect_wrong(Fault::HANDS_BACK, "mixed", "of 10000 keys to start with 100 found no room");
  expect_wrong(Fault::LOSES_A_KEY, "mixed", "of 10000 keys 9999 were inserted and 0 handed back");
  faulty.value_bits = 0;
  expect_wrong(Fault::WRONG_RESULT, "mixed", "1 of 10000 operations have a wrong result");
}

TEST_F(Check, WrongInsertsByApply) { expect_wrong(Fault::FORGETS_AN_INSERT, "apply", "9999"); }

TEST_F(Check, KeysHandedBackMayBeMissingAndNoOthers) {
  Outcome outcome = bench(Fault::HANDS_BACK, "find100,find50,find0,erase");
  EXPECT_EQ(outcome.status, 1) << "not all keys found a place";
  ASSERT_EQ(outcome.rows().size(), 4u);
  for (auto &row : outcome.rows()) EXPECT_EQ(row[11], "yes") << outcome.err;
}

TEST_F(Check, FailuresEndTheRunAndFreeEverything) {
  for (Fault fault :
       {Fault::INSERT_FAILS, Fault::FIND_FAILS, Fault::ERASE_FAILS, Fault::APPLY_FAILS, Fault::NO_MEMORY}) {
    faulty = {};
    Outcome outcome = bench(fault, "insert,rebuild,find100,find50,find0,count_all,erase,mixed", {spec("b")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err.rfind("tessera: ", 0), 0u);
    EXPECT_EQ(faulty.tables, 0);
    EXPECT_EQ(faulty.memories, 0);
  }
}

const std::string few = ", no interval: that takes 5 repetitions";

TEST_F(Check, SpecsTakeTurnsAndOnlyTheOperationIsTimed) {
  Outcome outcome = bench(Fault::NONE, "insert,find0,erase", {spec("b"), spec("c")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> expected;
  for (std::string op : {"insert", "find", "erase"})
    for (int turn = 0; turn < 4; turn++)
      for (std::string name : {"a ", "b ", "c "}) expected.push_back(name + op);
  EXPECT_EQ(faulty.operations, expected);
  auto lines = outcome.lines();
  ASSERT_EQ(lines.size(), 1 + 9 + 6u);
  EXPECT_EQ(lines[10], "# ratio " + spec("a") + "/" + spec("b") + ": insert at load 0.8: 2.000 (2.000 to 2.000)" + few);
  EXPECT_EQ(lines[15], "# ratio " + spec("a") + "/" + spec("c") + ": erase at load 0.8: 2.000 (2.000 to 2.000)" + few);
}

// Ratios are of repetitions: that of a's and b's medians would be 3.
TEST_F(Check, RegretIsWhatTheFasterWayGains) {
  const std::string plain = spec("b"),
                    paged = write_file("a.ini", "[table]\nkind = map\nlayout = a\npage_bytes = auto\n");
  const Outcome outcome =
      run(tsr_bench_command, {paged, plain, "--n", "10000", "--repeat", "3", "--ops", "insert,find0", "--regret"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(outcome.rows().size(), 8u) << "two operations of the plain spec, and of the other one in three ways";
  std::vector<std::string> regrets;
  for (const std::string &line : outcome.lines())
    if (line.find("# regret") == 0) regrets.push_back(line);
  const std::string rates = " at load 0.8 with keys distinct: 25.0 % (chosen 10, at random 12, in order 10)";
  EXPECT_EQ(regrets, (Words{"# regret " + paged + ": insert" + rates, "# regret " + paged + ": find0" + rates,
                            "# regret of all: at most 25.0 %"}));
  EXPECT_NE(run(tsr_bench_command, {paged, "--regret", "--devices", "0"}).err.find("--regret: is for tables"),
            std::string::npos);
}

TEST_F(Check, RatiosHaveTheSpreadOfTheRepetitions) {
  const std::string a = spec("a"), b = spec("b"), c = spec("c"), insert = ": insert at load 0.8: ";
  const std::vector<double> a_b_c_in_turns = {1, 1, 1, 4, 4, 2, 1, 6, 8, 2, 20, 3};
  const auto lines = [&](Words more) {
    faulty.milliseconds.assign(a_b_c_in_turns.rbegin(), a_b_c_in_turns.rend());
    more.insert(more.begin(), {b, c});
    Outcome outcome = bench(Fault::NONE, "insert", more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.lines();
  };
  Words of_a = lines({});
  ASSERT_EQ(of_a.size(), 1 + 3 + 2u);
  EXPECT_EQ(of_a[4], "# ratio " + a + "/" + b + insert + "6.000 (1.000 to 10.000)" + few);
  EXPECT_EQ(of_a[5], "# ratio " + a + "/" + c + insert + "1.500 (0.500 to 8.000)" + few);
  for (const std::string &versus : {b, std::string("2")}) {
    Words of_b = lines({"--vs", versus});
    ASSERT_EQ(of_b.size(), 1 + 3 + 2u);
    EXPECT_EQ(of_b[4], "# ratio " + b + "/" + a + insert + "0.167 (0.100 to 1.000)" + few);
    EXPECT_EQ(of_b[5], "# ratio " + b + "/" + c + insert + "0.500 (0.150 to 1.333)" + few);
    std::string text;
    for (const std::string &line : of_b) text += line + "\n";
    const auto rows = Outcome{0, text, ""}.rows();
    EXPECT_EQ(rows[0][45] + " " + rows[1][45] + " " + rows[2][45], "0.1667 - 0.5000") << "the ratio is in its row";
  }
  const std::string ratio = "\"ratio " + c + "/" + b + insert + "2.000 (0.750 to 6.667)" + few + "\"";
  Words json = lines({"--vs=3", "--json=-"});
  EXPECT_TRUE(std::any_of(json.begin(), json.end(),
                          [&](const std::string &line) { return line.find(ratio) != std::string::npos; }));
}

TEST_F(Check, LimitsAreThoseOfABucketAtTheTablesSize) {
  faulty.is_cuda = true;
  const std::string ops = "insert,find100";
  const std::pair<uint32_t, std::string> cases[] = {{8, "25.0"}, {32, "25.0"}, {64, "50.0"}, {128, "10.0"}, {256, "-"}};
  for (auto [bucket_bytes, find_limit] : cases) {
    faulty.bucket_bytes = bucket_bytes;
    faulty.footprints.clear();
    Outcome outcome = bench(Fault::NONE, ops, {"--loads", ".5,.9"});
    auto rows = outcome.rows();
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0][2], "Model 1, large") << "(the reader drops the quotes)";
    EXPECT_NE(outcome.out.find("\"Model 1, \"\"large\"\"\""), std::string::npos);
    EXPECT_EQ(rows[0][10], "100.0");
    EXPECT_EQ(rows[1][10], find_limit);
    EXPECT_EQ(faulty.footprints, std::vector<uint64_t>{1 << 17}) << "measured once";
  }
  Outcome outcome = bench(Fault::NO_LIMITS, ops);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.rows()[1][10], "-");
  EXPECT_NE(outcome.err.find("no room to measure"), std::string::npos);
}

// What is not linked ahead is linked while the GPU waits.
TEST_F(Check, AllThatASessionCallsIsLinkedAhead) {
  const char *const loads[] = {".5"};
  const std::pair<tsr_bench_op, Words> cases[] = {{TSR_BENCH_INSERT, {}},
                                                  {TSR_BENCH_INCREMENTAL, {"--batch", "3000"}},
                                                  {TSR_BENCH_REBUILD, {"--batch", "3000"}},
                                                  {TSR_BENCH_FIND100, {}},
                                                  {TSR_BENCH_FIND0, {}},
                                                  {TSR_BENCH_FIND_ALL, multimap},
                                                  {TSR_BENCH_ERASE, {}},
                                                  {TSR_BENCH_COUNT_ALL, {}},
                                                  {TSR_BENCH_APPLY, {}},
                                                  {TSR_BENCH_MIXED, {}}};
  for (const auto &[op, more] : cases) {
    tsr_bench_options options = {};
    tsr_bench_cost cost;
    tsr_error error;
    tsr_spec *one = nullptr;
    faulty.called = faulty.prepared = 0;
    const Outcome outcome = bench(Fault::NONE, tsr_bench_op_name(op), more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(faulty.prepared, 0u) << "on the CPU";
    ASSERT_EQ(tsr_spec_read(spec("a").c_str(), &one, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_bench_link(&options, one, loads[0], op, 90, &cost, &error), TSR_OK) << error.message;
    EXPECT_NE(faulty.called, 0u);
    EXPECT_EQ(faulty.called & ~faulty.prepared, 0u) << tsr_bench_op_name(op);
    tsr_spec_free(one);
  }
}

TEST_F(Check, RooflineWithoutADevice) {
  Outcome outcome = run(tsr_roofline_command, {});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "tessera: no driver\n");
}

TEST_F(Check, PoolsAreMeasuredBesideMalloc) {
  Outcome outcome = bench(Fault::NONE, "allocate,release,churn", {"--units", "4", "--loads", ".5"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 6u) << outcome.out;
  const std::vector<std::string> ops = {"allocate", "release", "churn"};
  for (size_t i = 0; i < rows.size(); i++) {
    bool is_malloc = i % 2 == 1, is_churn = i >= 4;
    EXPECT_EQ(rows[i][3], ops[i / 2]);
    EXPECT_EQ(rows[i][0] == "malloc", is_malloc);
    EXPECT_EQ(rows[i][7], "0.5");
    EXPECT_EQ(std::stod(rows[i][8]), (is_churn ? 80 : 10) / (is_malloc ? 4.0 : 1.0)) << outcome.out;
    EXPECT_EQ(rows[i][9], is_malloc || ops[i / 2] == "release" ? "0.0000" : "2.0000");
    EXPECT_EQ(rows[i][11] + rows[i][12], "yes-");
  }
  EXPECT_NE(outcome.out.find("/malloc: churn at load .5: 4.000"), std::string::npos) << outcome.out;
}

TEST_F(Check, WrongPools) {
  Outcome outcome = bench(Fault::POOL_OVERLAPS, "churn");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("churn: 2 places overlap"), std::string::npos) << outcome.err;
  ASSERT_EQ(outcome.rows().size(), 2u);
  EXPECT_EQ(outcome.rows()[0][11], "no");
  EXPECT_EQ(outcome.rows()[1][11], "yes");
  outcome = bench(Fault::POOL_EXHAUSTED, "allocate");
  EXPECT_EQ(outcome.status, 0) << "a full pool is an answer";
  EXPECT_NE(outcome.err.find("1000 allocations found the pool exhausted"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.rows()[0][8], "9.00") << "what failed is no allocation";
  outcome = bench(Fault::POOL_FAILS, "allocate");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("the pool failed"), std::string::npos) << outcome.err;
}

} // namespace
