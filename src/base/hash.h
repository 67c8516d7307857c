// Fast non-cryptographic hashes (XXH3) for logits, pages, programs and files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);

}  // namespace tally
