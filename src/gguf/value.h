// The stored types of metadata values: names, sizes, loading.
#pragma once

#include "gguf/gguf.h"

namespace tally::gguf {

const char* name_of(ValueType type);                     // "uint32", …; "unknown" for ids that are none
size_t bytes_of(ValueType type);                         // 0 for strings and arrays
int64_t load_integer(const uint8_t* p, ValueType type);  // widened; uint64 values from 2^63 wrap
double load_real(const uint8_t* p, ValueType type);      // float32 or float64
inline bool is_value_type(uint32_t id) { return id <= 12; }

}  // namespace tally::gguf
