// SPDX-License-Identifier: Apache-2.0
//
// Programs and libraries of different versions: structs are filled as far as their size says, and options beyond what the
// library knows are refused.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/tessera_tools.h"
#include "tests/table/judged.h"

namespace {

struct NewerInfo {
  tsr_table_info known;
  uint64_t more;
};
struct NewerOptions {
  tsr_options known;
  uint64_t more;
};

class Sizes : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(tsr_spec_parse("[table]\nkind = set\nkey_bits = 32\ncapacity = 100\nlayout = packed\nprobing = linear\n"
                             "hasher = murmur3\nbackend = cpu\n",
                             "sizes", &spec_, &error_),
              TSR_OK)
        << error_.message;
    plugins_ = tessera_test::plugin_directories();
  }
  void TearDown() override {
    tsr_table_destroy(table_);
    tsr_spec_free(spec_);
  }
  tsr_status create(const tsr_options *options) { return tsr_table_create(spec_, options, &table_, &error_); }

  tsr_error error_ = {};
  tsr_spec *spec_ = nullptr;
  tsr_table *table_ = nullptr;
  std::string plugins_;
};

TEST_F(Sizes, AnOlderProgramsStructIsNotOverrun) {
  tsr_options options = {};
  options.plugins = plugins_.c_str();
  ASSERT_EQ(create(&options), TSR_OK) << error_.message;
  tsr_table_info info;
  memset(&info, 0x5A, sizeof info);
  info.size = offsetof(tsr_table_info, buckets);
  tsr_table_describe(table_, &info);
  EXPECT_EQ(info.size, offsetof(tsr_table_info, buckets));
  EXPECT_EQ(info.capacity, 100u);
  EXPECT_EQ(info.buckets, 0x5A5A5A5A5A5A5A5Au);
  EXPECT_EQ(info.seed, 0x5A5A5A5A5A5A5A5Au);
}

TEST_F(Sizes, ANewerProgramsMembersBecomeZero) {
  tsr_options options = {};
  options.plugins = plugins_.c_str();
  ASSERT_EQ(create(&options), TSR_OK) << error_.message;
  NewerInfo info = {};
  info.known.size = sizeof info;
  info.more = 7;
  tsr_table_describe(table_, &info.known);
  EXPECT_EQ(info.known.capacity, 100u);
  EXPECT_EQ(info.known.seed, 1u);
  EXPECT_EQ(info.more, 0u);
}

// A struct on the stack that nobody set to zero.
TEST_F(Sizes, AStructOfNoSizeIsLeftAlone) {
  tsr_options options = {};
  options.plugins = plugins_.c_str();
  ASSERT_EQ(create(&options), TSR_OK) << error_.message;
  for (const size_t size : {size_t{1}, size_t{7}, (size_t{1} << 16) + 1, SIZE_MAX}) {
    SCOPED_TRACE(size);
    tsr_table_info info;
    memset(&info, 0x5A, sizeof info);
    info.size = size;
    tsr_table_describe(table_, &info);
    EXPECT_EQ(info.capacity, 0x5A5A5A5A5A5A5A5Au);
    tsr_call call = {};
    call.size = size;
    const uint32_t key = 5;
    EXPECT_EQ(tsr_insert(table_, 1, &key, nullptr, &call, &error_), TSR_BAD_ARGUMENT);
    EXPECT_NE(std::string(error_.message).find("set it to sizeof the struct"), std::string::npos) << error_.message;
  }
}

TEST_F(Sizes, AnOlderProgramsOptionsEndWhereTheySay) {
  tsr_options options = {};
  options.plugins = plugins_.c_str();
  options.capacity = 5000;
  options.seed = 99;
  options.size = offsetof(tsr_options, seed);
  ASSERT_EQ(create(&options), TSR_OK) << error_.message;
  tsr_table_info info = {};
  tsr_table_describe(table_, &info);
  EXPECT_EQ(info.capacity, 5000u);
  EXPECT_EQ(info.seed, 1u);
}

TEST_F(Sizes, ANewerProgramsOptionIsRefusedUnlessItIsZero) {
  NewerOptions options = {};
  options.known.plugins = plugins_.c_str();
  options.known.size = sizeof options;
  options.more = 7;
  EXPECT_EQ(create(&options.known), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error_.message).find("tsr_table_create: size = "), std::string::npos) << error_.message;
  options.more = 0;
  EXPECT_EQ(create(&options.known), TSR_OK) << error_.message;
}

TEST_F(Sizes, EachOperationRefusesWhatOnlyTheProgramKnows) {
  struct {
    tsr_call known;
    uint64_t more;
  } call = {};
  tsr_options options = {};
  options.plugins = plugins_.c_str();
  ASSERT_EQ(create(&options), TSR_OK) << error_.message;
  call.known.size = sizeof call;
  call.more = 7;
  const uint32_t key = 5;
  uint32_t value = 6;
  uint8_t present;
  EXPECT_EQ(tsr_insert(table_, 1, &key, nullptr, &call.known, &error_), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_find(table_, 1, &key, &value, &call.known, &error_), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_contains(table_, 1, &key, &present, &call.known, &error_), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error_.message).find("tsr_contains: size = "), std::string::npos) << error_.message;
  EXPECT_EQ(tsr_erase(table_, 1, &key, &call.known, &error_), TSR_BAD_ARGUMENT);
}

TEST(Version, IsThatOfTheHeader) { EXPECT_STREQ(tsr_version(), TSR_VERSION); }

} // namespace
