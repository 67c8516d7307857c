// Not a test: how often the verdict of alternated rounds claims a difference that is not there, and finds one that is.
//   calibrate_verdicts [sessions a cell, default 1000]
#include <fmt/format.h>

#include <cstdlib>

#include "noise.h"

int main(int argc, char** argv) {
  using namespace tally::lab::test;
  int sessions = argc > 1 ? std::atoi(argv[1]) : 1000;
  fmt::print("| noise | rounds | true effect | claims | right | no difference | too noisy | not valid |\n");
  fmt::print("|:--|--:|--:|--:|--:|--:|--:|--:|\n");
  int false_claims = 0, null_sessions = 0;
  for (const Noise& noise : kNoises)
    for (int rounds : {6, 10, 20, 40})
      for (double effect : {0.0, 0.01, 0.03, 0.10}) {
        Tally t = run_sessions(noise, rounds, effect, sessions, 20240917);
        auto share = [&](int n) { return 100.0 * n / t.n; };
        fmt::print("| {} | {} | {:.0f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", noise.name,
                   rounds, 100 * effect, share(t.claims), share(t.right), share(t.no_difference), share(t.too_noisy),
                   share(t.not_valid));
        if (effect == 0) false_claims += t.claims, null_sessions += t.n;
      }
  fmt::print("\nfalse verdicts of identical variants: {} of {} ({:.2f} %)\n", false_claims, null_sessions,
             100.0 * false_claims / null_sessions);
}
