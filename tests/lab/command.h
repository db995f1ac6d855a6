// SPDX-License-Identifier: Apache-2.0
//
// Runs a command of the laboratory inside the test and keeps what it prints.
#ifndef TSR_TESTS_LAB_COMMAND_H
#define TSR_TESTS_LAB_COMMAND_H

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct Outcome {
  int status;
  std::string out, err;

  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) result.push_back(line);
    return result;
  }

  // Fields of the CSV rows, without the header and the lines that start with '#'.
  std::vector<std::vector<std::string>> rows() const {
    std::vector<std::vector<std::string>> result;
    for (const std::string &line : lines()) {
      if (line[0] == '#' || line.rfind("spec,", 0) == 0) continue;
      result.emplace_back();
      bool quoted = false;
      std::string field;
      for (char c : line + ",") {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) {
          result.back().push_back(field);
          field.clear();
        } else if (c != '"') {
          field += c;
        }
      }
    }
    return result;
  }
};

inline Outcome run(int (*command)(int, char **), std::vector<std::string> words) {
  std::vector<char *> argv = {const_cast<char *>("command")};
  for (std::string &word : words) argv.push_back(&word[0]);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = command(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

// Writes a file that lives as long as the test's temporary folder and returns its path.
inline std::string write_file(const std::string &name, const std::string &text) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

#endif
