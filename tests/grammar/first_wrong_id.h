// A mask against its definition: every single token, fed to the matcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/grammar/masker.h"

namespace tally::test {

// The first id whose bit in the row at the matcher's state is wrong; −1: none. Leaves the matcher where it was.
inline int32_t first_wrong_id(grammar::Matcher& m, grammar::Masker& masker, const std::vector<std::string>& tokens,
                              int32_t end) {
  const auto row = masker.row();
  const grammar::StateId before = m.state();
  int32_t wrong = -1;
  for (int32_t id = 0; id < static_cast<int32_t>(tokens.size()) && wrong < 0; ++id) {
    bool expected = m.can_end();
    if (id != end) {
      expected = !tokens[id].empty() && m.accept(tokens[id]);
      if (expected) m.rollback(1);
    }
    if ((row[id / 64] >> (id % 64) & 1) != uint64_t(expected)) wrong = id;
  }
  CHECK(m.state() == before, "taking a token back changed the state");
  return wrong;
}

}  // namespace tally::test
