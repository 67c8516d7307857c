#include <array>

#include "app/read_file.h"
#include "base/error.h"
#include "lab/trace.h"

namespace tally::lab {

namespace {

struct Row {
  const char *pattern, *category;
};

// The first that occurs decides, so the special stand before the general ("mul_mat_id" before "mul_mat").
constexpr std::array kTable{
    Row{"quantize", "activation formats"},
    Row{"q8_1", "activation formats"},
    Row{"mul_mat_id", "experts"},
    Row{"expert", "experts"},
    Row{"moe", "experts"},
    Row{"grouped_gemm", "experts"},
    Row{"route", "router"},
    Row{"argsort", "router"},
    Row{"top_k", "router"},
    Row{"topk", "router"},
    Row{"gated_norm", "norms"},
    Row{"gated_delta", "recurrence"},
    Row{"delta", "recurrence"},
    Row{"gated_linear", "recurrence"},
    Row{"recurrence", "recurrence"},
    Row{"ssm", "recurrence"},
    Row{"rwkv", "recurrence"},
    Row{"conv", "recurrence"},
    Row{"scan", "recurrence"},
    Row{"flash", "attention"},
    Row{"fattn", "attention"},
    Row{"fmha", "attention"},
    Row{"attention", "attention"},
    Row{"attn", "attention"},
    Row{"sdpa", "attention"},
    Row{"soft_max", "attention"},
    Row{"softmax", "attention"},
    Row{"rope", "rope"},
    Row{"rotary", "rope"},
    Row{"mul_mat", "matrix products"},
    Row{"matmul", "matrix products"},
    Row{"linear", "matrix products"},
    Row{"gemm", "matrix products"},
    Row{"gemv", "matrix products"},
    Row{"mmq", "matrix products"},
    Row{"mmv", "matrix products"},
    Row{"cutlass", "matrix products"},
    Row{"cublas", "matrix products"},
    Row{"wgmma", "matrix products"},
    Row{"projection", "matrix products"},
    Row{"out_prod", "matrix products"},
    Row{"norm", "norms"},
    Row{"embed", "embedding"},
    Row{"get_rows", "embedding"},
    Row{"gather", "embedding"},
    Row{"sample", "sampling"},
    Row{"argmax", "sampling"},
    Row{"memcpy", "copies"},
    Row{"memset", "copies"},
    Row{"copy", "copies"},
    Row{"cpy", "copies"},
    Row{"cont", "copies"},
    Row{"set_rows", "copies"},
    Row{"concat", "copies"},
    Row{"transpose", "copies"},
    Row{"dup", "copies"},
    Row{"select", "copies"},
    Row{"input", "copies"},
    Row{"inert", "inert dispatches"},
    Row{"glu", "elementwise"},
    Row{"silu", "elementwise"},
    Row{"gelu", "elementwise"},
    Row{"activation", "elementwise"},
    Row{"unary", "elementwise"},
    Row{"elementwise", "elementwise"},
    Row{"softcap", "elementwise"},
    Row{"scale", "elementwise"},
    Row{"clamp", "elementwise"},
    Row{"add", "elementwise"},
    Row{"mul", "elementwise"},
};

std::string trimmed(const std::string& s) {
  size_t from = s.find_first_not_of(" \t\r"), to = s.find_last_not_of(" \t\r");
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

}  // namespace

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

Categories::Categories() {
  for (const Row& r : kTable) table_.emplace_back(r.pattern, r.category);
}

void Categories::add_text(const std::string& text, const std::string& where) {
  int number = 0;
  for (size_t from = 0; from < text.size();) {
    size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    from = end + 1;
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    size_t eq = line.find('=');
    std::string pattern = trimmed(line.substr(0, eq)),
                category = eq == std::string::npos ? "" : trimmed(line.substr(eq + 1));
    if (pattern.empty() || category.empty())
      fail(ErrorCode::BadInput, "{}:{}: \"{}\"; \"pattern = category\" expected", where, number, line);
    own_.emplace_back(lower(pattern), category);
  }
}

void Categories::add_file(const std::string& path) {
  add_text(app::read_file(path, "a file of lines \"pattern = category\""), path);
}

const std::string& Categories::of(const TraceOp& o) const {
  std::string op = lower(o.op), name = lower(o.name);
  for (const auto* list : {&own_, &table_})
    for (const std::string* where : {&op, &name})
      for (const auto& [pattern, category] : *list)
        if (!where->empty() && where->find(pattern) != std::string::npos) return category;
  return other_;
}

}  // namespace tally::lab
