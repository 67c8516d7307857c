#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "app/jsonl.h"
#include "base/error.h"
#include "base/rng.h"
#include "lab/agent.h"

namespace tally::lab {

namespace fs = std::filesystem;

namespace {

// Plain statements of a beekeeper's year, drawn in a fixed order until the length is reached.
constexpr std::array kStatements = {
    "In March the first willows bloom and the queen begins to lay again.",
    "The hive by the wall lost half its bees in the frost of February.",
    "Two frames of honey were moved from the strong hive to the weak one.",
    "A mouse had made its nest under the floor and was shown the door.",
    "Mites were counted on a white board: eleven in three days, which is not many.",
    "The first swarm hung in the pear tree on the tenth of May and was caught in a straw basket.",
    "Rain kept the bees at home for nine days, and they ate what they had gathered.",
    "The lime trees gave forty kilograms of honey in one week of July.",
    "A young queen was marked with a blue spot so that she can be found.",
    "The neighbour asked for a jar and was given two.",
    "Wasps came in August; the entrances were made as narrow as a finger.",
    "Sugar was boiled for the winter feed, three parts to two parts of water.",
};

std::string long_text(int words) {
  std::string out = "Notes of the bee yard\n\n";
  int n = 0;
  for (uint64_t i = 0; n < words; ++i) {
    const std::string_view sentence = kStatements[random_u64(17, i) % kStatements.size()];
    out += fmt::format("{}{}", sentence, i % 5 == 4 ? "\n\n" : " ");
    n += 1 + int(std::count(sentence.begin(), sentence.end(), ' '));
  }
  return out + "\n";
}

}  // namespace

SampleFolder::SampleFolder(int words) : wanted_("bees.txt") {
  std::string name = (fs::temp_directory_path() / "tally-agent-XXXXXX").string();
  if (!mkdtemp(name.data())) fail(ErrorCode::Resources, "{}: cannot be made: {}", name, std::strerror(errno));
  path_ = name;
  const std::array<std::pair<const char*, std::string>, 3> files{
      {{"bees.txt", long_text(words)},
       {"shopping.txt", "flour\nsalt\ntwo dozen eggs\nlamp oil\n"},
       {"todo.txt", "mend the fence\npaint the third hive\nwrite to the seed merchant\n"}}};
  for (const auto& [file, text] : files) {
    std::ofstream(path_ / file, std::ios::binary) << text;
    names_.push_back(file);
  }
}

SampleFolder::~SampleFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string SampleFolder::list() const {
  std::string out;
  for (const std::string& name : names_) out += name + "\n";
  return out;
}

std::optional<std::string> SampleFolder::read(const std::string& name) const {
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) return std::nullopt;
  std::ifstream in(path_ / name, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

std::string SampleFolder::call(const std::string& tool, const std::string& arguments, AgentRun& run) const {
  if (tool == "list_files") {
    run.listed = true;
    return list();
  }
  if (tool != "read_file")
    return fmt::format("error: there is no tool {}; there are list_files and read_file", tool.substr(0, 80));
  std::string name;
  try {
    const Json parsed = app::parse_json_ordered(arguments);
    if (parsed.is_object() && parsed.contains("name") && parsed["name"].is_string()) name = parsed["name"];
  } catch (const Error&) {
    return "error: the arguments are no JSON; expected {\"name\": \"…\"}";
  }
  const std::optional<std::string> text = read(name);
  if (!text) return fmt::format("error: no file \"{}\"; the files are:\n{}", name.substr(0, 80), list());
  run.read = run.read || name == wanted_;
  return *text;
}

}  // namespace tally::lab
