// Hand-written passes of the pre-tokenizers: the families in wide use for speed, and a few passes that no backtracking
// engine runs in linear time. All take valid UTF-8; see ScanPass in pretokenize.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tally::text {

void scan_gpt2(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_llama3(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_qwen2(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_qwen35(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_seed_coder(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_jais2(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_minicpm5(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_gpt4o(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_youtu(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
void scan_tekken(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);

// [^\n]+|\n+
void scan_newline_runs(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
// \p{N}
void scan_single_numbers(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
// \s+$
void scan_trailing_spaces(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
// \d{1,3}(?=(?:\d{3})*\b)
void scan_digit_groups_at_word_end(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
// (?=(\d{3})+(?!\d))
void scan_digit_groups_from_right(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);
// Runs of \p{N} in groups of three counted from the right.
void scan_number_groups_from_right(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);

}  // namespace tally::text
