// SPDX-License-Identifier: Apache-2.0
//
// A table of some recipe beside its oracle, for the tests of this folder: they derive from it beside their GoogleTest
// fixture. Read next: multi_test.cc, lists_test.cc, apply_test.cc.
#ifndef TSR_TESTS_JUDGED_H
#define TSR_TESTS_JUDGED_H

#include <memory>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/conformance/kit.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/subject.h"

namespace tessera_test {

inline tsr_table *made(const tsr_spec *spec) {
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  tsr_table *table = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  return table;
}

inline void expect_refused(tsr_status status, tsr_status expected, const tsr_error &error, const char *word) {
  EXPECT_EQ(status, expected) << error.message;
  EXPECT_NE(strstr(error.message, word), nullptr) << error.message;
  expect_sentence(error, word);
}

// Why no table can be made of the recipe with these settings, "" if one can.
inline std::string refusal_of(const Recipe &recipe, const std::vector<const char *> &settings) {
  SpecPointer spec = spec_of(recipe);
  tsr_error error = {};
  for (const char *setting : settings)
    if (tsr_spec_set(spec.get(), setting, &error)) return error.message;
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  tsr_table *table = nullptr;
  const tsr_status status = tsr_table_create(spec.get(), &options, &table, &error);
  tsr_table_destroy(table);
  return status ? error.message : "";
}

class Judged {
public:
  virtual ~Judged() = default;

protected:
  void create(const Recipe &recipe, const std::vector<std::string> &settings = {}) {
    SpecPointer spec = spec_of(recipe);
    tsr_error error = {};
    for (const std::string &setting : settings)
      ASSERT_EQ(tsr_spec_set(spec.get(), setting.c_str(), &error), TSR_OK) << error.message;
    tsr_table *table = made(spec.get());
    ASSERT_NE(table, nullptr) << recipe;
    table_ = std::make_unique<Table>(table, recipe.key_bits, recipe.value_bits, 8 * recipe.value_bytes);
    oracle_ = std::make_unique<Oracle>(recipe.duplicates, recipe.value_bits);
  }

  tsr_table_info info() {
    tsr_table_info info = {};
    tsr_table_describe(table_->get(), &info);
    return info;
  }

  tsr_usage usage() {
    tsr_usage usage = {};
    tsr_error error = {};
    EXPECT_EQ(tsr_table_usage(table_->get(), &usage, &error), TSR_OK) << error.message;
    return usage;
  }

  tsr_report report() {
    tsr_report report = {};
    tsr_error error = {};
    EXPECT_EQ(tsr_table_report(table_->get(), &report, &error), TSR_OK) << error.message;
    return report;
  }

  // Everything that can be asked agrees with the oracle.
  void expect_all(const std::vector<uint64_t> &keys) {
    uint64_t size = 0;
    std::vector<uint64_t> all_keys, all_values;
    ASSERT_EQ(table_->size(&size), "");
    ASSERT_EQ(size, oracle_->size());
    ASSERT_EQ(table_->exported(&all_keys, &all_values), "");
    ASSERT_EQ(oracle_->exported(all_keys, all_values), "");
    Batch batch;
    batch.keys = keys;
    ASSERT_EQ(table_->count_all(batch), "");
    ASSERT_EQ(oracle_->count_all(batch), "");
    if (table_->value_bits) {
      ASSERT_EQ(table_->find_all(batch, size), "");
      ASSERT_EQ(oracle_->find_all(batch), "");
      ASSERT_EQ(table_->find(batch, 99), "");
      ASSERT_EQ(oracle_->find(batch, 99), "");
    }
    ASSERT_EQ(table_->check(), "");
  }

  void insert(Batch &batch) {
    ASSERT_EQ(table_->insert(batch), "");
    ASSERT_EQ(oracle_->insert(batch), "");
  }

  void erase(Batch &batch) {
    ASSERT_EQ(table_->erase(batch), "");
    ASSERT_EQ(oracle_->erase(batch), "");
  }

  std::unique_ptr<Table> table_;
  std::unique_ptr<Oracle> oracle_;
};

} // namespace tessera_test

#endif
