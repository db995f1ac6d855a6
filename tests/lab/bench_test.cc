// SPDX-License-Identifier: Apache-2.0
//
// tools/lab/bench.h and roofline.h on the cpu backend: the command line, the rows, the ratios.
#include "tools/lab/bench.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "command.h"
#include "core/tessera_tools.h"
#include "tools/lab/bench_options.h"
#include "tools/lab/interval.h"
#include "tools/lab/roofline.h"

namespace {

using Words = std::vector<std::string>;

const char plugins[] = "layouts:probing:hashers:allocators:eviction";

std::string spec(const std::string &name, const std::string &extra, const std::string &layout = "packed",
                 const std::string &probing = "cuckoo") {
  return write_file(name, "[table]\nlayout = " + layout + "\nprobing = " + probing +
                              "\nhasher = murmur3\nbackend = cpu\n" + extra + "[layout]\nbucket_slots = 8\n");
}

const char map32[] = "kind = map\nkey_bits = 32\nvalue_bits = 32\n";

Outcome bench(std::vector<std::string> words) {
  words.insert(words.end(), {"--plugins", plugins});
  return run(tsr_bench_command, words);
}

void expect_usage(std::vector<std::string> words, const std::string &sentence) {
  Outcome outcome = run(tsr_bench_command, words);
  EXPECT_EQ(outcome.status, 2) << words.back();
  EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(BenchOptions, WrongOnesAreRefusedWithASentence) {
  expect_usage({}, "no spec");
  expect_usage({"a.ini", "--n"}, "--n needs a value");
  expect_usage({"a.ini", "--n", "12x"}, "--n 12x");
  expect_usage({"a.ini", "--n", "2^40"}, "--n 2^40");
  expect_usage({"a.ini", "--n", "5", "--n", "6"}, "--n is given twice");
  expect_usage({"a.ini", "--repeat=1001"}, "--repeat 1001: must be a whole number from 0 to 1000");
  expect_usage({"a.ini", "--repeat=0", "--devices", "0"}, "--repeat 0: only counts");
  expect_usage({"a.ini", "--raw=some"}, "--raw some: must be yes or no");
  expect_usage({"a.ini", "--probes=some"}, "--probes some: must be yes or no");
  expect_usage({"a.ini", "--seed", "0"}, "--seed 0");
  expect_usage({"a.ini", "--loads", ".8,"}, "'' is no load");
  expect_usage({"a.ini", "--loads", ".8,.001"}, "'.001' is no load");
  expect_usage({"a.ini", "--loads", "1.1", "--ops", "churn"}, "--loads 1.1: a pool holds no more than its units");
  expect_usage({"a.ini", "--ops", "insert,mix"}, "'mix' is no operation of bench: they are insert, incremental");
  expect_usage({"a.ini", "--batch", "0"}, "--batch 0");
  expect_usage({"a.ini", "--batch", "32k"}, "--batch 32k");
  for (std::string keys : {"zip", "distinct,", "zipfs:1", "Repeat:4"})
    expect_usage({"a.ini", "--keys", keys}, "is no distribution of keys: they are distinct, repeat:R");
  expect_usage({"a.ini", "--keys", "repeat"}, "--keys repeat: needs a colon and a value");
  expect_usage({"a.ini", "--keys", "repeat:1.5"}, "--keys repeat:1.5: needs a whole number");
  expect_usage({"a.ini", "--keys", "strided:0"}, "--keys strided:0: needs a whole number");
  expect_usage({"a.ini", "--keys", "equal:1"}, "--keys equal:1: takes no value");
  expect_usage({"a.ini", "--keys", "zipf:-1"}, "the exponent must be a number from 0 to 8");
  expect_usage({"a.ini", "--keys", "zipf:"}, "the exponent must be a number from 0 to 8");
  expect_usage({"a.ini", "--keys", "zipf:1:0"}, "the number of ids must be a whole number");
  expect_usage({"a.ini", "--keys", "file:"}, "names no file");
  for (std::string mix : {".5,.5", ".2,.2,.3,.3,0", ".2,.2,.3,.300001", ".2,.2,.3,x", ".2,.2,.3,", "-1,2,0,0"})
    expect_usage({"a.ini", "--mix", mix}, "--mix " + mix + ": must be four shares that add up to 1");
  expect_usage({"a.ini", "--ops", "insert,churn"}, "ask for one kind at a time");
  expect_usage({"a.ini", "--units", "0"}, "--units 0");
  expect_usage({"a.ini", "--tile-lanes", "64"}, "--tile-lanes 64");
  expect_usage({"a.ini", "--codes", "maybe"}, "--codes maybe: must be yes or no");
  for (std::string versus : {"b.ini", "0", "3", "1.5"})
    expect_usage({"a.ini", "c.ini", "--vs", versus}, "--vs " + versus + ": must be one of the specs");
  expect_usage({"a.ini", "--vs", "1", "--ops", "churn"}, "--vs 1: is for tables; of allocators the first one is");
  for (std::string devices : {"0,", ",1", "0;1", "all", "0,100", "-1"})
    expect_usage({"a.ini", "--devices", devices}, "--devices " + devices + ": must be numbers of devices");
  expect_usage({"a.ini", "--devices", "0,1", "--ops", "erase"}, "--ops erase: --devices measures insert, find100");
  expect_usage({"a.ini", "--devices", "0,1", "--ops", "churn"}, "--ops churn: --devices measures insert, find100");
  expect_usage({"a.ini", "--devices", "0,1", "--keys", "equal"}, "--devices 0,1: keys are distinct there");
  expect_usage({"a.ini", "--devices", "0,1", "--codes", "yes"}, "--devices 0,1: keys are distinct there");
  expect_usage({"a.ini", "--lods", ".8"}, "did you mean --loads?");
  expect_usage({"a.ini", "--set", "table.load_factor=.5"}, "--loads");
  expect_usage({spec("bad.ini", map32), "--set", "nonsense"}, "nonsense");
  expect_usage({"/nowhere/a.ini"}, "/nowhere/a.ini");
}

TEST(BenchOptions, HelpNamesAllOperations) {
  const tsr_option *option = tsr_bench_synopsis.options;
  while (option->name && std::string(option->name) != "--ops") option++;
  ASSERT_NE(option->name, nullptr);
  const std::string doc = option->doc;
  for (int op = 0; op < TSR_BENCH_OPS; op++)
    EXPECT_NE(doc.find(tsr_bench_op_name(static_cast<tsr_bench_op>(op))), std::string::npos) << op;
  EXPECT_NE(doc.find("insert,find100,find50,find0,erase"), std::string::npos);
}

// What scaling is measured by: the time of one device, which has as many keys.
TEST(Bench, SeveralDevices) {
  for (std::string kind : {"map", "set"}) {
    const std::string path = spec(kind + "_devices.ini", kind == "map" ? map32 : "kind = set\nkey_bits = 64\n");
    Outcome outcome =
        bench({path, "--devices", "0,1,2", "--n", "6000", "--repeat", "1", "--set", "devices.chunk=2000"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    auto rows = outcome.rows();
    ASSERT_EQ(rows.size(), 12u) << outcome.out;
    const std::vector<std::string> stages = {"one", "split", "weak", "strong"}, ops = {"insert", "find100", "find0"};
    for (size_t i = 0; i < rows.size(); i++) {
      const size_t stage = i / 3;
      const double ms = std::stod(rows[i][6]) / 1e3 / std::stod(rows[i][8]);
      const double one_ms = 6 / std::stod(rows[i % 3][8]) / (stage == 3 ? 3 : 1);
      EXPECT_EQ(rows[i][3], ops[i % 3]);
      EXPECT_EQ(rows[i][6], stage == 2 ? "18000" : "6000");
      EXPECT_EQ(rows[i][11], "yes");
      EXPECT_EQ(rows[i][23], stage < 2 ? "0" : "0,1,2");
      EXPECT_EQ(rows[i][24], stages[stage]);
      EXPECT_EQ(rows[i][25] == "-", stage == 0);
      EXPECT_EQ(rows[i][28] == "-", stage == 0 || i % 3 == 0) << "only finds answer";
      EXPECT_EQ(rows[i][29] == "-", stage < 2) << "nothing travels";
      EXPECT_EQ(rows[i][32] == "-", stage < 2);
      const double scaling = stage ? std::stod(rows[i][30]) : 1;
      EXPECT_NEAR(scaling, one_ms / ms, .02 + scaling * .05);
    }
  }
}

TEST(Bench, RowsOfOneSpec) {
  std::string path = spec("one.ini", map32);
  Outcome outcome = bench({path, "--n", "2^12", "--loads", ".5,.8", "--repeat", "2", "--seed", "7"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(
      outcome.lines()[0],
      "spec,backend,device,op,key_bits,value_bits,n,load,mops,probes,pct_limit,ok,utilization,keys,distinct,"
      "composition,not_placed,bytes,registers,link_ms,mops_min,mops_max,limit_mops,"
      "devices,stage,split_ms,exchange_ms,work_ms,answer_ms,pct_link,scaling,scaling_net,model_mops,"
      "version,parts_hash,composition_hash,seed,compiler,threads,code,driver,clock_mhz,memory_mhz,date,repeat,ratio,"
      "ratio_low,ratio_high,mops_each,warp_probes,hit_rate,options");
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 10u) << outcome.out;
  const std::vector<std::string> ops = {"insert", "find100", "find50", "find0", "erase"};
  for (size_t i = 0; i < rows.size(); i++) {
    ASSERT_EQ(rows[i].size(), 52u);
    EXPECT_EQ(rows[i][23] + rows[i][24] + rows[i][32], "---");
    EXPECT_EQ(rows[i][0], path);
    EXPECT_EQ(rows[i][1], "cpu");
    EXPECT_EQ(rows[i][3], ops[i % 5]);
    EXPECT_EQ(rows[i][4] + rows[i][5] + rows[i][6], "32324096");
    EXPECT_EQ(rows[i][7], i < 5 ? "0.5" : "0.8");
    EXPECT_GT(std::stod(rows[i][8]), 0);
    EXPECT_GE(std::stod(rows[i][9]), 1) << ops[i % 5];
    EXPECT_EQ(rows[i][10], "-");
    EXPECT_EQ(rows[i][11], "yes");
    EXPECT_NEAR(std::stod(rows[i][12]), std::stod(rows[i][7]), 0.01) << "slots hold nothing but pairs";
    EXPECT_EQ(rows[i][13] + rows[i][14], "distinct4096");
    EXPECT_EQ(rows[i][16], "0") << "not placed";
    EXPECT_GE(std::stod(rows[i][17]), 4096 * 8 / std::stod(rows[i][7])) << "bytes";
    EXPECT_EQ(rows[i][18] + rows[i][19] + rows[i][22], "---") << "what the cpu backend does not have";
    EXPECT_LE(std::stod(rows[i][20]), std::stod(rows[i][8]));
    EXPECT_GE(std::stod(rows[i][21]), std::stod(rows[i][8]));
    if (ops[i % 5] == "erase")
      EXPECT_EQ(rows[i][49], "-");
    else
      EXPECT_GT(std::stod(rows[i][49]), std::stod(rows[i][9])) << "the most of 32";
  }
}

TEST(Bench, HitsOfACache) {
  const std::string spec =
      write_file("cache.ini", "[table]\nkind = cache\neviction = lfu\nkey_bits = 64\nvalue_bits = 64\n"
                              "backend = cpu\nlayout = packed\nprobing = double_hashing\n"
                              "hasher = murmur3\n[probing]\nmax_probes = 2\n");
  std::map<double, double> rates;
  for (const char *loads : {"0.02", "0.2", "1.1"}) {
    Outcome outcome =
        bench({spec, "--ops", "hits", "--n", "20000", "--loads", loads, "--keys", "zipf:1.0", "--batch", "500"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    auto rows = outcome.rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0][3], "hits");
    EXPECT_EQ(rows[0][11], "yes");
    rates[std::stod(loads)] = std::stod(rows[0][50]);
  }
  EXPECT_GT(rates[0.02], .3);
  EXPECT_GT(rates[0.2], rates[0.02] + .05);
  EXPECT_GT(rates[1.1], rates[0.2]); // all keys that came before
  EXPECT_LT(rates[1.1], .95);
  EXPECT_NE(bench({spec, "--ops", "insert", "--n", "1000"}).err.find("has kind = cache: measure hits"),
            std::string::npos);
}

TEST(Bench, AWarpWaitsForItsLongestWalk) {
  const auto walks = [](const std::string &n) {
    return bench({spec("walks.ini", map32, "soa", "linear"), "--n", n, "--ops", "insert,find0", "--repeat", "0",
                  "--loads", "0.5", "--set", "layout.bucket_slots=1"})
        .rows();
  };
  auto rows = walks("2^14");
  ASSERT_EQ(rows.size(), 2u);
  // Knuth's linear probing at load 1/2: 2.5 buckets for an absent key, and of 32 such keys the most have some 10.
  EXPECT_NEAR(std::stod(rows[1][9]), 2.5, 0.2);
  EXPECT_GT(std::stod(rows[1][49]), 7);
  EXPECT_LT(std::stod(rows[1][49]), 14);
  EXPECT_LT(std::stod(rows[0][49]), std::stod(rows[1][49])) << "the table was emptier";
  rows = walks("20000");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][49], "-") << "too many to insert one by one";
  EXPECT_GT(std::stod(rows[1][49]), 7);
}

std::string hash_of(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  char digits[17];
  snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

TEST(Bench, RowsSayWhereTheyComeFrom) {
  const std::string path = spec("origin.ini", map32), other = spec("origin2.ini", map32, "soa", "double_hashing");
  Words words = {path, other, "--n", "3000", "--repeat", "6", "--ops", "insert", "--seed", "7", "--raw", "yes"};
  Outcome outcome = bench(words);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 2u);
  for (auto &row : rows) {
    ASSERT_EQ(row.size(), 52u);
    EXPECT_EQ(row[33].rfind(std::string(tsr_version()), 0), 0u) << row[33];
    EXPECT_EQ(row[34].size(), 16u);
    EXPECT_EQ(row[35], hash_of(row[15]));
    EXPECT_EQ(row[36], "7");
    EXPECT_EQ(row[37], *tsr_compiler("cpu") ? tsr_compiler("cpu") : "-");
    EXPECT_GE(std::stoi(row[38]), 1);
    EXPECT_EQ(row[39].rfind("function tables", 0), 0u) << row[39];
    EXPECT_EQ(row[40].rfind("Linux ", 0), 0u) << row[40];
    int year, month, day, hour, minute, second;
    EXPECT_EQ(sscanf(row[43].c_str(), "%d-%d-%dT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second), 6);
    EXPECT_EQ(row[44], "6");
    std::istringstream each(row[48]);
    std::vector<double> rates;
    for (double rate; each >> rate;) rates.push_back(rate);
    ASSERT_EQ(rates.size(), 6u) << row[48];
    std::sort(rates.begin(), rates.end());
    EXPECT_NEAR(rates.front(), std::stod(row[20]), .01);
    EXPECT_NEAR(rates.back(), std::stod(row[21]), .01);
  }
  EXPECT_NE(rows[0][34], rows[1][34]) << "other parts";
  EXPECT_EQ(rows[0][45] + rows[0][46] + rows[0][47], "---");
  EXPECT_LE(std::stod(rows[1][46]), std::stod(rows[1][45]));
  EXPECT_GE(std::stod(rows[1][47]), std::stod(rows[1][45]));
  EXPECT_EQ(bench({path, "--n", "3000", "--repeat", "1", "--ops", "insert"}).rows()[0][48], "-");
}

std::pair<double, double> interval(std::vector<double> samples) {
  double low = 0, high = 0;
  EXPECT_TRUE(tsr_interval_of_median(samples.data(), samples.size(), &low, &high));
  return {low, high};
}

TEST(Interval, HoldsTheMedian) {
  double low, high;
  const double few[] = {1, 2, 3, 4};
  EXPECT_FALSE(tsr_interval_of_median(few, 4, &low, &high));
  EXPECT_EQ(interval({2, 2, 2, 2, 2}), std::make_pair(2., 2.));
  EXPECT_EQ(interval({5, 1, 4, 2, 3}), std::make_pair(1., 5.)) << "five say little";
  std::vector<double> samples;
  for (int i = 1; i <= 101; i++) samples.push_back(i);
  auto [least, most] = interval(samples);
  // Order statistics: 101 / 2 - 1.96 sqrt(101) / 2 is 40.7.
  EXPECT_NEAR(least, 41, 2);
  EXPECT_NEAR(most, 61, 2);
  EXPECT_EQ(interval(samples), interval(samples)) << "no chance from call to call";
}

TEST(Interval, RatiosArePaired) {
  const double one[] = {2, 4, 20, 2, 6}, other[] = {1, 2, 10, 1, 3};
  tsr_ratio ratio;
  ASSERT_TRUE(tsr_ratio_of(one, other, 5, &ratio));
  EXPECT_EQ(ratio.median, 2);
  EXPECT_EQ(ratio.low, 2) << "what slowed down both is gone";
  EXPECT_EQ(ratio.high, 2);
  EXPECT_FALSE(tsr_ratio_of(one, other, 0, &ratio));
}

TEST(Bench, ProbesAloneAndTimesAlone) {
  const std::string path = spec("probes.ini", map32);
  const auto both = bench({path, "--n", "5000", "--repeat", "1"}).rows();
  const auto probes = bench({path, "--n", "5000", "--repeat", "0"}).rows();
  const auto times = bench({path, "--n", "5000", "--repeat", "1", "--probes", "no"}).rows();
  ASSERT_EQ(both.size(), 5u);
  ASSERT_EQ(probes.size(), 5u);
  ASSERT_EQ(times.size(), 5u);
  for (size_t i = 0; i < both.size(); i++) {
    EXPECT_GT(std::stod(both[i][8]), 0);
    EXPECT_EQ(probes[i][8], "-");
    EXPECT_EQ(probes[i][20], "-") << "and neither slowest";
    EXPECT_NEAR(std::stod(probes[i][9]), std::stod(both[i][9]), .05) << both[i][3];
    EXPECT_GT(std::stod(times[i][8]), 0);
    EXPECT_EQ(times[i][9], "-");
    for (auto &row : {both[i], probes[i], times[i]}) EXPECT_EQ(row[11], "yes");
  }
}

TEST(Bench, SeveralSpecsTakeTurnsAndAreCompared) {
  std::string a = spec("a.ini", map32), b = spec("b.ini", map32, "soa", "double_hashing");
  Outcome outcome = bench({a, b, "--n", "2^12", "--ops", "find100,insert", "--repeat", "3"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 4u) << outcome.out;
  EXPECT_EQ(rows[0][3], "insert");
  EXPECT_EQ(rows[1][0], b);
  std::string ratio = "# ratio " + a + "/" + b + ": find100 at load 0.8: ", line = outcome.lines().back();
  ASSERT_EQ(line.rfind(ratio, 0), 0u) << line;
  double median, least, greatest;
  ASSERT_EQ(sscanf(line.c_str() + ratio.size(), "%lf (%lf to %lf)", &median, &least, &greatest), 3) << line;
  EXPECT_LE(least, median);
  EXPECT_LE(median, greatest);
  const std::vector<std::string> &one = rows[2], &other = rows[3]; // least and greatest mops are columns 20 and 21
  EXPECT_GE(least, 0.99 * std::stod(one[20]) / std::stod(other[21]) - 0.001);
  EXPECT_LE(greatest, 1.01 * std::stod(one[21]) / std::stod(other[20]) + 0.001);
}

TEST(Bench, EveryKindAndWidth) {
  for (std::string widths :
       {"kind = set\nkey_bits = 32\n", "kind = set\nkey_bits = 64\n", "kind = map\nkey_bits = 64\nvalue_bits = 32\n",
        "kind = map\nkey_bits = 32\nvalue_bits = 64\n", "kind = map\nkey_bits = 64\nvalue_bits = 64\n",
        "kind = multiset\nkey_bits = 32\n", "kind = multimap\nkey_bits = 32\nvalue_bits = 32\n"}) {
    Outcome outcome = bench({spec("w.ini", widths, "soa", "double_hashing"), "--n", "1000", "--repeat", "1"});
    EXPECT_EQ(outcome.status, 0) << widths << outcome.err;
    EXPECT_EQ(outcome.rows().size(), 5u);
  }
}

TEST(Bench, BatchesOfOneSpecAgainstBuildsOfAnother) {
  std::string a = spec("i.ini", map32, "packed", "double_hashing"), b = spec("r.ini", map32);
  for (std::string batch : {"1000", "999", "300", "1Mi"}) {
    Outcome outcome = bench({a, b, "--n", "1000", "--ops", "incremental,rebuild", "--repeat", "1", "--batch", batch});
    EXPECT_EQ(outcome.status, 0) << batch << outcome.err;
    auto rows = outcome.rows();
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0][0] + rows[0][3], a + "incremental");
    EXPECT_EQ(rows[3][0] + rows[3][3], b + "rebuild");
    for (auto &row : rows) EXPECT_GE(std::stod(row[9]), 1) << "probes of " << row[3];
  }
}

TEST(Bench, MultimapsWithSeveralPairsOfAKey) {
  const std::string ops = "insert,incremental,rebuild,find100,find50,find0,find_all,count_all,join,erase";
  for (auto &[widths, multiplicity] : {std::pair<std::string, std::string>("key_bits = 32\nvalue_bits = 32\n", "1"),
                                       {"key_bits = 32\nvalue_bits = 64\n", "7"},
                                       {"key_bits = 64\nvalue_bits = 32\n", "7"},
                                       {"key_bits = 32\nvalue_bits = 32\n", "1000"}}) {
    Outcome outcome = bench({spec("mm.ini", "kind = multimap\n" + widths, "soa", "double_hashing"), "--n", "1000",
                             "--repeat", "1", "--keys", "repeat:" + multiplicity, "--batch", "300", "--ops", ops});
    EXPECT_EQ(outcome.status, 0) << widths << multiplicity << outcome.err;
    EXPECT_EQ(outcome.rows().size(), 10u);
  }
  Outcome outcome = bench({spec("ms.ini", "kind = multiset\nkey_bits = 32\n", "soa", "double_hashing"), "--n", "1000",
                           "--repeat", "1", "--keys", "repeat:4", "--ops", "insert,find100,count_all,erase"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Bench, SeveralValuesOfAKeyNeedAMultimap) {
  const std::string map = spec("k.ini", map32),
                    set = spec("ms.ini", "kind = multiset\nkey_bits = 32\n", "soa", "double_hashing");
  for (auto &[path, kind] : {std::pair(map, "map"), std::pair(set, "multiset")}) {
    Outcome outcome = bench({path, "--n", "100", "--ops", "insert,find_all"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(path + " has kind = " + kind + ", and only a multimap"), std::string::npos)
        << outcome.err;
  }
  Outcome outcome = bench({map, "--n", "100", "--ops", "count_all"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

// Tables are as large as their distinct keys need, and what each makes of a key's pairs is known.
TEST(Bench, EveryDistribution) {
  const std::string path = spec("dist.ini", std::string(map32) + "duplicates = add\n");
  const std::vector<std::vector<std::string>> distinct = {
      {"distinct", "2000"}, {"repeat:64", "31"},      {"equal", "1"},          {"zipf:0:10", "10"},
      {"zipf:6:2", "2"},    {"strided:1000", "2000"}, {"low_bits:12", "2000"}, {"sequential", "2000"}};
  std::string keys;
  for (auto &pair : distinct) keys += (keys.empty() ? "" : ",") + pair[0];
  Outcome outcome =
      bench({path, "--n", "2000", "--repeat", "1", "--codes", "yes", "--keys", keys, "--ops", "insert,find50"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 2 * distinct.size());
  for (size_t i = 0; i < rows.size(); i++) {
    EXPECT_EQ(rows[i][6], "2000");
    EXPECT_EQ(rows[i][13] + " " + rows[i][14], distinct[i / 2][0] + " " + distinct[i / 2][1]);
  }
  EXPECT_NE(outcome.out.find("# ratio keys equal/distinct: " + path + ": insert at load 0.8: "), std::string::npos);
}

TEST(Bench, EveryPolicy) {
  for (auto &[kind, name] : {std::pair<std::string, std::string>("kind = set\nkey_bits = 32\n", "first"),
                             {map32, "first"},
                             {map32, "replace"},
                             {map32, "min"},
                             {map32, "max"},
                             {"kind = map\nkey_bits = 64\nvalue_bits = 64\n", "add"}}) {
    const std::string path = spec("policy.ini", kind + "duplicates = " + name + "\n", "soa", "double_hashing");
    Outcome outcome = bench({path, "--n", "2000", "--repeat", "1", "--codes", "yes", "--keys", "zipf:1.0", "--ops",
                             "insert,incremental,rebuild,find100,find0,count_all,erase", "--batch", "700"});
    EXPECT_EQ(outcome.status, 0) << kind << name << outcome.err;
    EXPECT_EQ(outcome.rows().size(), 7u);
  }
}

TEST(Bench, MultimapsOfEveryDistribution) {
  for (std::string keys : {"repeat:7", "zipf:0.5", "strided:3"}) {
    Outcome outcome =
        bench({spec("mz.ini", "kind = multimap\nkey_bits = 32\nvalue_bits = 32\n", "soa", "double_hashing"), "--n",
               "2000", "--repeat", "1", "--keys", keys, "--ops",
               "insert,incremental,rebuild,find100,find50,find0,find_all,count_all,erase"});
    EXPECT_EQ(outcome.status, 0) << keys << outcome.err;
  }
}

TEST(Bench, KeysOfAFile) {
  const std::string path = spec("kf.ini", std::string(map32) + "duplicates = add\n"),
                    file = testing::TempDir() + "k.u32";
  const uint32_t keys[] = {7, 42, 7, 0xFFFFFFFF, 42, 7, 0xFFFFFFFE, 0};
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char *>(keys), sizeof keys);
  Outcome outcome = bench({path, "--keys", "file:" + file, "--repeat", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(outcome.rows().size(), 5u);
  EXPECT_EQ(outcome.rows()[0][6] + " " + outcome.rows()[0][14], "8 5");
  outcome = bench({path, "--keys", "file:" + file, "--n", "3", "--repeat", "1"});
  EXPECT_EQ(outcome.rows()[0][6] + " " + outcome.rows()[0][14], "3 2");
  outcome = bench({path, "--keys", "file:" + file, "--n", "9"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("has 8 keys, fewer than --n 9"), std::string::npos) << outcome.err;
  std::ofstream(file, std::ios::app) << "x";
  outcome = bench({path, "--keys", "file:" + file});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("has 33 bytes, but must be keys of 32 bits"), std::string::npos) << outcome.err;
  outcome = bench({path, "--keys", "file:/nowhere/k.u32"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("cannot be read: No such file"), std::string::npos) << outcome.err;
}

TEST(Bench, KeysThatCannotBeAreRefusedBeforeAnythingIsMeasured) {
  const std::string map = spec("kr.ini", map32),
                    mixed = spec("km.ini", std::string(map32) + "concurrency = mixed\n", "packed", "double_hashing");
  auto refused = [](std::vector<std::string> words, const std::string &sentence) {
    Outcome outcome = bench(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  };
  refused({mixed, "--n", "100", "--ops", "mixed", "--keys", "repeat:2"}, "a mixed batch names each key once");
  refused({map, "--n", "10", "--keys", "repeat:11"}, "more than the 10 pairs of --n");
  refused({map, "--n", "10", "--keys", "low_bits:32"}, "must leave some of the key's 32 bits");
  refused({map, "--n", "100", "--keys", "low_bits:25"}, "too few for 100 of this kind and as many absent ones");
  refused({map, "--n", "100", "--ops", "insert", "--keys", "strided:2^26"}, "too few for 100 of this kind: use");
  Outcome outcome = bench({map, "--n", "64", "--repeat", "1", "--ops", "insert", "--keys", "strided:2^26,low_bits:26"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Bench, ATableThatIsPromisedDistinctKeysIsRefusedRepeatedOnesAndTheOthersGoOn) {
  const std::string map = spec("kr.ini", map32),
                    unique = spec("ku.ini", map32 + std::string("duplicates = promise_unique\n"));
  Outcome outcome = bench({unique, map, "--n", "100", "--repeat", "1", "--ops", "insert", "--keys", "distinct,equal"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> rows;
  for (const std::vector<std::string> &row : outcome.rows()) rows.push_back(row[0] + " " + row[13] + " " + row[11]);
  EXPECT_EQ(rows, (std::vector<std::string>{unique + " distinct yes", map + " distinct yes", unique + " equal refused",
                                            map + " equal yes"}));
  EXPECT_NE(
      outcome.err.find(unique + " at load 0.8 is refused: --keys equal: duplicates = promise_unique trusts that "),
      std::string::npos)
      << outcome.err;
}

TEST(Bench, MixedBatches) {
  const std::string set = "kind = set\nkey_bits = 32\n", map64 = "kind = map\nkey_bits = 64\nvalue_bits = 64\n",
                    multimap = "kind = multimap\nkey_bits = 32\nvalue_bits = 32\n";
  for (auto &[kind, mix] : {std::pair<std::string, std::string>(map32, ".2,.2,.3,.3"),
                            {map32, ".5,.5,0,0"},
                            {map32, "1,0,0,0"},
                            {map32, "0,1,0,0"},
                            {set, ".2,.2,.3,.3"},
                            {map64, "0,0,0,1"},
                            {multimap, ".1,.1,.4,.4"}}) {
    Outcome outcome = bench({spec("x.ini", kind + "concurrency = mixed\n", "packed", "double_hashing"), "--n", "1001",
                             "--loads", ".4", "--repeat", "1", "--ops", "mixed", "--mix", mix});
    EXPECT_EQ(outcome.status, 0) << kind << mix << outcome.err;
    ASSERT_EQ(outcome.rows().size(), 1u);
    EXPECT_GE(std::stod(outcome.rows()[0][9]), 1) << "probes";
  }
}

// The same keys, one call: the same pairs must come out, whatever the policy makes of those that come again.
TEST(Bench, ApplyInsertsWhatInsertDoes) {
  for (const std::string policy : {"first", "replace", "add", "max"}) {
    Outcome outcome = bench({spec("a.ini", map32 + std::string("concurrency = mixed\nduplicates = ") + policy + "\n",
                                  "packed", "double_hashing"),
                             "--n", "5000", "--repeat", "1", "--ops", "insert,apply", "--codes", "yes", "--keys",
                             "distinct,zipf:1.0,repeat:64,equal"});
    EXPECT_EQ(outcome.status, 0) << policy << outcome.err;
    ASSERT_EQ(outcome.rows().size(), 8u);
    for (auto &row : outcome.rows()) EXPECT_EQ(row[11], "yes") << outcome.err;
  }
}

TEST(Bench, PhasedTablesRefuseMixedBatches) {
  Outcome outcome = bench({spec("p.ini", map32, "packed", "double_hashing"), "--n", "100", "--ops", "mixed"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("use concurrency = mixed"), std::string::npos) << outcome.err;
}

TEST(Bench, ListsOfBucketsMayBeFullerThanTheirBuckets) {
  const std::string text = "[table]\nkey_bits = 32\nvalue_bits = 32\nlayout = slab\nprobing = slab_list\n"
                           "hasher = murmur3\nallocator = slab\nbackend = cpu\n";
  const std::string map = write_file("chain.ini", text + "kind = map\nconcurrency = mixed\n"),
                    multimap = write_file("chains.ini", text + "kind = multimap\n");
  Outcome outcome = bench({map, "--n", "2000", "--loads", ".5,4", "--repeat", "1", "--batch", "700", "--ops",
                           "insert,incremental,rebuild,find50,erase,mixed"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 12u);
  EXPECT_EQ(rows[11][7], "4");
  EXPECT_GT(std::stod(rows[11][12]), std::stod(rows[5][12])) << "utilization grows with the load";
  EXPECT_LT(std::stod(rows[11][12]), 1);
  outcome = bench({multimap, "--n", "2000", "--loads", "4", "--repeat", "1", "--keys", "repeat:50", "--ops",
                   "insert,find100,find_all,count_all,erase"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

// The words of a composition make it again, and say all that distinguishes it.
TEST(Bench, CompositionsAreWordsOfSet) {
  const std::string path = spec("c.ini", map32);
  auto composition = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {path, "--n", "500", "--repeat", "1", "--ops", "insert"});
    Outcome outcome = bench(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.rows().empty() ? "" : outcome.rows()[0][15];
  };
  const std::string plain = composition({});
  EXPECT_NE(plain.find("table.probing=cuckoo "), std::string::npos) << plain;
  EXPECT_NE(plain.find(" layout.bucket_slots=8"), std::string::npos) << plain;
  EXPECT_EQ(composition({"--set", "table.duplicates=first", "--set", "table.stash=0x0"}), plain) << "defaults";
  EXPECT_NE(composition({"--set", "table.duplicates=add"}), plain);
  const std::string other =
      composition({"--set", "table.stash=1K", "--set", "layout.bucket_slots=16", "--set", "table.probing=linear"});
  std::vector<std::string> again;
  std::istringstream words(other);
  for (std::string word; words >> word;) again.insert(again.end(), {"--set", word});
  EXPECT_NE(other.find("table.stash=1000"), std::string::npos) << other;
  EXPECT_EQ(composition(again), other);
}

// Whether a table can be so full is for its spec to say: that is a row, and the others are measured.
TEST(Bench, RefusedSpecsAreRows) {
  const std::string path = spec("l.ini", map32), bad = spec("lb.ini", std::string(map32) + "stash = 1Ki\ncolour = 1\n");
  Outcome outcome = bench({bad, path, "--n", "100", "--loads", ".8,1e9", "--ops", "insert", "--repeat", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 4u) << outcome.out;
  const std::vector<std::string> expected = {bad + " - 0.8 refused", path + " insert 0.8 yes", bad + " - 1e+09 refused",
                                             path + " - 1e+09 refused"};
  for (size_t i = 0; i < rows.size(); i++) {
    EXPECT_EQ(rows[i][0] + " " + rows[i][3] + " " + rows[i][7] + " " + rows[i][11], expected[i]);
    if (rows[i][11] == "refused") {
      EXPECT_EQ(rows[i][8] + rows[i][15] + rows[i][17], "---");
    }
  }
  EXPECT_NE(outcome.err.find(path + " at load 1e+09 is refused: --set table.load_factor=1e9: must be"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find(bad + " at load 0.8 is refused: "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out.find("# ratio"), std::string::npos) << "with nothing there is no ratio";
  outcome = bench({bad, "--n", "100"});
  EXPECT_EQ(outcome.status, 2) << "nothing was measured";
}

TEST(Bench, WidthsMustAgree) {
  Outcome outcome = bench({spec("m.ini", map32), spec("s.ini", "kind = set\nkey_bits = 32\n"), "--n", "100"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("same widths"), std::string::npos) << outcome.err;
}

TEST(Bench, CsvGoesToAFile) {
  std::string csv = testing::TempDir() + "rows.csv";
  std::remove(csv.c_str());
  Outcome outcome = bench({spec("f.ini", map32), "--n=100", "--ops=insert", "--repeat=1", "--out=" + csv});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::ifstream file(csv);
  std::string header, row;
  std::getline(file, header);
  std::getline(file, row);
  EXPECT_EQ(header.rfind("spec,backend,", 0), 0u);
  EXPECT_NE(row.find(",insert,32,32,100,0.8,"), std::string::npos) << row;
  EXPECT_EQ(bench({spec("f.ini", map32), "--n=100", "--out=" + csv}).status, 2) << "nothing is overwritten";
  EXPECT_EQ(bench({spec("f.ini", map32), "--n=50", "--ops=insert", "--repeat=1", "--append=" + csv}).status, 0);
  std::ifstream longer(csv);
  std::string first, second, third;
  std::getline(longer, first);
  std::getline(longer, second);
  std::getline(longer, third);
  EXPECT_EQ(first, header);
  EXPECT_EQ(second, row);
  EXPECT_NE(third.find(",insert,32,32,50,0.8,"), std::string::npos) << third;
  outcome = bench({spec("f.ini", map32), "--n=100", "--append=" + write_file("old.csv", "spec,backend\n")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("its first line does not name the columns"), std::string::npos) << outcome.err;
  outcome = bench({spec("f.ini", map32), "--n=100", "--out=" + testing::TempDir() + "nowhere/rows.csv"});
  EXPECT_EQ(outcome.status, 1);
}

TEST(Bench, NoKeysAreNoRows) {
  Outcome outcome = bench({spec("none.ini", map32), "--n", "0"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.rows().size(), 0u);
  EXPECT_NE(outcome.err.find("--n 0: there is nothing to measure"), std::string::npos) << outcome.err;
}

TEST(Bench, JsonHasTheSameRows) {
  const std::string path = spec("j.ini", map32), json = testing::TempDir() + "rows.json";
  Outcome outcome = bench({path, path, "--n", "100", "--repeat", "1", "--ops", "insert", "--json", json});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.rows().size(), 2u);
  std::ifstream file(json);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(
      text.rfind("{\"tessera\": \"" TSR_VERSION "\", \"rows\": [\n  {\"spec\": \"" + path + "\", \"backend\": \"cpu\"",
                 0),
      0u)
      << text;
  EXPECT_NE(text.find("\"n\": 100, \"load\": 0.8"), std::string::npos) << text;
  EXPECT_NE(text.find("\"pct_limit\": null, \"ok\": \"yes\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"ratio " + path), std::string::npos) << text;
  outcome = bench({path, "--n", "100", "--repeat", "1", "--ops", "insert", "--json", "-"});
  EXPECT_EQ(outcome.out.rfind("{\"tessera\": ", 0), 0u) << outcome.out;
}

TEST(Bench, TheCpuBackendSaysThatItHasNoTiles) {
  const std::string path = spec("t.ini", map32);
  Outcome outcome = bench({path, "--n", "100", "--loads", ".5,.8", "--repeat", "1", "--set", "layout.tile_lanes=4"});
  EXPECT_EQ(outcome.status, 0);
  const size_t at = outcome.err.find("tile_lanes = 4 is for GPUs");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("is for GPUs", at + 30), std::string::npos) << "once";
  EXPECT_EQ(bench({path, "--n", "100", "--repeat", "1"}).err, "");
}

// Two buckets a key and no evictions cannot fill a table to its last slot.
TEST(Bench, KeysWithoutAPlaceAreNotedAndTheRestIsRight) {
  std::string path = spec("full.ini", map32);
  Outcome outcome = bench({path, "--n", "4096", "--loads", "1", "--repeat", "1", "--set", "probing.max_chain=1",
                           "--set", "probing.hash_functions=2"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("of 4096 keys found no room and were handed back"), std::string::npos) << outcome.err;
  auto rows = outcome.rows();
  ASSERT_EQ(rows.size(), 5u) << outcome.err;
  EXPECT_EQ(rows[0][11], "no");
  // the row has the most of all turns, the sentence those of the first; threads race, so that turns differ by a few
  const size_t said = outcome.err.find("insert: ");
  ASSERT_NE(said, std::string::npos) << outcome.err;
  const int first = std::stoi(outcome.err.substr(said + 8)), most = std::stoi(rows[0][16]);
  EXPECT_GT(first, 0);
  EXPECT_GE(most, first) << outcome.err;
  EXPECT_LT(most, first + 200) << outcome.err;
  for (size_t i = 1; i < rows.size(); i++) EXPECT_EQ(rows[i][11], "yes") << rows[i][3] << outcome.err;
}

TEST(Roofline, WrongArgumentsAreRefused) {
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{
           {"x"}, {"--device"}, {"--device", "-1"}, {"--footprint", "1Gi,"}, {"--footprint", "5"}, {"--size", "1"}}) {
    Outcome outcome = run(tsr_roofline_command, words);
    EXPECT_EQ(outcome.status, 2) << words[0];
    EXPECT_NE(outcome.err, "");
  }
}

TEST(BenchPools, RowsOfAllocators) {
  // a table's spec will do; and so does an allocator alone
  for (std::string text :
       {std::string(map32) + "layout = packed\nprobing = cuckoo\nhasher = murmur3\n", std::string()}) {
    std::string path = write_file("pool.ini", "[table]\nbackend = cpu\nallocator = slab\n" + text);
    Outcome outcome = run(tsr_bench_command, {path, "--n", "5000", "--loads", ".5,1", "--repeat", "1", "--units", "2",
                                              "--ops", "churn,allocate,release", "--plugins", "allocators"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    auto rows = outcome.rows();
    ASSERT_EQ(rows.size(), 12u) << outcome.out;
    for (auto &row : rows) {
      EXPECT_EQ(row[1] + row[4] + row[5] + row[6], "cpu005000");
      EXPECT_GT(std::stod(row[8]), 0);
      EXPECT_EQ(row[11], "yes");
    }
    EXPECT_GE(std::stod(rows[0][9]), 1);
  }
}

TEST(BenchPools, NeedAnAllocator) {
  Outcome outcome = bench({spec("t.ini", map32), "--n", "100", "--ops", "allocate"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("names no allocator"), std::string::npos) << outcome.err;
}

} // namespace
