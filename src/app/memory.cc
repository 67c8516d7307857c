#include "app/memory.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "app/progress.h"
#include "base/error.h"
#include "models/registry.h"
#include "ops/batch.h"
#include "ops/fields.h"

namespace tally::app {
namespace {

// For the program itself, page tables, and what others take meanwhile.
constexpr uint64_t kMargin = uint64_t{256} << 20;

// What of a Program's weights a token reads.
struct WeightUse {
  std::set<int> experts, rows_only;  // ids of weights
};

WeightUse use_of(const ops::Program& program) {
  WeightUse use;
  std::set<int> whole;
  for (const ops::Op& op : program.ops) {
    const auto* experts = std::get_if<ops::Experts>(&op);
    const auto* embed = std::get_if<ops::Embed>(&op);
    ops::weights_of(op, [&](ops::WeightRef w) {
      (experts ? use.experts : embed ? use.rows_only : whole).insert(w.id);
    });
  }
  for (int id : whole) use.rows_only.erase(id);  // a tied head reads the whole embedding
  return use;
}

void add_weights(const gguf::File& file, const ops::Program& program, std::set<std::string>& seen, MemoryNeed& need,
                 uint64_t& n_parameters) {
  const WeightUse use = use_of(program);
  double share = 1;  // of the experts, for one token
  for (const ops::Op& op : program.ops)
    if (const auto* e = std::get_if<ops::Experts>(&op)) share = double(e->n_used) / e->n_experts;
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const gguf::TensorInfo* t = file.find(program.weights[i].name);
    if (t == nullptr || !seen.insert(t->name).second) continue;
    n_parameters += t->n_elements();
    need.weights += t->bytes;
    if (use.experts.contains(static_cast<int>(i))) {
      need.experts += t->bytes;
      need.routed += static_cast<uint64_t>(static_cast<double>(t->bytes) * share);
    } else if (!use.rows_only.contains(static_cast<int>(i))) {
      need.always_read += t->bytes;
    }
  }
}

// In floating point: sizes of a hostile file may not fit 64 bits (and real ones are exact).
uint64_t clamped(double bytes) { return static_cast<uint64_t>(std::min(bytes, 1e17)); }

void add_state(const ops::Program& program, const runtime::EngineOptions& options, MemoryNeed& need) {
  const double n_sequences = options.n_sequences, n_slots = n_sequences * (1 + options.n_draft);
  const double tokens = std::ceil(double(need.context_length) / ops::kPageTokens) * ops::kPageTokens;
  double slots = 0, pages = 0;
  for (const ops::StateInfo& s : program.states) {
    const auto elements = static_cast<double>(s.elements());
    if (s.kind == ops::StateKind::Slot)
      slots += n_slots * std::ceil(elements * sizeof(float) / 64) * 64;
    else
      pages += n_sequences * tokens * 2 * elements * (options.exact ? 4 : 2);
  }
  need.slots = clamped(double(need.slots) + slots), need.pages = clamped(double(need.pages) + pages);
}

// The largest sum of values that live at one time, with `chunk` rows, and the rows that experts work on.
uint64_t activation_bytes(const ops::Program& program, double chunk, double n_outputs) {
  const size_t n_ops = program.ops.size();
  std::vector<std::pair<size_t, size_t>> lives(program.values.size(), {n_ops, 0});  // first and last op that touch it
  double experts = 0;
  for (size_t i = 0; i < n_ops; ++i) {
    ops::values_of(program.ops[i], [&](ops::Value v, bool) {
      auto& [first, last] = lives[static_cast<size_t>(v.id)];
      first = std::min(first, i), last = i;
    });
    if (const auto* e = std::get_if<ops::Experts>(&program.ops[i]))
      experts = std::max(
          experts, chunk * e->n_used * sizeof(float) * (double(program.info(e->x).cols) + 2.0 * e->intermediate_size));
  }
  std::vector<double> change(n_ops + 1, 0);
  for (size_t v = 0; v < lives.size(); ++v) {
    if (lives[v].first == n_ops) continue;
    const double rows = program.values[v].rows == ops::Rows::Tokens ? chunk : n_outputs;
    const double bytes = rows * program.values[v].cols * sizeof(float);
    change[lives[v].first] += bytes, change[lives[v].second + 1] -= bytes;
  }
  double now = 0, most = 0;
  for (double c : change) most = std::max(most, now += c);
  return clamped(most + experts);
}

std::string gb(uint64_t bytes) { return human_bytes(bytes); }

// What a hopeless start could change, as a list in words.
std::string remedies(const MemoryNeed& need, uint64_t room, uint64_t missing) {
  std::string text;
  const auto add = [&text](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  const uint64_t fixed = need.always_read + need.anonymous() - need.pages;
  const uint64_t n_pages =
      (static_cast<uint64_t>(std::max(1, need.context_length)) + ops::kPageTokens - 1) / ops::kPageTokens;
  const uint64_t per_page = need.pages / n_pages;  // of all sequences
  if (fixed < room && per_page > 0) {
    const uint64_t fits = (room - fixed) / per_page * ops::kPageTokens;
    if (fits >= 512) add(fmt::format("a smaller --ctx (up to {} fits)", fits));
  } else if (need.pages > need.total() / 8) {
    add("a smaller --ctx");
  }
  const auto n = static_cast<uint64_t>(need.n_sequences);
  if (n > 1 && (need.slots + need.pages) / n * (n - 1) >= missing) add("fewer --sequences");
  if (need.activations > missing && need.chunk > 64) add("a smaller --chunk");
  if (need.always_read > room / 2 && need.bits_per_weight > 5.2) add("a smaller quantisation such as q4_k_m");
  add(fmt::format("{} more memory", gb(missing)));
  return text;
}

}  // namespace

const char* name_of(Fit fit) { return fit == Fit::Fits ? "fits" : fit == Fit::ReadsAgain ? "reads_again" : "hopeless"; }

MemoryNeed memory_need(const gguf::File& file, const ops::Program& program, const ops::Program* mtp,
                       const runtime::EngineOptions& options) {
  MemoryNeed need{.n_sequences = options.n_sequences, .chunk = options.chunk};
  need.context_length =
      options.context_length > 0 ? options.context_length : std::min(program.context_length, runtime::kDefaultContext);
  std::set<std::string> seen;
  uint64_t n_parameters = 0;
  const double chunk = std::clamp(options.chunk, 1, need.context_length);
  const double n_outputs = double(options.n_sequences) * (1 + options.n_draft);
  for (const ops::Program* p : {&program, mtp}) {
    if (p == nullptr) continue;
    add_weights(file, *p, seen, need, n_parameters);
    add_state(*p, options, need);
    need.activations += activation_bytes(*p, chunk, n_outputs);
  }
  need.bits_per_weight = n_parameters > 0 ? 8.0 * static_cast<double>(need.weights) / double(n_parameters) : 0;
  return need;
}

MemoryNeed memory_need(const gguf::File& file, const runtime::EngineOptions& options) {
  const models::ModelSource source = models::source_of(file);
  const ops::Program program = models::build_program(source);
  std::optional<ops::Program> mtp;
  if (options.n_draft > 0 || options.with_mtp) mtp = models::build_mtp_program(source);
  return memory_need(file, program, mtp ? &*mtp : nullptr, options);
}

FitVerdict check_fit(const MemoryNeed& need, const MachineMemory& machine) {
  FitVerdict v;
  v.room = machine.usable() - std::min(machine.usable(), kMargin);
  const uint64_t least = need.anonymous() + need.always_read;
  const std::string has = fmt::format("this machine has {} for it{}", gb(v.room),
                                      machine.limit && machine.usable() < machine.available
                                          ? fmt::format(" (its control group is limited to {})", gb(*machine.limit))
                                          : "");
  if (least > v.room) {
    v.fit = Fit::Hopeless, v.missing = least - v.room;
    v.text = fmt::format(
        "the model needs {} for state and activations (context of {} tokens, {} sequence{}) and {} of weights for "
        "every "
        "token, but {}; what would help: {}",
        gb(need.anonymous()), need.context_length, need.n_sequences, need.n_sequences == 1 ? "" : "s",
        gb(need.always_read), has, remedies(need, v.room, v.missing));
    return v;
  }
  const std::string needs = fmt::format("{} of weights and {} of state and activations at {} tokens of context",
                                        gb(need.weights), gb(need.anonymous()), need.context_length);
  if (need.total() <= v.room) {
    v.text = fmt::format("fits: {}; {}", needs, has);
    return v;
  }
  v.fit = Fit::ReadsAgain, v.missing = need.total() - v.room;
  if (need.experts == 0) {
    v.text = fmt::format("fits but for {} of the embedding, whose rows are read from the file when needed: {}; {}",
                         gb(v.missing), needs, has);
    return v;
  }
  const double share = std::min(1.0, static_cast<double>(v.missing) / static_cast<double>(need.experts));
  v.reread_per_token = static_cast<uint64_t>(share * static_cast<double>(need.routed));
  v.text = fmt::format(
      "does not fit whole: {}; {}; {:.0f} % of the experts ({}) will be read from the disk again and again, about {} a "
      "token while generating and up to {} for each chunk of a prompt",
      needs, has, 100 * share, gb(v.missing), gb(v.reread_per_token), gb(v.missing));
  return v;
}

void require_fit(const gguf::File& file, const runtime::EngineOptions& options, bool force) {
  if (force) return;
  const FitVerdict verdict = check_fit(memory_need(file, options), read_machine_memory());
  if (verdict.fit == Fit::Hopeless)
    fail(ErrorCode::Resources, "{}: {} (--force tries anyway)", file.path(), verdict.text);
}

std::string fit_line(const gguf::File& file, const runtime::EngineOptions& options) {
  return check_fit(memory_need(file, options), read_machine_memory()).text;
}

}  // namespace tally::app
