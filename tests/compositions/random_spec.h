// SPDX-License-Identifier: Apache-2.0
//
// Random specs over every part, parameter, kind, policy and width that there is. No plugin is named: what there is to
// choose from is what tsr_plugins_list finds. Read next: fuzz.cc.
#ifndef TSR_TESTS_RANDOM_SPEC_H
#define TSR_TESTS_RANDOM_SPEC_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/random.h"

namespace tessera_test {

struct FreeSpec {
  void operator()(tsr_spec *spec) const { tsr_spec_free(spec); }
};

// The entries of a spec: section and key -> value.
class RandomSpec {
public:
  using Entry = std::pair<std::string, std::string>;

  std::string get(const std::string &section, const std::string &key) const {
    auto at = entries_.find({section, key});
    return at == entries_.end() ? "" : at->second;
  }
  void set(const std::string &section, const std::string &key, const std::string &value) {
    entries_[{section, key}] = value;
  }
  void drop(const Entry &entry) { entries_.erase(entry); }
  std::vector<Entry> optional() const; // entries without which it is still a spec

  std::string text() const;
  std::unique_ptr<tsr_spec, FreeSpec> parse() const; // NULL if it is not an INI file

  uint32_t key_bits() const { return bits("key_bits") > 64 ? 128 : bits("key_bits"); } // 96: three numbers, in 16 bytes
  uint32_t value_bits() const { return bits("value_bits") % 32 ? 32 : bits("value_bits"); } // as they come and go
  uint32_t value_bytes() const { return bits("value_bytes") ? bits("value_bytes") : value_bits() / 8; }
  uint32_t policy() const; // TSR_DUPLICATES_

private:
  uint32_t bits(const char *key) const {
    return static_cast<uint32_t>(strtoul(get("table", key).c_str(), nullptr, 10));
  }
  std::map<Entry, std::string> entries_;
};

// What there is to choose from.
class Parts {
public:
  // plugins: as in tsr_options. On failure `complaint` is what is wrong.
  Parts(const char *plugins, std::string *complaint);
  // A spec, which the parts may refuse. The same for the same `random`, parts and backend.
  RandomSpec draw(Random &random, const std::string &backend) const;

private:
  struct Parameter {
    std::string name;
    uint64_t initial, minimum, maximum;
  };
  struct Part {
    std::string name;
    std::vector<Parameter> parameters;
  };
  void draw_cache(Random &random, RandomSpec *spec) const;
  void draw_index(Random &random, RandomSpec *spec) const;
  void draw_part(Random &random, const std::string &role, RandomSpec *spec) const;
  std::map<std::string, std::vector<Part>> parts_; // by role
};

} // namespace tessera_test

#endif
