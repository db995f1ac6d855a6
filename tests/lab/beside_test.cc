// SPDX-License-Identifier: Apache-2.0
//
// bench --beside: tables of other libraries are measured in turns with the specs, and wrong ones are found out.
#include <map>

#include "command.h"
#include "tools/lab/bench.h"
#include "tools/lab/sweep.h"

namespace {

using Words = std::vector<std::string>;

enum Column { SPEC = 0, OP = 3, MOPS = 8, OK = 11, BYTES = 17, PARTS = 34, COMPILER = 37, THREADS = 38, RATIO = 45 };

Outcome bench(const std::string &table, Words words) {
  const std::string path =
      write_file("beside.ini", "[table]\n" + table +
                                   "layout = packed\nprobing = cuckoo\nhasher = murmur3\nbackend = "
                                   "cpu\n[layout]\nbucket_slots = 8\n");
  words.insert(words.begin(),
               {path, "--plugins", "layouts:probing:hashers:allocators:eviction", "--n", "5000", "--repeat", "1"});
  return run(tsr_bench_command, words);
}

std::string map_of(const std::string &bits) {
  return "kind = map\nkey_bits = " + bits + "\nvalue_bits = " + bits + "\n";
}

// The verdict on each operation of each spec and rival.
std::map<std::string, std::map<std::string, std::string>> verdicts(const Outcome &outcome) {
  std::map<std::string, std::map<std::string, std::string>> result;
  for (const auto &row : outcome.rows()) result[row[SPEC]][row[OP]] = row[OK];
  return result;
}

TEST(Beside, WrongRivalsAreFoundOut) {
  Outcome outcome = bench(map_of("32"), {"--beside", "tests/lab/rivals.so"});
  EXPECT_EQ(outcome.status, 1);
  auto of = verdicts(outcome);
  for (const auto &[op, verdict] : of["right"]) EXPECT_EQ(verdict, "yes") << op << outcome.err;
  EXPECT_EQ(of["right"].size(), 5u);
  EXPECT_EQ(of["loses a pair"]["insert"], "no");
  EXPECT_EQ(of["loses a pair"]["find100"], "no");
  EXPECT_EQ(of["wrong value"]["find100"], "no");
  EXPECT_EQ(of["wrong value"]["insert"], "yes");
  EXPECT_EQ(of["finds absent"]["find0"], "no");
  EXPECT_EQ(of["finds absent"]["find100"], "yes");
  EXPECT_EQ(of["finds nothing"]["find100"], "no") << "what a former run wrote is no answer";
  EXPECT_EQ(of["finds nothing"]["find0"], "no");
  EXPECT_EQ(of["keeps erased"]["erase"], "no");
  EXPECT_EQ(of["keeps erased"]["find50"], "yes");
  EXPECT_NE(outcome.err.find("loses a pair at load 0.8 with keys distinct: insert: of 5000 keys 4999 were inserted"),
            std::string::npos)
      << outcome.err;
}

TEST(Beside, WrongNumbersAreFoundOut) {
  const std::string path = write_file("index.ini", "[table]\nkind = index\nkey_bits = 32\nlayout = packed\nprobing = "
                                                   "double_hashing\nhasher = murmur3\nbackend = cpu\n");
  for (std::string keys : {"distinct", "repeat:4", "zipf:1.0"}) {
    Outcome outcome =
        run(tsr_bench_command,
            {path, "--plugins", "layouts:probing:hashers:allocators:eviction", "--n", "5000", "--repeat", "1", "--keys",
             keys, "--ops", "number,unique,unique_counts,unique_inverse", "--beside", "tests/lab/rivals.so"});
    EXPECT_EQ(outcome.status, 1);
    auto of = verdicts(outcome);
    for (std::string op : {"unique", "unique_counts", "unique_inverse"}) {
      EXPECT_EQ(of[path][op], "yes") << op << outcome.err;
      EXPECT_EQ(of["right"][op], "yes") << op << outcome.err;
      EXPECT_EQ(of["loses a pair"][op], "no") << op;
      EXPECT_EQ(of["wrong key"][op], "no") << op;
      EXPECT_EQ(of["key twice"][op], "no") << op;
    }
    EXPECT_EQ(of[path]["number"], "yes") << outcome.err;
    EXPECT_EQ(of["right"]["number"], "refused");
    EXPECT_EQ(of["wrong count"]["unique_counts"], "no");
    EXPECT_EQ(of["wrong count"]["unique"], "yes");
    EXPECT_EQ(of["wrong number"]["unique_inverse"], "no");
    EXPECT_EQ(of["wrong number"]["unique"], "yes");
    EXPECT_NE(outcome.err.find("unique_inverse: 1 of 5000 keys have a wrong number"), std::string::npos) << outcome.err;
  }
}

TEST(Beside, WrongListsAreFoundOut) {
  for (std::string keys : {"distinct", "repeat:4"}) {
    Outcome outcome = bench("kind = multimap\nkey_bits = 32\nvalue_bits = 32\n",
                            {"--set", "table.probing=linear", "--beside", "tests/lab/rivals.so", "--keys", keys,
                             "--ops", "insert,find_all"});
    EXPECT_EQ(outcome.status, 1);
    auto of = verdicts(outcome);
    for (std::string op : {"insert", "find_all"}) {
      EXPECT_EQ(of["right"][op], "yes") << op << outcome.err;
      EXPECT_EQ(of["loses a pair"][op], "no") << op;
    }
    EXPECT_EQ(of["list too short"]["find_all"], "no");
    EXPECT_EQ(of["list too short"]["insert"], "yes");
    EXPECT_EQ(of["wrong in list"]["find_all"], "no");
  }
  Outcome outcome =
      bench("kind = multimap\nkey_bits = 32\nvalue_bits = 32\n",
            {"--set", "table.probing=linear", "--beside", "examples/rivals/std_map.so", "--ops", "insert"});
  EXPECT_NE(outcome.err.find("std::unordered_map at load 0.8 is refused: has one value per key"), std::string::npos)
      << outcome.err;
}

TEST(Beside, RowsSayWhatTheRivalIs) {
  Outcome outcome = bench(map_of("32"), {"--beside", "tests/lab/rivals.so", "--ops", "find100"});
  for (const auto &row : outcome.rows()) {
    if (row[SPEC] != "right") continue;
    EXPECT_EQ(row[COMPILER], "a compiler");
    EXPECT_EQ(row[THREADS], "1");
    EXPECT_EQ(row[BYTES], "12345");
    EXPECT_EQ(row[PARTS].size(), 16u);
    EXPECT_GT(std::stod(row[RATIO]), 0);
  }
  EXPECT_NE(outcome.out.find("/right: find100 at load 0.8: "), std::string::npos) << outcome.out;
}

TEST(Beside, ExamplesAreEveryKind) {
  const std::string first = "duplicates = first\n", value = "value_bits = 32\n";
  const std::vector<Words> jobs = {{"kind = set\nkey_bits = 32\n", "repeat:3"},
                                   {"kind = counter\nkey_bits = 64\n" + value, "repeat:3"},
                                   {map_of("32") + first, "repeat:3"},
                                   {map_of("64") + "duplicates = replace\n", "repeat:3"},
                                   {map_of("64") + "duplicates = add\n", "zipf:1.0"},
                                   {"kind = map\nkey_bits = 64\n" + value + "duplicates = min\n", "repeat:3"},
                                   {"kind = map\nkey_bits = 32\nvalue_bits = 64\nduplicates = max\n", "repeat:3"}};
  for (const Words &job : jobs) {
    Outcome outcome = bench(job[0], {"--keys", job[1], "--beside", "examples/rivals/std_map.so"});
    EXPECT_EQ(outcome.status, 0) << job[0] << outcome.err;
    auto of = verdicts(outcome)["std::unordered_map"];
    for (std::string op : {"insert", "find100", "find50", "find0", "erase"}) EXPECT_EQ(of[op], "yes") << job[0] << op;
  }
  Outcome outcome = bench(map_of("64") + "duplicates = promise_unique\n",
                          {"--ops", "insert,incremental,find100,join,erase", "--beside", "examples/rivals/std_map.so",
                           "--beside", "examples/rivals/fifty_lines.so"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.rows().size(), 15u);
  EXPECT_NE(outcome.err.find("std::unordered_map at load 0.8 is refused: it has no join"), std::string::npos)
      << outcome.err;
}

TEST(Beside, SweepsMeasureThemWithEachTable) {
  const std::string path =
      write_file("sweep.ini", "[table]\n" + map_of("32") +
                                  "layout = packed\nhasher = murmur3\nbackend = cpu\n[sweep]\n"
                                  "table.probing = linear, cuckoo\n[bench]\nn = 500\nops = find100\n"
                                  "repeat = 1\n");
  const std::string csv = testing::TempDir() + "sweep.csv";
  std::remove(csv.c_str());
  const auto sweep = [&](Words more) {
    more.insert(more.begin(), {path, "--plugins", "layouts:probing:hashers:allocators:eviction", "--csv", csv});
    Outcome outcome = run(tsr_sweep_command, more);
    std::ifstream file(csv);
    outcome.out = std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return outcome;
  };
  const Words beside = {"--beside", "examples/rivals/std_map.so"};
  Outcome outcome = sweep(beside);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 4u) << outcome.out;
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(rows[i][SPEC] == "std::unordered_map", i % 2 == 1) << rows[i][SPEC];
    EXPECT_EQ(rows[i][OK], "yes");
    EXPECT_EQ(rows[i][RATIO] == "-", i % 2 == 0);
  }
  Outcome again = sweep(beside);
  EXPECT_EQ(again.out, outcome.out) << "all was there";
  EXPECT_NE(again.err.find("has 2 of them already"), std::string::npos) << again.err;
}

TEST(Beside, WhatIsNoRivalIsRefused) {
  const auto refused = [](const std::string &table, Words words, const std::string &sentence) {
    Outcome outcome = bench(table, words);
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
    return outcome.status;
  };
  const std::string rivals = "tests/lab/rivals.so", one = map_of("32");
  EXPECT_EQ(refused(one, {"--beside", "nowhere.so"}, "--beside nowhere.so: cannot be opened: "), 2);
  EXPECT_EQ(refused(one, {"--beside", "layouts/layout_packed.so"}, "does not export tsr_rival_list"), 2);
  EXPECT_EQ(
      refused(one, {"--beside", rivals, "--devices", "0"}, "--beside " + rivals + ": is for tables of one device"), 2);
  EXPECT_EQ(refused(map_of("64"), {"--beside", rivals}, "right at load 0.8 is refused: has keys of 32 bits alone"), 0);
  EXPECT_EQ(refused("kind = multiset\nkey_bits = 32\n", {"--beside", rivals, "--set", "table.probing=linear"},
                    "the spec has kind = multiset"),
            0);
  EXPECT_EQ(refused(one, {"--beside", rivals, "--ops", "rebuild"}, "no rival has the operation rebuild"), 0);
}

} // namespace
