// Models with a short name: what `tally pull NAME` fetches and what a MODEL argument may say in place of a path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::app {

struct KnownModel {
  std::string name;    // short name, as typed
  std::string file;    // file name in the cache
  uint64_t bytes = 0;  // size of that file
  std::string sha256;  // lower-case hex of that file
  std::vector<std::string>
      packages;         // Python packages ("name==version") that carry it; several hold parts of it, in order
  std::string licence;  // one line, shown when it is fetched
};

const std::vector<KnownModel>& known_models();

// nullptr when no model has this short name.
const KnownModel* find_known_model(const std::string& name);

}  // namespace tally::app
