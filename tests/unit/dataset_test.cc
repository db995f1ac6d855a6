// SPDX-License-Identifier: Apache-2.0
//
// tools/cli/dataset.h, sequence.h and rows.h: files to arrays, arrays to rows, and the sentence for the rest.
#include "tools/cli/dataset.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/whole_file.h"
#include "tools/cli/rows.h"
#include "tools/cli/sequence.h"

namespace {

using Numbers = std::vector<uint64_t>;

tsr_dataset_options widths(uint32_t key_bits, uint32_t value_bits) {
  tsr_dataset_options options = {};
  options.key_bits = key_bits;
  options.value_bits = value_bits;
  options.want_values = value_bits != 0;
  return options;
}

tsr_dataset_options kmers(uint32_t k, uint32_t key_bits = 64, bool canonical = false) {
  tsr_dataset_options options = widths(key_bits, 0);
  options.kmers = k;
  options.canonical = canonical;
  return options;
}

// Of keys of 128 bits both halves, the lower one first.
Numbers numbers(const void *array, uint32_t bits, uint64_t count) {
  if (bits == 128) return numbers(array, 64, 2 * count);
  Numbers result;
  for (uint64_t i = 0; array && i < count; i++) {
    result.push_back(bits == 64 ? static_cast<const uint64_t *>(array)[i] : static_cast<const uint32_t *>(array)[i]);
  }
  return result;
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

struct Read {
  Numbers keys, values;
  uint64_t count, records, bases, skipped;
};

std::string gzip(const std::string &text, int level = 6) {
  z_stream zip = {};
  EXPECT_EQ(deflateInit2(&zip, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&zip, text.size()) + 64, '\0');
  zip.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  zip.avail_in = static_cast<uInt>(text.size());
  zip.next_out = reinterpret_cast<Bytef *>(&out[0]);
  zip.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zip, Z_FINISH), Z_STREAM_END);
  out.resize(zip.total_out);
  deflateEnd(&zip);
  return out;
}

class Dataset : public testing::Test {
protected:
  void SetUp() override {
    const char *base = getenv("TEST_TMPDIR");
    std::string text = std::string(base ? base : "/tmp") + "/dataset_test.XXXXXX";
    ASSERT_NE(mkdtemp(&text[0]), nullptr);
    folder = text;
  }
  void TearDown() override { ASSERT_EQ(system(("rm -rf " + folder).c_str()), 0); }

  std::string write(const std::string &name, const std::string &bytes) {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string slurp(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  // Files in the folder: an output that failed must leave none behind.
  int files() {
    const std::string command = "ls -A " + folder + " | wc -l";
    FILE *pipe = popen(command.c_str(), "r");
    int count = -1;
    EXPECT_EQ(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
  }

  Read reads(const std::string &path, const tsr_dataset_options &options) {
    tsr_dataset data = {};
    tsr_error error = {};
    EXPECT_EQ(tsr_dataset_read(path.c_str(), &options, &data, &error), TSR_OK) << error.message;
    EXPECT_EQ(data.values != nullptr, options.want_values);
    Read result = {numbers(data.keys, options.key_bits, data.count),
                   numbers(data.values, options.value_bits, data.count),
                   data.count,
                   data.records,
                   data.bases,
                   data.kmers_skipped};
    tsr_dataset_free(&data);
    EXPECT_EQ(data.keys, nullptr);
    EXPECT_EQ(data.count, 0u);
    return result;
  }

  // The sentence, without the folder.
  std::string fails(const std::string &path, const tsr_dataset_options &options, tsr_status expected = TSR_IO) {
    tsr_dataset data = {};
    data.count = 77;
    tsr_error error = {};
    EXPECT_EQ(tsr_dataset_read(path.c_str(), &options, &data, &error), expected) << path;
    EXPECT_EQ(data.count, 77u);
    EXPECT_EQ(data.keys, nullptr);
    std::string text = error.message;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const size_t at = text.find(folder + "/");
    return at == std::string::npos ? text : text.erase(at, folder.size() + 1);
  }
  std::string folder;
};

// ---- .tsv

TEST_F(Dataset, TsvReadsKeysAndValues) {
  const std::string path = write("t.tsv", "# key\tvalue\n1\t2\n\n0x1F   0\r\n  4294967295 \t "
                                          "4294967295 \r\n  # more\n007 8");
  Read read = reads(path, widths(32, 32));
  EXPECT_EQ(read.keys, (Numbers{1, 31, 4294967295u, 7}));
  EXPECT_EQ(read.values, (Numbers{2, 0, 4294967295u, 8}));
  read = reads(path, widths(64, 64));
  EXPECT_EQ(read.keys, (Numbers{1, 31, 4294967295u, 7}));
  read = reads(path, widths(32, 0));
  EXPECT_EQ(read.keys.size(), 4u);
  EXPECT_EQ(read.records, 0u);
}

TEST_F(Dataset, TsvValuesAreOptionalWhenNotWanted) {
  EXPECT_EQ(reads(write("t.tsv", "1\n2 3\n4\n"), widths(32, 0)).keys, (Numbers{1, 2, 4}));
  tsr_dataset_options options = widths(32, 32);
  options.want_values = false;
  EXPECT_EQ(reads(folder + "/t.tsv", options).keys, (Numbers{1, 2, 4}));
  EXPECT_EQ(
      fails(folder + "/t.tsv", widths(32, 32)),
      "t.tsv:1: has a key but no value: write `key value`, or set the value of such keys by --value of `tessera run`");
}

TEST_F(Dataset, TsvWidthsAreExact) {
  const std::string max = "18446744073709551615\t0xFFFFFFFFFFFFFFFF\n";
  Read read = reads(write("t.tsv", max), widths(64, 64));
  EXPECT_EQ(read.keys, Numbers{UINT64_MAX});
  EXPECT_EQ(read.values, Numbers{UINT64_MAX});
  EXPECT_EQ(fails(write("t.tsv", "1 1\n4294967296 1\n"), widths(32, 32)),
            "t.tsv:2: the key '4294967296' is no whole number of 32 bits: it fits key_bits = 64");
  EXPECT_EQ(fails(write("t.tsv", "1 1\n1 0x100000000\n"), widths(64, 32)),
            "t.tsv:2: the value '0x100000000' is no whole number of 32 bits: it fits value_bits = 64");
  EXPECT_EQ(fails(write("t.tsv", "18446744073709551616 1\n"), widths(64, 32)),
            "t.tsv:1: the key '18446744073709551616' is no whole number of 64 bits: the largest is 2^64 - 1");
  EXPECT_EQ(fails(write("t.tsv", "18446744073709551616 1\n"), widths(32, 32)),
            "t.tsv:1: the key '18446744073709551616' is no whole number of 32 bits: the largest is 2^32 - 1");
  EXPECT_EQ(fails(write("t.tsv", "0x10000000000000000 1\n"), widths(64, 32)).substr(0, 8), "t.tsv:1:");
  EXPECT_EQ(reads(write("t.tsv", "1 18446744073709551615\n"), widths(32, 0)).count, 1u);
}

TEST_F(Dataset, AByteOrderMarkIsNoPartOfTheFirstLine) {
  for (const char *name : {"t.tsv", "t.csv"}) {
    const char between = name[2] == 't' ? '\t' : ',';
    const std::string rows = std::string("1") + between + "10\n2" + between + "20\n";
    EXPECT_EQ(reads(write(name, "\xEF\xBB\xBF" + rows), widths(32, 32)).count, 2u) << name;
    EXPECT_EQ(reads(write(name, "\xEF\xBB\xBF# words\n" + rows), widths(32, 32)).count, 2u) << name;
  }
  EXPECT_EQ(reads(write("t.csv", "\xEF\xBB\xBFkey,value\n1,10\n"), widths(32, 32)).count, 1u);
  EXPECT_EQ(fails(write("t.tsv", "1 1\n\xEF\xBB\xBF"
                                 "2 1\n"),
                  widths(32, 32))
                .substr(0, 8),
            "t.tsv:2:");
}

TEST_F(Dataset, TsvSaysHowToWriteANumber) {
  const struct {
    const char *field, *advice;
  } cases[] = {
      {"-1", "numbers below 0 are read with --signed"},
      {"18446744073709551616", "the largest is 2^32 - 1"},
      {"1e6", "write 1000000"},
      {"1K", "write 1000"},
      {"1,000", "write 1000"},
      {"1e10", "it fits key_bits = 64"},
      {"ffff", "if it is hexadecimal, write 0xffff"},
      {"1;2", "columns separated by ';' are read with --separator ';'"},
      {"bob", "keys are whole numbers, in decimal or as 0x.."},
  };
  for (const auto &c : cases) {
    const std::string sentence = fails(write("t.tsv", std::string("1 1\n") + c.field + " 1\n"), widths(32, 32));
    EXPECT_EQ(sentence.substr(sentence.find("bits: ") + 6), c.advice);
  }
  EXPECT_EQ(fails(write("t.tsv", "1 2 3\n"), widths(32, 32)),
            "t.tsv:1: the row has more than two columns, a key and a value: choose among 3 by --key and --value");
}

TEST_F(Dataset, TsvRefusesMalformedLines) {
  for (const std::string bad : {"x", "1 x", "-1 1", "1 -1", "+1 1", "1.0 1", "1,1", "0x 1", "0xg 1", "1 1 1", "1 1 x",
                                "1K 1", "1\v1", "key value", "1;1",
                                "\xef\xbb\xbf"
                                "1 1",
                                "a 1", "1 f", "1 # c"}) {
    EXPECT_EQ(fails(write("t.tsv", "# c\n1 1\n" + bad + "\n2 2\n"), widths(64, 64)).substr(0, 12), "t.tsv:3: the")
        << bad;
  }
  EXPECT_EQ(fails(write("t.tsv", std::string("1\0 2\n", 5)), widths(64, 64)).substr(0, 21), "t.tsv:1: the key '1?'");
  EXPECT_EQ(fails(write("t.tsv", std::string(100, '1') + " 2\n"), widths(64, 64)).substr(0, 64),
            "t.tsv:1: the key '" + std::string(40, '1') + "...' i");
  EXPECT_EQ(fails(write("t.tsv", "1 2\n" + std::string(100000, ' ') + std::string(769, '1')), widths(64, 64)),
            "t.tsv:2: the key '" + std::string(40, '1') +
                "...' is no whole number of 64 bits: the largest is 2^64 - 1");
  EXPECT_EQ(fails(write("t.tsv", "1 2\n3 4 " + std::string(1 << 20, 'x')), widths(64, 64)),
            "t.tsv:2: this row has more than 1048576 bytes: rows of numbers are shorter");
}

TEST_F(Dataset, TsvPassesOverLongComments) {
  const std::string text = "#" + std::string(1000000, 'x') + "\n5 6\n#";
  EXPECT_EQ(reads(write("t.tsv", text), widths(64, 64)).values, Numbers{6});
}

TEST_F(Dataset, AFileWithoutAKeyIsRefusedWhereOptionsAreStrict) {
  for (const char *name : {"t.tsv", "t.csv", "t.txt"})
    for (const char *text : {"", "\n", "# nothing\n", "  \n \r\n", "key\n", "\xEF\xBB\xBF"}) {
      EXPECT_EQ(reads(write(name, text), widths(32, 32)).count, 0u) << text;
      tsr_dataset_options options = widths(32, 32);
      options.is_strict = true;
      EXPECT_EQ(fails(write(name, text), options),
                std::string(name) + ": holds no key, and --strict refuses such files");
    }
  EXPECT_EQ(reads(write("e.u32", ""), widths(32, 32)).count, 0u);
  EXPECT_EQ(reads(write("e.fa", ">r\nAC\n"), kmers(3)).count, 0u);
}

// What the readers of rows are asked for, with every size of a block's end: fields are cut anywhere.
TEST_F(Dataset, RowsOfAnyLengthAreRead) {
  std::mt19937_64 random(12);
  std::string text = "id,note,n\n";
  Numbers keys, values;
  for (int i = 0; i < 3000; i++) {
    keys.push_back(random() >> (random() % 64));
    values.push_back(random() % 1000);
    std::string note(random() % (i % 100 ? 60 : 70000), 'x');
    for (char &c : note) c = "x,\n \"\r\t"[random() % 7];
    for (size_t at = 0; (at = note.find('"', at)) != std::string::npos; at += 2) note.insert(at, "\"");
    const char *quote = random() % 2 ? "\"" : "";
    text += quote + std::to_string(keys.back()) + quote + ",\"" + note + "\"," + std::to_string(values.back()) +
            (random() % 2 ? "\n" : "\r\n");
  }
  tsr_dataset_options options = widths(64, 32);
  options.key_column = "id";
  options.value_column = "@3";
  const Read read = reads(write("t.csv", text), options);
  EXPECT_TRUE(read.keys == keys);
  EXPECT_TRUE(read.values == values);
}

TEST_F(Dataset, TsvOfManyRows) {
  std::string text;
  Numbers keys, values;
  std::mt19937_64 random(4);
  for (int i = 0; i < 100000; i++) {
    keys.push_back(random());
    values.push_back(static_cast<uint32_t>(random()));
    text += std::to_string(keys.back()) + "\t" + std::to_string(values.back()) + "\n";
  }
  Read read = reads(write("t.tsv", text), widths(64, 32));
  EXPECT_TRUE(read.keys == keys);
  EXPECT_TRUE(read.values == values);
}

// ---- .u32 .u64

TEST_F(Dataset, RawArrays) {
  const std::string bytes("\x01\x02\x03\x04\x00\x00\x00\x80\xff\xff\xff\xff\x00\x00\x00\x00", 16);
  Read read = reads(write("t.u32", bytes), widths(32, 64));
  EXPECT_EQ(read.keys, (Numbers{0x04030201, 0x80000000, 0xffffffff, 0}));
  EXPECT_EQ(read.values, (Numbers{0, 1, 2, 3}));
  read = reads(write("t.u64", bytes), widths(64, 32));
  EXPECT_EQ(read.keys, (Numbers{0x8000000004030201, 0xffffffff}));
  EXPECT_EQ(read.values, (Numbers{0, 1}));
  EXPECT_EQ(reads(folder + "/t.u64", widths(64, 0)).count, 2u);
}

TEST_F(Dataset, RawRefuses) {
  EXPECT_EQ(fails(write("t.u32", "abcde"), widths(32, 32)),
            "t.u32: has 5 bytes: a raw file of 32-bit keys has a multiple of 4");
  EXPECT_EQ(fails(write("t.u64", "abcd"), widths(64, 32)),
            "t.u64: has 4 bytes: a raw file of 64-bit keys has a multiple of 8");
  EXPECT_EQ(fails(folder + "/t.u32", widths(64, 32), TSR_BAD_ARGUMENT),
            "t.u32: holds keys of 32 bits, but key_bits = 64: they must be the same");
  EXPECT_EQ(fails(folder + "/t.u64", widths(32, 32), TSR_BAD_ARGUMENT),
            "t.u64: holds keys of 64 bits, but key_bits = 32: they must be the same");
}

TEST_F(Dataset, RawIndicesMustFitTheValues) {
  const std::string path = write("t.u32", ""); // sparse: costs nothing
  ASSERT_EQ(truncate(path.c_str(), ((off_t{1} << 32) + 1) * 4), 0);
  EXPECT_EQ(
      fails(path, widths(32, 32)),
      "t.u32: holds more than 2^32 keys, and their numbers in the file do not fit value_bits = 32: use value_bits = "
      "64, or set the values by --value");
}

// ---- Any file

TEST_F(Dataset, ReadsPipesAsTheyCome) {
  ASSERT_EQ(mkfifo((folder + "/p.TSV.gz").c_str(), 0600), 0);
  const std::string zipped = gzip("7 1\n") + gzip("8 2\n") + std::string(1000, '\0'); // padded, as tapes do it
  std::thread writer([&] {
    std::ofstream out(folder + "/p.TSV.gz");
    for (char byte : zipped) out << byte << std::flush;
  });
  const Read read = reads(folder + "/p.TSV.gz", widths(32, 32));
  writer.join();
  EXPECT_EQ(read.keys, (Numbers{7, 8}));
  EXPECT_EQ(read.values, (Numbers{1, 2}));
}

TEST_F(Dataset, CsvMayNameItsColumns) {
  EXPECT_EQ(reads(write("t.csv", "key,value\r\n7,1\r\n 8 , 2\n"), widths(32, 32)).keys, (Numbers{7, 8}));
  EXPECT_EQ(reads(write("t.csv", "7,1\n8,2\n"), widths(32, 32)).values, (Numbers{1, 2}));
  EXPECT_EQ(reads(write("t.csv.gz", gzip("\"id\"\n9\n")), widths(64, 0)).keys, Numbers{9});
  EXPECT_NE(fails(write("t.csv", "key,value\n7,1\nx,2\n"), widths(32, 32)).find("t.csv:3: the key 'x'"),
            std::string::npos);
  EXPECT_EQ(reads(write("t.csv", "\"1\",1\n2,1\n"), widths(32, 32)).keys, (Numbers{1, 2}));
  EXPECT_NE(fails(write("t.csv", "-1,1\n"), widths(32, 32)).find("t.csv:1: the key '-1'"), std::string::npos);
}

TEST_F(Dataset, RefusesWhatIsNoFile) {
  EXPECT_EQ(fails(folder + "/none.tsv", widths(32, 32), TSR_NOT_FOUND),
            "'none.tsv': cannot be opened: No such file or directory");
  EXPECT_EQ(fails(write("f", "") + "/none.fa", kmers(3), TSR_NOT_FOUND),
            "'f/none.fa': cannot be opened: Not a directory");
  ASSERT_EQ(mkdir((folder + "/d.u32").c_str(), 0700), 0);
  EXPECT_EQ(fails(folder + "/d.u32", widths(32, 32)), "d.u32: is a directory: an input must be a file");
  ASSERT_EQ(mkfifo((folder + "/p.npy").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder + "/p.u32").c_str(), 0600), 0);
  alarm(10); // a reader that waits dies here
  EXPECT_EQ(fails(folder + "/p.npy", widths(32, 0)), "p.npy: is a pipe or a device: an array must be a regular file");
  EXPECT_EQ(fails(folder + "/p.u32", widths(32, 0)), "p.u32: is a pipe or a device: an array must be a regular file");
  alarm(0);
}

TEST_F(Dataset, ReportsReadErrors) {
  for (const char *name : {"/m.tsv", "/m.fa", "/m.fq.gz"}) { // address 0 is not mapped
    ASSERT_EQ(symlink("/proc/self/mem", (folder + name).c_str()), 0);
    const bool is_sequence = strcmp(name, "/m.tsv") != 0;
    EXPECT_EQ(fails(folder + name, is_sequence ? kmers(3) : widths(32, 0)),
              std::string(name + 1) + ": cannot be read: Input/output error");
  }
}

TEST_F(Dataset, RefusesAnUnreadableFile) {
  const std::string path = write("t.tsv", "1 1\n");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const bool is_root = geteuid() == 0;
  if (is_root && seteuid(65534) != 0) {
    GTEST_SKIP() << "root reads everything, and this one cannot become somebody else";
  }
  EXPECT_EQ(fails(path, widths(32, 32)), "'t.tsv': cannot be opened: Permission denied");
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST_F(Dataset, ReadsKeysOf128Bits) {
  const Numbers expected = {0x8899AABBCCDDEEFF, 0x0011223344556677, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 17, 0};
  const char *const rows[] = {"00112233-4455-6677-8899-aabbccddeeff\nffffffff-ffff-ffff-ffff-FFFFFFFFFFFF\n17\n",
                              "00112233445566778899aabbccddeeff\nffffffffffffffffffffffffffffffff\n0x11\n",
                              "0x112233445566778899AABBCCDDEEFF\n0xffffffffffffffffffffffffffffffff\n"
                              "00000000000000000000000000000011\n"};
  for (const char *text : rows) EXPECT_EQ(reads(write("t.tsv", text), widths(128, 0)).keys, expected) << text;
  // a UUID that begins with a letter is no name of a column, and one behind a name is a key
  EXPECT_EQ(reads(write("t.tsv", "a0112233-4455-6677-8899-aabbccddeeff\n"), widths(128, 0)).count, 1u);
  EXPECT_EQ(reads(write("t.csv", "id,v\n00112233-4455-6677-8899-aabbccddeeff,5\n"), widths(128, 32)).values,
            Numbers{5});
  for (const char *text : {"0011223344556677-8899-aabbccddeeff-00", "0x", "1e5", "18446744073709551616", "-1",
                           "0x1ffffffffffffffffffffffffffffffff", "00112233-4455-6677-8899-aabbccddeefg"})
    EXPECT_NE(fails(write("t.tsv", std::string("1\n") + text + "\n"), widths(128, 0), TSR_IO).find("as a UUID"),
              std::string::npos)
        << text;
  tsr_dataset_options with_sign = widths(128, 0);
  with_sign.signed_keys = true;
  EXPECT_NE(fails(folder + "/t.tsv", with_sign, TSR_BAD_ARGUMENT).find("no sign"), std::string::npos);
}

TEST_F(Dataset, WritesKeysOf128Bits) {
  const uint64_t keys[] = {0x8899AABBCCDDEEFF, 0x0011223344556677, 17, 0};
  const uint32_t values[] = {4, 5};
  tsr_error error = {};
  const std::string path = folder + "/rows.tsv";
  tsr_rows rows = rows_of(keys, values, nullptr, 2, 128, 32);
  ASSERT_EQ(tsr_rows_write(path.c_str(), &rows, &error), TSR_OK) << error.message;
  EXPECT_EQ(slurp(path), "0x00112233445566778899aabbccddeeff\t4\n0x00000000000000000000000000000011\t5\n");
  EXPECT_EQ(reads(path, widths(128, 32)).keys, Numbers(keys, keys + 4));
  const std::string array = folder + "/rows.npy";
  rows = rows_of(keys, nullptr, nullptr, 2, 128, 0);
  ASSERT_EQ(tsr_rows_write(array.c_str(), &rows, &error), TSR_OK) << error.message;
  EXPECT_EQ(reads(array, widths(128, 0)).keys, Numbers(keys, keys + 4));
}

TEST_F(Dataset, RefusesOptionsThatDoNotFit) {
  EXPECT_EQ(fails(write("t.dat", "1"), widths(32, 32), TSR_BAD_ARGUMENT).substr(0, 50),
            "'t.dat': its ending must be .npy, .u32 or .u64; or");
  EXPECT_EQ(fails("", widths(32, 32), TSR_BAD_ARGUMENT).substr(0, 6), "'': it");
  EXPECT_EQ(fails(folder + "/nosuch", widths(32, 32), TSR_NOT_FOUND),
            "'nosuch': cannot be opened: No such file or directory");
  EXPECT_EQ(fails(write("t.parquet", "PAR1"), widths(32, 32), TSR_BAD_ARGUMENT),
            "'t.parquet': its name says Parquet, which is not read: write its columns as .csv or .npy, for example by "
            "pandas");
  EXPECT_EQ(
      fails(write("t.tsv", "1"), kmers(5), TSR_BAD_ARGUMENT),
      "t.tsv: is not a FASTA or FASTQ file, and k-mers are read from those only. For numbers use `tessera run` without "
      "--kmers and --canonical");
  EXPECT_EQ(fails(write("t.fa", ">a\nACGT\n"), widths(64, 0), TSR_BAD_ARGUMENT),
            "t.fa: is a sequence file: `tessera run` and `count` read it with --kmers K, the letters of a key");
  EXPECT_EQ(fails(folder + "/t.fa", kmers(33), TSR_BAD_ARGUMENT),
            "t.fa: --kmers 33 does not fit key_bits = 64: allowed are 1 to 32");
  EXPECT_EQ(fails(folder + "/t.fa", kmers(17, 32), TSR_BAD_ARGUMENT),
            "t.fa: --kmers 17 does not fit key_bits = 32: allowed are 1 to 16");
  EXPECT_EQ(fails(folder + "/t.tsv", widths(16, 32), TSR_BAD_ARGUMENT),
            "tsr_input_open: key_bits = 16: allowed are 32, 64, 128");
  EXPECT_EQ(fails(folder + "/t.tsv", widths(32, 8), TSR_BAD_ARGUMENT),
            "tsr_input_open: value_bits = 8: allowed are 32, 64, whole bytes up to 2048, and 0 without values");
  tsr_dataset_options options = widths(32, 0);
  options.want_values = true;
  EXPECT_EQ(fails(folder + "/t.tsv", options, TSR_BAD_ARGUMENT),
            "tsr_input_open: value_bits = 0: allowed are 32, 64, whole bytes up to 2048, and 0 without values");
}

// ---- FASTA and FASTQ

// The definition, letter by letter, for one record.
Numbers oracle(const std::string &bases, uint32_t k, bool canonical) {
  Numbers result;
  for (size_t i = 0; i + k <= bases.size(); i++) {
    uint64_t forward = 0;
    uint64_t reverse = 0;
    bool is_good = true;
    for (uint32_t j = 0; j < k; j++) {
      const size_t code = std::string("ACGT").find(static_cast<char>(toupper(bases[i + j])));
      const size_t other = std::string("TGCA").find(static_cast<char>(toupper(bases[i + k - 1 - j])));
      is_good = is_good && code != std::string::npos;
      forward = forward * 4 + code;
      reverse = reverse * 4 + other;
    }
    if (is_good) {
      result.push_back(canonical ? std::min(forward, reverse) : forward);
    }
  }
  return result;
}

// Where the second block of a file ends whose first line is long.
const size_t kFirstBlocks = TSR_TEXT_HEAD_BYTES + TSR_SEQUENCE_BLOCK;

TEST(SequenceFormat, IsNamedByTheEnding) {
  const auto is_named = [](const std::string &name) { return tsr_sequence_is_named(name.data(), name.size()); };
  for (const char *path : {"a.fa", "a.fasta", "a.fna", ".fa", "x/y.fa", "a.FA", "a.Fasta", "a.fas", "a.ffn", "a.fsa",
                           "a.mfa", "a.faa", "a.frn", "a.fq", "a.fastq", "A.FQ"})
    EXPECT_TRUE(is_named(path)) << path;
  for (const char *path : {"", "fa", "a.gz", "a.fa.bz2", "a.fa ", "a.txt", "a.sam"})
    EXPECT_FALSE(is_named(path)) << path;
}

// A name does not say which of the two it is.
TEST_F(Dataset, TheFirstLetterTellsFastaFromFastq) {
  for (const char *name : {"t.fa", "t.fq", "t.fas", "t.txt"}) {
    EXPECT_EQ(reads(write(name, "\n\r\n>r\nACGT\n"), kmers(4)).keys, Numbers{27}) << name;
    EXPECT_EQ(reads(write(name, "\n@r\nACGT\n+\n!!!!\n"), kmers(4)).keys, Numbers{27}) << name;
    EXPECT_EQ(reads(write(name, "\xEF\xBB\xBF>r\nACGT\n"), kmers(4)).keys, Numbers{27}) << name;
    EXPECT_EQ(reads(write(name, "; a comment\n>r\nAC\n;between\nGT\n"), kmers(4)).keys, Numbers{27}) << name;
  }
}

TEST_F(Dataset, UCountsAsT) {
  EXPECT_EQ(reads(write("t.fa", ">r\nACGUu\n"), kmers(4)).keys, (Numbers{27, 111}));
  EXPECT_EQ(reads(folder + "/t.fa", kmers(4, 64, true)).keys,
            reads(write("d.fa", ">r\nACGTT\n"), kmers(4, 64, true)).keys);
}

TEST_F(Dataset, FastqMayHaveLinesOfAnyLength) {
  const std::string text = "@r\nAC\nGT\n+r\n@!\n+!\n@s\nA\n\nC\n+\n!!\n@t\nACG\nT\n+\n@@@@\n";
  const Read read = reads(write("t.fq", text), kmers(2));
  EXPECT_EQ(read.keys, (Numbers{1, 6, 11, 1, 1, 6, 11}));
  EXPECT_EQ(read.records, 3u);
}

TEST_F(Dataset, BlanksMayEndALine) {
  EXPECT_EQ(reads(write("t.fa", ">r \nAC \nGT\t \r\n  \nA"), kmers(4)).keys, (Numbers{27, 108}));
  EXPECT_EQ(reads(write("t.fq", "@r\nACGT \n+\n!!!! \n"), kmers(4)).keys, Numbers{27});
  const std::string head = ">" + std::string(kFirstBlocks - 5, 'x') + "\n"; // "AC " is the end of a block
  EXPECT_EQ(fails(write("t.fa", head + "AC  GT\n"), kmers(2)),
            "t.fa:2: letters follow a blank: a sequence has none within");
}

TEST_F(Dataset, AnEmptyReadMayBeTheLast) {
  for (const char *end : {"@a\n\n+\n\n", "@a\n\n+\n", "@a\n\n+", "@a\r\n\r\n+\r\n\r\n", "@a\r\n\r\n+\r\n"}) {
    const Read read = reads(write("t.fq", std::string("@a\n\n+\n\n@b\nACGTA\n+\nIIIII\n") + end), kmers(5));
    EXPECT_EQ(read.count, 1u);
    EXPECT_EQ(read.records, 3u) << end;
  }
}

TEST_F(Dataset, OtherFormatsAreToldAsWhatTheyLookLike) {
  const struct {
    const char *text, *what;
  } cases[] = {{"@HD\tVN:1.6\n@SQ\tSN:1\tLN:4\n", "SAM"},
               {"r1\t0\t1\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\n", "SAM"},
               {"BAM\1", "BAM"},
               {"CRAM\3", "CRAM"},
               {"LOCUS       SCU49845     5028 bp\n", "GenBank"},
               {"ID   X56734; SV 1; linear;\n", "EMBL"},
               {"##fileformat=VCFv4.2\n", "VCF"},
               {"##gff-version 3\n", "GFF"}};
  for (const auto &c : cases) {
    EXPECT_EQ(fails(write("t.fa", c.text), kmers(3)).find(std::string("t.fa: looks like ") + c.what), 0u) << c.what;
    EXPECT_EQ(fails(write("t.fa.gz", gzip(c.text)), kmers(3)).find(std::string("t.fa.gz: looks like ") + c.what), 0u);
  }
  EXPECT_EQ(fails(write("t.bam", ""), kmers(3), TSR_BAD_ARGUMENT).find("'t.bam': its name says BAM, and k-mers"), 0u);
  EXPECT_EQ(fails(write("t.vcf.gz", ""), kmers(3), TSR_BAD_ARGUMENT).find("'t.vcf.gz': its name says VCF, which"), 0u);
  EXPECT_EQ(reads(write("t.fq", "@SQ read\nACG\n+\n!!!\n"), kmers(3)).count, 1u);
}

TEST_F(Dataset, CarriageReturnsAloneEndNoLine) {
  for (const char *text : {">a\rACGT\rACGT\r", "@a\rACGT\r+\r!!!!\r", ">a\r\n>b\rACGT\n"})
    EXPECT_NE(fails(write("t.fa", text), kmers(3)).find("its lines end with CR alone, as old Macs"), std::string::npos);
}

TEST_F(Dataset, BgzipEndsWithAnEmptyBlock) {
  const std::string end("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28);
  const auto lacks_end = [&](const std::string &bytes) {
    tsr_input *input = nullptr;
    tsr_error error = {};
    const tsr_dataset_options options = kmers(4);
    EXPECT_EQ(tsr_input_open(write("t.fa.gz", bytes).c_str(), &options, &input, &error), TSR_OK) << error.message;
    std::vector<uint64_t> keys(TSR_SEQUENCE_ROOM);
    for (uint64_t got = 1; got > 0;)
      EXPECT_EQ(tsr_input_read(input, keys.size(), keys.data(), nullptr, &got, &error), TSR_OK) << error.message;
    const tsr_input_facts facts = tsr_input_describe(input);
    EXPECT_EQ(facts.keys, 1u);
    tsr_input_close(input);
    return facts.lacks_end;
  };
  std::string block = gzip(">r\nACGT\n"); // with the field that bgzip adds, whose size nobody here reads
  block = block.substr(0, 3) + '\4' + block.substr(4, 6) + std::string("\6\0BC\2\0\0\0", 8) + block.substr(10);
  EXPECT_TRUE(lacks_end(block));
  EXPECT_FALSE(lacks_end(block + end));
  EXPECT_TRUE(lacks_end(end + block));
  EXPECT_FALSE(lacks_end(end + block + end));
  EXPECT_FALSE(lacks_end(gzip(">r\nACGT\n"))) << "gzip itself ends so";
}

/* A block of bgzip: a stream of gzip that says its size. */
std::string block_of(const std::string &text) {
  const std::string stream = gzip(text);
  const size_t last = stream.size() + 8 - 1;
  const std::string size = {(char)(last & 255), (char)(last >> 8)};
  return stream.substr(0, 3) + '\4' + stream.substr(4, 6) + std::string("\6\0BC\2\0", 6) + size + stream.substr(10);
}

TEST_F(Dataset, BlocksOfBgzipAreOneText) {
  std::string text = ">r\n", blocks, first_blocks;
  for (uint64_t i = 0, state = 7; i < 400000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += "ACGT"[state >> 62];
    if (i % 70 == 69) text += '\n';
  }
  const size_t piece = 7001;
  for (size_t at = 0; at < text.size(); at += piece) {
    blocks += block_of(text.substr(at, piece));
    if (at == 20 * piece) first_blocks = blocks + gzip(text.substr(at + piece)); // gzip alone goes on
    if (at == 30 * piece) blocks += block_of("");
  }
  const std::vector<uint64_t> keys = reads(write("t.fa", text), kmers(21, 64)).keys;
  EXPECT_EQ(reads(write("t.fa.gz", blocks), kmers(21, 64)).keys, keys);
  EXPECT_EQ(reads(write("t.fa.gz", first_blocks), kmers(21, 64)).keys, keys);
  EXPECT_EQ(fails(write("t.fa.gz", blocks.substr(0, blocks.size() - 1)), kmers(21, 64)),
            "t.fa.gz: ends in the middle of its gzip data, behind byte " + std::to_string(text.size()) +
                " of its text: get it again");
  blocks[blocks.size() - 5] ^= 1; // the checksum of the last block
  EXPECT_EQ(fails(write("t.fa.gz", blocks), kmers(21, 64)), "t.fa.gz: is not gzip or is damaged behind byte " +
                                                                std::to_string(text.size()) +
                                                                " of its text: compress it again");
}

// A record of random letters, after a header.
std::string record_of(const std::string &header, size_t letters, uint64_t *state) {
  std::string text = ">" + header;
  for (size_t i = 0; i < letters; i++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    if (i % 70 == 0) text += '\n';
    text += "ACGT"[*state >> 62];
  }
  return text + "\n";
}

// Members of gzip: of many sizes, without text, with a name, and one whose stored text has what members begin with.
TEST_F(Dataset, MembersOfGzipAreOneText) {
  const std::string head("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10), tail("\1\0\0\xff\xff\0\0\0\0\0\0\0\0", 13);
  const std::string member = head + tail; // a whole one, whose text is empty
  std::vector<std::string> texts, members;
  uint64_t state = 7;
  for (size_t i = 0; i < 120; i++) {
    texts.push_back(record_of("r", i == 50 ? 900000 : 40 * i * (i % 7), &state));
    members.push_back(gzip(texts.back()));
    if (i % 5 == 0) members.back() += gzip("");
    if (i % 9 == 0)
      members.back() = members.back().substr(0, 3) + '\x8' + members.back().substr(4, 6) + std::string("name\0", 5) +
                       members.back().substr(10);
    if (i != 20 && i != 70) continue;
    std::string header = "stored";
    for (size_t k = 0; k < 300; k++) header += (k % 2 ? member : head) + 'x';
    texts.push_back(record_of(header + member, 100, &state));
    members.push_back(gzip(texts.back(), 0));
  }
  const auto all_of = [](const std::vector<std::string> &pieces, size_t count) {
    std::string all;
    for (size_t i = 0; i < count; i++) all += pieces[i];
    return all;
  };
  const std::string text = all_of(texts, texts.size()), bytes = all_of(members, members.size());
  const std::vector<uint64_t> keys = reads(write("t.fa", text), kmers(21, 64)).keys;
  const std::string damaged = "t.fa.gz: is not gzip or is damaged behind byte ",
                    again = " of its text: compress it again";
  for (const char *cores : {"1", "64"}) {
    SCOPED_TRACE(cores);
    setenv("OMP_NUM_THREADS", cores, 1);
    EXPECT_EQ(reads(write("t.fa.gz", bytes), kmers(21, 64)).keys, keys);
    EXPECT_EQ(reads(write("t.fa.gz", bytes + std::string(70000, '\0')), kmers(21, 64)).keys, keys) << "padded";
    EXPECT_EQ(
        reads(write("t.fa.gz", all_of(members, 30) + std::string(99, '\0') + bytes.substr(all_of(members, 30).size())),
              kmers(21, 64))
            .keys,
        keys)
        << "padded between";
    EXPECT_EQ(fails(write("t.fa.gz", bytes + "rest"), kmers(21, 64)), damaged + std::to_string(text.size()) + again);
    EXPECT_EQ(fails(write("t.fa.gz", bytes + member.substr(0, 20)), kmers(21, 64)),
              "t.fa.gz: ends in the middle of its gzip data, behind byte " + std::to_string(text.size()) +
                  " of its text: get it again");
    for (size_t broken : {0, 60, 121}) {
      std::vector<std::string> some = members;
      some[broken][some[broken].size() - 6] ^= 1; // the checksum, or that of the empty member behind it
      EXPECT_EQ(fails(write("t.fa.gz", all_of(some, some.size())), kmers(21, 64)),
                damaged + std::to_string(all_of(texts, broken + 1).size()) + again);
      some[broken] = members[broken].substr(0, members[broken].size() - 9);
      EXPECT_NE(fails(write("t.fa.gz", all_of(some, some.size())), kmers(21, 64)), "") << "cut in the middle";
    }
  }
  unsetenv("OMP_NUM_THREADS");
}

TEST_F(Dataset, FastaPacksLettersFirstMostSignificant) {
  Read read = reads(write("t.fa", ">r\nACGT\n"), kmers(4));
  EXPECT_EQ(read.keys, Numbers{0x1b}); // 00 01 10 11
  read = reads(folder + "/t.fa", kmers(2));
  EXPECT_EQ(read.keys, (Numbers{1, 6, 11}));
  read = reads(folder + "/t.fa", kmers(1, 32));
  EXPECT_EQ(read.keys, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(reads(write("t.fa", ">r\nTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT"), kmers(32)).keys,
            (Numbers{UINT64_MAX, UINT64_MAX}));
  EXPECT_EQ(reads(folder + "/t.fa", kmers(16, 32)).keys, Numbers(18, UINT32_MAX));
}

TEST_F(Dataset, CanonicalIsTheSmallerStrand) {
  EXPECT_EQ(reads(write("t.fa", ">r\nTTTT\n"), kmers(3, 64, true)).keys, (Numbers{0, 0}));
  EXPECT_EQ(reads(write("t.fa", ">r\nGTA\n"), kmers(3, 64, true)).keys, Numbers{44}); // < TAC = 49
  EXPECT_EQ(reads(write("t.fa", ">r\nTAC\n"), kmers(3, 64, true)).keys, Numbers{44});
}

TEST_F(Dataset, KmersBreakAtOtherLettersAndRecords) {
  Read read = reads(write("t.fa", ">one two\nACG\nTNacg-T\n\n>\n>empty\n>r ACGT\nA\r\nC\r\nGT"), kmers(3));
  // ACGTNacg-T: ACG CGT acg; ACGT: ACG CGT
  EXPECT_EQ(read.keys, (Numbers{6, 27, 6, 6, 27}));
  EXPECT_EQ(read.records, 4u);
  EXPECT_EQ(read.bases, 14u);
  EXPECT_EQ(read.skipped, 8u - 3u);
}

TEST_F(Dataset, SequenceValuesAreIndices) {
  tsr_dataset_options options = kmers(2, 32);
  options.value_bits = 64;
  options.want_values = true;
  EXPECT_EQ(reads(write("t.fa", ">a\nACG\n>b\nNTT\n"), options).values, (Numbers{0, 1, 2}));
}

TEST_F(Dataset, FastqReadsTheSecondLineOnly) {
  const std::string text = "@r1\nACGT\n+\n@@@@\n@r2\r\nGG\r\n+r2\r\n+>\r\n\n@r3\nNN\n+\n!~";
  Read read = reads(write("t.fq", text), kmers(2));
  EXPECT_EQ(read.keys, (Numbers{1, 6, 11, 10}));
  EXPECT_EQ(read.records, 3u);
  EXPECT_EQ(read.bases, 8u);
  EXPECT_EQ(read.skipped, 1u);
  EXPECT_EQ(reads(write("t.fastq.gz", gzip(text)), kmers(2)).keys, read.keys);
  EXPECT_EQ(reads(write("t.fq", "@empty\n\n+\n\n@r\nAC\n+\n!!\n\n\n"), kmers(2)).records, 2u);
}

TEST_F(Dataset, SequenceRefusesMalformedText) {
  const struct {
    const char *name, *text, *sentence;
  } cases[] = {
      {"t.fa", "ACGT\n", "t.fa:1: a FASTA record starts with '>', but this line starts with byte 0x41"},
      {"t.fa", ">r\nAC GT\n",
       "t.fa:2: byte 0x20 is no letter of a sequence: allowed are A to Z, a to z, '*', '-' and "
       "'.'"},
      {"t.fa", ">r\nA\nC\rG\n",
       "t.fa:3: byte 0x0d is no letter of a sequence: allowed are A to Z, a to z, '*', '-' and "
       "'.'"},
      {"t.fa", ">r\n\rACGT\n",
       "t.fa:2: byte 0x0d is no letter of a sequence: allowed are A to Z, a to z, '*', '-' and "
       "'.'"},
      {"t.fa", ">r\nACG>T\n",
       "t.fa:2: byte 0x3e is no letter of a sequence: allowed are A to Z, a to z, '*', '-' and "
       "'.'"},
      {"t.fq", "@q\nA\n+\n!\n>r\nACGT\n",
       "t.fq:5: a FASTQ record starts with '@', but this line starts with byte 0x3e"},
      {"t.fq", "@r\nACGT\n@s\nACGT\n+\n!!!!\n",
       "t.fq:3: byte 0x40 is no letter of a sequence: allowed are A to Z, a to z, '*', '-' and '.'"},
      {"t.fq", "@r\nACGT\n+\n!!!\n@s\nACGT\n+\n!!!!\n",
       "t.fq:5: has 5 quality letters for 4 bases: they must be as many"},
      {"t.fq", "@r\nACGT\n+\n!!!\n",
       "t.fq:1: the file ends within this FASTQ record: it has 4 bases and 3 quality letters"},
      {"t.fq", "@r\nACGT\n+\n!!!!!", "t.fq:4: has 5 quality letters for 4 bases: they must be as many"},
      {"t.fq", "@r\nACGT\n+\n!! !\n", "t.fq:4: byte 0x20 is no quality letter: allowed are '!' to '~'"},
      {"t.fq", "@a\nA\n+\n!\n@r\nACGT\n+\n",
       "t.fq:5: the file ends within this FASTQ record: it has 4 bases and 0 quality letters"},
      {"t.fq", "@r\nACGT", "t.fq:1: the file ends within this FASTQ record: it has 4 bases and 0 quality letters"},
  };
  for (const auto &c : cases) {
    EXPECT_EQ(fails(write(c.name, c.text), kmers(3)), c.sentence);
  }
  tsr_dataset_options strict = kmers(3);
  strict.is_strict = true;
  const std::string none = "holds no k-mer of 3 letters A, C, G or T (";
  EXPECT_EQ(fails(write("t.fa", ">r\nAC\nNNNN\n>s\nGG"), strict),
            "t.fa: " + none + "2 records, 8 bases): use a smaller --kmers or another file");
  for (const char *name : {"t.fa", "t.fa.gz"})
    EXPECT_EQ(fails(write(name, ""), strict),
              name + (": " + none) + "0 records, 0 bases): use a smaller --kmers or another file");
  EXPECT_EQ(fails(write("t.fa", std::string(">r\nAC\0GT\n", 9)), kmers(2)).substr(0, 16), "t.fa:2: byte 0x0");
}

// 1.5 MB of records, so that lines are cut by the ends of blocks everywhere.
std::string long_fasta(std::vector<std::string> *records, std::mt19937 &random) {
  std::string text;
  for (int r = 0; r < 60; r++) {
    text += ">record " + std::string(random() % (r == 30 ? 1000000 : 50), '>') + "\r\n";
    std::string bases;
    for (unsigned n = random() % 30000; n > 0; n--) {
      bases += "ACGTacgtACGTacgtN"[random() % 17];
    }
    const size_t width = 1 + random() % 200;
    for (size_t at = 0; at < bases.size(); at += width) {
      text += bases.substr(at, width) + (random() % 2 ? "\n" : "\r\n");
    }
    records->push_back(bases);
  }
  return text;
}

TEST_F(Dataset, FastaAgreesWithTheOracle) {
  std::mt19937 random(5);
  std::vector<std::string> records;
  const std::string text = long_fasta(&records, random);
  write("t.fa", text);
  write("t.fa.gz", gzip(text));
  // Many streams in one file, as bgzip writes them.
  std::string streams;
  for (size_t at = 0; at < text.size(); at += 60000) {
    streams += gzip(text.substr(at, 60000)) + gzip("");
  }
  write("s.fa.gz", streams);
  for (const auto &options : {kmers(1, 32), kmers(7, 32, true), kmers(16, 32), kmers(16, 32, true), kmers(21),
                              kmers(31, 64, true), kmers(32), kmers(32, 64, true)}) {
    Numbers expected;
    uint64_t bases = 0, windows = 0;
    for (const std::string &record : records) {
      const Numbers keys = oracle(record, options.kmers, options.canonical);
      expected.insert(expected.end(), keys.begin(), keys.end());
      bases += record.size();
      windows += record.size() < options.kmers ? 0 : record.size() - options.kmers + 1;
    }
    for (const char *name : {"/t.fa", "/t.fa.gz", "/s.fa.gz"}) {
      Read read = reads(folder + name, options);
      EXPECT_TRUE(read.keys == expected) << name << " " << options.kmers;
      EXPECT_EQ(read.records, 60u);
      EXPECT_EQ(read.bases, bases);
      EXPECT_EQ(read.skipped, windows - expected.size());
    }
  }
}

TEST_F(Dataset, FastqAgreesWithTheOracle) {
  std::mt19937 random(6);
  std::string text;
  Numbers expected;
  for (int r = 0; r < 20000; r++) {
    std::string bases;
    for (unsigned n = random() % 100; n > 0; n--) {
      bases += "ACGTN"[random() % 5];
    }
    text += "@r\n" + bases + "\n+\n" + std::string(bases.size(), '@') + "\r\n";
    const Numbers keys = oracle(bases, 5, false);
    expected.insert(expected.end(), keys.begin(), keys.end());
  }
  EXPECT_TRUE(reads(write("t.fq", text), kmers(5)).keys == expected);
  EXPECT_TRUE(reads(write("t.fq.gz", gzip(text)), kmers(5)).keys == expected);
}

TEST_F(Dataset, ACarriageReturnAtTheEndOfABlock) {
  for (size_t header = kFirstBlocks - 12; header < kFirstBlocks; header++) {
    const std::string head = ">" + std::string(header, 'x') + "\r\n";
    EXPECT_EQ(reads(write("t.fa", head + "AC\r\nGT\r\n\r\n"), kmers(4)).keys, Numbers{27});
    EXPECT_EQ(fails(write("t.fa", head + "AC\rGT\n"), kmers(2)).substr(0, 17), "t.fa:2: byte 0x0d");
  }
}

TEST_F(Dataset, GzipMustBeWhole) {
  std::mt19937 random(7);
  std::vector<std::string> records;
  const std::string text = long_fasta(&records, random);
  const std::string whole = gzip(text);
  for (size_t bytes : {size_t{1}, size_t{9}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
    const std::string sentence = fails(write("t.fa.gz", whole.substr(0, bytes)), kmers(9));
    EXPECT_NE(sentence.find("ends in the middle of its gzip data"), std::string::npos) << bytes;
  }
  for (const std::string &bad : {std::string(">r\nACGTACGTACGT\n"), whole + "xx", whole + std::string(5, '\0') + "xx",
                                 gzip(">r\nACGTACGTACGT\n") + "\x1f\x8c" + gzip("ACGT").substr(2)}) {
    const std::string sentence = fails(write("t.fa.gz", bad), kmers(9));
    EXPECT_NE(sentence.find("is not gzip or is damaged"), std::string::npos) << sentence;
  }
  std::string crc = whole;
  crc[crc.size() - 6] = static_cast<char>(crc[crc.size() - 6] ^ 1);
  EXPECT_NE(fails(write("t.fa.gz", crc), kmers(9)).find("is not gzip or is damaged behind byte"), std::string::npos);
  for (int i = 0; i < 50; i++) { // any flipped bit of the data is noticed
    std::string bad = whole;
    const size_t at = 10 + random() % (bad.size() - 10);
    bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    fails(write("t.fa.gz", bad), kmers(9));
  }
  EXPECT_EQ(fails(write("t.fa", whole), kmers(9)), "t.fa: is compressed by gzip: give it a name that ends in .gz");
}

// ---- Rows

TEST_F(Dataset, RowsAreWritten) {
  const std::vector<uint32_t> keys32 = {0, 4294967295u, 7};
  const std::vector<uint64_t> keys64 = {UINT64_MAX, 10};
  const std::vector<uint64_t> values64 = {UINT64_MAX, 5, 100};
  const std::vector<uint8_t> found = {1, 0, 255};
  const tsr_rows blocks[] = {rows_of(keys32.data(), values64.data(), found.data(), 3, 32, 64),
                             rows_of(keys64.data(), nullptr, found.data(), 2, 64, 0),
                             rows_of(keys64.data(), keys32.data(), nullptr, 2, 64, 32),
                             rows_of(nullptr, nullptr, nullptr, 0, 32, 32)};
  const std::string path = folder + "/out.tsv";
  tsr_error error = {};
  tsr_row_writer *writer = nullptr;
  ASSERT_EQ(tsr_rows_open(path.c_str(), blocks, &writer, &error), TSR_OK) << error.message;
  for (const tsr_rows &block : blocks) tsr_rows_add(writer, &block);
  EXPECT_FALSE(std::ifstream(path)) << "it is there before it is whole";
  ASSERT_EQ(tsr_rows_close(writer, true, &error), TSR_OK) << error.message;
  EXPECT_EQ(slurp(path), "0\t18446744073709551615\n4294967295\t-\n7\t100\n"
                         "18446744073709551615\t+\n10\t-\n"
                         "18446744073709551615\t0\n10\t4294967295\n");
  EXPECT_EQ(files(), 1);
}

TEST_F(Dataset, ManyRowsReadBack) {
  std::mt19937_64 random(8);
  Numbers keys(100000), values(100000);
  for (size_t i = 0; i < keys.size(); i++) {
    keys[i] = random() >> (random() % 64);
    values[i] = random() >> (random() % 64);
  }
  const tsr_rows rows = rows_of(keys.data(), values.data(), nullptr, keys.size(), 64, 64);
  const std::string path = folder + "/out.tsv";
  ASSERT_EQ(tsr_rows_write(path.c_str(), &rows, nullptr), TSR_OK);
  Read read = reads(path, widths(64, 64));
  EXPECT_TRUE(read.keys == keys);
  EXPECT_TRUE(read.values == values);
}

const uint32_t kOne = 1;
const tsr_rows kRow = rows_of(&kOne, &kOne, nullptr, 1, 32, 32);

TEST_F(Dataset, RowsReplaceAFileAndKeepItsPermissions) {
  const std::string path = write("out.tsv", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(symlink("out.tsv", (folder + "/link").c_str()), 0);
  ASSERT_EQ(tsr_rows_write((folder + "/link").c_str(), &kRow, nullptr), TSR_OK);
  EXPECT_EQ(slurp(path), "1\t1\n");
  struct stat facts;
  ASSERT_EQ(lstat(path.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISREG(facts.st_mode));
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
  ASSERT_EQ(lstat((folder + "/link").c_str(), &facts), 0);
  EXPECT_TRUE(S_ISLNK(facts.st_mode));
  EXPECT_EQ(files(), 2);
}

TEST_F(Dataset, RowsReportWhatCannotBeWritten) {
  tsr_error error = {};
  EXPECT_EQ(tsr_rows_write((folder + "/none/out").c_str(), &kRow, &error), TSR_IO);
  EXPECT_EQ(error.message, folder + "/none/out: the rows cannot be written: No such file or directory");
  EXPECT_EQ(tsr_rows_write(folder.c_str(), &kRow, &error), TSR_IO);
  EXPECT_EQ(error.message, folder + ": the rows cannot be written: Is a directory");
  EXPECT_EQ(tsr_rows_write("", &kRow, &error), TSR_IO);
  EXPECT_EQ(tsr_rows_write("/dev/full", &kRow, &error), TSR_IO);
  EXPECT_STREQ(error.message, "/dev/full: the rows cannot be written: No space left on device");
  EXPECT_EQ(tsr_rows_write("/dev/null", &kRow, &error), TSR_OK);
  struct stat facts;
  ASSERT_EQ(stat("/dev/null", &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode));
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  alarm(10); // a writer that waits dies here
  EXPECT_EQ(tsr_rows_write((folder + "/pipe").c_str(), &kRow, &error), TSR_IO);
  alarm(0);
  EXPECT_EQ(files(), 1);
}

TEST_F(Dataset, RowsThatFailLeaveTheOldFile) {
  const std::string path = write("out.tsv", "old");
  for (size_t count : {1000, 100000}) { // the last write fails, or one before it
    Numbers keys(count);
    const tsr_rows rows = rows_of(keys.data(), nullptr, nullptr, count, 64, 0);
    // A limit on the size of files stands in for a full disk; it must not outlive this test.
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit = {1000, 1000};
      tsr_error error = {};
      const bool is_right = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                            tsr_rows_write(path.c_str(), &rows, &error) == TSR_IO &&
                            strstr(error.message, "cannot be written: File too large");
      _exit(is_right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(slurp(path), "old");
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(Dataset, RowsToStandardOutput) {
  testing::internal::CaptureStdout();
  printf("before\n"); // still in the buffer
  EXPECT_EQ(tsr_rows_write("-", &kRow, nullptr), TSR_OK);
  printf("behind\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before\n1\t1\nbehind\n");
}

TEST_F(Dataset, RowsCheckTheirArguments) {
  tsr_rows rows = kRow;
  rows.key_bits = 16;
  EXPECT_EQ(tsr_rows_write("/dev/null", &rows, nullptr), TSR_BAD_ARGUMENT);
  rows = kRow;
  rows.value_bits = 1;
  EXPECT_EQ(tsr_rows_write("/dev/null", &rows, nullptr), TSR_BAD_ARGUMENT);
}

} // namespace
