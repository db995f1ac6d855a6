// SPDX-License-Identifier: Apache-2.0
//
// tools/lab/predict.h: limits between those that are listed, and the errors that core/design/0038 states.
#include "tools/lab/predict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "command.h"
#include "tools/lab/results.h"

namespace {

class Predict : public testing::Test {
protected:
  std::map<std::string, tsr_card> cards;
  tsr_card &card = cards["h100"];
  void SetUp() override {
    tsr_error error;
    for (const char *name : {"h100", "h200"}) {
      const std::string path = std::string("specs/cards/") + name + ".csv";
      ASSERT_EQ(tsr_card_read(path.c_str(), &cards[name], &error), TSR_OK) << error.message;
    }
  }
  void TearDown() override {
    for (auto &[name, one] : cards) tsr_card_free(&one);
  }
};

TEST_F(Predict, LimitsAreInterpolated) {
  const double mi = 1 << 20, gi = 1 << 30;
  const double exact = tsr_card_rate(&card, "read", 64, 1, gi), next = tsr_card_rate(&card, "read", 64, 1, 2 * gi);
  EXPECT_NEAR(exact, 28.2, 0.1);
  EXPECT_NEAR(tsr_card_rate(&card, "read", 64, 1, gi * std::sqrt(2)), std::sqrt(exact * next), 0.01) << "footprints";
  EXPECT_DOUBLE_EQ(tsr_card_rate(&card, "read", 64, 1, mi / 4), tsr_card_rate(&card, "read", 64, 1, mi));
  EXPECT_DOUBLE_EQ(tsr_card_rate(&card, "read", 48, 1, gi), exact) << "bytes are rounded up";
  const double one = tsr_card_rate(&card, "read", 128, 1, gi), eight = tsr_card_rate(&card, "read", 128, 8, gi);
  EXPECT_NEAR(tsr_card_rate(&card, "read", 128, 2, gi), std::pow(one, 2. / 3) * std::pow(eight, 1. / 3), 0.01)
      << "lanes";
  EXPECT_DOUBLE_EQ(tsr_card_rate(&card, "read", 256, 1, gi), one / 2) << "fewer lanes than are listed";
  EXPECT_EQ(tsr_card_rate(&card, "write", 64, 1, gi), 0);
}

// Median of |predicted / measured - 1| of one card and operation.
std::map<std::string, double> errors(const std::map<std::string, tsr_card> &cards) {
  std::map<std::string, std::vector<double>> all;
  tsr_results r = {};
  tsr_error error;
  EXPECT_EQ(tsr_results_read("tests/lab/predicted.csv", &r, &error), TSR_OK) << error.message;
  const auto text = [&r](size_t row, const char *name) {
    return std::string(tsr_results_field(&r, row, tsr_results_column(&r, name)));
  };
  const auto number = [&](size_t row, const char *name) { return std::stod(text(row, name)); };
  for (size_t row = 0; row < r.row_count; row++) {
    tsr_work work = {};
    const std::string op = text(row, "op"), order = number(row, "by_pages") ? " by pages" : "";
    work.kind = op == "insert" ? TSR_WORK_INSERT : op == "find0" ? TSR_WORK_FIND_ABSENT : TSR_WORK_FIND;
    work.by_pages = number(row, "by_pages") != 0;
    work.looks = number(row, "looks") != 0;
    work.n = static_cast<uint64_t>(number(row, "n"));
    work.key_bytes = static_cast<uint32_t>(number(row, "key_bits")) / 8;
    work.value_bytes = static_cast<uint32_t>(number(row, "value_bits")) / 8;
    work.bucket_bytes = static_cast<uint32_t>(number(row, "bucket_bytes"));
    work.bucket_slots = static_cast<uint32_t>(number(row, "bucket_slots"));
    work.has_short_keys = number(row, "has_short_keys") != 0;
    work.lanes = static_cast<uint32_t>(number(row, "lanes"));
    work.table_bytes = number(row, "table_bytes");
    work.is_apart = number(row, "is_apart") != 0;
    work.probes = number(row, "probes");
    work.warp_probes = number(row, "warp_probes");
    const std::string card = text(row, "card");
    all[card + " " + (op == "insert" ? op + order : "find")].push_back(
        std::fabs(tsr_predict(&cards.at(card), &work) / number(row, "measured") - 1));
  }
  tsr_results_free(&r);
  std::map<std::string, double> medians;
  for (auto &[name, each] : all) {
    std::sort(each.begin(), each.end());
    medians[name] = each[each.size() / 2];
    printf("%-28s %3zu rows, median error %4.1f %%, nine of ten below %4.1f %%\n", name.c_str(), each.size(),
           100 * medians[name], 100 * each[each.size() * 9 / 10]);
  }
  return medians;
}

TEST_F(Predict, ErrorsAreThoseStated) {
  auto of = errors(cards);
  const auto percent = [&of](const char *set) { return std::lround(100 * of[set]); };
  EXPECT_EQ(percent("h200 find"), TSR_PREDICT_ERROR_FINDS);
  EXPECT_EQ(percent("h200 insert"), TSR_PREDICT_ERROR_INSERTS);
  EXPECT_EQ(percent("h200 insert by pages"), TSR_PREDICT_ERROR_PAGES);
}

// What a user learns from it: which way a change goes.
TEST_F(Predict, RatesGoTheRightWay) {
  tsr_work work = {};
  work.kind = TSR_WORK_FIND;
  work.n = 1 << 24;
  work.key_bytes = work.value_bytes = 4;
  work.bucket_bytes = 64;
  work.bucket_slots = 8;
  work.lanes = 2;
  work.table_bytes = 168e6;
  work.probes = 1.1;
  work.warp_probes = 1.96;
  const double rate = tsr_predict(&card, &work);
  EXPECT_NEAR(rate, 28.3, 3) << "best_find at load 0.8, as measured (specs/results/best_map.csv)";
  tsr_work other = work;
  other.probes = 2.2;
  other.warp_probes = 3.9;
  EXPECT_LT(tsr_predict(&card, &other), rate / 1.5);
  other = work;
  other.n = 1 << 12;
  EXPECT_LT(tsr_predict(&card, &other), 0.5) << "a call costs microseconds";
  other = work;
  other.kind = TSR_WORK_INSERT;
  EXPECT_LT(tsr_predict(&card, &other), rate / 2);
  other.by_pages = true;
  EXPECT_GT(tsr_predict(&card, &other), rate) << "large inserts in the order of pages";
}

TEST(Card, WhatIsNoneIsRefused) {
  tsr_card card;
  tsr_error error;
  const std::string path = write_file("card.csv", "name,bytes,lanes,footprint_bytes,giga_per_second\n"
                                                  "read,32,1,1073741824,32.6\nread,64,1,1073741824,28.2\n");
  EXPECT_EQ(tsr_card_read(path.c_str(), &card, &error), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("has no rate of cas: it must be what `tessera roofline"), std::string::npos)
      << error.message;
  EXPECT_EQ(tsr_card_read("/nowhere/card.csv", &card, &error), TSR_NOT_FOUND);
}

} // namespace
