// SPDX-License-Identifier: Apache-2.0
//
// tools/cli/npy.h: arrays of NumPy made by hand, byte by byte, and the sentence for what is none. Where numpy can be
// imported, it reads what is written here and writes what is read.
#include "tools/cli/dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/whole_file.h"
#include "tools/cli/rows.h"

namespace {

using Numbers = std::vector<uint64_t>;

std::string little_endian(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; i++) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A file of the given version. numpy pads with blanks to a multiple of 64; readers must not ask for that.
std::string npy(const std::string &dictionary, const std::string &data, int major = 1) {
  std::string text = dictionary + "\n", file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  return file + little_endian(text.size(), major == 1 ? 2 : 4) + text + data;
}

std::string dictionary(const std::string &descr, const std::string &shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string array(size_t bytes, const Numbers &numbers) {
  std::string data;
  for (uint64_t number : numbers) data += little_endian(number, bytes);
  return data;
}

Numbers numbers(const void *array, uint32_t bits, uint64_t count) {
  Numbers result;
  for (uint64_t i = 0; array && i < count; i++)
    result.push_back(bits == 64 ? static_cast<const uint64_t *>(array)[i] : static_cast<const uint32_t *>(array)[i]);
  return result;
}

class Npy : public testing::Test {
protected:
  void SetUp() override {
    const char *base = getenv("TEST_TMPDIR");
    folder = std::string(base ? base : "/tmp") + "/npy_test.XXXXXX";
    ASSERT_NE(mkdtemp(&folder[0]), nullptr);
    path = folder + "/a.npy";
  }
  void TearDown() override { ASSERT_EQ(system(("rm -rf " + folder).c_str()), 0); }

  tsr_status read(const std::string &bytes, uint32_t key_bits, uint32_t value_bits) {
    std::ofstream(path, std::ios::binary) << bytes;
    return read_file(key_bits, value_bits);
  }

  tsr_status read_file(uint32_t key_bits, uint32_t value_bits) {
    tsr_dataset_options options = {};
    options.key_bits = key_bits;
    options.value_bits = value_bits;
    options.want_values = value_bits != 0;
    tsr_dataset data = {};
    error = {};
    tsr_status status = tsr_dataset_read(path.c_str(), &options, &data, &error);
    keys = numbers(data.keys, key_bits, data.count);
    values = numbers(data.values, value_bits, data.count);
    tsr_dataset_free(&data);
    return status;
  }

  void expect_refused(const std::string &bytes, const std::string &about) {
    EXPECT_EQ(read(bytes, 32, 32), TSR_IO) << about;
    std::string text = error.message;
    EXPECT_EQ(text.find(path + ": "), 0u) << text;
    EXPECT_NE(text.find(about), std::string::npos) << "'" << text << "' says nothing of '" << about << "'";
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }

  std::string folder, path;
  tsr_error error = {};
  Numbers keys, values;
};

// ---- What is read -------------------------------------------------------------------------------

TEST_F(Npy, ReadsKeysOfEveryTypeAndVersion) {
  for (int version : {1, 2, 3})
    for (const char *descr : {"<u4", "<u8", "<i4", "<i8"})
      for (uint32_t key_bits : {32u, 64u}) {
        std::string bytes = npy(dictionary(descr, "(3,)"), array(descr[2] == '4' ? 4 : 8, {7, 0, 0x7FFFFFFF}), version);
        ASSERT_EQ(read(bytes, key_bits, 0), TSR_OK) << error.message;
        EXPECT_EQ(keys, (Numbers{7, 0, 0x7FFFFFFF}));
        ASSERT_EQ(read(bytes, key_bits, 64), TSR_OK) << error.message;
        EXPECT_EQ(values, (Numbers{0, 1, 2}));
      }
}

TEST_F(Npy, ReadsRowsOfKeyAndValue) {
  std::string bytes = npy(dictionary("<u8", "(2, 2)"), array(8, {1, 10, 2, 20}));
  ASSERT_EQ(read(bytes, 32, 64), TSR_OK) << error.message;
  EXPECT_EQ(keys, (Numbers{1, 2}));
  EXPECT_EQ(values, (Numbers{10, 20}));
  ASSERT_EQ(read(bytes, 64, 0), TSR_OK) << error.message;
  EXPECT_EQ(keys, (Numbers{1, 2}));
  EXPECT_EQ(values, Numbers{});
}

TEST_F(Npy, ReadsRowsOfOne) {
  ASSERT_EQ(read(npy(dictionary("<u4", "(2, 1)"), array(4, {5, 6})), 32, 32), TSR_OK) << error.message;
  EXPECT_EQ(keys, (Numbers{5, 6}));
  EXPECT_EQ(values, (Numbers{0, 1}));
}

TEST_F(Npy, ReadsEveryWidthAndOrder) {
  for (const char *type : {"|u1", "|i1", "<u1", "<u2", ">u2", "<i2", ">i2", ">u4", ">i4", "=u4", ">u8", ">i8"})
    for (bool is_fortran : {false, true}) {
      const size_t bytes = static_cast<size_t>(type[2] - '0');
      std::string data = array(bytes, is_fortran ? Numbers{1, 2, 3, 10, 20, 30} : Numbers{1, 10, 2, 20, 3, 30});
      for (size_t at = 0; type[0] == '>' && at < data.size(); at += bytes)
        std::reverse(data.begin() + static_cast<long>(at), data.begin() + static_cast<long>(at + bytes));
      const std::string text = std::string("{'descr': '") + type +
                               "', 'fortran_order': " + (is_fortran ? "True" : "False") + ", 'shape': (3, 2)}";
      ASSERT_EQ(read(npy(text, data), 32, 64), TSR_OK) << text << error.message;
      EXPECT_EQ(keys, (Numbers{1, 2, 3})) << text;
      EXPECT_EQ(values, (Numbers{10, 20, 30})) << text;
    }
}

TEST_F(Npy, ReadsFortranOrderOfManyBlocks) {
  const uint64_t rows = 20000;
  Numbers columns;
  for (uint64_t i = 0; i < 2 * rows; i++) columns.push_back(i * 7);
  ASSERT_EQ(read(npy("{'descr': '<u4', 'fortran_order': True, 'shape': (20000, 2)}", array(4, columns)), 32, 32),
            TSR_OK);
  EXPECT_EQ(keys, Numbers(columns.begin(), columns.begin() + rows));
  EXPECT_EQ(values, Numbers(columns.begin() + rows, columns.end()));
}

TEST_F(Npy, ReadsNoRows) {
  for (const char *shape : {"(0,)", "(0, 1)", "(0, 2)"}) {
    ASSERT_EQ(read(npy(dictionary("<u4", shape), ""), 32, 32), TSR_OK) << error.message;
    EXPECT_EQ(keys, Numbers{});
  }
}

TEST_F(Npy, ReadsNumbersBelowZero) {
  const auto read_signed = [&](const std::string &bytes, uint32_t bits) {
    std::ofstream(path, std::ios::binary) << bytes;
    tsr_dataset_options options = {};
    options.key_bits = bits;
    options.signed_keys = true;
    tsr_dataset data = {};
    tsr_status status = tsr_dataset_read(path.c_str(), &options, &data, &error);
    keys = numbers(data.keys, bits, data.count);
    tsr_dataset_free(&data);
    return status;
  };
  ASSERT_EQ(read_signed(npy(dictionary("|i1", "(2,)"), "\xFF\x80"), 64), TSR_OK) << error.message;
  EXPECT_EQ(keys, (Numbers{UINT64_MAX, UINT64_MAX - 127}));
  ASSERT_EQ(read_signed(npy(dictionary("<i8", "(2,)"), array(8, {UINT64_MAX, 1ull << 63})), 64), TSR_OK);
  EXPECT_EQ(keys, (Numbers{UINT64_MAX, 1ull << 63}));
  ASSERT_EQ(read_signed(npy(dictionary("<i8", "(2,)"), array(8, {0 - (1ull << 31), (1ull << 31) - 1})), 32), TSR_OK);
  EXPECT_EQ(keys, (Numbers{1u << 31, (1u << 31) - 1}));
  for (uint64_t beyond : {0 - (1ull << 31) - 1, 1ull << 31, 1ull << 32, 1ull << 63})
    EXPECT_EQ(read_signed(npy(dictionary("<i8", "(1,)"), array(8, {beyond})), 32), TSR_IO) << beyond;
  EXPECT_EQ(read_signed(npy(dictionary("<u8", "(1,)"), array(8, {1ull << 63})), 64), TSR_IO);
}

TEST_F(Npy, ReadsTheWidestNumbers) {
  ASSERT_EQ(read(npy(dictionary("<u8", "(1, 2)"), array(8, {UINT64_MAX, UINT64_MAX})), 64, 64), TSR_OK);
  EXPECT_EQ(keys, Numbers{UINT64_MAX});
  EXPECT_EQ(values, Numbers{UINT64_MAX});
  ASSERT_EQ(read(npy(dictionary("<u4", "(1, 2)"), array(4, {UINT32_MAX, UINT32_MAX})), 32, 32), TSR_OK);
  EXPECT_EQ(keys, Numbers{UINT32_MAX});
}

TEST_F(Npy, ReadsEveryWayToWriteTheDictionary) {
  for (const char *text : {"{'shape':(2,),'descr':'<u4','fortran_order':False}",
                           "{ \"descr\" : \"<u4\" , \"fortran_order\" : False , \"shape\" : ( 2 , ) , }   ",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 1,)}"}) {
    ASSERT_EQ(read(npy(text, array(4, {8, 9})), 32, 0), TSR_OK) << text << ": " << error.message;
    EXPECT_EQ(keys, (Numbers{8, 9}));
  }
}

TEST_F(Npy, ReadsMoreThanOneBlock) {
  Numbers pairs;
  for (uint64_t i = 0; i < 20000; i++) pairs.push_back(i * 3);
  ASSERT_EQ(read(npy(dictionary("<u4", "(10000, 2)"), array(4, pairs)), 32, 32), TSR_OK) << error.message;
  ASSERT_EQ(keys.size(), 10000u);
  for (size_t i = 0; i < 10000; i++) {
    ASSERT_EQ(keys[i], pairs[2 * i]);
    ASSERT_EQ(values[i], pairs[2 * i + 1]);
  }
}

// ---- What is refused ----------------------------------------------------------------------------

TEST_F(Npy, RefusesWhatIsNoArray) {
  std::string good = npy(dictionary("<u4", "(1,)"), array(4, {1}));
  expect_refused("", "has 0 bytes");
  expect_refused(good.substr(0, 11), "has 11 bytes");
  expect_refused("PK\x03\x04 an archive of arrays", "no .npy file");
  expect_refused("\x93NUMPY" + std::string(1, 4) + std::string(100, '\0'), "version 4.0");
  expect_refused("\x93NUMPY" + std::string(2, 1) + std::string(100, '\0'), "version 1.1");
  expect_refused("\x93NUMPY" + std::string(1, 0) + std::string(100, '\0'), "version 0.0");
}

TEST_F(Npy, RefusesBadHeaders) {
  std::string one = array(4, {1});
  for (const char *text : {"",
                           "{",
                           "{'descr'",
                           "{'descr': ",
                           "{'descr' '<u4'}",
                           "{'descr': '<u4}",
                           "{'descr': <u4}",
                           "['descr']",
                           "{'descr': '<u4', 'fortran_order': 0, 'shape': (1,)}",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': 1}",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': (1)}",
                           "{'descr': '<u4', 'fortran_order': False}",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': (-1,)}",
                           "{'descr': '\\x3cu4', 'shape': (1,)}",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': (1,)} {",
                           "{'descr': '<u4' 'shape': (1,)}",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': (1,,)}",
                           "{,}",
                           "{'descr': '<u4', 'shape': (1",
                           "{'descr': '<u4', 'fortran_order': False, 'shape': (18446744073709551616,)}"})
    expect_refused(npy(text, one), "of its header");
  expect_refused(npy("{'descr': '<u4', 'descr': '<u4'}", one), "'descr' twice");
  expect_refused(npy("{'order': False}", one), "'order' twice or where it should not be");
  expect_refused(npy("{'descr': [('key', '<u4')], 'fortran_order': False, 'shape': (1,)}", one), "records");
  expect_refused(npy(dictionary("<u4", "(1,)") + std::string(1, '\0'), one), "follows the dictionary");
  std::string file = npy(dictionary("<u4", "(1,)"), one, 2);
  expect_refused(file.replace(8, 4, "\xFF\xFF\xFF\xFF"), "claims 4294967295 bytes");
  expect_refused(npy(dictionary("<u4", "(1,)"), one).replace(8, 2, "\xFF\xFF"), "claims 65535 bytes");
}

TEST_F(Npy, RefusesOtherTypesAndShapes) {
  for (const char *descr : {"<u3", "|u4", "<f4", "<f8", "|b1", "<U4", "|O", "<m8", "<u16", "<i", ""})
    expect_refused(npy(dictionary(descr, "(1,)"), array(8, {1})), std::string("type '") + descr + "'");
  expect_refused(npy(dictionary("<u4", "()"), array(4, {1})), "0 dimensions");
  expect_refused(npy(dictionary("<u4", "(1, 1, 1)"), array(4, {1})), "3 dimensions");
  expect_refused(npy(dictionary("<u4", "(1, 3)"), array(4, {1, 2, 3})), "the last of 3");
  expect_refused(npy(dictionary("<u4", "(1, 0)"), ""), "the last of 0");
}

TEST_F(Npy, RefusesMoreOrLessThanTheHeaderSays) {
  expect_refused(npy(dictionary("<u4", "(2,)"), array(4, {1})), "cut or damaged");
  expect_refused(npy(dictionary("<u4", "(1,)"), array(4, {1, 2})), "cut or damaged");
  expect_refused(npy(dictionary("<u4", "(1,)"), "abc"), "cut or damaged");
  expect_refused(npy(dictionary("<u8", "(2, 2)"), array(8, {1, 2, 3})), "cut or damaged");
  // 2^62 rows of 4 bytes, 2^60 of 16, and 2^64 - 1: the product is 0 or small in 64 bits
  expect_refused(npy(dictionary("<u4", "(4611686018427387904,)"), ""), "cut or damaged");
  expect_refused(npy(dictionary("<u8", "(1152921504606846976, 2)"), ""), "cut or damaged");
  expect_refused(npy(dictionary("<u4", "(18446744073709551615,)"), array(4, {1})), "cut or damaged");
}

TEST_F(Npy, RefusesNumbersThatDoNotFit) {
  expect_refused(npy(dictionary("<i4", "(2,)"), array(4, {1, 0xFFFFFFFF})),
                 "key of row 1 (counted from 0) is negative");
  expect_refused(npy(dictionary("<i8", "(1, 2)"), array(8, {1, UINT64_MAX})), "value of row 0 (counted from 0) is neg");
  expect_refused(npy(dictionary("<u8", "(1,)"), array(8, {1ull << 32})), "key of row 0 (counted from 0) is 4294967296");
  expect_refused(npy(dictionary("<u8", "(1, 2)"), array(8, {1, 1ull << 32})), "does not fit value_bits = 32");
  EXPECT_EQ(read(npy(dictionary("<i8", "(1, 2)"), array(8, {1, UINT64_MAX})), 32, 0), TSR_OK)
      << "values are not wanted";
}

TEST_F(Npy, RefusesKmers) {
  std::ofstream(path, std::ios::binary) << npy(dictionary("<u4", "(1,)"), array(4, {1}));
  tsr_dataset_options options = {};
  options.key_bits = 32;
  options.kmers = 4;
  tsr_dataset data = {};
  EXPECT_EQ(tsr_dataset_read(path.c_str(), &options, &data, &error), TSR_BAD_ARGUMENT);
}

// Every prefix of a file, and every file with one byte changed: refused or read, never out of bounds (sanitizers tell).
TEST_F(Npy, SurvivesDamage) {
  std::string good = npy(dictionary("<u4", "(2, 2)"), array(4, {1, 2, 3, 4}));
  ASSERT_EQ(read(good, 32, 32), TSR_OK);
  for (size_t length = 0; length < good.size(); length++) EXPECT_EQ(read(good.substr(0, length), 32, 32), TSR_IO);
  for (size_t at = 0; at < good.size(); at++) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x15);
    tsr_status status = read(bad, 32, 32);
    EXPECT_TRUE(status == TSR_OK || status == TSR_IO) << "byte " << at;
  }
}

// ---- What is written ----------------------------------------------------------------------------

std::string content(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

tsr_rows rows_of(const void *keys, const void *values, const uint8_t *found, uint64_t count, uint32_t key_bits,
                 uint32_t value_bits) {
  tsr_rows rows = {};
  rows.keys = keys;
  rows.values = values;
  rows.found = found;
  rows.count = count;
  rows.key_bits = key_bits;
  rows.value_bits = value_bits;
  return rows;
}

TEST_F(Npy, WritesKeyValueFound) {
  const uint32_t map_keys[] = {7, 8}, map_values[] = {70, 80};
  const uint64_t set_keys[] = {UINT64_MAX, 1};
  const uint8_t map_found[] = {1, 0}, set_found[] = {1, 0};
  const tsr_rows blocks[] = {rows_of(map_keys, map_values, map_found, 2, 32, 32),
                             rows_of(set_keys, nullptr, set_found, 2, 64, 0)};
  tsr_row_writer *writer = nullptr;
  ASSERT_EQ(tsr_rows_open(path.c_str(), blocks, &writer, &error), TSR_OK) << error.message;
  for (const tsr_rows &block : blocks) tsr_rows_add(writer, &block);
  ASSERT_EQ(tsr_rows_close(writer, true, &error), TSR_OK) << error.message;
  std::string head = "{'descr': '<u8', 'fortran_order': False, 'shape': (4, 3), }", file = content(path);
  std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head + std::string(117 - head.size(), ' ') +
                         "\n" + array(8, {7, 70, 1, 8, 0, 0, UINT64_MAX, 0, 1, 1, 0, 0});
  EXPECT_EQ(file, expected);
}

TEST_F(Npy, WritesMoreThanOneBlock) {
  Numbers many(20000);
  for (size_t i = 0; i < many.size(); i++) many[i] = i << 40;
  const tsr_rows rows = rows_of(many.data(), many.data(), nullptr, many.size(), 64, 64);
  ASSERT_EQ(tsr_rows_write(path.c_str(), &rows, &error), TSR_OK) << error.message;
  std::string file = content(path);
  ASSERT_EQ(file.size(), 128 + 16 * many.size()); // all were found: no third column
  for (size_t i = 0; i < many.size(); i++) ASSERT_EQ(file.substr(128 + 16 * i, 16), array(8, {many[i], many[i]})) << i;
}

TEST_F(Npy, NumpyAgrees) {
  if (system("python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "python3 here has no numpy";
  const uint32_t rows_keys[] = {7, 8}, rows_values[] = {70, 80};
  const uint8_t found[] = {1, 0};
  const tsr_rows rows = rows_of(rows_keys, rows_values, found, 2, 32, 32);
  ASSERT_EQ(tsr_rows_write(path.c_str(), &rows, &error), TSR_OK) << error.message;
  std::string load = "python3 -c 'import numpy; assert numpy.load(\"" + path + "\").tolist() == [[7,70,1],[8,0,0]]'";
  EXPECT_EQ(system(load.c_str()), 0);
  std::string save = "python3 -c 'import numpy; numpy.save(\"" + path + "\", numpy.array([[1,2],[3,4]]))'";
  ASSERT_EQ(system(save.c_str()), 0);
  ASSERT_EQ(read_file(32, 32), TSR_OK) << error.message;
  EXPECT_EQ(keys, (Numbers{1, 3}));
  EXPECT_EQ(values, (Numbers{2, 4}));
}

} // namespace
