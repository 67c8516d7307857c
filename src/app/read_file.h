// A whole file as text.
#pragma once

#include <cstdint>
#include <string>

namespace tally::app {

// Its bytes. Error (BadInput) when it cannot be opened or holds more than `most`; `what` says in a few words what the
// file should have been ("a file of lines \"pattern = category\""), "" adds nothing.
std::string read_file(const std::string& path, const std::string& what = "", uint64_t most = uint64_t(1) << 32);

}  // namespace tally::app
