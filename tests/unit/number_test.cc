// SPDX-License-Identifier: Apache-2.0
//
// core/spec/number.h: what is a number, what is not, and which name was meant.
#include "core/spec/number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr uint64_t untouched = 0xdeadbeef;

uint64_t u64(const std::string &text) {
  uint64_t value = untouched;
  EXPECT_TRUE(tsr_parse_u64(text.c_str(), &value)) << text;
  return value;
}

TEST(ParseU64, AcceptsDecimal) {
  EXPECT_EQ(u64("0"), 0u);
  EXPECT_EQ(u64("1"), 1u);
  EXPECT_EQ(u64("123456789"), 123456789u);
  EXPECT_EQ(u64("0123"), 123u); // no octal
  EXPECT_EQ(u64("00000000000000000000000000000000007"), 7u);
  EXPECT_EQ(u64("18446744073709551615"), UINT64_MAX);
}

TEST(ParseU64, AcceptsHexadecimal) {
  EXPECT_EQ(u64("0x0"), 0u);
  EXPECT_EQ(u64("0x7f"), 127u);
  EXPECT_EQ(u64("0XaBcDeF"), 0xabcdefu);
  EXPECT_EQ(u64("0xffffffffffffffff"), UINT64_MAX);
  EXPECT_EQ(u64("0x00000000000000000001"), 1u);
}

TEST(ParseU64, AcceptsSuffixes) {
  EXPECT_EQ(u64("100M"), 100000000u);
  EXPECT_EQ(u64("1K"), 1000u);
  EXPECT_EQ(u64("3G"), 3000000000u);
  EXPECT_EQ(u64("2T"), 2000000000000u);
  EXPECT_EQ(u64("1Ki"), 1024u);
  EXPECT_EQ(u64("64Mi"), 64u << 20);
  EXPECT_EQ(u64("5Gi"), uint64_t{5} << 30);
  EXPECT_EQ(u64("7Ti"), uint64_t{7} << 40);
  EXPECT_EQ(u64("0T"), 0u);
}

TEST(ParseU64, AcceptsPowers) {
  EXPECT_EQ(u64("2^0"), 1u);
  EXPECT_EQ(u64("2^27"), uint64_t{1} << 27);
  EXPECT_EQ(u64("2^63"), uint64_t{1} << 63);
  EXPECT_EQ(u64("10^6"), 1000000u);
  EXPECT_EQ(u64("10^19"), 10000000000000000000u);
  EXPECT_EQ(u64("3^40"), 12157665459056928801u);
  EXPECT_EQ(u64("1^63"), 1u);
}

TEST(ParseU64, IsExactAtTheEdgeOfOverflow) {
  EXPECT_EQ(u64("18446744073709551K"), 18446744073709551000u);
  EXPECT_EQ(u64("16777215Ti"), uint64_t{16777215} << 40);
  uint64_t value = untouched;
  EXPECT_FALSE(tsr_parse_u64("18446744073709552K", &value));
  EXPECT_FALSE(tsr_parse_u64("16777216Ti", &value));
  EXPECT_FALSE(tsr_parse_u64("18446744073709551616", &value));
  EXPECT_FALSE(tsr_parse_u64("99999999999999999999999999", &value));
  EXPECT_FALSE(tsr_parse_u64("0x10000000000000000", &value));
  EXPECT_FALSE(tsr_parse_u64("2^64", &value));
  EXPECT_FALSE(tsr_parse_u64("10^20", &value));
  EXPECT_FALSE(tsr_parse_u64("3^41", &value));
  EXPECT_FALSE(tsr_parse_u64("2^18446744073709551616", &value));
  EXPECT_EQ(value, untouched);
}

TEST(ParseU64, RefusesEverythingElse) {
  const char *const refused[] = {
      "",    " ",   " 1",  "1 ",   "1\n",  "\t1",  "-1",   "+1",       "-0",  "1.0",  "1.5M", "1e6",
      "0x",  "x1",  "0xg", "0x1K", "0x 1", "1k",   "1m",   "1KB",      "1ki", "1KiB", "1 K",  "K",
      "Ki",  "1_0", "1,0", "2^",   "2^-1", "2^+1", "2^ 1", "2^1K",     "K^2", "1K^2", "2^^2", "^2",
      "nan", "1a",  "a1",  "0b1",  "1u",   "1K1",  "1KK",  "\xc2\xb2", "１",  "1MiM",
  };
  for (const char *text : refused) {
    uint64_t value = untouched;
    EXPECT_FALSE(tsr_parse_u64(text, &value)) << "'" << text << "'";
    EXPECT_EQ(value, untouched) << "'" << text << "'";
  }
  uint64_t value = untouched;
  EXPECT_FALSE(tsr_parse_u64(nullptr, &value));
}

TEST(ParseU64, ReadsBackWhatIsPrinted) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; i++) {
    uint64_t value = random() >> (random() % 64);
    EXPECT_EQ(u64(std::to_string(value)), value);
    char hex[32];
    snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(value));
    EXPECT_EQ(u64(hex), value);
  }
}

double real(const std::string &text) {
  double value = -1;
  EXPECT_TRUE(tsr_parse_double(text.c_str(), &value)) << text;
  return value;
}

TEST(ParseDouble, AcceptsFractions) {
  EXPECT_EQ(real("0.8"), 0.8);
  EXPECT_EQ(real(".8"), 0.8);
  EXPECT_EQ(real("1"), 1.0);
  EXPECT_EQ(real("1."), 1.0);
  EXPECT_EQ(real("0"), 0.0);
  EXPECT_EQ(real("0.000"), 0.0);
  EXPECT_EQ(real("2.5e-3"), 0.0025);
  EXPECT_EQ(real("1E+3"), 1000.0);
  EXPECT_EQ(real("0.80000000000000004"), 0.8);
  EXPECT_EQ(real("0.9499999999999999999999999999"), 0.95);
  EXPECT_EQ(real("1.7976931348623157e308"), 1.7976931348623157e308);
}

TEST(ParseDouble, RefusesEverythingElse) {
  const char *const refused[] = {
      "",     " ",    " 0.8",  "0.8 ", "-0.8",  "+0.8",   ".",        "e5",       "1e",    "1e+",
      ".e1",  "0,8",  "0.8.1", "nan",  "NaN",   "inf",    "infinity", "nan(123)", "0x1p3", "0x10",
      "0.8f", "1e5x", "80%",   "1K",   "1e999", "1e-999", "1e-310",   "0.8\n",    "1e 5",  "--1",
  };
  for (const char *text : refused) {
    double value = -1;
    EXPECT_FALSE(tsr_parse_double(text, &value)) << "'" << text << "'";
    EXPECT_EQ(value, -1) << "'" << text << "'";
  }
  double value = -1;
  EXPECT_FALSE(tsr_parse_double(nullptr, &value));
  EXPECT_FALSE(tsr_parse_double(("1" + std::string(400, '0')).c_str(), &value));
}

TEST(ParseDouble, ReadsAPointInALocaleThatHasAComma) {
  const std::string before = setlocale(LC_NUMERIC, nullptr);
  bool has_comma = false;
  for (const char *name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"}) {
    has_comma = has_comma || setlocale(LC_NUMERIC, name) != nullptr;
  }
  EXPECT_EQ(real("0.8"), 0.8);
  double value = -1;
  EXPECT_FALSE(tsr_parse_double("0,8", &value));
  setlocale(LC_NUMERIC, before.c_str());
  if (!has_comma) {
    GTEST_SKIP() << "no locale with a decimal comma is installed";
  }
}

TEST(ParseDouble, KeepsErrno) {
  errno = 1234;
  double value;
  EXPECT_FALSE(tsr_parse_double("1e999", &value));
  EXPECT_EQ(errno, 1234);
}

std::string advice(const char *text) {
  char words[TSR_ADVICE_BYTES];
  return tsr_number_advice(text, words);
}

TEST(Advice, TellsHowToWriteANumber) {
  EXPECT_EQ(advice("1e6"), "; write 1000000 or 1M");
  EXPECT_EQ(advice("1E+6"), "; write 1000000 or 1M");
  EXPECT_EQ(advice("1,000"), "; write 1000 or 1K");
  EXPECT_EQ(advice("12,345,678"), "; write 12345678");
  EXPECT_EQ(advice("1_000_000"), "; write 1000000 or 1M");
  EXPECT_EQ(advice("1.5M"), "; write 1500000 or 1500K");
  EXPECT_EQ(advice("2.50e3"), "; write 2500");
  EXPECT_EQ(advice("100m"), "; write 100000000 or 100M");
  EXPECT_EQ(advice("64kib"), "; write 65536");
  EXPECT_EQ(advice("1GB"), "; write 1000000000 or 1G");
  EXPECT_EQ(advice("\"5\""), "; write 5");
  EXPECT_EQ(advice("'7K'"), "; write 7000 or 7K");
  EXPECT_EQ(advice("18446744073709551615.0"), "");
  EXPECT_EQ(advice("1844674407370955161.5e1"), "; write 18446744073709551615");
}

TEST(Advice, GuessesNothingElse) {
  for (const char *text : {"",     "-1",     "2^64",     "18446744073709551616",
                           "1e20", "1.5",    "1.2345K",  "1e-3",
                           "1,00", "1,0000", "1234,567", "x",
                           "1x",   "e6",     ".5M",      "1,000_000",
                           "0x",   "0x1g",   "2^-1",     "1 2",
                           "nan",  "--5"})
    EXPECT_EQ(advice(text), "") << text;
  for (const char *text : {"5", "1M", "0x10", "2^20", "10^6"}) EXPECT_EQ(advice(text), "") << text; // is so already
  EXPECT_EQ(advice(std::string(1000, '1').c_str()), "");
  uint64_t untouched = 3;
  EXPECT_FALSE(tsr_guess_u64("1.5", &untouched));
  EXPECT_FALSE(tsr_guess_u64(nullptr, &untouched));
  EXPECT_EQ(untouched, 3u);
}

std::string nearest(const char *word, std::vector<const char *> names) {
  const char *name = tsr_nearest(word, names.data(), names.size());
  return name ? name : "(none)";
}

TEST(Nearest, FindsTheMeantName) {
  const std::vector<const char *> names = {"capacity", "key_bits", "value_bits", "probing"};
  EXPECT_EQ(nearest("capasity", names), "capacity");
  EXPECT_EQ(nearest("keybits", names), "key_bits");
  EXPECT_EQ(nearest("valuebit", names), "value_bits");
  EXPECT_EQ(nearest("probbing", names), "probing");
  EXPECT_EQ(nearest("capacity", names), "capacity");
  EXPECT_EQ(nearest("CAPACITY", names), "capacity");
  EXPECT_EQ(nearest("\"capacity\"", names), "capacity");
}

TEST(Nearest, KeepsItsLimits) {
  EXPECT_EQ(nearest("abcdefgh", {"abcdeXYZ"}), "abcdeXYZ"); // 3 edits
  EXPECT_EQ(nearest("abcdefgh", {"abcdWXYZ"}), "(none)");   // 4 edits
  EXPECT_EQ(nearest("abc", {"xyz"}), "(none)");             // as many edits as letters
  EXPECT_EQ(nearest("abc", {"ayz"}), "ayz");                // 2 edits of 3 letters
  EXPECT_EQ(nearest("abc", {"xbc"}), "(none)");             // short, and begins otherwise
  EXPECT_EQ(nearest("abcd", {"xbcd"}), "(none)");
  EXPECT_EQ(nearest("abcde", {"xbcde"}), "xbcde");
  EXPECT_EQ(nearest("gpu", {"auto", "cuda", "cpu"}), "(none)");
  EXPECT_EQ(nearest("last", {"first", "replace"}), "(none)");
  EXPECT_EQ(nearest("Kye", {"key"}), "key");
  EXPECT_EQ(nearest("a", {"b"}), "(none)");
  EXPECT_EQ(nearest("", {"a", ""}), "(none)");
  EXPECT_EQ(nearest("abcde", {"abcdefgh"}), "abcdefgh"); // 3 insertions
  EXPECT_EQ(nearest("abcde", {"abcdefghi"}), "(none)");  // 4
  EXPECT_EQ(nearest("abcde", {"de"}), "de");             // 3 deletions at the front
}

TEST(Nearest, PrefersTheSmallestDistanceThenTheFirst) {
  EXPECT_EQ(nearest("linear", {"binary", "lineal", "linear"}), "linear");
  EXPECT_EQ(nearest("linear", {"linea1", "linea2"}), "linea1");
}

TEST(Nearest, SurvivesNothing) {
  const char *const names[] = {"a"};
  EXPECT_EQ(tsr_nearest(nullptr, names, 1), nullptr);
  EXPECT_EQ(tsr_nearest("a", nullptr, 0), nullptr);
  EXPECT_EQ(tsr_nearest("abc", names, 0), nullptr);
  const std::string long_word(100000, 'a');
  EXPECT_EQ(tsr_nearest(long_word.c_str(), names, 1), nullptr);
  const std::string near_word = long_word + "b";
  const char *const long_names[] = {long_word.c_str()};
  EXPECT_EQ(tsr_nearest(near_word.c_str(), long_names, 1), long_names[0]);
}

// The whole table, not the band that the code computes.
size_t full_distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) {
    for (size_t j = 0; j <= b.size(); j++) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      table[i][j] = std::min({table[i - 1][j - 1] + (a[i - 1] != b[j - 1]), table[i - 1][j] + 1, table[i][j - 1] + 1});
    }
  }
  return table[a.size()][b.size()];
}

TEST(Nearest, AgreesWithTheFullTable) {
  std::mt19937 random(2);
  auto word = [&] {
    std::string text(random() % 9, 'a');
    for (char &c : text) {
      c = static_cast<char>('a' + random() % 3);
    }
    return text;
  };
  int near_count = 0;
  for (int i = 0; i < 20000; i++) {
    const std::string a = word();
    const std::string b = word();
    const size_t distance = full_distance(a, b);
    const bool begins_alike = a.size() > 4 || a.substr(0, 1) == b.substr(0, 1);
    const bool is_near = distance <= 3 && distance < a.size() && begins_alike;
    EXPECT_EQ(nearest(a.c_str(), {b.c_str()}) != "(none)", is_near) << a << " " << b;
    near_count += is_near;
  }
  EXPECT_GT(near_count, 1000);
}

} // namespace
