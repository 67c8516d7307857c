// tally logits: rows of logits for given tokens, as JSON lines.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "app/engine_args.h"
#include "app/jsonl.h"
#include "base/base64.h"
#include "base/error.h"
#include "ops/op.h"

namespace tally::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Request {
  std::vector<int32_t> ids;
  std::vector<int> at;
  int top = 128;
  bool full = false, draft = false;
  std::vector<int> state_layers;
};

template <typename T>
T number(const json& line, const char* key, T otherwise, int64_t low, int64_t high) {
  auto found = line.find(key);
  if (found == line.end() || found->is_null()) return otherwise;
  if (!found->is_number_integer() || *found < low || *found > high)
    fail(ErrorCode::BadInput, "\"{}\" is {}, expected an integer from {} to {}", key, found->dump().substr(0, 40), low,
         high);
  return found->get<T>();
}

std::vector<int> positions_of(const json& line, size_t n) {
  std::vector<int> at;
  json value = line.value("at", json("last"));
  if (value == "all") {
    at.resize(n);
    std::iota(at.begin(), at.end(), 0);
  } else if (value == "last") {
    at.push_back(static_cast<int>(n) - 1);
  } else if (value.is_array()) {
    for (const json& x : value) {
      if (!x.is_number_integer() || x < 0 || x >= n)
        fail(ErrorCode::BadInput, "\"at\" holds {}, expected positions from 0 to {}", x.dump().substr(0, 40), n - 1);
      at.push_back(x.get<int>());
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
  } else {
    fail(ErrorCode::BadInput, "\"at\" is {}, expected \"all\", \"last\" or an array of positions",
         value.dump().substr(0, 40));
  }
  return at;
}

Request request_of(const json& line) {
  Request r;
  auto ids = line.find("ids");
  if (ids == line.end() || !ids->is_array() || ids->empty())
    fail(ErrorCode::BadInput, "expected \"ids\": an array of at least one token id");
  for (const json& x : *ids) {
    if (!x.is_number_integer() || x < 0 || x > INT32_MAX)
      fail(ErrorCode::BadInput, "\"ids\" holds {}, expected token ids", x.dump().substr(0, 40));
    r.ids.push_back(x.get<int32_t>());
  }
  r.at = positions_of(line, r.ids.size());
  r.top = number<int>(line, "top", 128, 0, 1 << 24);
  r.full = line.value("full", false);
  r.draft = line.value("draft", false);
  if (auto s = line.find("state"); s != line.end() && s->is_array()) r.state_layers = s->get<std::vector<int>>();
  return r;
}

ordered_json row_json(int position, std::span<const float> logits, const Request& r) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  size_t n = std::min<size_t>(r.top, order.size());
  std::partial_sort(order.begin(), order.begin() + n, order.end(),
                    [&](int32_t a, int32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });
  double top = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float x : logits) sum += std::exp(double(x) - top);
  ordered_json out{{"pos", position}, {"logsumexp", top + std::log(sum)}};
  ordered_json best = ordered_json::array();
  for (size_t i = 0; i < n; ++i) best.push_back({order[i], logits[order[i]]});
  out["top"] = std::move(best);
  if (r.full) out["full"] = base64_encode({reinterpret_cast<const uint8_t*>(logits.data()), logits.size_bytes()});
  return out;
}

std::string floats64(const std::vector<float>& x) {
  return base64_encode({reinterpret_cast<const uint8_t*>(x.data()), x.size() * sizeof(float)});
}

// S as [value head][key][value] (it is kept with the value index first), conv as [t][channel], oldest first.
ordered_json state_json(runtime::Engine& engine, const runtime::Sequence& s, int layer) {
  const ops::Program& p = engine.program();
  ordered_json out{{"layer", layer}};
  for (const ops::Op& op : p.ops) {
    if (const auto* o = std::get_if<ops::GatedDelta>(&op); o && p.info(o->state).layer == layer) {
      std::vector<float> m = engine.state().slot_values(o->state, s.slot), t(m.size());
      int d = o->head_dim;
      for (int h = 0; h < o->n_v_heads; ++h)
        for (int b = 0; b < d; ++b)
          for (int a = 0; a < d; ++a) t[(int64_t(h) * d + a) * d + b] = m[(int64_t(h) * d + b) * d + a];
      out["S"] = floats64(t);
    }
    if (const auto* o = std::get_if<ops::ShortConv>(&op); o && p.info(o->state).layer == layer)
      out["conv"] = floats64(engine.state().slot_values(o->state, s.slot));
  }
  if (out.size() == 1) fail(ErrorCode::BadInput, "layer {} has no recurrent state", layer);
  return out;
}

ordered_json answer(runtime::Engine& engine, const json& line) {
  Request r = request_of(line);
  if (r.draft && !engine.mtp_program())
    fail(ErrorCode::BadInput, "\"draft\": the model has no multi-token-prediction block");
  runtime::Sequence s = engine.open();
  std::unique_ptr<runtime::Sequence, std::function<void(runtime::Sequence*)>> closer(
      &s, [&](runtime::Sequence* x) { engine.close(*x); });
  ordered_json rows = ordered_json::array();
  auto add = [&](int position, std::span<const float> logits) { rows.push_back(row_json(position, logits, r)); };
  auto skip = [](int, std::span<const float>) {};
  if (r.draft)
    engine.consume(s, r.ids, r.at, skip, add);
  else
    engine.consume(s, r.ids, r.at, add);
  ordered_json out{{"positions", std::move(rows)}};
  if (!r.state_layers.empty()) {
    out["state"] = ordered_json::array();
    for (int layer : r.state_layers) out["state"].push_back(state_json(engine, s, layer));
  }
  return out;
}

}  // namespace

void add_logits(CLI::App& app) {
  auto args = std::make_shared<app::EngineArgs>();
  auto jsonl = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("logits", "rows of logits for given token ids");
  args->add_to(*command);
  command
      ->add_flag(
          "--jsonl", *jsonl,
          R"(one request a line: {"ids":[…], "at":"all"|"last"|[positions], "top":128, "full":false, "draft":false, "state":[layers]})")
      ->required();
  command->callback([args] {
    // The MTP block runs along where the model has one, so that drafts can be asked for line by line.
    args->options.with_mtp = app::has_mtp(*args);
    auto model = app::open_model(*args);
    app::run_jsonl(std::cin, std::cout, [&](const json& line) { return answer(*model->engine, line); });
  });
}

}  // namespace tally::cli
