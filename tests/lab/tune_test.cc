// SPDX-License-Identifier: Apache-2.0
//
// tools/lab/tune.h on the cpu backend: the winner is the one with the least time in what was measured, fits into the memory,
// and its INI makes that table.
#include "tools/lab/tune.h"

#include <map>
#include <set>

#include "command.h"

namespace {

const char plugins[] = "layouts:probing:hashers:allocators:eviction";
const char table[] =
    "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nbackend = cpu\nhasher = murmur3\nlayout = packed\n";
const char space[] = "[sweep]\ntable.probing = cuckoo, linear, quadratic\nlayout.bucket_slots = 1..8 *2\n";

std::string read(const std::string &path) {
  std::ifstream stream(path);
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

struct Tuned {
  tsr_status status;
  std::string told, sentence, ini, csv;
};

/* seconds: 0: begins anew; else it goes on with what is there, so long. */
Tuned tune(const std::string &name, const std::string &text, const std::string &other_space = "", double seconds = 0,
           bool space_is_given = false, const char *card = nullptr) {
  const std::string path = write_file(name + ".ini", text), out = testing::TempDir() + name + ".tuned.ini",
                    csv = testing::TempDir() + name + ".csv";
  if (seconds <= 0) std::remove(out.c_str());
  if (seconds <= 0) std::remove(csv.c_str());
  tsr_tune_options options = {};
  options.path = path.c_str();
  options.space = other_space.c_str();
  options.space_is_given = space_is_given;
  options.csv = csv.c_str();
  options.out = out.c_str();
  options.plugins = plugins;
  options.seconds = seconds;
  options.card = card;
  tsr_error error = {TSR_OK, ""};
  char *told = nullptr;
  size_t bytes = 0;
  FILE *to = open_memstream(&told, &bytes);
  testing::internal::CaptureStderr();
  const tsr_status status = tsr_tune(to, &options, &error);
  testing::internal::GetCapturedStderr();
  fclose(to);
  Tuned result = {status, told, error.message, read(out), read(csv)};
  free(told);
  return result;
}

TEST(Tune, TheWinnerIsTheFastestOfThoseMeasuredWithAllPairs) {
  const Tuned tuned = tune("win", std::string(table) +
                                      "[workload]\nn = 20000\ninsert = 1\nfind = 2\nfind_absent = 1\n"
                                      "loads = .5, .8\nmemory = 250K\n" +
                                      space);
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_NE(tuned.told.find("24 tables, of which 12 fit into 250000 bytes"), std::string::npos) << tuned.told;
  std::map<std::string, double> nanoseconds;
  std::map<std::string, std::string> compositions;
  std::set<std::string> wrong;
  const std::map<std::string, double> shares = {{"insert", .25}, {"find100", .5}, {"find0", .25}};
  size_t small = 0;
  for (auto &row : Outcome{0, tuned.csv, ""}.rows()) {
    EXPECT_EQ(row[7], "0.8") << "what does not fit is not measured";
    small += row[6] == "2000" && row[8] == "-";
    if (row[6] != "20000") continue;
    nanoseconds[row[0]] += shares.at(row[3]) * 1e3 / std::stod(row[8]);
    compositions[row[0]] = row[15];
    if (row[11] != "yes") wrong.insert(row[0]);
  }
  EXPECT_EQ(small, 12u * 3) << "all are compared small";
  EXPECT_EQ(nanoseconds.size(), 6u) << "and some with all pairs";
  std::string best;
  for (auto &[label, time] : nanoseconds)
    if (!wrong.count(label) && (best.empty() || time < nanoseconds[best])) best = label;
  EXPECT_NE(tuned.told.find("the best: " + best + "\n", tuned.told.find("20000 pairs")), std::string::npos)
      << tuned.told << best;
  EXPECT_NE(tuned.ini.find("this: " + best.substr(0, 90)), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.ini.find("\n; Compared by how often its operations go to memory: "), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.ini.find("\n; Compared by time, with all pairs: "), std::string::npos) << tuned.ini;

  tsr_spec *spec = nullptr;
  tsr_resolution resolution = {};
  tsr_options options = {};
  options.plugins = plugins;
  tsr_error error;
  ASSERT_EQ(tsr_spec_parse(tuned.ini.c_str(), "winner", &spec, &error), TSR_OK) << error.message << tuned.ini;
  ASSERT_EQ(tsr_spec_resolve(spec, &options, &resolution, &error), TSR_OK) << error.message;
  EXPECT_EQ(resolution.text, compositions[best]);
  EXPECT_EQ(resolution.capacity, 20000u);
  EXPECT_DOUBLE_EQ(resolution.load_factor, .8);
  EXPECT_LE(resolution.bytes, 250000u);
  tsr_resolution_free(&resolution);
  tsr_spec_free(spec);
}

// Without a GPU, but with the limits of one, the best by prediction wins, and the INI says so.
TEST(Tune, ACardAloneIsEnoughToPredict) {
  const std::string text = "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nhasher = murmur3\nlayout = packed\n"
                           "[workload]\nn = 2^24\nfind_absent = 1\nloads = .9\n[sweep]\n"
                           "table.probing = cuckoo, linear\nlayout.bucket_slots = 4, 8\nlayout.tile_lanes = 1..2\n";
  const Tuned tuned = tune("card", text, "", 0, false, "specs/cards/h100.csv");
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_NE(tuned.told.find("8 compared by predicted time (8192 pairs): 8 answered right"), std::string::npos)
      << tuned.told;
  EXPECT_NE(
      tuned.ini.find("\n; Nothing was timed: there is no GPU, and this is by predicted time, by specs/cards/h100.csv."),
      std::string::npos)
      << tuned.ini;
  EXPECT_NE(tuned.ini.find("\n; Compared by predicted time: 8 of 8 tables.\n"), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.ini.find("this: bench.loads=.9 table.probing=cuckoo"), std::string::npos)
      << "an absent key is looked for in few buckets, by linear in many: " << tuned.ini;
  EXPECT_NE(tuned.ini.find("\nprobing = cuckoo\n"), std::string::npos) << tuned.ini;
  for (auto &row : Outcome{0, tuned.csv, ""}.rows()) EXPECT_EQ(row[8], "-") << "nothing is timed";
  EXPECT_EQ(tune("nocard", text, "", 0, false, "specs/none.csv").status, TSR_NOT_FOUND);
}

/* With so little time nothing is begun. */
TEST(Tune, WhoseTimeIsUpHasTheBestSoFarAndGoesOn) {
  const double none = 1e-9;
  const std::string text = std::string(table) + "[workload]\nn = 20000\nfind = 1\nloads = .6\n" + space;
  const Tuned whole = tune("time", text);
  ASSERT_EQ(whole.status, TSR_OK) << whole.sentence;
  const Tuned again = tune("time", text, "", none);
  ASSERT_EQ(again.status, TSR_OK) << again.sentence;
  EXPECT_EQ(again.csv, whole.csv) << "all was there";
  EXPECT_EQ(again.ini, whole.ini);

  std::string cut;
  for (size_t at = 0; at < whole.csv.size();) {
    const std::string line = whole.csv.substr(at, whole.csv.find('\n', at) + 1 - at);
    if (line.find(",20000,") == std::string::npos) cut += line;
    at += line.size();
  }
  ASSERT_LT(cut.size(), whole.csv.size());
  write_file("time.csv", cut);
  const Tuned quarter = tune("time", text, "", none);
  ASSERT_EQ(quarter.status, TSR_OK) << quarter.sentence;
  EXPECT_NE(quarter.ini.find("Its time was up: this is by time, with a quarter of the pairs"), std::string::npos)
      << quarter.ini;
  EXPECT_NE(quarter.ini.find("probing = "), std::string::npos);

  std::remove((testing::TempDir() + "time.csv").c_str());
  const Tuned nothing = tune("time", text, "", none);
  EXPECT_EQ(nothing.status, TSR_INCOMPATIBLE);
  EXPECT_NE(nothing.sentence.find("before anything was measured"), std::string::npos) << nothing.sentence;
  EXPECT_EQ(nothing.ini, quarter.ini) << "what was there stays";
}

TEST(Tune, SearchesAnotherFileWhereTheWorkloadListsNothing) {
  const std::string other = write_file("space.ini", "[sweep]\ntable.probing = linear\nlayout.bucket_slots = 4, 8\n");
  const Tuned tuned =
      tune("other", std::string(table) + "[workload]\nn = 2000\nfind = 1\nloads = .7\nkeys = zipf:1.0\n", other);
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_EQ(tuned.told.rfind("2 tables\n", 0), 0u) << tuned.told;
  EXPECT_NE(tuned.ini.find("probing = linear\n"), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.csv.find(",zipf:1.0,"), std::string::npos);
}

TEST(Tune, SearchesAGivenFileInThePlaceOfTheWorkloadsOwn) {
  const std::string other = write_file("given_space.ini", "[sweep]\ntable.probing = linear\nlayout.bucket_slots = 4\n");
  const std::string text = std::string(table) + "[workload]\nn = 2000\nfind = 1\nloads = .7\n" + space;
  const Tuned tuned = tune("given", text, other, 0, true);
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_EQ(tuned.told.rfind("1 tables\n", 0), 0u) << tuned.told;
}

TEST(Tune, AllPairsOfAKey) {
  const Tuned tuned =
      tune("all", "[table]\nkind = multimap\nkey_bits = 32\nvalue_bits = 32\nbackend = cpu\nhasher = murmur3\n"
                  "layout = packed\n[workload]\nn = 8000\ninsert = 1\nfind_all = 1\nloads = .7\n"
                  "keys = repeat:4\n[variants]\nopen = table.probing=quadratic layout.bucket_slots=8\n"
                  "graph = table.probing=hashgraph layout.bucket_slots=1\n");
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_NE(tuned.told.find("2 answered right and hold all their pairs, 2 stay"), std::string::npos) << tuned.told;
  EXPECT_NE(tuned.ini.find(" find_all "), std::string::npos) << tuned.ini;
}

TEST(Tune, TheCacheWithTheMostHits) {
  const Tuned tuned =
      tune("hits", "[table]\nkind = cache\nkey_bits = 64\nvalue_bits = 64\nbackend = cpu\nhasher = murmur3\n"
                   "layout = packed\nprobing = double_hashing\n[workload]\nn = 40000\nhits = 1\n"
                   "objective = hit_rate\nkeys = zipf:1.0\nloads = .05\n[bench]\nbatch = 500\n"
                   "[variants]\nfew = table.eviction=lru layout.bucket_slots=1 probing.max_probes=1\n"
                   "lru = table.eviction=lru layout.bucket_slots=8 probing.max_probes=2\n"
                   "lfu = table.eviction=lfu layout.bucket_slots=8 probing.max_probes=2\n");
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_NE(tuned.ini.find("eviction = lfu\n"), std::string::npos) << tuned.ini; // popularity lasts
  EXPECT_NE(tuned.ini.find("capacity = 2001\n"), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.ini.find(" misses an operation"), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.told.find("compared by hits, with all keys"), std::string::npos) << tuned.told;
}

TEST(Tune, TheIndexThatNumbersFastest) {
  const Tuned tuned =
      tune("number", "[table]\nkind = index\nkey_bits = 64\nbackend = cpu\nhasher = murmur3\nlayout = packed\n"
                     "[workload]\nn = 8000\nnumber = 1\nloads = .7\nkeys = repeat:4\n[variants]\n"
                     "open = table.probing=double_hashing layout.bucket_slots=8\n"
                     "pages = table.probing=cuckoo layout.bucket_slots=8 table.page_bytes=4Ki table.page_batch=1\n");
  ASSERT_EQ(tuned.status, TSR_OK) << tuned.sentence;
  EXPECT_NE(tuned.told.find("2 answered right and hold all their pairs"), std::string::npos) << tuned.told;
  EXPECT_NE(tuned.ini.find(" number "), std::string::npos) << tuned.ini;
  EXPECT_NE(tuned.ini.find("kind = index\n"), std::string::npos) << tuned.ini;
}

TEST(Tune, WhatCannotBeIsSaid) {
  auto refused = [](const std::string &workload, const std::string &sentence) {
    const Tuned tuned = tune("bad", std::string(table) + "[workload]\n" + workload + space);
    EXPECT_NE(tuned.status, TSR_OK) << workload;
    EXPECT_NE(tuned.sentence.find(sentence), std::string::npos) << tuned.sentence;
    EXPECT_EQ(tuned.ini, "");
  };
  refused("n = 1000\n", "at least one of insert, find, find_all, find_absent, erase, hits and number");
  refused("find = 1\n", "with n and at least one");
  refused("n = 1000\nfind = x\n", "[workload] find = x: must be a share");
  refused("n = 1000\nfind = 1\ncolour = 1\n", "[workload] colour: is no entry");
  refused("n = 1000\nfind = 1\nmemory = 1Ki\n", "no table is small enough");
  refused("n = 1000\nfind_all = 1\n", "only a multimap has several values of a key, and this is a map: say find");
  refused("n = 1000\nfind = 1\nloads = 7\n", "every combination is refused");
  refused("n = 1000\nhits = 1\n", "hits is the share of a cache");
  refused("n = 1000\nnumber = 1\n", "number is the share of an index");
  refused("n = 1000\nfind = 1\nobjective = hit_rate\n", "objective = hit_rate needs it");
  refused("n = 1000\nfind = 1\nobjective = most\n", "must be time or hit_rate");
  refused("n = 1000\nfind = 1\nkeys = zipper\n", "is no distribution of keys");
  const std::string there = write_file("there.tuned.ini", "mine\n"), path = write_file("there.ini", table);
  tsr_tune_options options = {};
  options.path = path.c_str();
  options.csv = "unused.csv";
  options.out = there.c_str();
  tsr_error error;
  EXPECT_EQ(tsr_tune(stdout, &options, &error), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("is there already"), std::string::npos) << error.message;
  EXPECT_EQ(read(there), "mine\n");
}

} // namespace
