// Snapshots of a sequence, in memory and as files: exact continuation after restore.
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "ops/print.h"
#include "runtime/engine.h"

namespace tally::runtime {

namespace {

constexpr char kMagic[8] = {'T', 'S', 'T', 'A', 'T', 'E', '0', '1'};

// What stands before the payload. The payload: tokens, last hidden row, slot, pages (trunk, then MTP, page by page).
struct Head {
  char magic[8];
  uint64_t model_hash, program_hash;
  uint64_t n_tokens, hidden_floats, slot_bytes, page_bytes, mtp_page_bytes;
  uint64_t payload_bytes, payload_hash;
};

uint64_t n_pages_of(uint64_t n_tokens) { return (n_tokens + ops::kPageTokens - 1) / ops::kPageTokens; }

}  // namespace

uint64_t Engine::model_hash() const { return file_.hash(); }

std::vector<uint8_t> Engine::save(const Sequence& s) const {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.model_hash = model_hash();
  head.program_hash = ops::program_hash(*program_) ^ (options_.exact ? 1 : 0);
  head.n_tokens = s.tokens.size();
  head.hidden_floats = s.last_hidden.size();
  head.slot_bytes = state_->bytes_per_slot();
  head.page_bytes = state_->bytes_per_page();
  head.mtp_page_bytes = mtp_state_ ? mtp_state_->bytes_per_page() : 0;
  uint64_t n_pages = n_pages_of(head.n_tokens);
  head.payload_bytes =
      head.n_tokens * 4 + head.hidden_floats * 4 + head.slot_bytes + n_pages * (head.page_bytes + head.mtp_page_bytes);
  std::vector<uint8_t> out(sizeof(Head) + head.payload_bytes);
  uint8_t* p = out.data() + sizeof(Head);
  auto put = [&p](const void* data, size_t size) {
    if (size) std::memcpy(p, data, size);
    p += size;
  };
  put(s.tokens.data(), head.n_tokens * 4);
  put(s.last_hidden.data(), head.hidden_floats * 4);
  state_->save_slot(s.slot, {p, head.slot_bytes});
  p += head.slot_bytes;
  for (uint64_t i = 0; i < n_pages; ++i) {
    state_->save_page(s.pages[i], {p, head.page_bytes});
    p += head.page_bytes;
    if (mtp_state_) mtp_state_->save_page(s.pages[i], {p, head.mtp_page_bytes});
    p += head.mtp_page_bytes;
  }
  head.payload_hash = hash_bytes(out.data() + sizeof(Head), head.payload_bytes);
  std::memcpy(out.data(), &head, sizeof head);
  return out;
}

Sequence Engine::restore(std::span<const uint8_t> snapshot) {
  Head head, mine;
  if (snapshot.size() < sizeof head)
    fail(ErrorCode::BadInput, "the saved state is cut short: {} bytes, its head alone has {}", snapshot.size(),
         sizeof head);
  std::memcpy(&head, snapshot.data(), sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0)
    fail(ErrorCode::BadInput, "not a saved state (it does not begin with TSTATE01)");
  Sequence s = open();
  std::unique_ptr<Sequence, std::function<void(Sequence*)>> closer(&s, [this](Sequence* x) { close(*x); });
  std::vector<uint8_t> empty = save(s);  // what this engine would write, for comparison
  std::memcpy(&mine, empty.data(), sizeof mine);
  if (head.model_hash != mine.model_hash)
    fail(ErrorCode::BadInput,
         "the saved state belongs to another model file (its hash differs); load it with the model that made it");
  if (head.program_hash != mine.program_hash)
    fail(
        ErrorCode::BadInput,
        "the saved state was made with other settings or by another version (--exact, --speculate); use the same ones");
  if (head.hidden_floats != mine.hidden_floats || head.slot_bytes != mine.slot_bytes ||
      head.page_bytes != mine.page_bytes || head.mtp_page_bytes != mine.mtp_page_bytes)
    fail(ErrorCode::BadInput,
         "the saved state has another layout than this engine's; use the settings it was saved with (--exact, "
         "--speculate)");
  uint64_t payload = snapshot.size() - sizeof head;
  if (head.payload_bytes != payload)
    fail(ErrorCode::BadInput, "the saved state is cut short or has a tail: {} bytes, expected {}", payload,
         head.payload_bytes);
  if (head.n_tokens > uint64_t(context_length_))
    fail(ErrorCode::Resources, "the saved state holds {} tokens, the context {}; choose a larger --ctx", head.n_tokens,
         context_length_);
  uint64_t n_pages = n_pages_of(head.n_tokens);
  if (head.n_tokens * 4 + head.hidden_floats * 4 + head.slot_bytes +
          n_pages * (head.page_bytes + head.mtp_page_bytes) !=
      payload)
    fail(ErrorCode::BadInput, "the saved state is damaged: its sizes do not add up");
  const uint8_t* p = snapshot.data() + sizeof head;
  if (hash_bytes(p, payload) != head.payload_hash)
    fail(ErrorCode::BadInput, "the saved state is damaged: its checksum does not match");
  std::vector<int32_t> tokens(head.n_tokens);
  if (head.n_tokens) std::memcpy(tokens.data(), p, head.n_tokens * 4);
  check_tokens(s, tokens);
  p += head.n_tokens * 4;
  add_pages(s, tokens.size());
  if (head.hidden_floats) std::memcpy(s.last_hidden.data(), p, head.hidden_floats * 4);
  p += head.hidden_floats * 4;
  state_->load_slot(s.slot, {p, head.slot_bytes});
  p += head.slot_bytes;
  for (uint64_t i = 0; i < n_pages; ++i) {
    state_->load_page(s.pages[i], {p, head.page_bytes});
    p += head.page_bytes;
    if (mtp_state_) mtp_state_->load_page(s.pages[i], {p, head.mtp_page_bytes});
    p += head.mtp_page_bytes;
  }
  s.tokens = std::move(tokens);
  closer.release();
  return s;
}

void Engine::save_file(const Sequence& s, const std::string& path) const {
  std::vector<uint8_t> bytes = save(s);
  std::string partial = path + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  if (!file) fail(ErrorCode::BadInput, "{}: cannot be created: {}", partial, std::strerror(errno));
  bool ok = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  ok = std::fclose(file) == 0 && ok;
  if (!ok || std::rename(partial.c_str(), path.c_str()) != 0) {
    std::remove(partial.c_str());
    fail(ErrorCode::BadInput, "{}: cannot be written: {}", path, std::strerror(errno));
  }
}

Sequence Engine::restore_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                       [](std::FILE* f) { return f ? std::fclose(f) : 0; });
  if (!file) fail(ErrorCode::BadInput, "{}: cannot be opened: {}", path, std::strerror(errno));
  std::fseek(file.get(), 0, SEEK_END);
  std::vector<uint8_t> bytes(static_cast<size_t>(std::max(0L, std::ftell(file.get()))));
  std::rewind(file.get());
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    fail(ErrorCode::BadInput, "{}: cannot be read", path);
  try {
    return restore(bytes);
  } catch (const Error& e) {
    throw Error(e.code(), path + ": " + e.what());
  }
}

}  // namespace tally::runtime
