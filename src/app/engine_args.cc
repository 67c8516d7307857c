#include "app/engine_args.h"

#include <cstdio>
#include <cstring>

#include "app/exit_status.h"
#include "app/memory.h"
#include "app/model_path.h"
#include "app/provenance.h"
#include "app/trace_out.h"
#include "base/clock.h"
#include "base/error.h"
#include "models/registry.h"

namespace tally::app {

void EngineArgs::add_to(CLI::App& command) {
  command.add_option("MODEL", model, "GGUF file, or the name of a pulled model (tally ls)")->required();
  command.add_option("--device", options.device, "cpu, or reference (double precision, very slow)")
      ->capture_default_str();
  command.add_option("--threads", options.n_threads, "worker threads (default: the physical cores in reach)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--isa", options.isa,
                     "instruction-set level of the CPU kernels: generic, avx2, avx512 (default: the best)");
  command
      .add_option("--ctx", options.context_length,
                  "tokens of context per sequence (default: the model's, at most 32768)")
      ->check(CLI::Range(1, 1 << 24));
  command.add_option("--chunk", options.chunk, "prompt tokens per step")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command.add_flag("--exact", options.exact, "float32 activations and a float32 cache everywhere, speed no object");
  command.add_option("--kernel", options.forced_kernels,
                     "force kernels: op=name[,op=name], for instance linear=generic");
  command.add_option("--trace", trace, "print what happens: plan (the steps of each compiled plan)");
  command.add_option("--ledger", ledger_path, "append every dispatch to this file");
  command.add_option("--trace-out", trace_out,
                     "write every dispatch as a Chrome trace (open it in Perfetto), the time between them as a track "
                     "\"unattributed\"");
  command.add_flag("--force", force, "start even when memory will not suffice");
  command.add_flag("--quiet", quiet, "say nothing but the result");
}

namespace {

constexpr size_t kTraceDispatches = 4 << 20;  // 235 MB in memory, about 1.5 GB as text

void start_trace(OpenModel& model, const std::string& path) {
  std::FILE* probe = std::fopen(path.c_str(), "wb");  // before the work, not after
  if (!probe) fail(ErrorCode::BadInput, "{}: the trace cannot be created: {}", path, std::strerror(errno));
  std::fclose(probe);
  model.trace_out = path;
  model.ledger.keep(kTraceDispatches);
  model.trace_begin_ns = now_ns();
}

}  // namespace

std::unique_ptr<OpenModel> open_model(const EngineArgs& args) {
  if (!args.trace.empty() && args.trace != "plan") fail(ErrorCode::Usage, "--trace {}: expected plan", args.trace);
  auto model = std::make_unique<OpenModel>();
  model->file = gguf::File::open(find_model(args.model));
  if (!args.ledger_path.empty()) model->ledger.open_file(args.ledger_path, provenance_json(model->file));
  runtime::EngineOptions options = args.options;
  options.ledger = &model->ledger;
  options.trace_plans = args.trace == "plan";
  require_fit(model->file, options, args.force);
  model->engine = std::make_unique<runtime::Engine>(model->file, options);
  if (!args.trace_out.empty()) start_trace(*model, args.trace_out);
  return model;
}

OpenModel::~OpenModel() {
  if (trace_out.empty()) return;
  try {
    write_trace(trace_out, ledger, trace_begin_ns, now_ns(), provenance_json(file));
  } catch (const std::exception& e) {
    fmt::print(stderr, "tally: {}\n", e.what());
    exit_status() = static_cast<int>(ErrorCode::BadInput);
  }
}

bool has_mtp(const EngineArgs& args) {
  gguf::File file = gguf::File::open(find_model(args.model));
  return models::build_mtp_program(models::source_of(file)).has_value();
}

}  // namespace tally::app
