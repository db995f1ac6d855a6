// SPDX-License-Identifier: Apache-2.0
//
// Which way a large batch of inserts goes (core/batch/plan.h), compared with the measured rates of both ways. No device is
// asked: ways.csv has the rates, and what a sample shows is what it shows on average.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/batch/plan.h"
#include "core/compose/compose.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint64_t kCacheBytes = 50 << 20;
constexpr double kLoad = 0.8, kHeldShare = 0.4; // of the slots

// A row of ways.csv. Rates are in billion items per second.
struct Cell {
  std::string table, keys;
  uint64_t n = 0;
  bool has_answers = false, is_held = false;
  double batch_over_slots = 0, at_random = 0, in_order = 0;
};

std::vector<std::string> fields_of(const std::string &line) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

std::vector<Cell> measured() {
  std::ifstream file("tests/table/ways.csv");
  std::vector<Cell> cells;
  std::vector<std::string> head;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    if (head.empty()) {
      head = fields_of(line);
      continue;
    }
    std::map<std::string, std::string> row;
    const std::vector<std::string> fields = fields_of(line);
    for (size_t i = 0; i < fields.size() && i < head.size(); i++) row[head[i]] = fields[i];
    cells.push_back({row["table"], row["keys"], uint64_t{1} << std::stoul(row["n_log2"]), row["answers"] == "results",
                     row["held"] == "held", std::stod(row["batch_over_slots"]), std::stod(row["at_random"]),
                     std::stod(row["in_order"])});
  }
  return cells;
}

struct Table {
  const char *kind, *probing;
  uint32_t duplicates, key_bits, value_bits, bucket_slots;
};
const std::map<std::string, Table> kTables = {
    {"first 32", {"", "double_hashing", TSR_DUPLICATES_FIRST, 32, 32, 8}},
    {"first 64", {"", "double_hashing", TSR_DUPLICATES_FIRST, 64, 64, 4}},
    {"replace 32", {"", "double_hashing", TSR_DUPLICATES_REPLACE, 32, 32, 8}},
    {"replace 64", {"", "double_hashing", TSR_DUPLICATES_REPLACE, 64, 64, 4}},
    {"add 32", {"", "double_hashing", TSR_DUPLICATES_ADD, 32, 32, 8}},
    {"add 64", {"", "double_hashing", TSR_DUPLICATES_ADD, 64, 64, 4}},
    {"max 32", {"", "double_hashing", TSR_DUPLICATES_MAX, 32, 32, 8}},
    {"count 32", {"counter", "double_hashing", TSR_DUPLICATES_ADD, 32, 32, 8}},
    {"unique 32", {"", "cuckoo", TSR_DUPLICATES_PROMISE_UNIQUE, 32, 32, 8}},
    {"set 32", {"", "cuckoo", TSR_DUPLICATES_FIRST, 32, 0, 16}},
    {"set 8 32", {"", "cuckoo", TSR_DUPLICATES_FIRST, 32, 0, 8}},
    {"set 64", {"", "cuckoo", TSR_DUPLICATES_FIRST, 64, 0, 8}},
    {"index 64", {"index", "double_hashing", TSR_DUPLICATES_FIRST, 64, 32, 8}},
    {"index 32", {"index", "double_hashing", TSR_DUPLICATES_FIRST, 32, 32, 8}},
    {"seen 64", {"index first_seen", "double_hashing", TSR_DUPLICATES_FIRST, 64, 32, 8}},
};

CompositionPointer composition_of(const Cell &cell) {
  const Table &table = kTables.at(cell.table);
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = "packed";
  recipe.part[TSR_ROLE_PROBING] = table.probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.key_bits = table.key_bits;
  recipe.value_bits = table.value_bits;
  recipe.duplicates = table.duplicates;
  recipe.load_factor = "0.8";
  const SpecPointer spec = spec_of(recipe);
  std::vector<std::string> entries = {"table.page_bytes=auto",
                                      "layout.bucket_slots=" + std::to_string(table.bucket_slots)};
  const std::string kind = table.kind;
  if (table.kind[0]) entries.push_back("table.duplicates=");
  if (kind.find("index") == 0) entries.push_back("table.value_bits=");
  if (table.kind[0]) entries.push_back("table.kind=" + kind.substr(0, kind.find(' ')));
  if (kind.find("first_seen") != std::string::npos) entries.push_back("table.numbering=first_seen");
  for (const std::string &entry : entries) EXPECT_EQ(tsr_spec_set(spec.get(), entry.c_str(), nullptr), TSR_OK) << entry;
  const std::string plugins = plugin_directories();
  tsr_options options = {};
  options.plugins = plugins.c_str();
  options.capacity = static_cast<uint64_t>(kLoad * static_cast<double>(cell.n) / cell.batch_over_slots) + 1;
  tsr_composition *made = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_compose(spec.get(), &options, 90, 1, &made, &error), TSR_OK) << error.message;
  return CompositionPointer(made);
}

// Sums of a function of the shares of n ids by Zipf's law with exponent s. Ids are taken in blocks, the later the larger.
template <class F>
double sum_of_shares(uint64_t n, double s, F term) {
  double sum = 0;
  for (uint64_t id = 1, block = 1; id <= n; id += block) {
    block = 1 + id / 256;
    const double many = static_cast<double>(std::min(block, n + 1 - id));
    sum += many * term(std::pow(static_cast<double>(id) + (many - 1) / 2, -s));
  }
  return sum;
}

// How many items of a sample have the key of another one that is counted already, on average.
double repeats_in(const Cell &cell, double sample) {
  const double n = static_cast<double>(cell.n);
  const size_t colon = cell.keys.find(':');
  const double parameter = colon == std::string::npos ? 1 : std::stod(cell.keys.substr(colon + 1));
  if (cell.keys.compare(0, 4, "zipf") != 0) return sample - n / parameter * (1 - std::pow(1 - sample / n, parameter));
  const double whole = sum_of_shares(cell.n, parameter, [](double share) { return share; });
  return sample -
         sum_of_shares(cell.n, parameter, [&](double share) { return 1 - std::pow(1 - share / whole, sample); });
}

tsr_stages plan_of(const Cell &cell) {
  tsr_batch batch = {};
  batch.op = TSR_BULK_insert;
  batch.n = cell.n;
  batch.is_clear = !cell.is_held;
  if (cell.is_held)
    batch.held = static_cast<uint64_t>(kHeldShare * static_cast<double>(cell.n) / cell.batch_over_slots);
  batch.has_answers = cell.has_answers;
  batch.cache_bytes = kCacheBytes;
  return tsr_plan_batch(composition_of(cell).get(), &batch);
}

bool goes_at_random(const Cell &cell, const tsr_stages &stages) {
  if (stages.order != TSR_ORDER_PAGES) return true;
  const double repeats = repeats_in(cell, std::ldexp(1, static_cast<int>(stages.judged.sample_log2)));
  const tsr_judged &judged = stages.judged;
  return judged.sample_log2 && ((repeats >= judged.from && repeats < judged.before) || repeats >= judged.hot);
}

// By how much the faster way is faster than the chosen one, a share; with the sample that chooses it.
double loss_of(const Cell &cell, const tsr_stages &stages) {
  const double chosen = goes_at_random(cell, stages) ? cell.at_random : cell.in_order;
  return std::max(cell.at_random, cell.in_order) / chosen - 1;
}
double loss_with_sample(const Cell &cell, const tsr_stages &stages) {
  constexpr double kSampleNs = 20000;
  const double share = stages.judged.sample_log2 ? kSampleNs / static_cast<double>(cell.n) : 0;
  return loss_of(cell, stages) + std::max(cell.at_random, cell.in_order) * share;
}

// What remains are small batches, in which a sample costs as much as it gains, and cells between two rows of the rules.
TEST(Ways, TheFasterOneIsChosenInNearlyEveryMeasuredCell) {
  constexpr double kLoss = 0.05, kMuch = 0.1, kMost = 0.42;
  const std::vector<Cell> cells = measured();
  ASSERT_GE(cells.size(), 1900u);
  size_t at_random = 0, wrong = 0, much = 0, losing = 0, losing_much = 0;
  for (const Cell &cell : cells) {
    const tsr_stages stages = plan_of(cell);
    const double loss = loss_of(cell, stages), with_sample = loss_with_sample(cell, stages);
    at_random += goes_at_random(cell, stages);
    wrong += loss > kLoss;
    much += loss > kMuch;
    losing += with_sample > kLoss;
    losing_much += with_sample > kMuch;
    EXPECT_LE(with_sample, kMost) << cell.table << ", " << cell.n << " items, " << cell.keys << ", "
                                  << cell.batch_over_slots << " times the slots, answers " << cell.has_answers
                                  << ": at random " << cell.at_random << ", in order " << cell.in_order;
  }
  EXPECT_LE(wrong, 50u);
  EXPECT_LE(much, 20u);
  EXPECT_LE(losing, 190u);
  EXPECT_LE(losing_much, 49u);
  EXPECT_GT(at_random, cells.size() / 4);
  EXPECT_LT(at_random, cells.size() * 3 / 4);
}

// Without results an insert may be planned as if it had some, because where pairs move they say what is left to combine.
TEST(Ways, WhatGoesAtRandomWithoutResultsDoesSoWithThem) {
  for (Cell cell : measured()) {
    cell.has_answers = false;
    if (plan_of(cell).order == TSR_ORDER_PAGES) continue;
    cell.has_answers = true;
    EXPECT_NE(plan_of(cell).order, TSR_ORDER_PAGES)
        << cell.table << ", " << cell.n << " items, " << cell.batch_over_slots;
  }
}

} // namespace
} // namespace tessera_test
