// Texts for timing tokenizers. Written for this program, generated, or in the public domain (the Chinese poem is of the
// 8th century).
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/rng.h"
#include "lab/tokenizer_bench.h"

namespace tally::lab {

namespace {

constexpr uint64_t kSeed = 20240917;

const char* const kChat =
    "user: Hi! Can you help me with a recipe?\nassistant: Of course. What would you like to cook?\n"
    "user: something with lentils, no onions pls\nassistant: A lentil soup with carrots, tomatoes and cumin takes half "
    "an "
    "hour. Shall I write down the steps?\nuser: yes\nassistant: 1. Rinse 200 g of red lentils.\n2. Fry the carrots in "
    "oil for "
    "five minutes.\n3. Add everything else and let it simmer for 20 minutes.\nuser: thx :) how many "
    "calories?\nassistant: "
    "About 380 kcal per serving, if it serves three.\nuser: ok\n";

const char* const kSentences[] = {
    "The harbour lay quiet under a low sky, and only the gulls seemed to know that the ferry was late again.",
    "Nobody in the village could say when the old mill had stopped, though everyone remembered the sound of its wheel.",
    "She counted the letters twice, tied them with a ribbon, and put them back where she had found them.",
    "\"If the bridge holds,\" said the engineer, \"we shall be across by noon; if it doesn't, we'll have learned "
    "something.\"",
    "Winter came early that year, and with it the long evenings in which stories grew longer too.",
    "There is no better way to understand a machine than to take it apart, clean every piece, and put it together "
    "again.",
    "His grandfather's watch ran eleven minutes slow, which suited him, for he was never in a hurry.",
    "By the third day the rain had washed out the road, and the travellers shared what bread they had left.",
    "What the letter didn't mention, and what he'd only discover years afterwards, was that the house had been sold."};

const char* const kCode = R"(// Longest run of equal values, and where it begins.
#include <cstddef>
#include <utility>
#include <vector>

template <typename T>
std::pair<size_t, size_t> longest_run(const std::vector<T>& values) {
  size_t best = 0, best_at = 0, length = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    length = (i > 0 && values[i] == values[i - 1]) ? length + 1 : 1;
    if (length > best) best = length, best_at = i + 1 - length;
  }
  return {best_at, best};
}

def moving_average(samples, width=8):
    """Mean of the last `width` samples; shorter at the beginning."""
    out, total = [], 0.0
    for i, x in enumerate(samples):
        total += x
        if i >= width:
            total -= samples[i - width]
        out.append(total / min(i + 1, width))
    return out

SELECT name, COUNT(*) AS n FROM events WHERE ts >= '2024-01-01' AND kind <> 0x1F GROUP BY name HAVING n > 10;
)";

const char* const kCjk =
    "床前明月光，疑是地上霜。举头望明月，低头思故乡。\n这台机器每秒能读多少个字？我们先量一量，再下结论。\n"
    "図書館の前で友達を待っていると、急に雨が降り出した。傘を持っていなかったので、カフェに入ることにした。\n"
    "오늘은 날씨가 맑아서 강가를 오래 걸었다. 기차는 열 시 십오 분에 떠난다.\n";

std::string numbers() {
  std::string s;
  for (uint64_t i = 0; i < 90; ++i) {
    uint64_t r = random_u64(kSeed, i);
    switch (i % 6) {
      case 0:
        s += fmt::format("20{:02}-{:02}-{:02}T{:02}:{:02}:{:02}Z ", r % 40, r % 12 + 1, r % 28 + 1, r % 24, r % 60,
                         r / 7 % 60);
        break;
      case 1:
        s += fmt::format("0x{:016x}; ", r);
        break;
      case 2:
        s += fmt::format("{:.6e}, {:.3f} ", static_cast<double>(r), static_cast<double>(r % 1000000) / 997);
        break;
      case 3:
        s += fmt::format("€{}.{:02} ≈ ${} (±{} %) ", r % 10000, r % 100, r / 3 % 10000, r % 9);
        break;
      case 4:
        s += fmt::format("{}*({}-{})/{} = ?!? ", r % 97, r % 1009, r % 13, r % 7 + 2);
        break;
      default:
        s += fmt::format("192.168.{}.{}:{} ===>> [{{}}] ## {}\n", r % 256, r / 256 % 256, r % 65536, r);
    }
  }
  return s;
}

std::string letters(size_t n) {
  std::string s;
  for (size_t i = 0; i < n; ++i) s += static_cast<char>('a' + random_u64(kSeed + 1, i) % 26);
  return s;
}

std::string prose() {
  std::string s;
  for (uint64_t i = 0; i < 60; ++i) {
    s += kSentences[random_u64(kSeed + 2, i) % std::size(kSentences)];
    s += i % 7 == 6 ? "\n\n" : " ";
  }
  return s;
}

std::string repeated(const std::string& text, int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += text;
  return s;
}

}  // namespace

size_t TextWorkload::bytes() const {
  size_t n = 0;
  for (const std::string& t : texts) n += t.size();
  return n;
}

std::vector<std::string> chat_turns(const std::string& text) {
  std::vector<std::string> turns;
  for (size_t from = 0; from < text.size();) {
    size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
    std::string line = text.substr(from, end - from);
    bool starts = line.starts_with("user: ") || line.starts_with("assistant: ");
    if (starts || turns.empty())
      turns.push_back(line);
    else
      turns.back() += line;
    from = end;
  }
  return turns;
}

std::vector<TextWorkload> builtin_workloads() {
  return {{"chat", chat_turns(kChat)},  {"prose", {prose()}},     {"code", {repeated(kCode, 5)}},
          {"cjk", {repeated(kCjk, 8)}}, {"numbers", {numbers()}}, {"longword", {letters(4000)}}};
}

std::vector<TextWorkload> workloads_in(const std::string& folder) {
  std::vector<TextWorkload> out;
  for (const char* name : {"chat", "prose", "code", "cjk", "numbers", "longword"}) {
    std::ifstream in(std::filesystem::path(folder) / (std::string(name) + ".txt"), std::ios::binary);
    if (!in) continue;
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) continue;
    if (std::string(name) == "chat")
      out.push_back({name, chat_turns(text)});
    else
      out.push_back({name, {text}});
  }
  if (out.empty())
    fail(ErrorCode::BadInput,
         "{}: none of chat.txt, prose.txt, code.txt, cjk.txt, numbers.txt, longword.txt lies there", folder);
  return out;
}

}  // namespace tally::lab
