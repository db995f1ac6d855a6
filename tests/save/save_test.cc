// SPDX-License-Identifier: Apache-2.0
//
// tsr_table_save and tsr_table_load: what was saved comes back; what is damaged is refused with a sentence.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "core/tessera_tools.h"
#include "plugins/table.h"
#include "tests/rebuild/tables.h"

namespace {

using namespace tessera_test;

std::string path_of(const std::string &name) { return testing::TempDir() + "/" + name; }

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

tsr_status load(const std::string &path, tsr_table **table, tsr_error *error, const char *backend = nullptr) {
  tsr_load_options options = {};
  options.plugins = plugin_folders();
  options.backend = backend;
  return tsr_table_load(path.c_str(), &options, table, error);
}

// Refused, with the path in the sentence, and nothing made.
void expect_refused(const std::string &path, tsr_status status, const char *words) {
  tsr_error error = {};
  tsr_table *table = nullptr;
  EXPECT_EQ(load(path, &table, &error), status) << error.message;
  EXPECT_EQ(table, nullptr);
  EXPECT_NE(std::string(error.message).find(words), std::string::npos) << error.message;
  EXPECT_EQ(std::string(error.message).find(path), 0u) << error.message;
}

// The file of a small table.
std::string saved_bytes(const std::string &path, size_t pairs = 20) {
  Random random(7);
  tsr_error error = {};
  tsr_table *table = table_of("capacity=32");
  fill(table, some_pairs(random, pairs));
  EXPECT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  return read_file(path);
}

class Save : public testing::TestWithParam<std::string> {};

TEST_P(Save, RoundTrip) {
  TSR_TRACE_SEED;
  Random random(1);
  tsr_error error = {};
  const std::string path = path_of("round_trip.tsr");
  tsr_table *table = table_of(GetParam() + " capacity=5000 stash=32 growth=double seed=99 layout.bucket_slots=4");
  auto pairs = some_pairs(random, 9000); // grown, with another seed perhaps
  fill(table, pairs);
  std::vector<uint32_t> gone;
  for (const auto &pair : pairs)
    if (pair.first % 3 == 0) gone.push_back(pair.first);
  ASSERT_EQ(tsr_erase(table, gone.size(), gone.data(), nullptr, &error), TSR_OK);
  for (uint32_t key : gone) pairs.erase(key);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  expect_pairs(table, pairs);
  tsr_table_info before = info_of(table);
  tsr_table_destroy(table);

  ASSERT_EQ(load(path, &table, &error, "cpu"), TSR_OK) << error.message; // wherever it was saved
  expect_pairs(table, pairs);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  ASSERT_EQ(load(path, &table, &error, backend().c_str()), TSR_OK) << error.message;
  expect_pairs(table, pairs);
  EXPECT_EQ(info_of(table).capacity, before.capacity);
  EXPECT_EQ(info_of(table).seed, before.seed);
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "layout", "bucket_slots"), "4");
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report_reset(table, &error), TSR_OK);
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
  EXPECT_EQ(report.insert_keys, 0u);
  auto more = some_pairs(random, 4000); // it works on: erased keys come again, and it grows
  std::vector<uint32_t> keys, values;
  for (const auto &pair : more) {
    keys.push_back(pair.first);
    values.push_back(pair.second);
    pairs.insert(pair);
  }
  for (uint32_t key : gone) {
    if (more.count(key)) continue;
    keys.push_back(key);
    values.push_back(5);
    pairs.insert({key, 5});
  }
  ASSERT_EQ(tsr_insert(table, keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
}

INSTANTIATE_TEST_SUITE_P(All, Save, testing::ValuesIn(compositions()));

TEST(SaveFile, BackendAndDeviceAreTheLoaders) {
  tsr_error error = {};
  const std::string path = path_of("device.tsr");
  saved_bytes(path);
  tsr_table *table = nullptr;
  tsr_load_options options = {};
  options.plugins = plugin_folders();
  options.backend = "cpu"; // where every device is the same
  options.device = "3";
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &table, &error), TSR_OK) << error.message;
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "table", "backend"), "cpu");
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "table", "device"), "3");
  tsr_table_destroy(table);
  options.device = "64";
  table = nullptr;
  EXPECT_EQ(tsr_table_load(path.c_str(), &options, &table, &error), TSR_BAD_SPEC) << error.message;
  EXPECT_EQ(table, nullptr);
}

// How often a file of this name is among this process's maps.
int maps_of(const std::string &name) {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find("/" + name) != std::string::npos;
  return found;
}

TEST(SaveFile, LargeRegionsAreMapped) {
  Random random(5);
  tsr_error error = {};
  const std::string path = path_of("mapped.tsr");
  tsr_table *table = table_of("capacity=300000"), *one = nullptr, *other = nullptr;
  const auto pairs = some_pairs(random, 200000);
  fill(table, pairs);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  const std::string saved = read_file(path);
  tsr_load_options options = {};
  options.plugins = plugin_folders();
  options.backend = "cpu";
  options.mapped = 1;
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &one, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &other, &error), TSR_OK) << error.message;
  EXPECT_EQ(maps_of("mapped.tsr"), 2);
  expect_pairs(one, pairs);
  auto more = pairs; // what one changes is its own
  std::vector<uint32_t> keys, values;
  for (uint32_t key = 1; keys.size() < 1000; key++) {
    if (!more.insert({key, 7}).second) continue;
    keys.push_back(key);
    values.push_back(7);
  }
  ASSERT_EQ(tsr_insert(one, keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  expect_pairs(one, more);
  expect_pairs(other, pairs);
  tsr_rehash_options larger = {};
  larger.size = sizeof larger;
  larger.capacity = 400000;
  ASSERT_EQ(tsr_rehash(one, &larger, &error), TSR_OK) << error.message; // into plain memory
  EXPECT_EQ(maps_of("mapped.tsr"), 1);
  expect_pairs(one, more);
  tsr_table_destroy(one);
  tsr_table_destroy(other);
  EXPECT_EQ(maps_of("mapped.tsr"), 0);
  EXPECT_TRUE(read_file(path) == saved);

  std::string broken = saved; // the checksum is looked at as well
  broken[broken.size() / 2] ^= 1;
  write_file(path, broken);
  EXPECT_EQ(tsr_table_load(path.c_str(), &options, &one, &error), TSR_IO);
  EXPECT_NE(std::string(error.message).find("checksum"), std::string::npos) << error.message;
}

TEST(SaveFile, AnEmptyTableAndASet) {
  tsr_error error = {};
  const std::string path = path_of("empty.tsr");
  tsr_table *table = table_of("");
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  ASSERT_EQ(load(path, &table, &error), TSR_OK) << error.message;
  EXPECT_TRUE(pairs_of(table).empty());
  tsr_table_destroy(table);
}

TEST(SaveFile, AnotherSpecAfterARehash) {
  tsr_error error = {};
  const std::string path = path_of("rehashed.tsr");
  tsr_table *table = table_of("");
  fill(table, {{1, 2}, {3, 4}});
  tsr_spec *spec = spec_of("probing=cuckoo layout.bucket_slots=2");
  tsr_rehash_options options = {};
  options.spec = spec;
  ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  ASSERT_EQ(load(path, &table, &error), TSR_OK) << error.message;
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "table", "probing"), "cuckoo");
  expect_pairs(table, {{1, 2}, {3, 4}});
  tsr_table_destroy(table);
}

// What a watch has heard.
struct Heard {
  std::vector<uint64_t> done, whole;
  static void hear(void *context, uint64_t done_bytes, uint64_t whole_bytes) {
    static_cast<Heard *>(context)->done.push_back(done_bytes);
    static_cast<Heard *>(context)->whole.push_back(whole_bytes);
  }
};

TEST(SaveFile, AWatchHearsHowFarItIs) {
  tsr_error error = {};
  const std::string path = path_of("watched.tsr");
  tsr_table *table = table_of("capacity=1M"); // more than the 4 MiB that are written at a time
  Heard heard;
  ASSERT_EQ(tsr_table_save_watched(table, path.c_str(), Heard::hear, &heard, &error), TSR_OK) << error.message;
  const uint64_t bytes = read_file(path).size();
  ASSERT_GE(heard.done.size(), 3u);
  for (size_t i = 0; i < heard.done.size(); i++) {
    EXPECT_EQ(heard.whole[i], bytes);
    EXPECT_GT(heard.done[i], i ? heard.done[i - 1] : 0);
  }
  EXPECT_EQ(heard.done.back(), bytes);
  const size_t calls = heard.done.size();
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  EXPECT_EQ(heard.done.size(), calls) << "the watch of one save hears of another";
  tsr_table_destroy(table);
}

TEST(SaveFile, ItReplacesAFileButNothingElse) {
  tsr_error error = {};
  tsr_table *table = table_of("");
  const std::string path = path_of("target.tsr"), link = path_of("link.tsr"), fifo = path_of("fifo.tsr");
  write_file(path, "old");
  unlink(link.c_str());
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  ASSERT_EQ(tsr_table_save(table, link.c_str(), &error), TSR_OK) << error.message;
  EXPECT_GT(read_file(path).size(), 1000u) << "the link itself was replaced";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(tsr_table_save(table, fifo.c_str(), &error), TSR_IO);
  EXPECT_NE(std::string(error.message).find("pipe"), std::string::npos) << error.message;
  expect_refused(fifo, TSR_IO, "pipe");
  EXPECT_EQ(tsr_table_save(table, testing::TempDir().c_str(), &error), TSR_IO);
  EXPECT_NE(std::string(error.message).find("directory"), std::string::npos) << error.message;
  expect_refused(testing::TempDir(), TSR_IO, "directory");
  EXPECT_EQ(tsr_table_save(table, "/nowhere/at/all.tsr", &error), TSR_IO) << error.message;
  expect_refused("/nowhere/at/all.tsr", TSR_NOT_FOUND, "cannot be opened");
  EXPECT_EQ(tsr_table_save(table, "/dev/full", &error), TSR_IO) << error.message;
  EXPECT_EQ(tsr_table_save(nullptr, path.c_str(), &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_table_load(nullptr, nullptr, &table, &error), TSR_BAD_ARGUMENT);
  tsr_table_destroy(table);
}

// ---- Damage -------------------------------------------------------------------------------------

TEST(Damage, CutAnywhere) {
  const std::string path = path_of("whole.tsr"), cut = path_of("cut.tsr");
  const std::string bytes = saved_bytes(path);
  for (size_t length = 0; length < bytes.size(); length += length < 800 ? 1 : 97) {
    SCOPED_TRACE(length);
    write_file(cut, bytes.substr(0, length));
    expect_refused(cut, TSR_IO, "");
  }
  write_file(cut, bytes.substr(0, bytes.size() - 1));
  expect_refused(cut, TSR_IO, "was cut");
  write_file(cut, bytes + "x");
  expect_refused(cut, TSR_IO, "bytes");
}

TEST(Damage, AnyByte) {
  const std::string path = path_of("sound.tsr"), bad = path_of("flipped.tsr");
  const std::string bytes = saved_bytes(path);
  Random random(3);
  for (size_t at = 0; at < bytes.size(); at += at < 800 ? 1 : 13) {
    SCOPED_TRACE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    write_file(bad, damaged);
    expect_refused(bad, TSR_IO, "");
  }
}

TEST(Damage, OtherVersionsAreNamed) {
  const std::string path = path_of("version.tsr"), bad = path_of("other_version.tsr");
  const std::string bytes = saved_bytes(path);
  for (char version : {1, 4}) { // an old one, which held the plugins' ABI at byte 12, and one that is not known yet
    std::string other = bytes;
    other[8] = version;
    write_file(bad, other);
    expect_refused(bad, TSR_IO,
                   version == 1 ? "was saved in version 1 of the format, and this library reads versions 2 to 3: insert"
                                : "was saved in version 4 of the format, and this library reads versions 2 to 3: load");
  }
  write_file(bad, std::string(4096, 'x'));
  expect_refused(bad, TSR_IO, "is no saved table");
}

// The file's own checksum, to make files whose parts are sound but do not belong together. Written again here, like the
// offsets below: a format that changes by accident must not change the test with it.
uint64_t checksum(uint64_t state, const std::string &data) {
  for (size_t at = 0; at < data.size(); at += 8) {
    uint64_t word = 0;
    memcpy(&word, &data[at], std::min<size_t>(8, data.size() - at));
    state = (state ^ word) * 0xFF51AFD7ED558CCDu;
    state ^= state >> 29;
  }
  return state;
}

struct Parts {
  std::string head, text, rows, pairs;
  explicit Parts(const std::string &bytes) : head(bytes.substr(0, 80)) {
    uint64_t text_bytes, row_count;
    memcpy(&text_bytes, &head[16], 8);
    memcpy(&row_count, &head[24], 8);
    text = bytes.substr(80, text_bytes);
    rows = bytes.substr(80 + text_bytes, 72 * row_count);
    pairs = bytes.substr(80 + text_bytes + rows.size() + 8);
  }
  std::string joined() {
    uint64_t text_bytes = text.size(), bytes = head.size() + text.size() + rows.size() + 8 + pairs.size();
    memcpy(&head[16], &text_bytes, 8);
    memcpy(&head[72], &bytes, 8);
    uint64_t sum = checksum(checksum(checksum(3, head), text), rows);
    return head + text + rows + std::string(reinterpret_cast<char *>(&sum), 8) + pairs;
  }
};

TEST(Damage, SoundPartsThatDoNotBelongTogether) {
  const std::string path = path_of("parts.tsr"), bad = path_of("joined.tsr");
  const std::string bytes = saved_bytes(path);
  ASSERT_EQ(Parts(bytes).joined(), bytes);
  auto number = [](std::string &where, size_t at, uint64_t value) { memcpy(&where[at], &value, 8); };
  auto refused = [&](Parts parts, tsr_status status, const char *words) {
    write_file(bad, parts.joined());
    expect_refused(bad, status, words);
  };
  Parts other = Parts(bytes);
  number(other.head, 40, 12345); // the seed: keys are in other buckets
  refused(other, TSR_INCOMPATIBLE, "other buckets");
  other = Parts(bytes);
  number(other.head, 64, 12345); // the sample: as if the layout read other pairs
  refused(other, TSR_INCOMPATIBLE, "other pairs");
  other = Parts(bytes);
  number(other.head, 32, 1000000); // the capacity
  refused(other, TSR_INCOMPATIBLE, "other memory");
  other = Parts(bytes);
  number(other.head, 56, 19); // the number of pairs
  refused(other, TSR_IO, "number of pairs");
  other = Parts(bytes);
  other.text.replace(other.text.find("key_bits = 32"), 13, "key_bits = 64");
  refused(other, TSR_INCOMPATIBLE, "");
  other = Parts(bytes);
  other.text += "nonsense = 1\n";
  refused(other, TSR_BAD_SPEC, "nonsense");
  other = Parts(bytes);
  number(other.rows, 56, 1ull << 60); // a region's size
  refused(other, TSR_INCOMPATIBLE, "other memory");
}

} // namespace
