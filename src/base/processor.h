// Which processor this is.
#pragma once

#include <string>

namespace tally {

// Its name as the kernel reports it ("AMD EPYC 9654 96-Core Processor"); "unknown processor" where it does not.
std::string processor_name();

}  // namespace tally
