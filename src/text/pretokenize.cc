#include "text/pretokenize.h"

#include "base/check.h"

namespace tally::text {

PreTokenizer::PreTokenizer(PreGroup group, bool scanners) {
  for (const PassSource& source : pass_sources(group)) {
    CHECK(source.pattern || source.scan);
    if (source.scan && (scanners || !source.pattern))
      passes_.emplace_back(source.scan);
    else
      passes_.emplace_back(Regex(source.pattern));
  }
}

void PreTokenizer::split(std::string_view text, RegexScratch& scratch, std::vector<uint32_t>& ends) const {
  ends.clear();
  if (text.empty()) return;
  ends.push_back(static_cast<uint32_t>(text.size()));
  std::vector<uint32_t> pieces;
  for (const Pass& pass : passes_) {
    pieces.swap(ends);
    ends.clear();
    uint32_t begin = 0;
    for (const uint32_t end : pieces) {
      const std::string_view piece = text.substr(begin, end - begin);
      if (const auto* scan = std::get_if<ScanPass>(&pass))
        (*scan)(piece, begin, ends);
      else
        std::get<Regex>(pass).split(piece, begin, scratch, ends);
      begin = end;
    }
  }
}

}  // namespace tally::text
