#include "models/builder.h"

#include <fmt/format.h>

#include "base/check.h"

namespace tally::models {

std::string Builder::full_name(std::string_view name) const {
  return layer_ < 0 ? std::string(name) : fmt::format("blk.{}.{}", layer_, name);
}

WeightRef Builder::matrix(std::string_view name, Size in, Size out, Size experts) {
  return rows(name, in, out, 0, out, experts);
}

WeightRef Builder::rows(std::string_view name, Size in, Size out, int64_t row_begin, Size file_out, Size experts) {
  std::string full = full_name(name);
  auto [entry, is_new] = weights_.try_emplace({full, row_begin, out.n}, WeightRef{int(program_.weights.size())});
  if (!is_new) {
    const ops::WeightInfo& known = program_.info(entry->second);
    CHECK(known.in == in.n && known.experts == experts.n, "{} used with two shapes", full);
    return entry->second;
  }
  CHECK(in.n > 0 && out.n > 0 && experts.n > 0 && row_begin >= 0 && row_begin + out.n <= file_out.n, "{}", full);
  ops::WeightInfo info{.name = std::move(full), .in = in.n, .out = out.n, .experts = experts.n};
  info.row_begin = row_begin;
  info.file_out = file_out.n;
  info.in_keys = in.keys, info.out_keys = file_out.keys, info.experts_keys = experts.keys;
  program_.weights.push_back(std::move(info));
  return entry->second;
}

Value Builder::value(std::string_view name, ops::Rows rows, Size cols) {
  CHECK(cols.n > 0 && cols.n <= INT32_MAX, "{} has {} columns", name, cols.n);
  program_.values.push_back({std::string(name), rows, int(cols.n)});
  value_keys_.push_back(cols.keys);
  return {int(program_.values.size()) - 1};
}

StateRef Builder::pages(int n_kv_heads, int head_dim) {
  program_.states.push_back({full_name("pages"), ops::StateKind::Pages, n_kv_heads, head_dim, layer_});
  return {int(program_.states.size()) - 1};
}

StateRef Builder::slot(std::string_view name, int rows, int cols) {
  program_.states.push_back({full_name(name), ops::StateKind::Slot, rows, cols, layer_});
  return {int(program_.states.size()) - 1};
}

void Builder::add(ops::Op op) {
  program_.ops.push_back(std::move(op));
  program_.op_layer.push_back(layer_);
}

Value Builder::embed(std::string_view name, Size vocab, Size hidden, float scale) {
  WeightRef w = matrix(fmt::format("{}.weight", name), hidden, vocab);
  Value out = value("x", ops::Rows::Tokens, hidden);
  add(ops::Embed{.w = w, .scale = scale, .out = out});
  return out;
}

Value Builder::input(std::string_view name, Size cols) {
  Value out = value(name, ops::Rows::Tokens, cols);
  add(ops::Input{.out = out});
  return out;
}

Value Builder::rms_norm(Value x, std::string_view name, float eps) {
  WeightRef w = vector(fmt::format("{}.weight", name), cols(x));
  Value out = value(name, rows_of(x), cols(x));
  add(ops::RmsNorm{.x = x, .w = w, .eps = eps, .out = out});
  return out;
}

void Builder::rms_norm_add(Value x, std::string_view name, float eps, Value out) {
  WeightRef w = vector(fmt::format("{}.weight", name), cols(x));
  add(ops::RmsNorm{.x = x, .w = w, .eps = eps, .accumulate = true, .out = out});
}

Value Builder::linear(Value x, std::string_view name, Size out_size, bool need_bias) {
  WeightRef w = matrix(fmt::format("{}.weight", name), cols(x), out_size), bias;
  std::string bias_name = fmt::format("{}.bias", name);
  if (need_bias || has(bias_name)) bias = vector(bias_name, out_size);
  Value out = value(name, rows_of(x), out_size);
  add(ops::Linear{.x = x, .w = w, .bias = bias, .out = out});
  return out;
}

void Builder::linear_add(Value x, std::string_view name, Value out) {
  WeightRef w = matrix(fmt::format("{}.weight", name), cols(x), cols(out)), bias;
  std::string bias_name = fmt::format("{}.bias", name);
  if (has(bias_name)) bias = vector(bias_name, cols(out));
  add(ops::Linear{.x = x, .w = w, .bias = bias, .accumulate = true, .out = out});
}

Value Builder::linear_rows(Value x, std::string_view name, std::string_view out_name, Size out_size, int64_t row_begin,
                           Size file_out, bool need_bias) {
  WeightRef w = rows(fmt::format("{}.weight", name), cols(x), out_size, row_begin, file_out), bias;
  std::string bias_name = fmt::format("{}.bias", name);
  // A range of a bias: rows of one value each.
  if (need_bias || has(bias_name)) bias = rows(bias_name, {1}, out_size, row_begin, file_out);
  Value out = value(out_name, rows_of(x), out_size);
  add(ops::Linear{.x = x, .w = w, .bias = bias, .out = out});
  return out;
}

Value Builder::concat(Value a, Value b, std::string_view name) {
  Value out = value(name, rows_of(a), {cols(a).n + cols(b).n, cols(a).keys});
  add(ops::Concat{.a = a, .b = b, .out = out});
  return out;
}

Value Builder::select_outputs(Value x) {
  Value out = value("outputs", ops::Rows::Outputs, cols(x));
  add(ops::Select{.x = x, .out = out});
  return out;
}

Value Builder::head(Value x, std::string_view name, Size vocab) {
  WeightRef w = matrix(fmt::format("{}.weight", name), cols(x), vocab), bias;
  if (has("output.bias")) bias = vector("output.bias", vocab);
  Value out = value("logits", rows_of(x), vocab);
  add(ops::Linear{.x = x, .w = w, .bias = bias, .out = out});
  return out;
}

}  // namespace tally::models
