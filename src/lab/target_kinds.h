// The kinds of targets, one file each (target_<kind>.cc); open_target chooses.
#pragma once

#include <memory>
#include <string>

#include "lab/target.h"

namespace tally::lab {

// settings: options of an engine as words, may be empty.
std::unique_ptr<Target> open_tally_target(const std::string& settings, const TargetOptions& options);
// text: path of a program and further words for it.
std::unique_ptr<Target> open_tally_program(const std::string& text, const TargetOptions& options);
std::unique_ptr<Target> open_llama_bench(const std::string& text, const TargetOptions& options);
// command: template with {model} {prompt} {gen} {depth} {threads} {reps}.
std::unique_ptr<Target> open_json_command(const std::string& command, const TargetOptions& options);
std::unique_ptr<Target> open_endpoint(const std::string& text, const TargetOptions& options);
std::unique_ptr<Target> open_shell_command(const std::string& command, const TargetOptions& options);

// The path of options.model, or Error (Usage) that says which target needs it.
std::string model_path_of(const TargetOptions& options, const std::string& target);

// The words of a command template with its {placeholders} filled in; unknown ones are an Error (Usage).
std::string fill_in(const std::string& text, const std::vector<std::pair<std::string, std::string>>& values);

// Measurements of one test in the JSON that llama-bench prints (an array of objects with n_prompt, n_gen, n_depth and
// samples_ns). Error (BadInput) when it is none, or the test is not in it. head: receives the object's other fields.
std::vector<Measurement> read_llama_bench(const std::string& json, const TestShape& test, const std::string& program,
                                          Json* head);
// The same of `tally lab bench --json`.
std::vector<Measurement> read_tally_bench(const std::string& json, const TestShape& test, const std::string& program,
                                          Json* head);

}  // namespace tally::lab
