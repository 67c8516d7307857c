// Builds Programs: names, shapes and ops in one breath. Each call names a weight of the file, fixes its shape (which
// becomes the manifest) and appends an op.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/registry.h"
#include "ops/op.h"

namespace tally::models {

using ops::StateRef;
using ops::Value;
using ops::WeightRef;

// A size and the hyper-parameters that it follows from (without architecture, separated by spaces), for messages.
struct Size {
  int64_t n = 0;
  const char* keys = "";
};

class Builder {
 public:
  Builder(const ModelSource& source, std::string_view architecture) : source_(source) { program_.name = architecture; }

  // for (int layer : b.layers(0, n)): names inside become blk.<layer>.<name>.
  class Layers;
  Layers layers(int begin, int end);
  void set_layer(int layer) { layer_ = layer; }  // −1: outside layers

  // Whether the file has a tensor of the current layer.
  bool has(std::string_view name) const { return source_.has(full_name(name)); }

  // Weights, by name in the current layer. The same tensor (and rows) asked for twice is one weight.
  WeightRef matrix(std::string_view name, Size in, Size out, Size experts = {1});
  WeightRef vector(std::string_view name, Size n) { return matrix(name, n, {1}); }
  // Rows [row_begin, row_begin + out) of a tensor with file_out rows (within each expert).
  WeightRef rows(std::string_view name, Size in, Size out, int64_t row_begin, Size file_out, Size experts = {1});

  Value value(std::string_view name, ops::Rows rows, Size cols);
  StateRef pages(int n_kv_heads, int head_dim);
  StateRef slot(std::string_view name, int rows, int cols);

  void add(ops::Op op);

  Value embed(std::string_view name, Size vocab, Size hidden, float scale = 1.f);
  Value input(std::string_view name, Size cols);
  Value rms_norm(Value x, std::string_view name, float eps);
  void rms_norm_add(Value x, std::string_view name, float eps, Value out);  // out += norm(x)
  // A bias `<name>.bias` of the file is added; need_bias: it must be there.
  Value linear(Value x, std::string_view name, Size out, bool need_bias = false);
  void linear_add(Value x, std::string_view name, Value out);  // out += x·wᵀ
  // The projection onto rows [row_begin, row_begin + out) of a fused tensor.
  Value linear_rows(Value x, std::string_view name, std::string_view out_name, Size out, int64_t row_begin,
                    Size file_out, bool need_bias = false);
  Value concat(Value a, Value b, std::string_view name);
  Value select_outputs(Value x);
  // x·wᵀ with a tensor named in full outside layers (tied heads); logits.
  Value head(Value x, std::string_view name, Size vocab);

  Size cols(Value v) const { return {program_.info(v).cols, value_keys_[v.id]}; }
  ops::Program& program() { return program_; }

 private:
  std::string full_name(std::string_view name) const;
  ops::Rows rows_of(Value v) const { return program_.info(v).rows; }

  const ModelSource& source_;
  ops::Program program_;
  int layer_ = -1;
  std::vector<const char*> value_keys_;
  std::map<std::tuple<std::string, int64_t, int64_t>, WeightRef> weights_;
};

// Sets the builder's layer as it is walked, and leaves the layers at the end.
class Builder::Layers {
 public:
  struct Iterator {
    Builder* builder;
    int layer;
    int operator*() const { return builder->set_layer(layer), layer; }
    void operator++() { ++layer, builder->set_layer(-1); }
    bool operator!=(const Iterator& other) const { return layer != other.layer; }
  };
  Layers(Builder* builder, int first, int last) : builder_(builder), begin_(first), end_(last) {}
  Iterator begin() const { return {builder_, begin_}; }
  Iterator end() const { return {builder_, end_}; }

 private:
  Builder* builder_;
  int begin_, end_;
};

inline Builder::Layers Builder::layers(int begin, int end) { return Layers(this, begin, end); }

}  // namespace tally::models
