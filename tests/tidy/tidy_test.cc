// Rules of the source tree that no compiler checks: who may include whom, sizes, banned calls, documents.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tidy/functions.h"

namespace tally::tidy {
namespace {

namespace fs = std::filesystem;

constexpr int kFileLinesMax = 600;
constexpr int kFileLinesGood = 300;
constexpr int kFunctionLinesMax = 70;
constexpr int kKernelLinesMax = 120;  // bodies in backend/*/kernels and backend/cuda/device

// Folder → folders whose headers it may include beside its own (ARCHITECTURE.md, section 4), with what those rest on.
const std::map<std::string, std::set<std::string>>& layers() {
  static const std::set<std::string> all = {
      "base",        "ledger",       "gguf",    "quant",          "text",
      "ops",         "models",       "backend", "backend/common", "backend/reference",
      "backend/cpu", "backend/cuda", "runtime"};
  static const std::set<std::string> all_and_app = [] {
    std::set<std::string> s = all;
    s.insert("app");
    return s;
  }();
  static const std::set<std::string> device = {"base", "ops", "quant", "ledger", "backend", "backend/common"};
  static const std::map<std::string, std::set<std::string>> table = {
      {"base", {}},
      {"ledger", {"base"}},
      {"quant", {"base"}},
      {"text", {"base"}},
      {"gguf", {"base", "quant"}},
      {"ops", {"base", "quant"}},
      {"models", {"base", "quant", "ops", "gguf"}},
      {"backend", {"base", "quant", "ops", "ledger"}},
      {"backend/common", device},
      {"backend/reference", device},
      {"backend/cpu", device},
      {"backend/cuda", device},
      {"runtime", {"base", "quant", "ops", "gguf", "models", "backend", "ledger"}},
      {"app", all},
      {"server", all_and_app},
      {"cli", all_and_app},
      {"lab", all_and_app},
      {"main", {"base", "app", "cli", "lab", "server"}},
  };
  return table;
}

struct File {
  std::string path;  // below the source tree, with slashes
  std::string text;
};

fs::path root() { return TALLY_SOURCE_DIR; }

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool has_suffix(const std::string& path, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const std::string& s) { return path.ends_with(s); });
}

// All files of the tree but builds, git's own and hidden caches.
const std::vector<File>& tree() {
  static const std::vector<File> files = [] {
    std::vector<File> all;
    for (auto it = fs::recursive_directory_iterator(root()); it != fs::recursive_directory_iterator(); ++it) {
      const std::string name = it->path().filename().string();
      if (it->is_directory()) {
        if (name == "build" || name == ".git" || name == ".cache" || name == "__pycache__" || name == "third_party")
          it.disable_recursion_pending();
        continue;
      }
      // Big files are data, not text to be tidy.
      if (it->is_regular_file() && it->file_size() < 2'000'000)
        all.push_back({it->path().lexically_relative(root()).generic_string(), read(it->path())});
    }
    std::sort(all.begin(), all.end(), [](const File& a, const File& b) { return a.path < b.path; });
    return all;
  }();
  return files;
}

std::vector<const File*> files_below(const std::string& folder, const std::vector<std::string>& suffixes) {
  std::vector<const File*> files;
  for (const File& file : tree()) {
    if (file.path.rfind(folder, 0) == 0 && has_suffix(file.path, suffixes)) files.push_back(&file);
  }
  return files;
}

const std::vector<std::string> kCode = {".cc", ".h", ".cu", ".cuh"};

// "src/backend/cpu/kernels/x.cc" → "backend/cpu", "src/cli/main/main.cc" → "cli", "src/backend/kernel.h" → "backend".
std::string layer_of(const std::string& path_below_src) {
  const size_t first = path_below_src.find('/');
  const std::string top = path_below_src.substr(0, first);
  if (top != "backend" || first == std::string::npos) return top;
  const size_t second = path_below_src.find('/', first + 1);
  return second == std::string::npos ? top : path_below_src.substr(0, second);
}

// Calls action(line number, "path" or <path>) for each include.
void for_each_include(const File& file, auto&& action) {
  std::istringstream lines(file.text);
  std::string line;
  for (int n = 1; std::getline(lines, line); ++n) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#' || line.find("include") == std::string::npos) continue;
    const size_t open = line.find_first_of("\"<");
    if (open == std::string::npos) continue;
    const size_t close = line.find(line[open] == '"' ? '"' : '>', open + 1);
    if (close != std::string::npos) action(n, line.substr(open, close - open + 1));
  }
}

TEST(Tidy, include_layers) {
  int n_checked = 0;
  for (const File* file : files_below("src/", kCode)) {
    const std::string layer = layer_of(file->path.substr(4));
    const auto rule = layers().find(layer);
    ASSERT_NE(rule, layers().end()) << file->path << ": the folder " << layer
                                    << " is not in the table of layers in this test";
    for_each_include(*file, [&](int line, const std::string& quoted) {
      if (quoted[0] != '"') return;
      const std::string other = layer_of(quoted.substr(1, quoted.size() - 2));
      ++n_checked;
      if (layers().count(other) == 0) return;                                                  // a third party's header
      if (file->path == "src/backend/registry.cc" && other.rfind("backend/", 0) == 0) return;  // it names them all
      EXPECT_TRUE(other == layer || rule->second.count(other) == 1)
          << file->path << ":" << line << ": " << layer << " may not include " << quoted;
      // The runtime sees backends through their one interface.
      if (layer == "runtime" && other == "backend") {
        EXPECT_TRUE(quoted == "\"backend/backend.h\"" || quoted == "\"backend/registry.h\"")
            << file->path << ":" << line << ": " << quoted;
      }
    });
  }
  EXPECT_GT(n_checked, 0);
}

TEST(Tidy, device_code_includes_little) {
  for (const File* file : files_below("src/", {".cu", ".cuh"})) {
    for_each_include(*file, [&](int line, const std::string& quoted) {
      static const std::set<std::string> heavy = {"<string>",       "<variant>",          "<vector>",
                                                  "<map>",          "<functional>",       "<iostream>",
                                                  "<fmt/format.h>", "<nlohmann/json.hpp>"};
      EXPECT_EQ(heavy.count(quoted), 0u) << file->path << ":" << line << ": " << quoted
                                         << " makes device code slow to compile";
      EXPECT_NE(quoted.rfind("\"ops/", 0), 0u)
          << file->path << ":" << line << ": " << quoted << "; the host side prepares plain arguments";
    });
  }
}

TEST(Tidy, every_header_is_included) {
  std::set<std::string> included;
  for (const File& file : tree()) {
    if (!has_suffix(file.path, kCode)) continue;
    for_each_include(file, [&](int, const std::string& quoted) {
      included.insert(fs::path(quoted.substr(1, quoted.size() - 2)).filename().string());
    });
  }
  for (const File* file : files_below("src/", {".h", ".cuh"})) {
    EXPECT_EQ(included.count(fs::path(file->path).filename().string()), 1u) << file->path << ": nobody includes it";
  }
}

// Lengths beyond the limits, as tests/tidy/ratchet.txt lists them: "file PATH" or "function PATH NAME" → lines.
std::map<std::string, int> found_lengths() {
  std::map<std::string, int> lengths;
  for (const File& file : tree()) {
    const bool is_ours = file.path.rfind("src/", 0) == 0 || file.path.rfind("tests/", 0) == 0;
    if (!is_ours || !has_suffix(file.path, kCode)) continue;
    const int n_lines = static_cast<int>(std::count(file.text.begin(), file.text.end(), '\n'));
    if (n_lines > kFileLinesMax) lengths["file " + file.path] = n_lines;
    const bool is_kernel =
        file.path.find("/kernels/") != std::string::npos || file.path.find("/cuda/device/") != std::string::npos;
    for (const Function& f : find_functions(file.text)) {
      if (f.n_lines > (is_kernel ? kKernelLinesMax : kFunctionLinesMax)) {
        int& longest = lengths["function " + file.path + " " + f.name];
        longest = std::max(longest, f.n_lines);
      }
    }
  }
  return lengths;
}

TEST(Tidy, sizes_only_shrink) {
  std::map<std::string, int> allowed;
  std::istringstream lines(read(root() / "tests/tidy/ratchet.txt"));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    ASSERT_NE(space, std::string::npos) << line;
    allowed[line.substr(0, space)] = std::stoi(line.substr(space + 1));
  }
  const std::map<std::string, int> found = found_lengths();
  for (const auto& [what, n_lines] : found) {
    const auto entry = allowed.find(what);
    if (entry == allowed.end()) {
      ADD_FAILURE() << what << " has " << n_lines << " lines; limits: file " << kFileLinesMax << ", function "
                    << kFunctionLinesMax << ", kernel body " << kKernelLinesMax << ". Cut it in two";
    } else if (n_lines > entry->second) {
      ADD_FAILURE() << what << " grew from " << entry->second << " to " << n_lines << " lines; it may only shrink";
    }
  }
  for (const auto& [what, n_lines] : allowed) {
    const auto entry = found.find(what);
    if (entry == found.end()) {
      ADD_FAILURE() << "tests/tidy/ratchet.txt: remove the line \"" << what << " " << n_lines
                    << "\": it keeps the limit now";
    } else if (entry->second < n_lines) {
      ADD_FAILURE() << "tests/tidy/ratchet.txt: " << what << " has shrunk; write " << entry->second << " in place of "
                    << n_lines;
    }
  }
}

TEST(Tidy, long_files_are_named) {
  for (const File* file : files_below("src/", kCode)) {
    const auto n_lines = std::count(file->text.begin(), file->text.end(), '\n');
    if (n_lines > kFileLinesGood)
      fmt::print("note: {} has {} lines; about {} are good\n", file->path, n_lines, kFileLinesGood);
  }
}

// The line of the first use of a word outside comments and literals; 0 when there is none.
int line_of_word(const std::string& blanked, const std::string& word) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = blanked.find(word); at != std::string::npos; at = blanked.find(word, at + 1)) {
    const bool whole = (at == 0 || !is_word(blanked[at - 1])) &&
                       (at + word.size() >= blanked.size() || !is_word(blanked[at + word.size()]));
    if (whole)
      return 1 + static_cast<int>(std::count(blanked.begin(), blanked.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  return 0;
}

TEST(Tidy, banned_calls) {
  struct Ban {
    std::string folder;
    std::string word;
    std::string except;
    std::string why;
  };
  const std::vector<Ban> bans = {
      {"src/", "getenv", "src/base/env.cc", "environment variables are read in src/base/env.cc alone"},
      {"src/", "setenv", "-", "the program does not change its environment"},
      {"src/runtime/", "malloc", "-", "memory is reserved once, at the start"},
      {"src/runtime/", "calloc", "-", "memory is reserved once, at the start"},
      {"src/runtime/", "realloc", "-", "memory is reserved once, at the start"},
      {"src/", "std::rand", "-", "random numbers come from base/rng.h"},
      {"src/", "strcpy", "-", "it does not know how much room there is"},
      {"src/", "sprintf", "-", "it does not know how much room there is"},
      {"src/backend/", "std::function", "-", "it hides an allocation and a call in the hot path"},
  };
  for (const File* file : files_below("src/", kCode)) {
    const std::string blanked = blank_out(file->text);
    for (const Ban& ban : bans) {
      if (file->path.rfind(ban.folder, 0) != 0 || file->path == ban.except) continue;
      const int line = line_of_word(blanked, ban.word);
      EXPECT_EQ(line, 0) << file->path << ":" << line << ": " << ban.word << ": " << ban.why;
    }
    if (file->path.rfind("src/backend/", 0) != 0 && file->path.rfind("src/runtime/", 0) != 0) continue;
    for_each_include(*file, [&](int line, const std::string& quoted) {
      EXPECT_NE(quoted, "<iostream>") << file->path << ":" << line;
    });
  }
}

TEST(Tidy, documents_have_one_title) {
  int n_documents = 0;
  for (const File& file : tree()) {
    if (!has_suffix(file.path, {".md"})) continue;
    ++n_documents;
    std::istringstream lines(file.text);
    std::string line;
    int n_titles = 0;
    bool in_code = false;
    bool first_is_title = false;
    for (bool first = true; std::getline(lines, line);) {
      if (line.rfind("```", 0) == 0) in_code = !in_code;
      const bool is_title = !in_code && line.rfind("# ", 0) == 0;
      n_titles += is_title ? 1 : 0;
      if (first && !line.empty()) first_is_title = is_title, first = false;
    }
    EXPECT_EQ(n_titles, 1) << file.path << ": a document has one title (# …)";
    EXPECT_TRUE(first_is_title) << file.path << ": the title comes first";
  }
  EXPECT_GT(n_documents, 0);
}

TEST(Tidy, no_places_of_one_machine) {
  // Written in two halves so that this file does not hold what it looks for.
  const auto word = [](const char* a, const char* b) { return std::string(a) + b; };
  const std::vector<std::string> words = {
      word("/wo", "rk/"),           word("/ro", "ot/"),         word("/ho", "me/"),         word("pypi", ".org"),
      word("python", "hosted"),     word("registry", ".npmjs"), word("deb", ".debian.org"), word("snapshot", ".debian"),
      word("proxy", ".golang.org"), word("crates", ".io"),      word("archive", ".ubuntu")};
  for (const File& file : tree()) {
    // Test data and corpora are other people's text and random bytes.
    if (file.path.rfind("tests/data/", 0) == 0 || file.path.rfind("tests/fuzz/corpus/", 0) == 0 ||
        file.path.ends_with(".gguf"))
      continue;
    for (const std::string& bad : words) {
      const size_t at = file.text.find(bad);
      if (at == std::string::npos) continue;
      ADD_FAILURE() << file.path << ":"
                    << 1 + std::count(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(at), '\n')
                    << ": names " << bad;
    }
  }
}

TEST(Tidy, every_test_folder_is_built) {
  const std::string lists = read(root() / "tests/CMakeLists.txt");
  std::set<std::string> folders;
  for (const File* file : files_below("tests/", {"_test.cc"})) {
    const std::string folder = fs::path(file->path.substr(6)).parent_path().generic_string();
    if (folders.insert(folder).second) {
      EXPECT_NE(lists.find("tally_test(" + folder + " "), std::string::npos)
          << "tests/CMakeLists.txt: tally_test(" << folder << " …) is missing";
    }
  }
  EXPECT_EQ(folders.count("tidy"), 1u);
}

TEST(Tidy, every_source_folder_is_built) {
  const std::string lists = read(root() / "src/CMakeLists.txt") + read(root() / "src/backend/cpu/kernels.cmake");
  std::set<std::string> folders;
  for (const File* file : files_below("src/", {".cc"}))
    folders.insert(fs::path(file->path.substr(4)).parent_path().generic_string());
  for (const std::string& folder : folders) {
    EXPECT_TRUE(lists.find(" " + folder + " ") != std::string::npos ||
                lists.find(" " + folder + ")") != std::string::npos ||
                lists.find(folder + "/main.cc") != std::string::npos)
        << "src/" << folder << ": no library has its files";
  }
}

TEST(Tidy, every_fuzz_target_has_a_corpus) {
  for (const File* file : files_below("tests/fuzz/", {"_fuzz.cc"})) {
    const std::string stem = fs::path(file->path).stem().string();
    const fs::path corpus = root() / "tests/fuzz/corpus" / stem.substr(0, stem.rfind("_fuzz"));
    EXPECT_TRUE(fs::is_directory(corpus) && !fs::is_empty(corpus)) << file->path << ": " << corpus << " is empty";
  }
}

}  // namespace
}  // namespace tally::tidy
