// tally lab verify: the correctness gate, with a fault that must be found.
#include <fmt/format.h>

#include "app/exit_status.h"
#include "app/model_path.h"
#include "base/error.h"
#include "lab/command.h"
#include "lab/probe.h"
#include "lab/verify.h"

namespace tally::lab {

namespace {

Json correctness(const def::GateCount& clean, const def::GateCount& faulty) {
  return {{"max_err", clean.max_error}, {"out_of_tol", clean.out}, {"n", clean.n}, {"fault_control", faulty.out}};
}

Block ops_block(const Verified& v) {
  Block b{.name = "verify.ops", .title = "Every op against its definition in double, at the model's own shapes"};
  b.table.columns = {
      "op", "rows of plan", "ops", "elements", "out of tolerance", "worst / tolerance", "with the fault", "verdict"};
  b.values["ops"] = Json::array();
  int n_failed = 0, n_blind = 0, n_ops = 0;
  for (const VerifiedOps& k : v.ops) {
    double found = double(k.faulty.out) / double(std::max<size_t>(1, k.faulty.n));
    std::string verdict = k.n_failed > 0  ? fmt::format("FAILED in {} ops", k.n_failed)
                          : k.n_blind > 0 ? fmt::format("fault not found in {} ops", k.n_blind)
                                          : "passed";
    b.table.rows.push_back({k.op, fmt::format("{}", k.plan_rows), fmt::format("{}", k.n_ops),
                            fmt::format("{}", k.clean.n), fmt::format("{}", k.clean.out),
                            fmt::format("{:.3f}", k.clean.max_error), fmt::format("{:.1f} %", 100 * found), verdict});
    b.values["ops"].push_back({{"op", k.op},
                               {"plan_rows", k.plan_rows},
                               {"kernels", k.kernels},
                               {"n_ops", k.n_ops},
                               {"n_failed", k.n_failed},
                               {"n_blind", k.n_blind},
                               {"correctness", correctness(k.clean, k.faulty)}});
    n_failed += k.n_failed, n_blind += k.n_blind, n_ops += k.n_ops;
  }
  b.verdict = n_failed > 0 ? fmt::format("FAILED: {} of {} ops are out of tolerance", n_failed, n_ops)
              : n_blind > 0
                  ? fmt::format(
                        "FAILED: the planted fault was not found in {} of {} ops, so their passing "
                        "means nothing",
                        n_blind, n_ops)
                  : fmt::format("passed: {} ops within tolerance, and the planted fault found in each", n_ops);
  for (const std::string& kernel : v.not_covered)
    b.notes.push_back(fmt::format("FAILED: the engine dispatched {}, which none of the checked plans holds", kernel));
  b.notes.push_back("each op is handed the reference's inputs through the plans that the engine runs");
  return b;
}

Block model_block(const Verified& v) {
  Block b{.name = "verify.model", .title = "The whole model: logits by the engine against the definition"};
  b.table.columns = {"path", "logits", "out of tolerance", "worst / tolerance", "with the fault", "verdict"};
  b.values["paths"] = Json::array();
  for (const Verified::Model& m : v.model) {
    b.table.rows.push_back({m.path, fmt::format("{}", m.clean.n), fmt::format("{}", m.clean.out),
                            fmt::format("{:.3f}", m.clean.max_error), fmt::format("{:.1f} %", 100 * m.gate.fault_share),
                            m.gate.passed && m.same_path ? "passed" : "FAILED"});
    b.values["paths"].push_back({{"path", m.path},
                                 {"passed", m.gate.passed},
                                 {"same_path", m.same_path},
                                 {"correctness", correctness(m.clean, m.faulty)}});
    b.notes.push_back(m.path + ": " + m.gate.words);
    if (!m.same_path)
      b.notes.push_back(m.path + ": FAILED: the engine's logits are not, bit for bit, those of the plan looked into");
  }
  b.values["passed"] = v.passed;
  b.verdict = v.passed ? "the gate passed" : "the gate FAILED";
  return b;
}

}  // namespace

bool write_verified(const Verified& v, const VerifyOptions& o, Output& out) {
  Block ops = ops_block(v);
  ops.notes.push_back(
      fmt::format("the fault: every eighth input row off by {:g} times its rms; it must put at least "
                  "1 % of each op's results out of tolerance",
                  o.fault));
  out.block(ops);
  out.block(model_block(v));
  return v.passed;
}

void add_verify(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    VerifyOptions options;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand("verify",
                                   "correctness gate: each op and the whole model against the definitions in double, "
                                   "then with a planted fault; exit status 1 when it fails");
  a->command.add_to(*c);
  c->add_option("--tokens", a->options.n_tokens, "random tokens to verify on (the reference is slow)")
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  c->callback([a] {
    Output out("verify", a->command.json, a->command.head());
    a->options.seed = a->command.seed;
    gguf::File file = gguf::File::open(app::find_model(a->command.engine.model));
    if (!write_verified(verify(file, a->command.engine.options, a->options), a->options, out))
      app::exit_status() = static_cast<int>(ErrorCode::Failed);
    out.finish();
  });
}

}  // namespace tally::lab
