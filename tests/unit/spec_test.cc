// SPDX-License-Identifier: Apache-2.0
//
// core/spec/spec.h: what is read from INI texts and --set options, and the sentence for whatever is not.
#include "core/spec/spec.h"
#include "core/tessera_tools.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>

namespace {

TEST(Settings, AreListedToThreadsAtOnce) { // of which ThreadSanitizer hears
  const tsr_setting_info *lists[2] = {};
  size_t counts[2] = {};
  auto list = [&](int i) {
    counts[i] = tsr_settings_list(&lists[i]);
    EXPECT_STREQ(lists[i][0].key, "kind");
  };
  std::thread other(list, 0);
  list(1);
  other.join();
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_GT(counts[0], 10u);
  EXPECT_EQ(lists[0], lists[1]);
}

struct Free {
  void operator()(tsr_spec *spec) const { tsr_spec_free(spec); }
};
using Spec = std::unique_ptr<tsr_spec, Free>;

const char *const kGood = "; a table\n"
                          "[table]\n"
                          "kind = map ; comment\n"
                          "  key_bits=32\n"
                          "\tcapacity = 2^27\t\n"
                          "# another\n"
                          "\n"
                          "[layout]\n"
                          "bucket_slots = 8\n";

Spec parse(const std::string &text) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "t.ini", &spec, &error), TSR_OK) << error.message;
  return Spec(spec);
}

// The sentence for a text that must be refused; `status` must be the reason.
std::string refused(const std::string &text) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "t.ini", &spec, &error), TSR_BAD_SPEC) << text;
  EXPECT_EQ(error.status, TSR_BAD_SPEC);
  EXPECT_EQ(spec, nullptr);
  EXPECT_EQ(std::string(error.message).find('\n'), std::string::npos);
  tsr_spec_free(spec);
  return error.message;
}

std::string value(const Spec &spec, const char *section, const char *key) {
  const tsr_spec_entry *entry = tsr_spec_find(spec.get(), section, key);
  return entry ? entry->value : "(none)";
}

std::string where(const tsr_spec_entry *entry) {
  char text[256];
  tsr_spec_where(entry, text, sizeof text);
  return text;
}

TEST(SpecParse, KeepsEverythingWithItsPlace) {
  Spec spec = parse(kGood);
  ASSERT_EQ(tsr_spec_count(spec.get()), 4u);
  EXPECT_STREQ(tsr_spec_name(spec.get()), "t.ini");
  const struct {
    const char *section, *key, *value;
    uint64_t line;
  } expected[] = {{"table", "kind", "map", 3},
                  {"table", "key_bits", "32", 4},
                  {"table", "capacity", "2^27", 5},
                  {"layout", "bucket_slots", "8", 9}};
  for (size_t i = 0; i < 4; i++) {
    const tsr_spec_entry *entry = tsr_spec_at(spec.get(), i);
    EXPECT_STREQ(entry->section, expected[i].section);
    EXPECT_STREQ(entry->key, expected[i].key);
    EXPECT_STREQ(entry->value, expected[i].value);
    EXPECT_EQ(entry->line, expected[i].line);
    EXPECT_STREQ(entry->file, "t.ini");
  }
  ASSERT_EQ(tsr_spec_section_count(spec.get()), 2u);
  EXPECT_STREQ(tsr_spec_section_at(spec.get(), 0)->name, "table");
  EXPECT_EQ(tsr_spec_section_at(spec.get(), 0)->line, 2u);
  EXPECT_STREQ(tsr_spec_section_at(spec.get(), 1)->name, "layout");
  EXPECT_EQ(tsr_spec_section_at(spec.get(), 1)->line, 8u);
}

TEST(SpecParse, ReadsTheSameFromOtherLineEndsAndAMark) {
  std::string crlf = "\xEF\xBB\xBF";
  for (const char *c = kGood; *c; c++) {
    crlf += *c == '\n' ? "\r\n" : std::string(1, *c);
  }
  crlf.resize(crlf.size() - 2); // no line end after the last line
  Spec plain = parse(kGood);
  Spec other = parse(crlf);
  ASSERT_EQ(tsr_spec_count(plain.get()), tsr_spec_count(other.get()));
  for (size_t i = 0; i < tsr_spec_count(plain.get()); i++) {
    EXPECT_EQ(where(tsr_spec_at(plain.get(), i)), where(tsr_spec_at(other.get(), i)));
  }
}

TEST(SpecParse, MarkBeforeASectionOnTheFirstLine) {
  Spec spec = parse("\xEF\xBB\xBF[a]\nb = 1\n");
  EXPECT_EQ(value(spec, "a", "b"), "1");
}

TEST(SpecParse, IndentedKeysAreKeysOfTheirOwn) {
  Spec spec = parse("[a]\nx = 1\n    y = 2\n\t\tz = 3\n");
  EXPECT_EQ(tsr_spec_count(spec.get()), 3u);
  EXPECT_EQ(value(spec, "a", "x"), "1");
  EXPECT_EQ(value(spec, "a", "y"), "2");
  EXPECT_EQ(value(spec, "a", "z"), "3");
}

TEST(SpecParse, Comments) {
  Spec spec = parse("   # one\n;two: three = [\n[a] ; [b]\nx = 1;2 ; 3 ; 4\ny = a#b\t; \xc3\xa9\n"
                    "z = a:b = c\n#\xff\n");
  EXPECT_EQ(value(spec, "a", "x"), "1;2");
  EXPECT_EQ(value(spec, "a", "y"), "a#b");
  EXPECT_EQ(value(spec, "a", "z"), "a:b = c");
  EXPECT_EQ(tsr_spec_count(spec.get()), 3u);
  EXPECT_EQ(tsr_spec_section_count(spec.get()), 1u);
}

TEST(SpecParse, EmptyTextsAreEmptySpecs) {
  for (const char *text : {"", "\n", "\n\n  \t \n", "; only", "\xEF\xBB\xBF"}) {
    Spec spec = parse(text);
    EXPECT_EQ(tsr_spec_count(spec.get()), 0u) << text;
  }
}

TEST(SpecParse, ListsEmptySections) {
  Spec spec = parse("[probbing]\n[table]\nkind = map\n");
  ASSERT_EQ(tsr_spec_section_count(spec.get()), 2u);
  EXPECT_STREQ(tsr_spec_section_at(spec.get(), 0)->name, "probbing");
}

TEST(SpecParse, RefusesWithASentence) {
  EXPECT_EQ(refused("[a]\nx : 1\n"), "t.ini:2: 'x : 1' uses ':': write key = value");
  EXPECT_EQ(refused("[a]\nx: y = 1\n"), "t.ini:2: 'x: y = 1' uses ':': write key = value");
  EXPECT_EQ(refused("[a]\n\nx\n"), "t.ini:3: 'x' has no '=': write key = value");
  EXPECT_EQ(refused("[a]\nx ; = 1\n"), "t.ini:2: 'x' has no '=': write key = value");
  EXPECT_EQ(refused("x = 1\n"), "t.ini:1: x stands before any section: open one above it, such as [table]");
  EXPECT_EQ(refused("[a]\nx = 1\n[b]\nx = 1\nx = 2\n"),
            "t.ini:5: [b] x was given in line 4 already: keep one of the two");
  EXPECT_EQ(refused("[a]\n[b]\n[a]\n"), "t.ini:3: [a] was opened in line 1 already: put all its keys there");
  EXPECT_EQ(refused("[a\n"), "t.ini:1: '[a' has no closing bracket: write [section]");
  EXPECT_EQ(refused("[a ; ]\n"), "t.ini:1: '[a' has no closing bracket: write [section]");
  EXPECT_EQ(refused("[a] x = 1\n"), "t.ini:1: ' x = 1' follows the section's bracket: put it on a line of its own");
  EXPECT_EQ(refused("[]\n"), "t.ini:1: the section has no name: write one made of a-z, 0-9 and _");
  EXPECT_EQ(refused("[ a]\n"), "t.ini:1: the section name ' a' has a ' ' in it: names are made of "
                               "a-z, 0-9 and _");
  EXPECT_EQ(refused("[Table]\n"), "t.ini:1: the section name 'Table' has a 'T' in it: names are "
                                  "made of a-z, 0-9 and _");
  EXPECT_EQ(refused("[a]\nkey-bits = 1\n"), "t.ini:2: the key name 'key-bits' has a '-' in it: "
                                            "names are made of a-z, 0-9 and _");
  EXPECT_EQ(refused("[a]\n = 1\n"), "t.ini:2: the key has no name: write one made of a-z, 0-9 and _");
  EXPECT_EQ(refused("[a]\nx =\n"), "t.ini:2: [a] x has no value: write one, or remove the line to "
                                   "get the default");
  EXPECT_EQ(refused("[a]\nx = ; 1\n"), "t.ini:2: [a] x has no value: write one, or remove the line "
                                       "to get the default");
  EXPECT_EQ(refused("[a]\nx = 1 # one\n"), "t.ini:2: the value of x has a '#' behind a blank: a "
                                           "comment behind a value starts with ';'");
}

TEST(SpecParse, OnlyTheFirstErrorIsReported) {
  EXPECT_EQ(refused("[a]\nx : 1\ny : 2\n[a\n"), "t.ini:2: 'x : 1' uses ':': write key = value");
  EXPECT_EQ(refused("[a]\nx =\ny : 2\n").substr(0, 8), "t.ini:2:");
}

TEST(SpecParse, RefusesBytesThatAreNoText) {
  EXPECT_EQ(refused("[a]\nx = 1\x01\n"), "t.ini:2: byte 0x01 in column 6 is not text: a spec is a plain text file");
  EXPECT_EQ(refused("; \x7f\n"), "t.ini:1: byte 0x7f in column 3 is not text: a spec is a plain text file");
  EXPECT_EQ(refused("[a]\nx =\xc2\xa0"
                    "1\n"),
            "t.ini:2: byte 0xc2 in column 4 is not ASCII, which is allowed in comments only");
  EXPECT_EQ(refused("[a]\r[b]\n"), "t.ini:1: column 4 has a carriage return alone: lines end with a line feed");
  EXPECT_EQ(refused("[a]\n\xEF\xBB\xBFx = 1\n").substr(0, 25), "t.ini:2: byte 0xef in col");
}

TEST(SpecParse, LimitsAreExact) {
  const std::string name48(48, 'n');
  Spec spec = parse("[" + name48 + "]\n" + name48 + " = 1\n");
  EXPECT_EQ(value(spec, name48.c_str(), name48.c_str()), "1");
  EXPECT_EQ(refused("[n" + name48 + "]\n"),
            "t.ini:1: the section name n" + name48 + " has 49 letters: up to 48 are allowed");
  EXPECT_EQ(refused("[a]\nn" + name48 + " = 1\n"),
            "t.ini:2: the key name n" + name48 + " has 49 letters: up to 48 are allowed");

  const std::string value188(188, 'v');
  spec = parse("[a]\nx=" + value188 + "\ny = 1\r\n"); // 190 bytes
  EXPECT_EQ(value(spec, "a", "x"), value188);
  EXPECT_EQ(value(spec, "a", "y"), "1");
  EXPECT_EQ(refused("[a]\nx=v" + value188 + "\n"),
            "t.ini:2: the line has 191 bytes: up to 190 are allowed, a comment apart");
  EXPECT_EQ(refused("[a]\nx = " + std::string(1000000, 'v') + "\n"),
            "t.ini:2: the line has 1000004 bytes: up to 190 are allowed, a comment apart");
  for (size_t bytes : {189u, 190u, 199u, 200u, 201u, 4096u, 65536u}) {
    const std::string comment(bytes, ';');
    spec = parse("[a]\n" + comment + "\nx=" + value188 + " ;" + comment + "\ny = 2\n");
    EXPECT_EQ(value(spec, "a", "x"), value188);
    EXPECT_EQ(tsr_spec_find(spec.get(), "a", "y")->line, 4u);
  }
}

TEST(SpecParse, BoundsTheNumberOfKeysAndSections) {
  std::string text = "[a]\n";
  for (int i = 0; i < TSR_SPEC_KEYS_MAX; i++) {
    text += "k" + std::to_string(i) + " = 1\n";
  }
  Spec spec = parse(text);
  ASSERT_EQ(tsr_spec_count(spec.get()), size_t{TSR_SPEC_KEYS_MAX});
  EXPECT_STREQ(tsr_spec_at(spec.get(), 1023)->key, "k1023");
  EXPECT_EQ(refused(text + "more = 1\n"), "t.ini:1026: [a] more is one key too many: a spec holds up to 1024");
  tsr_error error;
  EXPECT_EQ(tsr_spec_set(spec.get(), "a.more=1", &error), TSR_BAD_SPEC);
  EXPECT_EQ(tsr_spec_set(spec.get(), "a.k7=2", &error), TSR_OK);
  EXPECT_EQ(value(spec, "a", "k7"), "2");

  std::string sections;
  for (int i = 0; i < TSR_SPEC_KEYS_MAX; i++) {
    sections += "[s" + std::to_string(i) + "]\n";
  }
  spec = parse(sections);
  EXPECT_EQ(tsr_spec_section_count(spec.get()), size_t{TSR_SPEC_KEYS_MAX});
  EXPECT_EQ(refused(sections + "[more]\n"), "t.ini:1025: [more] is one section too many: a spec holds up to 1024");
  EXPECT_EQ(tsr_spec_set(spec.get(), "more.x=1", &error), TSR_BAD_SPEC);
  EXPECT_EQ(tsr_spec_count(spec.get()), 0u);
}

TEST(SpecParse, SurvivesRandomText) {
  std::mt19937 random(3);
  const std::string letters = "[]=:;# \t\nab_1.\r\\\"'%";
  int good = 0;
  for (int i = 0; i < 50000; i++) {
    std::string text = random() % 4 ? "[a]\n" : "";
    for (unsigned n = random() % 40; n > 0; n--) {
      text += letters[random() % letters.size()];
    }
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    tsr_status status = tsr_spec_parse(text.c_str(), "t.ini", &spec, &error);
    ASSERT_TRUE(status == TSR_OK || status == TSR_BAD_SPEC);
    if (status == TSR_BAD_SPEC) {
      EXPECT_EQ(std::string(error.message).substr(0, 6), "t.ini:") << error.message;
    }
    good += status == TSR_OK;
    tsr_spec_free(spec);
  }
  EXPECT_GT(good, 100);
}

TEST(SpecParse, RefusesNull) {
  tsr_spec *spec = nullptr;
  EXPECT_EQ(tsr_spec_parse(nullptr, "n", &spec, nullptr), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_parse("", nullptr, &spec, nullptr), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_parse("", "n", nullptr, nullptr), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_parse("x", "n", &spec, nullptr), TSR_BAD_SPEC); // no error wanted
  tsr_spec_free(nullptr);
}

TEST(SpecGet, GivesTheValueOrNothing) {
  Spec spec = parse(kGood);
  EXPECT_STREQ(tsr_spec_get(spec.get(), "table", "kind"), "map");
  EXPECT_EQ(tsr_spec_get(spec.get(), "layout", "kind"), nullptr);
}

TEST(SpecUse, MarksWhatWasUnderstood) {
  Spec spec = parse(kGood);
  const tsr_spec_entry *entry = tsr_spec_find(spec.get(), "table", "kind");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(tsr_spec_find(spec.get(), "table", "bucket_slots"), nullptr);
  EXPECT_EQ(tsr_spec_find(spec.get(), "nowhere", "kind"), nullptr);
}

TEST(SpecWhere, NamesTheFileOrTheOption) {
  Spec spec = parse(kGood);
  EXPECT_EQ(where(tsr_spec_at(spec.get(), 3)), "t.ini:9: [layout] bucket_slots = 8");
  ASSERT_EQ(tsr_spec_set(spec.get(), "layout.bucket_slots=4", nullptr), TSR_OK);
  EXPECT_EQ(where(tsr_spec_at(spec.get(), 3)), "--set layout.bucket_slots=4");
  char cut[8];
  tsr_spec_where(tsr_spec_at(spec.get(), 0), cut, sizeof cut);
  EXPECT_STREQ(cut, "t.ini:3");
}

TEST(SpecSet, ReplacesAndAdds) {
  Spec spec = parse(kGood);
  EXPECT_EQ(tsr_spec_set(spec.get(), "table.kind=set", nullptr), TSR_OK);
  EXPECT_EQ(tsr_spec_set(spec.get(), " table . seed =  a b ; c # d.e=f ", nullptr), TSR_OK);
  EXPECT_EQ(tsr_spec_set(spec.get(), "probing.hash_functions=2", nullptr), TSR_OK);
  EXPECT_EQ(tsr_spec_set(spec.get(), "probing.hash_functions=3", nullptr), TSR_OK);
  EXPECT_EQ(value(spec, "table", "kind"), "set");
  EXPECT_EQ(value(spec, "table", "seed"), "a b ; c # d.e=f");
  EXPECT_EQ(value(spec, "probing", "hash_functions"), "3");
  EXPECT_EQ(tsr_spec_count(spec.get()), 6u);
  EXPECT_EQ(tsr_spec_section_count(spec.get()), 3u);
  EXPECT_EQ(tsr_spec_section_at(spec.get(), 2)->file, nullptr);
  const tsr_spec_entry *kind = tsr_spec_find(spec.get(), "table", "kind");
  EXPECT_EQ(kind, tsr_spec_at(spec.get(), 0)); // keeps its place in the order
  EXPECT_EQ(kind->file, nullptr);
  EXPECT_EQ(kind->line, 0u);
}

TEST(SpecSet, TakesAnEntryOut) {
  Spec spec = parse(kGood);
  const size_t before = tsr_spec_count(spec.get());
  tsr_error error = {};
  ASSERT_NE(tsr_spec_find(spec.get(), "table", "kind"), nullptr);
  for (const char *text : {"table.kind=", "table.kind=  ", "layout.none="}) {
    ASSERT_EQ(tsr_spec_set(spec.get(), text, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_spec_find(spec.get(), "table", "kind"), nullptr);
    EXPECT_EQ(tsr_spec_count(spec.get()), before - 1);
  }
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.kind=set", &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_spec_count(spec.get()), before);
}

TEST(SpecSet, RefusesWithASentenceAndChangesNothing) {
  Spec spec = parse(kGood);
  const struct {
    std::string text, sentence;
  } cases[] = {
      {"", "--set : is no assignment: write section.key=value"},
      {"kind=map", "--set kind=map: is no assignment: write section.key=value"},
      {"table.kind", "--set table.kind: is no assignment: write section.key=value"},
      {"kind=a.b", "--set kind=a.b: is no assignment: write section.key=value"},
      {".kind=1", "--set .kind=1: the section has no name: write one made of a-z, 0-9 and _"},
      {"table.=1", "--set table.=1: the key has no name: write one made of a-z, 0-9 and _"},
      {"a..c=1", "--set a..c=1: the key name '.c' has a '.' in it: names are made of a-z, 0-9 and _"},
      {"Table.kind=1", "--set Table.kind=1: the section name 'Table' has a 'T' in it: names are made of a-z, 0-9 "
                       "and _"},
      {"table.kind=a\nb", "--set: byte 0x0a in column 13 is not text: a spec is a plain text file"},
      {"table.kind=\xc3\xa9", "--set: byte 0xc3 in column 12 is not ASCII, which is allowed in comments only"},
      {"table.kind=" + std::string(180, 'x'),
       "--set table.kind=" + std::string(29, 'x') + "...: has 191 bytes: up to 190 are allowed"},
  };
  for (const auto &c : cases) {
    tsr_error error = {};
    EXPECT_EQ(tsr_spec_set(spec.get(), c.text.c_str(), &error), TSR_BAD_SPEC) << c.text;
    EXPECT_EQ(error.message, c.sentence);
  }
  EXPECT_EQ(tsr_spec_count(spec.get()), 4u);
  EXPECT_EQ(value(spec, "table", "kind"), "map");
  EXPECT_EQ(tsr_spec_set(spec.get(), nullptr, nullptr), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_set(nullptr, "a.b=c", nullptr), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_set(spec.get(), ("t.k=" + std::string(186, 'x')).c_str(), nullptr), TSR_OK);
}

TEST(SpecCopy, IsIndependent) {
  Spec spec = parse(kGood);
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.seed=7", nullptr), TSR_OK);
  tsr_spec *made = nullptr;
  ASSERT_EQ(tsr_spec_copy(spec.get(), &made, nullptr), TSR_OK);
  Spec copy(made);
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.kind=set", nullptr), TSR_OK);
  spec.reset();
  EXPECT_EQ(tsr_spec_count(copy.get()), 5u);
  EXPECT_EQ(tsr_spec_section_count(copy.get()), 2u);
  EXPECT_EQ(where(tsr_spec_find(copy.get(), "table", "kind")), "t.ini:3: [table] kind = map");
  EXPECT_EQ(where(tsr_spec_find(copy.get(), "table", "seed")), "--set table.seed=7");
  EXPECT_STREQ(tsr_spec_section_at(copy.get(), 0)->file, "t.ini");
  EXPECT_STREQ(tsr_spec_name(copy.get()), "t.ini");
  EXPECT_EQ(tsr_spec_copy(nullptr, &made, nullptr), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_copy(copy.get(), nullptr, nullptr), TSR_BAD_ARGUMENT);
}

class SpecRead : public testing::Test {
protected:
  void SetUp() override {
    const char *base = getenv("TEST_TMPDIR");
    std::string text = std::string(base ? base : "/tmp") + "/spec_test.XXXXXX";
    ASSERT_NE(mkdtemp(text.data()), nullptr);
    folder = text;
  }
  void TearDown() override { ASSERT_EQ(system(("rm -rf " + folder).c_str()), 0); }

  std::string write(const std::string &bytes) {
    const std::string path = folder + "/t.ini";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string fails(const std::string &path, tsr_status expected) {
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    EXPECT_EQ(tsr_spec_read(path.c_str(), &spec, &error), expected) << error.message;
    EXPECT_EQ(spec, nullptr);
    tsr_spec_free(spec);
    return error.message;
  }
  std::string folder;
};

TEST_F(SpecRead, ReadsAFile) {
  const std::string path = write(kGood);
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  ASSERT_EQ(tsr_spec_read(path.c_str(), &spec, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_spec_count(spec), 4u);
  EXPECT_EQ(where(tsr_spec_at(spec, 0)), path + ":3: [table] kind = map");
  tsr_spec_free(spec);
}

TEST_F(SpecRead, RefusesWhatIsNoFile) {
  EXPECT_EQ(fails(folder + "/none.ini", TSR_NOT_FOUND),
            "'" + folder + "/none.ini': cannot be opened as a spec: No such file or directory");
  EXPECT_EQ(fails("", TSR_NOT_FOUND), "'': cannot be opened as a spec: No such file or directory");
  EXPECT_EQ(fails(write("") + "/x", TSR_NOT_FOUND),
            "'" + folder + "/t.ini/x': cannot be opened as a spec: Not a directory");
  EXPECT_EQ(fails(folder, TSR_BAD_SPEC), folder + ": is a directory: a spec must be a regular file");
  EXPECT_EQ(fails("/dev/zero", TSR_BAD_SPEC), "/dev/zero: is a pipe or a device: a spec must be a regular file");
  EXPECT_EQ(tsr_spec_read(nullptr, nullptr, nullptr), TSR_BAD_ARGUMENT);
}

TEST_F(SpecRead, DoesNotWaitForAPipe) {
  const std::string path = folder + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  alarm(10); // a reader that waits dies here
  EXPECT_EQ(fails(path, TSR_BAD_SPEC), path + ": is a pipe or a device: a spec must be a regular file");
  alarm(0);
}

TEST_F(SpecRead, RefusesAnUnreadableFile) {
  const std::string path = write(kGood);
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const bool is_root = geteuid() == 0;
  if (is_root && seteuid(65534) != 0) {
    GTEST_SKIP() << "root reads everything, and this one cannot become somebody else";
  }
  EXPECT_EQ(fails(path, TSR_NOT_FOUND), "'" + path + "': cannot be opened as a spec: Permission denied");
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST_F(SpecRead, ReportsAReadError) {
  EXPECT_EQ(fails("/proc/self/mem", TSR_IO), // address 0 is not mapped
            "/proc/self/mem: cannot be read: Input/output error");
}

TEST_F(SpecRead, RefusesBinaryFiles) {
  const std::string path = write(std::string("[a]\nx = \0 1\n", 12));
  EXPECT_EQ(fails(path, TSR_BAD_SPEC), path + ":2: byte 0x00 in column 5 is not text: a spec is a plain text file");
  write(std::string("\0", 1));
  EXPECT_EQ(fails(path, TSR_BAD_SPEC).substr(path.size(), 13), ":1: byte 0x00");
  write("\x7f"
        "ELF\x02\x01\x01");
  EXPECT_EQ(fails(path, TSR_BAD_SPEC).substr(path.size(), 13), ":1: byte 0x7f");
}

TEST_F(SpecRead, BoundsTheSize) {
  std::string text = "[a]\n";
  while (text.size() < (1u << 20) - 100) {
    text += ";" + std::string(99, '.') + "\n";
  }
  text += std::string((1u << 20) - text.size(), '\n');
  const std::string path = write(text);
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_read(path.c_str(), &spec, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  write(text + "\n");
  EXPECT_EQ(fails(path, TSR_BAD_SPEC), path + ": has more than 1048576 bytes: a spec holds up to 1 MiB");
  ASSERT_EQ(truncate(path.c_str(), off_t{1} << 40), 0); // a sparse terabyte
  EXPECT_EQ(fails(path, TSR_BAD_SPEC), path + ": has more than 1048576 bytes: a spec holds up to 1 MiB");
}

} // namespace
