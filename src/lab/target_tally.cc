// The target `tally`: this program, in process. Prompts are random token ids, as llama-bench's are; decoding feeds
// random ids too, so that no time goes into choosing them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/engine_args.h"
#include "app/model_path.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "lab/child.h"
#include "lab/machine.h"
#include "lab/target_kinds.h"
#include "ops/cost.h"

namespace tally::lab {

namespace {

// One decoded token for each of `batch` sequences with `context` tokens before it.
ops::Batch decode_batch(int batch, int context) {
  ops::Batch b;
  b.n_tokens = b.n_segments = b.n_outputs = batch;
  b.max_pages = (context + ops::kPageTokens) / ops::kPageTokens;
  b.tokens.assign(batch, 0);
  b.positions.assign(batch, context);
  b.context_len.assign(batch, context);
  b.segment_start.push_back(0);
  for (int s = 0; s < batch; ++s) {
    b.segment_start.push_back(s + 1);
    b.slot.push_back(s);
    b.output_row.push_back(s);
    for (int i = 0; i < b.max_pages; ++i) b.page_table.push_back(s * b.max_pages + i);
  }
  return b;
}

int32_t arg_max(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

class TallyTarget : public Target {
 public:
  TallyTarget(const std::string& settings, const TargetOptions& options) : seed_(options.seed) {
    args_.options = options.engine;
    args_.quiet = true;
    parse(settings, model_path_of(options, "target tally"));
    label_ = settings.empty() ? "tally" : "tally " + settings;
  }

  std::string weights_sha256() override { return lab::weights_sha256(args_.model); }

  Json provenance() override {
    Json j{{"kind", "tally"}, {"version", TALLY_VERSION}, {"model", args_.model}};
    if (open_) {
      const backend::DeviceInfo& device = open_->engine->device();
      j["device"] = device.name, j["description"] = device.description, j["threads"] = device.n_workers;
      j["chunk"] = open_->engine->options().chunk;
    }
    j["exact"] = args_.options.exact;
    j["kernels"] = args_.options.forced_kernels;
    return j;
  }

  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    prepare(tests);
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& test : tests) {
      std::vector<Measurement>& list = out.emplace_back();
      if (!first_.count(test)) first_[test] = run(test, &hashes_[test]);
      for (int i = 0; i < reps; ++i) list.push_back(run(test, nullptr));
    }
    return out;
  }

  Floor floor(const TestShape& test) override {
    prepare({&test, 1});
    const runtime::Engine& e = *open_->engine;
    ops::Cost sum;
    int chunk = e.options().chunk;
    for (int at = 0; at < test.n_prompt; at += chunk) {
      int n = std::min(chunk, test.n_prompt - at);
      sum += ops::cost(e.program(), e.weights(), ops::single_segment(n, test.depth + at, at + n == test.n_prompt),
                       e.options().exact);
    }
    for (int i = 0; i < test.n_gen; ++i)
      sum += ops::cost(e.program(), e.weights(), decode_batch(test.batch, test.depth + i), e.options().exact);
    return {double(sum.bytes()), double(sum.flops)};
  }

  const Measurement* first(const TestShape& test) override {
    auto found = first_.find(test);
    return found == first_.end() ? nullptr : &found->second;
  }
  std::string output_sha256(const TestShape& test) override { return hashes_[test]; }

 private:
  void parse(const std::string& settings, const std::string& model) {
    CLI::App options{"tally"};
    args_.add_to(options);
    std::vector<std::string> words = split_words(settings);
    words.insert(words.begin(), model);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    try {
      options.parse(words);
    } catch (const CLI::ParseError& e) {
      fail(ErrorCode::Usage, "target \"tally{}\": {}", settings.empty() ? "" : " " + settings, e.what());
    }
  }

  // An engine with room for the tests.
  void prepare(std::span<const TestShape> tests) {
    int ctx = 0, batch = 1;
    for (const TestShape& t : tests) {
      if (t.n_prompt > 0 && t.batch > 1)
        fail(ErrorCode::Usage, "{}: several sequences at once are timed for generation only", t.name());
      ctx = std::max(ctx, t.depth + t.n_prompt + t.n_gen);
      batch = std::max(batch, t.batch);
    }
    if (open_ && ctx <= ctx_ && batch <= batch_) return;
    ctx_ = std::max({ctx, ctx_, args_.options.context_length}), batch_ = std::max(batch, batch_);
    app::EngineArgs args = args_;
    args.options.context_length = ctx_, args.options.n_sequences = batch_;
    snapshots_.clear();
    first_.clear();
    open_.reset();
    open_ = app::open_model(args);
  }

  std::vector<int32_t> random_ids(int n, uint64_t salt) const {
    std::vector<int32_t> ids(n);
    int vocab = open_->engine->program().vocab_size;
    for (int i = 0; i < n; ++i) ids[i] = int32_t(random_u64(seed_ ^ salt, uint64_t(i)) % uint64_t(vocab));
    return ids;
  }

  // A sequence with `depth` tokens in it, from a snapshot when there is one.
  runtime::Sequence at_depth(int depth) {
    runtime::Engine& e = *open_->engine;
    if (depth == 0) return e.open();
    auto found = snapshots_.find(depth);
    if (found != snapshots_.end()) return e.restore(found->second);
    runtime::Sequence s = e.open();
    e.consume(s, random_ids(depth, 0xdeef), {}, nullptr);
    snapshots_[depth] = e.save(s);
    return s;
  }

  Measurement run(const TestShape& test, std::string* hash) {
    runtime::Engine& e = *open_->engine;
    std::vector<runtime::Sequence> sequences;
    for (int i = 0; i < test.batch; ++i) sequences.push_back(at_depth(test.depth));
    std::vector<int32_t> ids = random_ids(test.n_prompt + test.n_gen, 0x70707), chosen;
    uint64_t dispatches = e.n_dispatches(), begin = now_ns();
    if (test.n_prompt > 0) {
      int last = test.n_prompt - 1;
      e.consume(sequences[0], ids, {&last, 1}, [&](int, std::span<const float> row) {
        if (hash) chosen.push_back(arg_max(row));
      });
    }
    for (int i = 0; i < test.n_gen; ++i) {
      std::vector<runtime::Segment> segments;
      for (runtime::Sequence& s : sequences) segments.push_back({&s, {&ids[i], 1}, {0}, {}});
      runtime::Rows rows = e.step(segments);
      if (hash) chosen.push_back(arg_max(rows.row(0)));
    }
    Measurement m;
    m.ms = double(now_ns() - begin) / 1e6;
    m.tokens = double(test.n_tokens());
    for (runtime::Sequence& s : sequences) e.close(s);
    if (hash) *hash = sha256_of_ids(chosen);
    m.fields = {{"dispatches", e.n_dispatches() - dispatches}, {"text_kind", "random ids"},
                {"prompt_sha256", sha256_of_ids(ids)},         {"tokens_in", test.n_prompt},
                {"tokens_out", test.n_gen * test.batch},       {"finish_reason", "length"}};
    return m;
  }

  app::EngineArgs args_;
  uint64_t seed_;
  int ctx_ = 0, batch_ = 0;
  std::unique_ptr<app::OpenModel> open_;
  std::map<int, std::vector<uint8_t>> snapshots_;  // by depth
  std::map<TestShape, Measurement> first_;
  std::map<TestShape, std::string> hashes_;
};

}  // namespace

std::unique_ptr<Target> open_tally_target(const std::string& settings, const TargetOptions& options) {
  size_t first = settings.find_first_not_of(' ');
  return std::make_unique<TallyTarget>(first == std::string::npos ? "" : settings.substr(first), options);
}

}  // namespace tally::lab
