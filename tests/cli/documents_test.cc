// The documents and the program name the same commands and environment variables.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "cli/command.h"
#include "lab/command.h"
#include "support.h"

namespace tally {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  const auto bytes = test::read_file(fs::path(TALLY_SOURCE_DIR) / path);
  return {bytes.begin(), bytes.end()};
}

// All matches of the expression's first group.
std::set<std::string> matches(const std::string& text, const char* expression) {
  const std::regex regex(expression);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

TEST(Documents, commands) {
  CLI::App app;
  cli::add_commands(app);
  lab::add_lab(app);
  const std::string hacking = read("HACKING.md");
  std::set<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.insert(command->get_name());
    EXPECT_NE(hacking.find("`tally " + command->get_name()), std::string::npos)
        << "HACKING.md: a row for tally " << command->get_name() << " is missing";
  }
  std::set<std::string> of_lab;
  for (const CLI::App* command : app.get_subcommand("lab")->get_subcommands([](const CLI::App*) { return true; })) {
    of_lab.insert(command->get_name());
    EXPECT_NE(hacking.find("`tally lab " + command->get_name()), std::string::npos)
        << "HACKING.md: a row for tally lab " << command->get_name() << " is missing";
  }
  for (const char* document : {"HACKING.md", "README.md"}) {
    for (const std::string& name : matches(read(document), "(?:`|/)tally lab ([a-z]+)")) {
      EXPECT_EQ(of_lab.count(name), 1u) << document << " names tally lab " << name << ", which is no command";
    }
    for (const std::string& name : matches(read(document), "(?:`|/)tally ([a-z]+)")) {
      EXPECT_EQ(commands.count(name), 1u) << document << " names tally " << name << ", which is no command";
    }
  }
}

TEST(Documents, tool) {
  const std::set<std::string> commands = matches(read("dev"), "\n  ([a-z]+)(?: \\| [-a-z| ]+)?\\) cmd_");
  EXPECT_GT(commands.size(), 5u);
  for (const char* document : {"HACKING.md", "README.md"}) {
    for (const std::string& name : matches(read(document), "\\./dev ([a-z]+)")) {
      EXPECT_EQ(commands.count(name), 1u) << document << " names ./dev " << name << ", which is no command";
    }
  }
  for (const std::string& name : commands) {
    EXPECT_NE(read("HACKING.md").find("`./dev " + name), std::string::npos)
        << "HACKING.md: a row for ./dev " << name << " is missing";
  }
}

TEST(Documents, environment_variables) {
  const std::string hacking = read("HACKING.md");
  std::set<std::string> read_by_source;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TALLY_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string source = read(entry.path());
    read_by_source.merge(matches(source, "[^a-z_]env\\(\"([A-Z_]+)\"\\)"));
  }
  EXPECT_EQ(read_by_source.count("TALLY_HF_ENDPOINT"), 1u);
  read_by_source.erase("HOME");  // the system's own
  for (const std::string& name : read_by_source) {
    EXPECT_NE(hacking.find("| `" + name + "` |"), std::string::npos)
        << "HACKING.md: a row for " << name << " is missing";
  }
}

}  // namespace
}  // namespace tally
