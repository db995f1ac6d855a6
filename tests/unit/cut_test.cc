// SPDX-License-Identifier: Apache-2.0
//
// Parts of files (tools/cli/cut.h): whatever is in a file and however many parts there are, they have each row and record
// once, in the order of the file.
#include "tools/cli/cut.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/whole_file.h"

namespace {

struct Read {
  std::vector<uint64_t> keys, values;
  uint64_t records = 0, bases = 0;
  bool operator==(const Read &other) const {
    return keys == other.keys && values == other.values && records == other.records && bases == other.bases;
  }
};

class Cut : public testing::Test {
protected:
  void SetUp() override {
    const char *base = getenv("TEST_TMPDIR");
    folder = std::string(base ? base : "/tmp") + "/cut_test.XXXXXX";
    ASSERT_NE(mkdtemp(&folder[0]), nullptr);
    options.key_bits = options.value_bits = 64;
  }
  void TearDown() override { ASSERT_EQ(system(("rm -rf " + folder).c_str()), 0); }

  std::string write(const std::string &name, const std::string &bytes) {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  // Adds a part to what was read. False: it is refused.
  bool add(const std::string &path, tsr_part part, Read *read) {
    tsr_dataset_options of_part = options;
    tsr_dataset data = {};
    of_part.part = part;
    if (tsr_dataset_read(path.c_str(), &of_part, &data, &error) != TSR_OK) return false;
    const uint64_t words = options.key_bits == 128 ? 2 * data.count : data.count;
    const uint64_t *keys = static_cast<uint64_t *>(data.keys), *values = static_cast<uint64_t *>(data.values);
    read->keys.insert(read->keys.end(), keys, keys + words);
    if (options.want_values) read->values.insert(read->values.end(), values, values + data.count);
    read->records += data.records;
    read->bases += data.bases;
    tsr_dataset_free(&data);
    return true;
  }

  // That the parts are the whole; `keys` are known to be in it. Returns how many parts had any.
  uint32_t expect_whole(const std::string &path, uint64_t keys,
                        const std::vector<uint32_t> &counts = {1, 2, 3, 4, 7, 64}) {
    Read whole;
    uint32_t most = 0;
    EXPECT_TRUE(add(path, {}, &whole)) << error.message;
    EXPECT_EQ(whole.keys.size(), options.key_bits == 128 ? 2 * keys : keys);
    for (uint32_t count : counts) {
      Read parts;
      uint32_t some = 0;
      for (uint32_t i = 0; i < count; i++) {
        const size_t before = parts.keys.size();
        EXPECT_TRUE(add(path, {i, count, count / 2, false}, &parts)) << error.message;
        some += parts.keys.size() > before;
      }
      EXPECT_TRUE(parts == whole) << path << " in " << count << " parts: " << parts.keys.size() << " keys of "
                                  << whole.keys.size() << ", " << parts.records << " records of " << whole.records;
      most = std::max(most, some);
    }
    return most;
  }

  std::string folder;
  tsr_dataset_options options = {};
  tsr_error error = {};
};

// Rows of three columns. The last one is text: of `quoted` in a hundred rows in quotes, with what separates rows in it.
std::string csv(uint64_t rows, uint32_t quoted, const std::string &line_end, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text = "id,count,note" + line_end;
  for (uint64_t i = 0; i < rows; i++) {
    text += std::to_string(random() % 1000) + "," + std::to_string(i) + ",";
    if (random() % 100 < quoted)
      text += "\"5,6,\"\"7\"\"" + line_end + "8,9,10" + (random() % 2 ? line_end + line_end + "#" : "") + "\"";
    else if (random() % 10 == 0)
      text += "1\" pipe";
    text += line_end;
  }
  return text;
}

TEST_F(Cut, Rows) {
  options.want_values = true;
  options.key_column = "id";
  options.value_column = "count";
  for (uint32_t quoted : {0, 1, 50, 100})
    for (const char *line_end : {"\n", "\r\n"})
      for (uint64_t rows : {0, 1, 2, 5, 40, 700}) {
        const std::string text = csv(rows, quoted, line_end, 7 + quoted);
        const std::vector<uint32_t> few = {1, 2, 3, 7}, many = {1, 2, 3, 4, 7, 64};
        const uint32_t some = expect_whole(write("rows.csv", text), rows, rows == 5 || rows == 700 ? many : few);
        if (rows == 700) {
          EXPECT_EQ(some, 64u);
        }
        expect_whole(write("rows.csv", "\xEF\xBB\xBF" + text.substr(0, text.size() - strlen(line_end))), rows, {2, 7});
      }
}

// A quoted field is found where its row may have begun a mebibyte before.
TEST_F(Cut, LongRows) {
  options.key_column = "id";
  for (uint32_t quoted : {0, 1, 100}) {
    std::string text = csv(60000, quoted, "\n", 3);
    EXPECT_EQ(expect_whole(write("rows.csv", text), 60000, {7}), 7u);
    text += "5,6,\"" + std::string(500000, '\n') + "7,8,9\n" + std::string(500000, 'x') + "\"\n";
    for (int i = 0; i < 100000; i++) text += std::to_string(i) + ",2,\n";
    expect_whole(write("rows.csv", text), 160001, {2, 3, 9});
  }
}

TEST_F(Cut, RowsWithoutNamesAndWithComments) {
  options.want_values = true;
  std::string pairs = "# a \"comment\n\n", keys = "#" + std::string(3000, '-') + "\n";
  for (int i = 0; i < 500; i++) {
    pairs += std::to_string(i * 7) + (i % 3 ? "\t" : "  ") + std::to_string(i) + "\n" + (i % 50 ? "" : "# \"more\n");
    keys += std::to_string(i) + "\n\n";
  }
  EXPECT_EQ(expect_whole(write("pairs.tsv", pairs), 500), 64u);
  EXPECT_EQ(expect_whole(write("pairs.txt", pairs), 500), 64u);
  options.value_rule = TSR_VALUE_OPTIONAL; // the first row says that there are none
  expect_whole(write("keys.txt", keys), 500);
}

// The numbers of keys are known of arrays. Of text they are not, so that one part has all.
TEST_F(Cut, NumbersAsValues) {
  options.want_values = true;
  std::string text, raw;
  for (uint64_t i = 0; i < 300; i++) {
    const uint64_t key = i * i;
    text += std::to_string(key) + "\n";
    raw.append(reinterpret_cast<const char *>(&key), sizeof key);
  }
  EXPECT_EQ(expect_whole(write("keys.u64", raw), 300), 64u);
  EXPECT_EQ(expect_whole(write("none.u64", ""), 0), 0u);
  EXPECT_EQ(expect_whole(write("one.u64", raw.substr(0, 8)), 1), 1u);
  options.value_rule = TSR_VALUE_ORDINAL;
  EXPECT_EQ(expect_whole(write("keys.txt", text), 300), 1u);
  options.value_rule = TSR_VALUE_CONSTANT;
  EXPECT_EQ(expect_whole(write("keys.txt", text), 300), 64u);
}

std::string npy(const std::string &dictionary, const std::string &bytes) {
  std::string head = "\x93NUMPY\x01";
  head += '\0';
  head += static_cast<char>(118);
  head += '\0';
  return head + dictionary + std::string(117 - dictionary.size(), ' ') + "\n" + bytes;
}

TEST_F(Cut, Arrays) {
  std::string bytes;
  for (uint64_t i = 0; i < 200; i++) {
    const uint64_t number = i * 5;
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  options.want_values = true;
  EXPECT_EQ(
      expect_whole(write("a.npy", npy("{'descr': '<u8', 'fortran_order': False, 'shape': (200,), }", bytes)), 200),
      64u);
  expect_whole(write("a.npy", npy("{'descr': '<u8', 'fortran_order': False, 'shape': (100, 2), }", bytes)), 100);
  expect_whole(write("a.npy", npy("{'descr': '<u8', 'fortran_order': True, 'shape': (100, 2), }", bytes)), 100);
  options.want_values = false;
  options.key_bits = 128;
  expect_whole(write("a.npy", npy("{'descr': '<u8', 'fortran_order': False, 'shape': (100, 2), }", bytes)), 100);
}

std::string letters(std::mt19937 *random, size_t count, const char *of) {
  std::string text(count, ' ');
  for (char &c : text) c = of[(*random)() % strlen(of)];
  return text;
}

TEST_F(Cut, Fasta) {
  options.kmers = 5;
  std::mt19937 random(11);
  for (int records : {0, 1, 2, 90}) {
    std::string text = records % 2 ? "" : "\n\n";
    uint64_t keys = 0;
    for (int i = 0; i < records; i++) {
      const size_t lines = random() % 4;
      text += ">r" + std::to_string(i) + " >not a record\n";
      for (size_t l = 0; l < lines; l++) text += letters(&random, 60, "ACGT") + "\n;> a comment\n";
      keys += lines ? 60 * lines - 4 : 0;
    }
    expect_whole(write("a.fa", text), keys);
    expect_whole(write("a.fa", text.substr(0, text.size() - !text.empty())), keys);
  }
}

// Qualities may begin as records and other lines do.
TEST_F(Cut, Fastq) {
  options.kmers = 5;
  std::mt19937 random(12);
  for (int records : {0, 1, 3, 120}) {
    std::string text;
    uint64_t keys = 0;
    for (int i = 0; i < records; i++) {
      const size_t length = random() % 3 ? 30 + random() % 20 : 0;
      text += "@r" + std::to_string(i) + "\n" + letters(&random, length, "ACGT") + "\n+\n" +
              letters(&random, length, "@+IA") + "\n" + (random() % 8 ? "" : "\n");
      keys += length ? length - 4 : 0;
    }
    expect_whole(write("a.fq", text), keys);
  }
}

// Several lines of a record are cut where they can be, and are never read otherwise than they are.
TEST_F(Cut, FastqOfSeveralLines) {
  options.kmers = 5;
  std::mt19937 random(13);
  std::string plain, wild;
  uint64_t keys = 0;
  for (int i = 0; i < 60; i++) {
    const std::string bases = letters(&random, 20, "ACGT") + "\n" + letters(&random, 20, "ACGT") + "\n";
    plain += "@r\n" + bases + "+\n" + letters(&random, 20, "@+I") + "\n" + letters(&random, 20, "+I#") + "\n";
    wild += "@r\n" + bases + bases + "+\n@" + letters(&random, 19, "I") + "\nA" + letters(&random, 19, "A") + "\n+" +
            letters(&random, 19, "I") + "\n" + letters(&random, 20, "I") + "\n";
    keys += 36;
  }
  expect_whole(write("plain.fq", plain), keys);
  Read whole;
  ASSERT_TRUE(add(write("wild.fq", wild), {}, &whole));
  int refused = 0;
  for (uint32_t count = 2; count < 9; count++) {
    Read parts;
    bool is_refused = false;
    for (uint32_t i = 0; i < count; i++)
      is_refused = !add(folder + "/wild.fq", {i, count, 0, false}, &parts) || is_refused;
    EXPECT_TRUE(is_refused || parts == whole) << count << " parts";
    refused += is_refused;
  }
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(strstr(error.message, "because a line of qualities there looks like a record")) << error.message;
}

TEST_F(Cut, WhatIsCompressedIsOnePart) {
  const std::string path = folder + "/keys.txt.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  for (int i = 0; i < 1000; i++) gzprintf(file, "%d\n", i);
  gzclose(file);
  EXPECT_EQ(expect_whole(path, 1000), 1u);
  Read read;
  EXPECT_TRUE(add(path, {1, 3, 2, false}, &read));
  EXPECT_EQ(read.keys.size(), 0u);
  EXPECT_TRUE(add(path, {2, 3, 2, false}, &read));
  EXPECT_EQ(read.keys.size(), 1000u);
}

TEST_F(Cut, AFileMayStayWhole) {
  Read read;
  const std::string path = write("keys.txt", "1\n2\n3\n");
  for (uint32_t i = 0; i < 3; i++) {
    EXPECT_TRUE(add(path, {i, 3, 1, true}, &read));
    EXPECT_EQ(read.keys.size(), i < 1 ? 0u : 3u);
  }
}

// A part that has not read what is before it names the line all the same.
TEST_F(Cut, SentencesNameTheLine) {
  options.key_column = "id";
  std::string rows = csv(500, 20, "\n", 5), fasta;
  uint64_t line = 1;
  for (char c : rows) line += c == '\n';
  rows += "x,1,\n" + csv(500, 20, "\n", 6).substr(14);
  const std::string path = write("rows.csv", rows);
  const std::string begin = path + ":" + std::to_string(line) + ": the key 'x' is no whole number";
  for (uint32_t count : {1, 2, 5}) {
    int refused = 0;
    for (uint32_t i = 0; i < count; i++) {
      Read read;
      if (add(path, {i, count, 0, false}, &read)) continue;
      EXPECT_EQ(std::string(error.message).substr(0, begin.size()), begin);
      refused++;
    }
    EXPECT_EQ(refused, 1);
  }
  options = {};
  options.key_bits = 64;
  options.kmers = 4;
  for (int i = 0; i < 50; i++) fasta += ">r\nACGT\n";
  Read read;
  EXPECT_FALSE(add(write("a.fa", fasta + "AC!T\n"), {2, 3, 0, false}, &read));
  EXPECT_TRUE(strstr(error.message, "a.fa:101: byte 0x21 is no letter")) << error.message;
}

} // namespace
