// SPDX-License-Identifier: Apache-2.0
//
// Level 1: a plugin is one shared object with one exported symbol, and loading it does nothing. Also: no plugin that
// was built is left out by the tests. Read next: parameters_test.cc.
#include <dirent.h>
#include <elf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/conformance/kit.h"

extern char **environ;

namespace tessera_test {
namespace {

struct Symbol {
  std::string name, section;
  bool is_local, is_object;
};

// The symbols that a shared object defines, of its table of this type: SHT_DYNSYM or SHT_SYMTAB.
std::vector<Symbol> symbols_of(const std::string &path, uint32_t table) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Symbol> found;
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return found;
  memcpy(&header, bytes.data(), sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return found;
  auto section = [&](uint64_t i) {
    Elf64_Shdr result;
    memcpy(&result, bytes.data() + header.e_shoff + i * header.e_shentsize, sizeof result);
    return result;
  };
  const uint64_t section_names = section(header.e_shstrndx).sh_offset;
  for (uint16_t i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != table) continue;
    Elf64_Shdr strings = section(symbols.sh_link);
    for (uint64_t at = 0; at < symbols.sh_size; at += symbols.sh_entsize) {
      Elf64_Sym symbol;
      memcpy(&symbol, bytes.data() + symbols.sh_offset + at, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) continue;
      found.push_back({bytes.data() + strings.sh_offset + symbol.st_name,
                       bytes.data() + section_names + section(symbol.st_shndx).sh_name,
                       ELF64_ST_BIND(symbol.st_info) == STB_LOCAL, ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT});
    }
  }
  return found;
}

// Names that a shared object exports.
std::vector<std::string> exported_symbols(const std::string &path) {
  std::vector<std::string> names;
  for (const Symbol &symbol : symbols_of(path, SHT_DYNSYM))
    if (!symbol.is_local) names.push_back((symbol.is_object ? "data " : "other ") + symbol.name);
  return names;
}

TEST_P(OnPlugin, P01_ExportsOneDataSymbol) {
  EXPECT_EQ(exported_symbols(GetParam().path), std::vector<std::string>{"data tsr_plugin_entry"});
}

// All threads and all tables would share it, and a GPU has none of it. What the compiler adds begins with two underscores.
TEST_P(OnPlugin, P10_P24_KeepsNoVariableOfItsOwn) {
  for (const Symbol &symbol : symbols_of(GetParam().path, SHT_SYMTAB))
    if (symbol.is_object && (symbol.section == ".data" || symbol.section == ".bss") && symbol.name.rfind("__", 0) &&
        symbol.name.rfind("completed.", 0))
      ADD_FAILURE()
          << "the variable " << symbol.name << " of " << GetParam().name
          << " stays between calls, and threads share it: what a part remembers is in a region, a state word, "
             "or probe->word";
}

TEST_P(OnPlugin, P02_P07_DescriptorIsSound) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin->abi, tsr_sdk_abi);
  EXPECT_EQ(plugin->size, sizeof(tsr_plugin));
  EXPECT_EQ(plugin->name, GetParam().name);
  ASSERT_LT(plugin->role, uint32_t{TSR_ROLES});
  EXPECT_EQ(tsr_role_names[plugin->role], GetParam().role);
  std::string summary = plugin->summary;
  EXPECT_GT(summary.size(), 10u);
  EXPECT_EQ(summary.back(), '.') << summary;
  EXPECT_EQ(summary.find('\n'), std::string::npos);
  EXPECT_FALSE(std::string(plugin->source).empty());
  const tsr_plugin *again = loaded(GetParam());
  EXPECT_EQ(plugin, again) << "a second load made a second plugin";
}

// One row for each width that it says to depend on, none twice, and all with device code or none.
TEST_P(OnPlugin, P08_ImagesCoverTheWidths) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  std::set<std::pair<uint32_t, uint32_t>> rows;
  size_t with_device_code = 0;
  const tsr_image *image = plugin->images;
  for (; image->functions; image++) {
    EXPECT_TRUE(rows.insert({image->key_bits, image->payload_bits}).second);
    EXPECT_EQ(image->device != nullptr, image->device_bytes > 0);
    with_device_code += image->device != nullptr;
  }
  EXPECT_TRUE(with_device_code == 0 || with_device_code == rows.size());
  bool any_key = rows.count({TSR_ANY_BITS, TSR_ANY_BITS}), any_payload = rows.count({32, TSR_ANY_BITS});
  size_t of_128 = 0; // those that its source says it has code for (TSR_KEYS_128)
  for (const auto &row : rows) of_128 += row.first == 128;
  EXPECT_EQ(rows.size() - of_128, any_key ? 1u : any_payload ? 2u : 6u);
  EXPECT_LE(of_128, any_key ? 0u : any_payload ? 1u : 3u);
}

TEST_P(OnPlugin, P09_P10_PrintsNothingInAProcessOfItsOwn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char program[] = "/proc/self/exe", option[] = "--load";
  std::string path = GetParam().path;
  char *arguments[] = {program, option, path.data(), nullptr};
  pid_t child;
  ASSERT_EQ(posix_spawn(&child, program, &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string printed;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) printed.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "loading it alone failed: " << printed;
  EXPECT_EQ(printed, "");
}

// ---- No vacuous pass ----------------------------------------------------------------------------

// The shared objects that are in the folders of parts, counted apart from the build's list.
size_t files_in_the_rooms() {
  size_t count = 0;
  std::set<std::string> directories;
  for (const PluginFile &file : plugin_files()) directories.insert(file.path.substr(0, file.path.rfind('/')));
  for (const std::string &path : directories) {
    DIR *directory = opendir(path.c_str());
    if (!directory) continue;
    while (dirent *entry = readdir(directory)) {
      std::string name = entry->d_name;
      count += name.size() > 3 && name.substr(name.size() - 3) == ".so";
    }
    closedir(directory);
  }
  return count;
}

TEST(Kit, TestsEveryPluginThatWasBuilt) {
  std::set<std::string> tested;
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  std::map<std::string, size_t> counts;
  for (int s = 0; s < all.total_test_suite_count(); s++) {
    const testing::TestSuite &suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); t++) {
      std::string name = suite.GetTestInfo(t)->name(); // "P02_P07_DescriptorIsSound/role_name"
      size_t slash = name.find('/');
      if (std::string(suite.name()).find("Kit/On") == 0 && std::string(suite.name()).find("Kit/OnComposition") != 0 &&
          slash != std::string::npos)
        counts[name.substr(slash + 1)]++;
    }
  }
  EXPECT_EQ(counts.size(), subjects().size());
  for (const PluginFile &file : subjects()) {
    EXPECT_GE(counts[file.role + "_" + file.name], 10u) << file << " lacks tests";
    EXPECT_LT(role_of(file.role), uint32_t{TSR_ROLES}) << file.path << ": its file name starts with no role";
  }
  if (*built_list() && !is_one_plugin()) {
    EXPECT_EQ(files_in_the_rooms(), subjects().size());
  }
  ASSERT_GT(subjects().size(), 0u);
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    size_t count = plugins_of(role).size();
    printf("%zu %s%s\n", count, tsr_role_names[role], count == 1 ? "" : "s");
    if (role != TSR_ROLE_ALLOCATOR) {
      EXPECT_GT(count, 0u) << "there is no " << tsr_role_names[role] << " to compose with";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kit, OnPlugin, testing::ValuesIn(subjects()), plugin_test_name);

} // namespace
} // namespace tessera_test
