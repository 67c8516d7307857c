#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/error.h"

namespace tally::backend {

std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options) {
  if (name == "cpu") return cpu::make_cpu_backend(options);
  if (name == "reference") return reference::make_reference_backend(options);
  fail(ErrorCode::Resources, "no backend \"{}\"; there are cpu and reference", name);
}

}  // namespace tally::backend
