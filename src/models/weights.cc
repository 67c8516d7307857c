#include "models/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/error.h"

namespace tally::models {
namespace {

std::vector<uint64_t> shape_of(const gguf::TensorInfo& t) {
  std::vector<uint64_t> dims(t.dims, t.dims + 4);
  while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
  return dims;
}

// (the last size is the key "qwen35moe.expert_count"), for the first size that differs; empty where no key is known.
std::string which_key(const ops::WeightInfo& w, const std::vector<uint64_t>& found, const gguf::Metadata& meta) {
  const char* names[3] = {"first", "second", "third"};
  const char* keys[3] = {w.in_keys, w.out_keys, w.experts_keys};
  std::vector<uint64_t> expected = stored_shape(w);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i < found.size() && found[i] == expected[i]) continue;
    std::string_view rest = keys[i + (expected[i] != uint64_t(w.in) && i == 0 ? 1 : 0)];
    if (rest.empty()) return "";
    std::string list;
    size_t n = 0;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(' '), rest.size());
      list += fmt::format("{}\"{}.{}\"", n++ ? " and " : "", meta.architecture(), rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const char* place = i > 0 && i + 1 == expected.size() ? "last" : names[i];
    return n == 1 ? fmt::format(" (the {} size is the key {})", place, list)
                  : fmt::format(" (the {} size follows from the keys {})", place, list);
  }
  return "";
}

const gguf::TensorInfo& checked_tensor(const ops::WeightInfo& w, const gguf::File& file) {
  const gguf::TensorInfo* t = file.find(w.name);
  std::vector<uint64_t> expected = stored_shape(w);
  if (t == nullptr)
    fail(ErrorCode::BadInput,
         "{}: tensor \"{}\" is missing, expected [{}]; the file is damaged or was converted by an older tool",
         file.path(), w.name, fmt::join(expected, ", "));
  std::vector<uint64_t> found = shape_of(*t);
  if (found != expected)
    fail(ErrorCode::BadInput,
         "{}: tensor \"{}\" is [{}], expected [{}]{}; the file is damaged or was converted by an older tool",
         file.path(), w.name, fmt::join(found, ", "), fmt::join(expected, ", "), which_key(w, found, file.metadata()));
  if (t->type->dequantize == nullptr)
    fail(ErrorCode::BadInput, "{}: tensor \"{}\" is of type {}, expected a type that can be a weight", file.path(),
         w.name, t->type->name);
  std::string scale = w.name.substr(0, w.name.rfind('.')) + ".scale";
  if (file.find(scale) != nullptr || file.find(w.name + ".scale") != nullptr)
    fail(ErrorCode::BadInput,
         "{}: tensor \"{}\" has a companion \"{}\" with further scales, which is not supported; use a file of another "
         "quantisation",
         file.path(), w.name, scale);
  return *t;
}

ops::WeightView view_of(const ops::WeightInfo& w, const gguf::TensorInfo& t) {
  ops::WeightView v{.data = t.data, .type = t.type, .in = w.in, .out = w.out, .experts = w.experts};
  v.row_bytes = w.in / t.type->block_elements * t.type->block_bytes;
  v.expert_bytes = v.row_bytes * w.file_out;
  v.data += w.row_begin * v.row_bytes;
  return v;
}

}  // namespace

std::vector<uint64_t> stored_shape(const ops::WeightInfo& w) {
  std::vector<uint64_t> dims{uint64_t(w.in), uint64_t(w.file_out), uint64_t(w.experts)};
  if (w.in == 1 && w.file_out > 1 && w.experts == 1) dims.erase(dims.begin());
  while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
  return dims;
}

ops::Weights bind_weights(const ops::Program& program, const gguf::File& file) {
  ops::Weights weights;
  std::set<const gguf::TensorInfo*> bound;
  for (const ops::WeightInfo& w : program.weights) {
    const gguf::TensorInfo& t = checked_tensor(w, file);
    if (w.in % t.type->block_elements != 0)
      fail(ErrorCode::BadInput, "{}: tensor \"{}\" of type {} has rows of {} values, expected a multiple of {}",
           file.path(), w.name, t.type->name, w.in, t.type->block_elements);
    weights.views.push_back(view_of(w, t));
    if (bound.insert(&t).second) weights.bytes += t.bytes;
  }
  return weights;
}

std::vector<std::string> unused_tensors(const std::vector<const ops::Program*>& programs, const gguf::File& file) {
  std::set<std::string_view> used;
  for (const ops::Program* p : programs)
    for (const ops::WeightInfo& w : p->weights) used.insert(w.name);
  std::vector<std::string> unused;
  for (const gguf::TensorInfo& t : file.tensors())
    if (!used.contains(t.name)) unused.push_back(t.name);
  return unused;
}

}  // namespace tally::models
