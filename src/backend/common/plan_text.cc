#include <fmt/format.h>

#include "backend/backend.h"

namespace tally::backend {

std::string Plan::text() const {
  std::string text;
  int i = 0;
  for (const ledger::StepInfo& step : steps()) {
    std::string layer = step.layer < 0 ? "-" : std::to_string(step.layer);
    std::string ops = step.n_ops == 1 ? std::to_string(step.first_op)
                                      : fmt::format("{}-{}", step.first_op, step.first_op + step.n_ops - 1);
    text += fmt::format("{:4} layer {:>3} ops {:>7} {:<32} {:<14} {}\n", i++, layer, ops, step.kernel, step.op,
                        step.segment);
  }
  return text;
}

}  // namespace tally::backend
