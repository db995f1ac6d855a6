// SPDX-License-Identifier: Apache-2.0
//
// tools/lab/sweep.h on the cpu backend: what a file lists, what is left out, going on after an interruption, the front.
#include "tools/lab/sweep.h"

#include <algorithm>
#include <map>
#include <set>

#include <unistd.h>

#include "command.h"
#include "tools/lab/plan.h"

namespace {

const char plugins[] = "layouts:probing:hashers:allocators:eviction";
const char base[] = "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nlayout = packed\nprobing = cuckoo\n"
                    "hasher = murmur3\nbackend = cpu\n";
const char small[] = "[bench]\nn = 300\nrepeat = 1\nops = insert, find100, find0\nloads = .5, .8\n";

Outcome sweep(const std::string &path, const std::string &csv, std::vector<std::string> words = {}) {
  words.insert(words.begin(), {path, "--plugins", plugins, "--csv", csv});
  return run(tsr_sweep_command, words);
}

std::string read(const std::string &path) {
  std::ifstream stream(path);
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

std::string fresh_csv(const std::string &name) {
  const std::string path = testing::TempDir() + name;
  std::remove(path.c_str());
  return path;
}

// Labels of what a file lists, in its order.
std::vector<std::string> labels(const std::string &text, Outcome *told = nullptr) {
  Outcome outcome = sweep(write_file("plan.ini", text), fresh_csv("plan.csv"), {"--plan", "yes"});
  std::vector<std::string> result;
  for (const std::string &line : outcome.lines()) result.push_back(line.substr(0, line.find('\t')));
  if (told) *told = outcome;
  return result;
}

std::vector<std::string> values(const std::string &text) {
  char **list = nullptr;
  size_t count = 0;
  tsr_error error = {TSR_OK, ""};
  if (tsr_values_read("here", text.c_str(), &list, &count, &error)) return {error.message};
  std::vector<std::string> result(list, list + count);
  free(list);
  return result;
}

using Texts = std::vector<std::string>;
using Words = Texts;

TEST(Values, ListsAndRanges) {
  EXPECT_EQ(values("a, b ,c"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(values("1..32 *2"), (Texts{"1", "2", "4", "8", "16", "32"}));
  EXPECT_EQ(values("1..3"), (Texts{"1", "2", "3"}));
  EXPECT_EQ(values("0..25 +10, 99"), (Texts{"0", "10", "20", "99"}));
  EXPECT_EQ(values("2^10..4Ki *2"), (Texts{"1024", "2048", "4096"}));
  EXPECT_EQ(values(".6..0.9 +.1"), (Texts{"0.6", "0.7", "0.8", "0.9"}));
  EXPECT_EQ(values(".2,.8 | .5,.5"), (Texts{".2,.8", ".5,.5"}));
  EXPECT_EQ(values("18446744073709551614..18446744073709551615").size(), 2u) << "no wrap";
  for (std::string bad : {"1..x", "3..1", "0..8 *2", "1..8 *1", "1..8 +0", "1..", "a..b", "1..1000000"})
    EXPECT_EQ(values(bad)[0].rfind("here: ", 0), 0u) << bad << " gives " << values(bad)[0];
  EXPECT_NE(values("a,,b")[0].find("says nothing"), std::string::npos);
}

TEST(Plan, CombinesAllThatIsListed) {
  EXPECT_EQ(
      labels(std::string(base) + "[sweep]\nlayout.bucket_slots = 4, 8\nprobing.hash_functions = 2..3\n"),
      (Texts{"layout.bucket_slots=4 probing.hash_functions=2", "layout.bucket_slots=4 probing.hash_functions=3",
             "layout.bucket_slots=8 probing.hash_functions=2", "layout.bucket_slots=8 probing.hash_functions=3"}));
  EXPECT_EQ(labels(base), Texts{"base"}) << "nothing is listed";
}

TEST(Plan, DrawsASample) {
  const std::string text = std::string(base) +
                           "[sweep]\nbench.loads = 0.5..0.9 +0.1\nlayout.bucket_slots = 2..16 *2\n"
                           "table.probing = linear, quadratic, cuckoo\nprobing.hash_functions = 2..4\n";
  const auto draw = [&text](const std::string &count) {
    Outcome outcome =
        sweep(write_file("sample.ini", text), fresh_csv("plan.csv"), {"--plan", "yes", "--sample", count});
    std::set<std::string> labels;
    std::vector<std::string> loads;
    for (const std::string &line : outcome.lines()) {
      labels.insert(line.substr(0, line.find('\t')));
      const std::string load = line.substr(0, line.find(' '));
      if (loads.empty() || loads.back() != load) loads.push_back(load);
    }
    EXPECT_EQ(std::set<std::string>(loads.begin(), loads.end()).size(), loads.size()) << "keys are drawn once a load";
    return labels;
  };
  const std::set<std::string> few = draw("5"), more = draw("20");
  EXPECT_EQ(few.size(), 5u);
  EXPECT_EQ(more.size(), 20u);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end()));
  EXPECT_EQ(draw("20"), more) << "each call draws the same";
  EXPECT_NE(draw("20:7"), more) << "another seed draws others";
  EXPECT_EQ(draw("20:7"), draw("20:7"));
  EXPECT_EQ(draw("20:0"), more);
  EXPECT_EQ(draw("1000").size(), 5u * 4 * (1 + 1 + 3)) << "there are no more";
  Outcome none = sweep(write_file("sample.ini", text), fresh_csv("plan.csv"), {"--sample", "0"});
  EXPECT_NE(none.err.find("sweep: --sample 0: must be a number of tables, 1 or more"), std::string::npos) << none.err;
  none = sweep(write_file("sample.ini", text), fresh_csv("plan.csv"), {"--sample", "5:x"});
  EXPECT_NE(none.err.find("sweep: --sample 5:x: must be"), std::string::npos) << none.err;
}

TEST(Plan, VariantsSetSeveralEntries) {
  EXPECT_EQ(labels(std::string(base) + "[layout]\nbucket_slots = 2\n[probing]\nhash_functions = 4\n[variants]\n"
                                       "one = layout.bucket_slots=1\nlines = table.probing=linear\n[sweep]\n"
                                       "table.duplicates = first, add\n"),
            (Texts{"one table.duplicates=first", "one table.duplicates=add", "lines table.duplicates=first",
                   "lines table.duplicates=add"}))
      << "linear has no hash_functions, and does without those of the spec's scheme";
}

// Parameters that a part does not have are left out, and what is then there twice is measured once.
TEST(Plan, LeavesOutWhatIsRefusedOrThereTwice) {
  Outcome told;
  const Texts made =
      labels(std::string(base) + "[sweep]\ntable.probing = linear, cuckoo\nprobing.hash_functions = 2, 3\n"
                                 "layout.bucket_slots = 3..5\nlayout.tile_lanes = 1, 2\n",
             &told);
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_EQ(made, (Texts{"table.probing=linear layout.bucket_slots=4 layout.tile_lanes=1",
                         "table.probing=cuckoo probing.hash_functions=2 layout.bucket_slots=4 layout.tile_lanes=1",
                         "table.probing=cuckoo probing.hash_functions=3 layout.bucket_slots=4 layout.tile_lanes=1"}));
  EXPECT_NE(told.err.find("24 combinations: 16 are refused, 5 compose what another one does, 3 to measure"),
            std::string::npos)
      << told.err;
  EXPECT_NE(told.err.find("  16 refused, such as: "), std::string::npos) << "one reason: " << told.err;
  EXPECT_NE(told.err.find("bucket_slots = 3: must be"), std::string::npos) << told.err;
}

// A filter has no slots, and so no load factor: its load says for how many keys it is made.
TEST(Plan, FiltersAreMadeForTheirLoad) {
  const std::string filter = "[table]\nkind = filter\nkey_bits = 64\nhasher = murmur3\nbackend = cpu\n"
                             "[sweep]\nfilter.functions = 4, 6\nbench.loads = .5, 1\n";
  Outcome told;
  EXPECT_EQ(labels(filter, &told).size(), 4u) << told.err;
  const std::string csv = fresh_csv("filter.csv");
  const Outcome outcome =
      sweep(write_file("filter.ini", filter + "[bench]\nn = 3000\nrepeat = 1\nops = insert, find0\n"), csv);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("Pareto front"), 1u) << outcome.out;
}

TEST(Plan, WhatCannotBeUnderstoodIsSaid) {
  auto refused = [](const std::string &text, const std::string &sentence) {
    Outcome told;
    EXPECT_EQ(labels(std::string(base) + text, &told), Texts{});
    EXPECT_EQ(told.status, 2) << text;
    EXPECT_NE(told.err.find(sentence), std::string::npos) << told.err;
  };
  refused("[sweep]\nprobing.colour = 1, 2\n", "[sweep] probing.colour: no part of any combination has this parameter");
  refused("[sweep]\nbucket_slots = 1\n", "write section.key");
  refused("[sweep]\ntable.load_factor = .5\n", "here this is said with bench.loads");
  refused("[sweep]\nlayout.bucket_slots = 1..\n", "is no range");
  refused("[sweep]\nlayout.bucket_slots = 3, 5, 7\n", "every combination is refused");
  refused("[variants]\na = bucket_slots=4\n", "'bucket_slots=4' sets nothing");
  refused("[bench]\ncolour = 1\n", "has no option --colour");
  refused("[swep]\nlayout.bucket_slots = 1, 2\n", "there is no section [swep]; did you mean [sweep]?");
  refused("[layout]\nbucket_slots = 1, 2\n", "plan.ini: [layout] bucket_slots = 1, 2: must be a whole number");
  refused("[layout]\nbucket_slots = 1, 2\n", "A list goes into [sweep], as layout.bucket_slots.");
  refused("[sweep]\nlayout.bucket_slots = 1..1024 *2\nlayout.tile_lanes = 1..5000\nprobing.hash_functions = 1..5000\n",
          "combinations: up to 1000000 are tried");
}

TEST(Sweep, MeasuresAndGoesOn) {
  const std::string path = write_file("on.ini", std::string(base) + small + "[sweep]\nlayout.bucket_slots = 2..8 *2\n"),
                    csv = fresh_csv("on.csv");
  Outcome outcome = sweep(path, csv);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string whole = read(csv);
  Outcome rows{0, whole, ""};
  ASSERT_EQ(rows.rows().size(), 3u * 2 * 3);
  EXPECT_EQ(rows.rows()[0][0] + rows.rows()[0][3], "layout.bucket_slots=2insert");
  EXPECT_NE(outcome.out.find("Pareto front of n = 300, keys distinct"), std::string::npos) << outcome.out;

  EXPECT_EQ(sweep(path, csv).status, 0);
  EXPECT_EQ(read(csv), whole) << "all of it was there";

  // an interruption leaves whole points; here, one less, and half of another
  std::string part;
  size_t kept = 0;
  for (const std::string &line : rows.lines())
    if (kept++ < 1 + 6 + 3) part += line + "\n";
  std::ofstream(csv) << part;
  Outcome again = sweep(path, csv);
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("has 1 of them already"), std::string::npos) << again.err;
  EXPECT_EQ((Outcome{0, read(csv), ""}.rows().size()), 9u + 12u);

  // of another size nothing is there; and neither of another table with the same name
  EXPECT_EQ(sweep(path, csv, {"--n", "200"}).status, 0);
  EXPECT_EQ((Outcome{0, read(csv), ""}.rows().size()), 21u + 18u);
  EXPECT_EQ(sweep(path, csv, {"--set", "table.duplicates=add"}).status, 0);
  EXPECT_EQ((Outcome{0, read(csv), ""}.rows().size()), 39u + 18u);
}

TEST(Sweep, RowsNeedAFileOfTheirOwn) {
  const std::string path = write_file("own.ini", std::string(base) + small), link = fresh_csv("own.csv");
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  for (const std::string &csv : {path, link}) {
    Outcome outcome = sweep(path, csv);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("are one file: the output would replace what is read"), std::string::npos)
        << outcome.err;
  }
  std::remove(link.c_str());
  Outcome outcome = sweep(path, "-");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("--csv -: rows are read back from where they went"), std::string::npos) << outcome.err;
}

// Rows of other conditions are neither added to nor counted as measured.
// Also where every row is there, so that nothing would be measured.
TEST(Sweep, RowsOfOtherOptionsDoNotStandForThoseAskedFor) {
  const std::string path = write_file("options.ini", std::string(base) + small), csv = fresh_csv("options.csv");
  const Words asked = {"--ops", "insert,incremental,mixed", "--loads", "0.5",
                       "--set", "table.probing=linear",     "--set",   "table.concurrency=mixed"};
  const auto again = [&](Words more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return sweep(path, csv, more);
  };
  ASSERT_EQ(again({}).status, 0);
  EXPECT_EQ(again({}).status, 0) << "the same again";
  EXPECT_EQ(again({"--mix", "0.2,0.2,0.3,0.3"}).status, 0) << "the default";
  const auto expect_refused = [&](const Words &words, const std::string &sentence) {
    const Outcome outcome = again(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  };
  expect_refused({"--mix", "1,0,0,0"}, "has rows whose options is mix=0.2,0.2,0.3,0.3, and here it is mix=1,0,0,0");
  expect_refused({"--batch", "64"}, "has rows whose options is batch=32768, and here it is batch=64");
  expect_refused({"--codes", "yes"}, "has rows whose options is -, and here it is codes=yes");
  expect_refused({"--seed", "7"}, "has rows whose seed is 1, and here it is 7");
  expect_refused({"--compile", "yes"}, "has rows whose code is function tables");
}

TEST(Sweep, RowsOfOtherConditionsAreNotMixedIn) {
  const std::string path = write_file("other.ini", std::string(base) + small), csv = fresh_csv("other.csv");
  ASSERT_EQ(sweep(path, csv).status, 0);
  const std::string whole = read(csv);
  const auto row = Outcome{0, whole, ""}.rows()[0];
  const auto expect_refused = [&](size_t column, const std::string &name, Words words) {
    std::string text = whole;
    for (size_t at = 0; (at = text.find("," + row[column] + ",", at)) != std::string::npos; at++)
      text.replace(at, row[column].size() + 2, ",Model 7,");
    std::ofstream(csv) << text;
    Outcome outcome = sweep(path, csv, words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("has rows whose " + name + " is Model 7, and here it is " + row[column]),
              std::string::npos)
        << outcome.err;
  };
  const Words more = {"--n", "400"};
  expect_refused(2, "device", more);
  expect_refused(33, "version", more);
  expect_refused(40, "driver", more);
  expect_refused(34, "parts_hash", {});
  std::ofstream(csv) << whole;
  EXPECT_NE(sweep(path, csv, {"--n", "400", "--seed", "9"}).err.find("has rows whose seed is 1, and here it is 9"),
            std::string::npos);
  Words compiled = {"--loads", "0.6", "--compile", "yes"};
  EXPECT_EQ(sweep(path, csv, compiled).status, 2) << "the others go by function tables";
  std::string fused = whole;
  for (size_t at = 0; (at = fused.find("function tables, as there was little to do", at)) != std::string::npos;)
    fused.replace(at, 42, "fused: insert, find");
  std::ofstream(csv) << fused;
  EXPECT_NE(sweep(path, csv, {"--loads", "0.6"})
                .err.find("has rows whose code is fused: insert, find, and here it is "
                          "function tables"),
            std::string::npos);
  std::ofstream(csv) << whole;
  EXPECT_EQ(sweep(path, csv, more).status, 0);
}

// A table that cannot hold its keys is a row, and no failure; it is not in the front.
TEST(Sweep, TablesThatAreTooFullAreNoFailure) {
  const std::string path = write_file("full.ini",
                                      std::string(base) + "[probing]\nmax_chain = 1\nhash_functions = 2\n" +
                                          "[bench]\nn = 4096\nrepeat = 1\nops = insert, find100\nloads = .3, 1\n"
                                          "[sweep]\nlayout.bucket_slots = 16\n"),
                    csv = fresh_csv("full.csv");
  Outcome outcome = sweep(path, csv);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("found no room"), std::string::npos) << outcome.err;
  std::ifstream stream(csv);
  Outcome rows{0, std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>()), ""};
  ASSERT_EQ(rows.rows().size(), 4u);
  EXPECT_EQ(rows.rows()[2][7] + rows.rows()[2][11], "1no");
  EXPECT_GT(std::stoi(rows.rows()[2][16]), 0) << "not placed";
  EXPECT_NE(outcome.out.find("\n   0.3 "), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("\n     1 "), std::string::npos) << outcome.out;
}

// Against all pairs, from the CSV alone.
TEST(Sweep, TheFrontIsWhatNoOtherBeats) {
  const std::string path = write_file("front.ini", std::string(base) + small +
                                                       "[sweep]\ntable.probing = cuckoo, linear, quadratic\n"
                                                       "layout.bucket_slots = 1..8 *2\n"),
                    csv = fresh_csv("front.csv");
  Outcome outcome = sweep(path, csv, {"--set", "table.stash=100"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream stream(csv);
  Outcome rows{0, std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>()), ""};
  struct Candidate {
    std::map<std::string, double> mops;
    double bytes = 0;
    bool is_right = true;
  };
  std::map<std::string, Candidate> all;
  for (auto &row : rows.rows()) {
    Candidate &c = all[row[7] + " " + row[0]];
    c.mops[row[3]] = std::stod(row[8]);
    c.bytes = std::stod(row[17]);
    c.is_right = c.is_right && row[11] == "yes";
  }
  ASSERT_EQ(all.size(), 24u);
  std::set<std::string> expected, printed;
  for (auto &[name, c] : all) {
    bool is_beaten = !c.is_right;
    for (auto &[other, o] : all) {
      bool is_as_good = o.is_right && o.bytes <= c.bytes, is_better = o.bytes < c.bytes;
      for (auto &[op, mops] : c.mops) {
        is_as_good = is_as_good && o.mops[op] >= mops;
        is_better = is_better || o.mops[op] > mops;
      }
      is_beaten = is_beaten || (is_as_good && is_better);
    }
    if (!is_beaten) expected.insert(name);
  }
  for (const std::string &line : outcome.lines()) {
    std::istringstream words(line);
    std::string load, number, label;
    if (line.find("table.probing=") == std::string::npos || !(words >> load)) continue;
    for (int i = 0; i < 4; i++) words >> number;
    std::getline(words >> std::ws, label);
    printed.insert(load + " " + label);
  }
  EXPECT_EQ(printed, expected) << outcome.out;
}

} // namespace
