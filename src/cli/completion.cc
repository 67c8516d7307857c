// tally completion bash: a completion script made from the command line's own description, so that it knows every
// subcommand and option.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/known_models.h"
#include "cli/command.h"

namespace tally::cli {

namespace {

// A word that is safe between double quotes of a script: names of options and commands are plain words by construction.
void append_words(const std::vector<std::string>& words, const std::string& prefix, std::string* out) {
  for (const std::string& word : words) *out += (out->empty() ? "" : " ") + prefix + word;
}

// One "case" branch per command path, for instance "lab bench": its options, subcommands and options that take a value.
void append_branches(const CLI::App& app, const std::string& path, std::string* out) {
  std::string options;
  std::string with_value;
  for (const CLI::Option* option : app.get_options()) {
    append_words(option->get_snames(), "-", &options);
    append_words(option->get_lnames(), "--", &options);
    if (option->get_items_expected_max() == 0) continue;
    append_words(option->get_snames(), "-", &with_value);
    append_words(option->get_lnames(), "--", &with_value);
  }
  std::string commands;
  const auto children = app.get_subcommands([](const CLI::App* child) { return !child->get_name().empty(); });
  for (const CLI::App* child : children) append_words({child->get_name()}, "", &commands);
  *out += fmt::format("    \"{}\") commands=\"{}\" options=\"{}\" with_value=\"{}\" ;;\n", path, commands, options,
                      with_value);
  for (const CLI::App* child : children) {
    append_branches(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), out);
  }
}

std::string script(const CLI::App& root) {
  std::string branches;
  append_branches(root, "", &branches);
  std::string models = "tally-tiny";
  for (const app::KnownModel& model : app::known_models()) models += " " + model.name;
  return fmt::format(R"(# Completion of tally for bash; load it with: source <(tally completion bash)
_tally_describe() {{
  commands="" options="" with_value=""
  case "$1" in
{}  esac
}}

_tally() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous="" path="" i commands options with_value
  [ "$COMP_CWORD" -gt 1 ] && previous=${{COMP_WORDS[COMP_CWORD-1]}}
  _tally_describe ""
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case " $commands " in
      *" ${{COMP_WORDS[i]}} "*) path=${{path:+$path }}${{COMP_WORDS[i]}}; _tally_describe "$path" ;;
    esac
  done
  COMPREPLY=()
  if [ -n "$previous" ] && [[ " $with_value " == *" $previous "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [ -n "$commands" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "{}" -- "$word"; compgen -f -- "$word")
  fi
}}
complete -o filenames -F _tally tally
)",
                     branches, models);
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "print a completion script for the shell");
  command->require_subcommand(1);
  command->add_subcommand("bash", "for bash: source <(tally completion bash)")->callback([&app] {
    fmt::print("{}", script(app));
  });
}

}  // namespace tally::cli
