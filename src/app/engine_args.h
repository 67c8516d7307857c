// The options that every command with an engine shares (--device, --threads, --ctx, --chunk, --exact, …).
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include "gguf/gguf.h"
#include "ledger/ledger.h"
#include "runtime/engine.h"

namespace tally::app {

struct EngineArgs {
  std::string model;
  runtime::EngineOptions options;
  std::string ledger_path, trace_out;
  std::string trace;
  bool quiet = false;
  bool force = false;

  void add_to(CLI::App& command);
};

// An opened model with its engine; the parts live as long as this.
struct OpenModel {
  ~OpenModel();  // writes the trace of --trace-out; when that fails, says so and sets the exit status
  gguf::File file;
  ledger::Ledger ledger;
  std::unique_ptr<runtime::Engine> engine;
  std::string trace_out;
  uint64_t trace_begin_ns = 0;
};

// Opens the file, checks that it fits this machine, starts the engine. What it says goes to standard error unless
// --quiet.
std::unique_ptr<OpenModel> open_model(const EngineArgs& args);

// Whether the model has a multi-token-prediction block.
bool has_mtp(const EngineArgs& args);

}  // namespace tally::app
