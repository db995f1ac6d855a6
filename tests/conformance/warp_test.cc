// SPDX-License-Identifier: Apache-2.0
//
// The multi-lane kit tested itself: right tiles pass, and each way to break step is reported.
#include "tests/conformance/warp.h"

#include <gtest/gtest.h>

namespace tessera_test {
namespace {

uint32_t ballot(const Warp &tile, uint32_t lane, uint32_t predicate) {
  return tile.services()->ballot(tile.services()->self, lane, predicate);
}
uint64_t shuffle(const Warp &tile, uint32_t lane, uint64_t value, uint32_t from) {
  return tile.services()->shuffle(tile.services()->self, lane, value, from);
}

TEST(WarpKit, BallotsAndShufflesAgree) {
  for (uint32_t lanes : {1u, 2u, 4u, 8u}) {
    Warp tile(lanes);
    for (int run = 0; run < 3; run++) {
      std::atomic<uint32_t> wrong{0};
      EXPECT_EQ(tile.run([&](uint32_t lane) {
        for (uint32_t i = 0; i < 200; i++) {
          wrong += ballot(tile, lane, i >> lane & 1u) != (i & ((1u << lanes) - 1u));
          wrong += shuffle(tile, lane, i * 100 + lane, i % lanes) != i * 100 + i % lanes;
        }
      }),
                "");
      EXPECT_EQ(wrong.load(), 0u);
    }
    EXPECT_EQ(tile.collectives(), 3u * 400);
  }
}

TEST(WarpKit, TilesMeet) {
  Warp warp(2, 3);
  std::atomic<uint32_t> wrong{0};
  EXPECT_EQ(warp.run([&](uint32_t lane) {
    const uint32_t tile = lane / 2;
    for (uint32_t i = 0; i < 100; i++) wrong += ballot(warp, lane, tile == i % 3) != 3u << 2 * (i % 3);
  }),
            "");
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(WarpKit, ReportsATileThatSkipsWhatTheWarpDoes) {
  Warp warp(2, 2);
  std::string complaint = warp.run([&](uint32_t lane) {
    if (lane < 2) ballot(warp, lane, 1); // only the first tile has work
  });
  EXPECT_NE(complaint.find("has returned"), std::string::npos) << complaint;
  complaint = warp.run([&](uint32_t lane) {
    if (lane < 2) shuffle(warp, lane, 1, 0);
    ballot(warp, lane, 1);
    if (lane >= 2) shuffle(warp, lane, 1, 2);
  });
  EXPECT_NE(complaint.find("different collectives"), std::string::npos) << complaint;
}

TEST(WarpKit, ReportsAShuffleFromAnotherTile) {
  Warp warp(2, 2);
  std::string complaint = warp.run([&](uint32_t lane) { shuffle(warp, lane, 1, 1); });
  EXPECT_NE(complaint.find("a shuffle from lane"), std::string::npos) << complaint;
}

TEST(WarpKit, ReportsALaneThatReturnsEarly) {
  Warp tile(4);
  std::string complaint = tile.run([&](uint32_t lane) {
    ballot(tile, lane, 1);
    if (lane != 2) ballot(tile, lane, 1);
  });
  EXPECT_NE(complaint.find("has returned"), std::string::npos) << complaint;
}

TEST(WarpKit, ReportsDifferentCollectives) {
  Warp tile(2);
  std::string complaint = tile.run([&](uint32_t lane) {
    if (lane == 0)
      ballot(tile, lane, 1);
    else
      shuffle(tile, lane, 1, 0);
  });
  EXPECT_NE(complaint.find("different collectives"), std::string::npos) << complaint;
}

TEST(WarpKit, ReportsAShuffleFromNowhere) {
  Warp tile(2);
  std::string complaint = tile.run([&](uint32_t lane) { shuffle(tile, lane, 1, 2); });
  EXPECT_NE(complaint.find("from lane 2 of 2"), std::string::npos) << complaint;
  EXPECT_EQ(tile.run([&](uint32_t lane) { ballot(tile, lane, 1); }), "") << "a tile must recover";
}

} // namespace
} // namespace tessera_test
