// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a user's, linked for GPUs: of the examples, and of each call for tiles of all widths, nothing is left that
// is a call, and nothing has a stack. Nothing is run: linking needs no GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "core/tessera_kernels.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

std::string file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

choices::Spec parse(const std::string &text) {
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "test", &spec, &error), TSR_OK) << error.message;
  return choices::Spec(spec);
}

// Links a kernel over tables of these specs.
tsr_status link_kernel(const tsr_kernel_source &source, const char *name, const std::vector<choices::Spec> &specs,
                       const std::vector<const char *> &names, uint32_t sm, linking::Link *link, tsr_error *error) {
  std::vector<const tsr_spec *> all;
  for (const choices::Spec &spec : specs) all.push_back(spec.get());
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  options.capacity = 1u << 20;
  tsr_kernel_target target = {};
  target.sm = sm;
  target.options = &options;
  return tsr_kernel_link(&source, name, all.data(), names.data(), names.size(), &target, &link->link, error);
}

void expect_sound(const tsr_kernel_source &source, const char *name, const std::vector<choices::Spec> &specs,
                  const std::vector<const char *> &names, uint32_t sm, uint32_t registers_max = 96) {
  SCOPED_TRACE(testing::Message() << name << ", sm_" << sm);
  linking::Link link;
  tsr_error error = {};
  ASSERT_EQ(link_kernel(source, name, specs, names, sm, &link, &error), TSR_OK) << error.message;
  ASSERT_EQ(link.link.kernel_count, 1u);
  // below sm_90 ptxas does not see that tiles of several lanes meet in the two loops of a scan, or the lanes of a warp after
  // an insert
  const std::set<std::string> others = {"scans_wide", "numbers", "erases"};
  const bool may_have_some = sm < 90 && others.count(name);
  EXPECT_TRUE(link.link.other_functions == 0 || may_have_some) << link.link.other_functions;
  EXPECT_EQ(link.link.kernels[0].stack_bytes, 0u);
  EXPECT_LE(link.link.kernels[0].registers, registers_max);
  std::printf("%s sm_%u: %u registers\n", name, sm, link.link.kernels[0].registers);
}

tsr_kernel_source source_of(const char *text) {
  tsr_kernel_source source = {};
  source.text = text;
  source.file = "test.cu";
  return source;
}

class Targets : public testing::TestWithParam<uint32_t> {};

TEST_P(Targets, Kmers) {
  const std::string text = file("examples/kmers/kmers.cu");
  std::vector<choices::Spec> specs;
  specs.push_back(parse(file("examples/kmers/counts.ini")));
  specs.push_back(parse(file("examples/kmers/wanted.ini")));
  expect_sound(source_of(text.c_str()), "count_kmers", specs, {"counts", "wanted"}, GetParam());
}

TEST_P(Targets, JoinSum) {
  const std::string text = file("examples/join_sum/join_sum.cu");
  std::vector<choices::Spec> specs;
  specs.push_back(parse(file("examples/join_sum/groups.ini")));
  specs.push_back(parse(file("examples/join_sum/sums.ini")));
  expect_sound(source_of(text.c_str()), "join_sum", specs, {"groups", "sums"}, GetParam());
}

TEST_P(Targets, Filtered) {
  const std::string text = file("examples/filtered/filtered.cu");
  std::vector<choices::Spec> specs;
  specs.push_back(parse(file("examples/filtered/seen.ini")));
  specs.push_back(parse(file("examples/filtered/pairs.ini")));
  expect_sound(source_of(text.c_str()), "filtered", specs, {"seen", "pairs"}, GetParam());
}

// From an image that nvcc has made; of the text the declarations are enough.
TEST_P(Targets, FromLtoIr) {
  const std::string image = file("tests/codegen/join_sum.fatbin");
  const std::string text = "TSR_TABLE(groups, finds)\nTSR_TABLE(sums, inserts)\nTSR_KERNEL(join_sum, (tsr_table_ref "
                           "groups, tsr_table_ref sums, const uint32_t *keys, const uint32_t *amounts))\n";
  tsr_kernel_source source = source_of(text.c_str());
  source.image = image.data();
  source.image_bytes = image.size();
  std::vector<choices::Spec> specs;
  specs.push_back(parse(file("examples/join_sum/groups.ini")));
  specs.push_back(parse(file("examples/join_sum/sums.ini")));
  expect_sound(source, "join_sum", specs, {"groups", "sums"}, GetParam());
}

const char kCalls[] = R"(#include "tessera.cuh"
TSR_TABLE(from, finds)
TSR_TABLE(into, inserts)
TSR_TABLE(out_of, erases)
TSR_KERNEL(looks, (tsr_table_ref from, const uint64_t *keys, uint64_t *out)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t value = 0, sum = 0;
  uint32_t is_there;
  const uint64_t key = mine ? keys[i] : 0;
  if_any(tsr_contains(from, mine, key)) {
    sum += tsr_count(from, mine, key);
    tsr_for_each_value(from, mine, key, value, is_there) {
      if (is_there) sum += value;
    }
  }
  if (tsr_find(from, mine, key + 1, &value)) sum += value;
  if (tsr_find(from, mine, key + 2, &value)) sum += value;
  if (mine) out[i] = sum;
}
TSR_TABLE(all_of, scans)
TSR_KERNEL(adds_up, (tsr_table_ref all_of, uint64_t *total)) {
  uint64_t key = 0, value = 0, sum = 0;
  uint32_t is_there;
  tsr_for_each_pair(all_of, key, value, is_there) {
    if (is_there) sum += key ^ value;
  }
  tsr_add(total, sum);
}
TSR_KERNEL(scans_wide, (tsr_table_ref all_of, uint64_t *total)) {
  uint64_t key = 0, value = 0;
  uint32_t is_there;
  tsr_for_each_pair(all_of, key, value, is_there) {
    if (is_there) tsr_add(total, key ^ value);
  }
}
TSR_KERNEL(puts, (tsr_table_ref into, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t key = mine ? keys[i] : 0;
  if_any(mine) tsr_insert(into, mine, key, 1);
}
TSR_KERNEL(takes, (tsr_table_ref out_of, const uint64_t *keys, uint64_t *counts)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t count = tsr_erase(out_of, mine, mine ? keys[i] : 0);
  if (mine) counts[i] = count;
}
)";

const char kHead[] = "[table]\nkey_bits=32\nvalue_bits=32\nhasher=murmur3\n";

// Tiles of every width, layouts and schemes of every kind, each with one kind of call, and for one target in turn.
TEST_P(Targets, EveryCallIsInlined) {
  const tsr_kernel_source source = source_of(kCalls);
  const std::pair<const char *, std::string> tables[] = {
      {"looks", "kind=multimap\nlayout=aos\nprobing=double_hashing\n[layout]\nbucket_slots=8\ntile_lanes=1\n"},
      {"looks", "kind=multimap\nlayout=aos\nprobing=double_hashing\n[layout]\nbucket_slots=8\ntile_lanes=8\n"},
      {"puts", "kind=map\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=16\ntile_lanes=16\n"},
      {"puts", "kind=map\nlayout=packed\nprobing=cuckoo\nduplicates=add\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"puts", "kind=map\nlayout=soa\nprobing=double_hashing\nduplicates=add\n[layout]\nbucket_slots=32\n"
               "tile_lanes=32\n"},
      {"adds_up", "kind=map\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"scans_wide", "kind=map\nlayout=soa\nprobing=linear\n[layout]\nbucket_slots=16\ntile_lanes=8\n"},
      {"takes", "kind=map\nlayout=packed\nprobing=double_hashing\n[layout]\nbucket_slots=8\ntile_lanes=2\n"},
      {"takes", "kind=map\nlayout=slab\nprobing=slab_list\nallocator=slab_light\n[layout]\ntile_lanes=4\n"},
      {"looks",
       "kind=multimap\nfilter=8\nlayout=aos\nprobing=double_hashing\n[layout]\nbucket_slots=8\ntile_lanes=8\n"},
      {"looks", "kind=map\nfilter=8\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=8\ntile_lanes=1\n"},
      {"puts", "kind=map\nfilter=8\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=16\ntile_lanes=16\n"},
      {"puts",
       "kind=map\nfilter=8\nconcurrency=mixed\nlayout=packed\nprobing=double_hashing\n[layout]\nbucket_slots=8\n"
       "tile_lanes=1\n"},
      {"takes", "kind=map\nfilter=8\nlayout=packed\nprobing=double_hashing\n[layout]\nbucket_slots=8\ntile_lanes=2\n"}};
  size_t turn = 0;
  for (const auto &[kernel, text] : tables) {
    if (!tessera_test::has_turn(turn++, GetParam() == 80)) continue;
    SCOPED_TRACE(text);
    std::vector<choices::Spec> specs;
    specs.push_back(parse(kHead + text));
    const std::string name = kernel;
    expect_sound(source, kernel, specs,
                 {name == "looks"                             ? "from"
                  : name == "puts"                            ? "into"
                  : name == "adds_up" || name == "scans_wide" ? "all_of"
                                                              : "out_of"},
                 GetParam());
  }
}

// The same calls of tables with keys of 128 bits.
TEST_P(Targets, EveryCallOfWideKeysIsInlined) {
  if (GetParam() < 90) GTEST_SKIP() << "such tables need compute capability 9.0";
  std::string text = kCalls;
  const std::pair<const char *, const char *> words[] = {
      {"TSR_TABLE(", "TSR_TABLE_128("},
      {"const uint64_t *keys", "const tsr_key128 *keys"},
      {"const uint64_t key =", "const tsr_key128 key ="},
      {"uint64_t key = 0, value", "tsr_key128 key = 0; uint64_t value"}};
  for (const auto &[from, to] : words)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += strlen(to))
      text.replace(at, strlen(from), to);
  const tsr_kernel_source source = source_of(text.c_str());
  const std::pair<const char *, std::string> tables[] = {
      {"looks",
       "kind=multimap\nvalue_bits=32\nlayout=soa\nprobing=double_hashing\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"looks", "kind=map\nvalue_bits=64\nlayout=soa\nprobing=linear\n[layout]\nbucket_slots=8\ntile_lanes=4\n"},
      {"puts",
       "kind=counter\nvalue_bits=64\nlayout=soa\nprobing=double_hashing\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"puts", "kind=set\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=8\ntile_lanes=2\n"},
      {"adds_up", "kind=set\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"takes",
       "kind=map\nvalue_bits=32\nlayout=soa\nprobing=double_hashing\n[layout]\nbucket_slots=4\ntile_lanes=2\n"}};
  for (const auto &[kernel, entries] : tables) {
    SCOPED_TRACE(entries);
    const std::string name = kernel;
    std::vector<choices::Spec> specs;
    specs.push_back(parse("[table]\nkey_bits=128\nhasher=murmur3\n" + entries));
    expect_sound(source, kernel, specs,
                 {name == "looks"   ? "from"
                  : name == "puts"  ? "into"
                  : name == "takes" ? "out_of"
                                    : "all_of"},
                 GetParam(), 112);
  }
}

// Rows of value_bytes: one that a kernel makes is kept in registers until it is written.
TEST_P(Targets, Rows) {
  const tsr_kernel_source source = source_of(R"(#include "tessera.cuh"
TSR_TABLE(from, finds)
TSR_TABLE(into, inserts)
struct row {
  uint64_t word[4];
};
TSR_KERNEL(looks, (tsr_table_ref from, const uint64_t *keys, uint64_t *out)) {
  const uint64_t i = tsr_item();
  uint64_t value = 0, sum = 0;
  const uint32_t found = tsr_find(from, i < tsr_items(), i < tsr_items() ? keys[i] : 0, &value);
  for (uint32_t w = 0; found && w < 4; w++) sum += ((const struct row *)tsr_row(value))->word[w];
  if (i < tsr_items()) out[i] = sum;
}
TSR_KERNEL(puts, (tsr_table_ref into, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  const uint64_t key = i < tsr_items() ? keys[i] : 0;
  struct row row = {{key, key * key, i, 1}};
  tsr_insert(into, i < tsr_items(), key, tsr_row_value(&row));
}
)");
  const std::pair<const char *, std::string> tables[] = {
      {"looks", "layout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"puts", "layout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=4\ntile_lanes=1\n"},
      {"puts", "layout=packed\nprobing=linear\nduplicates=replace\n[layout]\nbucket_slots=8\ntile_lanes=8\n"},
      {"puts", "layout=soa\nprobing=double_hashing\n[layout]\nbucket_slots=16\ntile_lanes=4\n"}};
  size_t turn = 0;
  for (const auto &[kernel, text] : tables) {
    if (!tessera_test::has_turn(turn++, GetParam() == 80)) continue;
    SCOPED_TRACE(text);
    std::vector<choices::Spec> specs;
    specs.push_back(parse("[table]\nkind=map\nkey_bits=32\nvalue_bytes=32\nhasher=murmur3\n" + text));
    expect_sound(source, kernel, specs, {std::string(kernel) == "looks" ? "from" : "into"}, GetParam());
  }
}

// Numbers of an index: a lane that waits for another one's number is no call either.
TEST_P(Targets, Numbers) {
  const tsr_kernel_source source = source_of(R"(#include "tessera.cuh"
TSR_TABLE(ids, inserts)
TSR_TABLE(gone, erases)
TSR_KERNEL(numbers, (tsr_table_ref ids, const uint64_t *keys, uint64_t *out)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t number = 0;
  const uint32_t did = tsr_number(ids, mine, mine ? keys[i] : 0, &number);
  if (mine) out[i] = number << 8 | did;
}
TSR_KERNEL(erases, (tsr_table_ref gone, const uint64_t *keys, uint64_t *counts)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t count = tsr_erase(gone, mine, mine ? keys[i] : 0);
  if (mine) counts[i] = count;
}
)");
  const std::string tables[] = {"key_bits=32\nprobing=double_hashing\n[layout]\nbucket_slots=4\ntile_lanes=1\n",
                                "key_bits=64\nprobing=quadratic\n[layout]\nbucket_slots=4\ntile_lanes=2\n",
                                "key_bits=32\nreuse=no\nprobing=linear\n[layout]\nbucket_slots=8\ntile_lanes=8\n",
                                "key_bits=32\nfilter=8\nprobing=two_choice\n[layout]\nbucket_slots=8\ntile_lanes=1\n"};
  size_t turn = 0;
  for (const std::string &text : tables) {
    turn++;
    if (GetParam() < 90 && text.find("key_bits=64") != std::string::npos) continue; /* pairs of 96 bits */
    for (const char *kernel : {"numbers", "erases"}) {
      if (!tessera_test::has_turn(turn + (*kernel == 'e'), GetParam() == 80)) continue;
      SCOPED_TRACE(text);
      std::vector<choices::Spec> specs;
      specs.push_back(parse("[table]\nkind=index\nhasher=murmur3\nlayout=packed\n" + text));
      expect_sound(source, kernel, specs, {std::string(kernel) == "numbers" ? "ids" : "gone"}, GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Targets, testing::Values(80u, 90u),
                         [](const auto &info) { return "sm" + std::to_string(info.param); });

TEST(Refusals, OfWhatATableDoesNotHave) {
  const std::string text = "#include \"tessera.cuh\"\nTSR_TABLE(into, inserts)\nTSR_KERNEL(k, (tsr_table_ref into, "
                           "uint64_t *out)) {\n  tsr_find_or_insert(into, 1, tsr_item(), out);\n}\n";
  std::vector<choices::Spec> specs;
  specs.push_back(parse(std::string(kHead) + "kind=map\nlayout=soa\nprobing=double_hashing\n"));
  linking::Link link;
  tsr_error error = {};
  EXPECT_EQ(link_kernel(source_of(text.c_str()), "k", specs, {"into"}, 90, &link, &error), TSR_LINK_FAILED);
  EXPECT_NE(std::string(error.message).find("calls a function that is missing"), std::string::npos) << error.message;
}

TEST(Refusals, OfTextThatIsNoCode) {
  const std::string text = "#include \"tessera.cuh\"\nTSR_TABLE(into, inserts)\nTSR_KERNEL(k, (tsr_table_ref into, "
                           "uint64_t *out)) {\n  this is no code;\n}\n";
  std::vector<choices::Spec> specs;
  specs.push_back(parse(std::string(kHead) + "kind=map\nlayout=soa\nprobing=double_hashing\n"));
  linking::Link link;
  tsr_error error = {};
  EXPECT_EQ(link_kernel(source_of(text.c_str()), "k", specs, {"into"}, 90, &link, &error), TSR_LINK_FAILED);
  EXPECT_NE(std::string(error.message).find("test.cu"), std::string::npos) << error.message;
}

} // namespace
