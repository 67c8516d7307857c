// A target whose times are a function: what the commands make of them can then be known.
#pragma once

#include <functional>

#include "lab/target.h"

namespace tally::test {

class ScriptedTarget : public lab::Target {
 public:
  std::string weights;       // its hash, "" unknown
  bool lower_bound = false;  // of its rates

  explicit ScriptedTarget(const std::string& label, std::function<double(const lab::TestShape&)> ms = {})
      : ms_(std::move(ms)) {
    label_ = label;
  }
  std::string weights_sha256() override { return weights; }
  lab::Json provenance() override { return {{"kind", "scripted"}}; }
  std::vector<std::vector<lab::Measurement>> measure(std::span<const lab::TestShape> tests, int reps) override {
    std::vector<std::vector<lab::Measurement>> out;
    for (const lab::TestShape& t : tests) {
      auto& list = out.emplace_back();
      for (int i = 0; i < reps; ++i) {
        list.push_back({});
        list.back().ms = ms_(t), list.back().tokens = double(t.n_tokens()), list.back().lower_bound = lower_bound;
      }
    }
    return out;
  }

 private:
  std::function<double(const lab::TestShape&)> ms_;
};

}  // namespace tally::test
