// Every check of the reader: a table of bad files built in memory and a piece of the message that each must give.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"

namespace tally::gguf {
namespace {

// Builds images field by field, so that each field can be wrong.
class Bytes {
 public:
  Bytes& raw(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  template <typename T>
  Bytes& put(T value) {
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
    return *this;
  }
  Bytes& u32(uint32_t v) { return put(v); }
  Bytes& u64(uint64_t v) { return put(v); }
  Bytes& text(std::string_view t) { return u64(t.size()).raw(t); }
  Bytes& header(uint64_t n_tensors, uint64_t n_entries) { return raw("GGUF").u32(3).u64(n_tensors).u64(n_entries); }
  Bytes& tensor(std::string_view name, std::vector<uint64_t> dims, int32_t type, uint64_t offset) {
    text(name).u32(static_cast<uint32_t>(dims.size()));
    for (uint64_t dim : dims) u64(dim);
    return put(type).u64(offset);
  }
  Bytes& zeros(size_t n) {
    bytes_.resize(bytes_.size() + n);
    return *this;
  }
  Bytes& align(size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(0);
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

std::string message_of(std::span<const uint8_t> image) {
  try {
    File::parse(image, "image");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadInput);
    return e.what();
  }
  return "";
}

struct Case {
  const char* name;
  Bytes image;
  const char* expected;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string message = message_of(c.image.bytes());
    EXPECT_TRUE(message.starts_with("image: ")) << c.name << ": " << message;
    EXPECT_NE(message.find(c.expected), std::string::npos) << c.name << ": " << message;
  }
}

constexpr uint64_t kNegative = ~uint64_t{0};

TEST(GgufBadFiles, Header) {
  check({
      {"empty", Bytes(), "not a GGUF file"},
      {"other file", Bytes().raw("hello world, this is text"), "not a GGUF file: it starts with \"hell\""},
      {"reversed magic", Bytes().raw("FUGG").zeros(30), "not a GGUF file"},
      {"web page", Bytes().raw("<!DOCTYPE html><html>"), "web page"},
      {"pointer", Bytes().raw("version https://git-lfs.github.com/spec/v1"), "Git LFS pointer"},
      {"compressed", Bytes().raw("\x1f\x8b").zeros(30), "unpack it first"},
      {"safetensors", Bytes().u64(1000).raw("{\"a\":1}"), "safetensors"},
      {"magic only", Bytes().raw("GGUF"), "truncated: the header needs 24 bytes, the file has 4"},
      {"half a header", Bytes().raw("GGUF").u32(3).u64(0).u32(0), "the file has 20 bytes; fetch it again"},
      {"version 0", Bytes().raw("GGUF").u32(0).u64(0).u64(0), "GGUF version 0, expected 2 or 3"},
      {"version 1", Bytes().raw("GGUF").u32(1).u64(0).u64(0), "convert the model again"},
      {"version 4", Bytes().raw("GGUF").u32(4).u64(0).u64(0), "newer than this program"},
      {"big-endian", Bytes().raw("GGUF").u32(0x03000000).u64(0).u64(0), "big-endian"},
      {"negative tensor count", Bytes().header(kNegative, 0), "tensor count at byte 8"},
      {"negative metadata count", Bytes().header(0, kNegative), "metadata count at byte 16"},
      {"too many tensors", Bytes().header(1'000'001, 0), "the limit is 1000000"},
      {"too many entries", Bytes().header(0, 65537), "the limit is 65536"},
      {"more tensors than bytes", Bytes().header(1000, 0), "truncated: 1000 tensors"},
      {"more entries than bytes", Bytes().header(0, 1000).zeros(100), "truncated: 1000 metadata entries"},
  });
}

TEST(GgufBadFiles, Metadata) {
  const auto entry = [](const std::function<void(Bytes&)>& add) {
    Bytes b;
    b.header(0, 1);
    add(b);
    return b.zeros(16);
  };
  check({
      {"endless key", entry([](Bytes& b) { b.u64(kNegative); }), "the limit is 65535"},
      {"key beyond the end", entry([](Bytes& b) { b.u64(60000); }), "truncated: metadata key needs 60000 bytes"},
      {"empty key", entry([](Bytes& b) { b.text("").u32(4).u32(1); }), "metadata key 0 at byte 24 is empty"},
      {"NUL in key", entry([](Bytes& b) {
         b.text({"a\0b", 3}).u32(4).u32(1);
       }),
       "control bytes"},
      {"value type 13", entry([](Bytes& b) { b.text("k").u32(13); }), "key \"k\": value type at byte 33 is 13"},
      {"value type -1", entry([](Bytes& b) { b.text("k").u32(~0u); }), "expected 0 to 12"},
      {"endless string", entry([](Bytes& b) { b.text("k").u32(8).u64(uint64_t{1} << 31); }), "the limit is 67108864"},
      {"string beyond the end", entry([](Bytes& b) { b.text("k").u32(8).u64(17); }),
       "truncated: metadata string needs 17"},
      {"element type 13", entry([](Bytes& b) { b.text("k").u32(9).u32(13).u64(1); }), "array element type"},
      {"array of arrays", entry([](Bytes& b) { b.text("k").u32(9).u32(9).u64(1); }), "array of arrays"},
      {"endless array", entry([](Bytes& b) { b.text("k").u32(9).u32(4).u64(kNegative); }), "does not fit"},
      {"overflowing array", entry([](Bytes& b) { b.text("k").u32(9).u32(10).u64(uint64_t{1} << 61); }), "does not fit"},
      {"array beyond the end", entry([](Bytes& b) { b.text("k").u32(9).u32(4).u64(5); }),
       "5 elements of at least 4 bytes"},
      {"strings beyond the end", entry([](Bytes& b) { b.text("k").u32(9).u32(8).u64(3); }),
       "3 elements of at least 8 bytes"},
      {"string in array", entry([](Bytes& b) { b.text("k").u32(9).u32(8).u64(1).u64(99); }),
       "truncated: array string needs 99"},
      {"value cut off", Bytes().header(0, 1).text("key").u32(10).u32(0), "truncated: metadata value needs 8 bytes"},
      {"duplicate key", Bytes().header(0, 2).text("k").u32(4).u32(1).text("k").u32(4).u32(1),
       "key \"k\" appears twice"},
  });
}

TEST(GgufBadFiles, Alignment) {
  const auto aligned = [](uint32_t type, uint32_t value) {
    return Bytes().header(0, 1).text("general.alignment").u32(type).u32(value).zeros(32);
  };
  check({
      {"zero", aligned(4, 0), "is 0 of type uint32, expected a uint32 that is a power of two"},
      {"not a power of two", aligned(4, 48), "is 48 of type uint32"},
      {"too large", aligned(4, 1u << 21), "up to 1048576"},
      {"other type", aligned(5, 32), "is 32 of type int32"},
  });
  EXPECT_EQ(message_of(aligned(4, 64).bytes()), "");
}

TEST(GgufBadFiles, TensorDirectory) {
  const auto one = [](std::string_view name, std::vector<uint64_t> dims, int32_t type, uint64_t offset) {
    return Bytes().header(1, 0).tensor(name, dims, type, offset).align().zeros(4096);
  };
  const std::string long_name(64, 'n');
  check({
      {"empty name", one("", {4}, 0, 0), "has 0 bytes, expected 1 to 63"},
      {"long name", one(long_name, {4}, 0, 0), "has 64 bytes, expected 1 to 63"},
      {"NUL in name", one({"a\0b", 3}, {4}, 0, 0), "without control bytes"},
      {"five dimensions", one("t", {1, 1, 1, 1, 1}, 0, 0), "tensor \"t\" has 5 dimensions"},
      {"zero dimension", one("t", {4, 0}, 0, 0), "tensor \"t\": dimension 1 is 0"},
      {"negative dimension", one("t", {kNegative}, 0, 0), "dimension 0 is -1"},
      {"too many elements", one("t", {uint64_t{1} << 32, uint64_t{1} << 31}, 0, 0), "fewer than 2^63"},
      {"product wraps", one("t", {uint64_t{1} << 32, uint64_t{1} << 32, 4}, 0, 0), "fewer than 2^63"},
      {"too many bytes", one("t", {uint64_t{1} << 62}, 28, 0), "larger than can be addressed"},
      {"unknown type", one("t", {4}, 43, 0), "tensor \"t\" has type id 43, which is unknown"},
      {"negative type", one("t", {4}, -1, 0), "type id -1"},
      {"removed type", one("t", {32}, 4, 0), "a format that no longer exists"},
      {"removed type", one("t", {32}, 31, 0), "a format that no longer exists"},
      {"half a block", one("t", {48}, 8, 0), "rows of 48 values, expected a multiple of 32"},
      {"half a large block", one("t", {128, 2}, 12, 0), "expected a multiple of 256 (the block of type q4_k)"},
      {"scalar of a block type", one("t", {}, 8, 0), "rows of 1 values"},
      {"first offset not 0", one("t", {4}, 0, 32), "has offset 32, expected 0 (alignment 32): there is a gap"},
      {"misaligned", one("t", {4}, 0, 4), "it is not aligned"},
      {"offset wraps", one("t", {4}, 0, kNegative - 31), "has offset 18446744073709551584"},
  });
  EXPECT_EQ(message_of(one("t", {}, 0, 0).bytes()), "");
}

TEST(GgufBadFiles, TensorData) {
  const auto two = [](uint64_t first, uint64_t second, size_t n_data) {
    return Bytes().header(2, 0).tensor("a", {16}, 0, first).tensor("b", {16}, 0, second).align().zeros(n_data);
  };
  EXPECT_EQ(message_of(two(0, 64, 128).bytes()), "");
  check({
      {"overlap", two(0, 32, 128), "tensor \"b\" has offset 32, expected 64 (alignment 32): it overlaps"},
      {"same place", two(0, 0, 128), "it overlaps"},
      {"out of order", two(64, 0, 128), "tensor \"a\" has offset 64, expected 0"},
      {"gap", two(0, 96, 256), "there is a gap"},
      {"truncated data", two(0, 64, 127),
       "truncated: tensor data ends at byte 224, the file has 223 bytes; fetch it again"},
      {"no data", two(0, 64, 0), "truncated: tensor data ends at byte"},
      {"duplicate name", Bytes().header(2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).align().zeros(64),
       "tensor \"a\" appears twice"},
      {"other alignment than the key says",
       Bytes()
           .header(2, 1)
           .text("general.alignment")
           .u32(4)
           .u32(64)
           .tensor("a", {8}, 0, 0)
           .tensor("b", {8}, 0, 32)
           .align(64)
           .zeros(128),
       "has offset 32, expected 64 (alignment 64)"},
      {"second tensor cut off", Bytes().header(2, 0).tensor("a", {8}, 0, 0), "truncated"},
  });
}

// The final tensor's padding may be missing.
TEST(GgufBadFiles, LastPaddingIsOptional) {
  const Bytes b = Bytes().header(1, 0).tensor("a", {3}, 0, 0).align().zeros(12);
  EXPECT_EQ(message_of(b.bytes()), "");
}

std::vector<uint8_t> good_image() {
  Writer w;
  w.add_text("general.architecture", "sample");
  w.add_ints("some.numbers", ValueType::Int32, std::vector<int64_t>{1, 2, 3});
  w.add_texts("some.words", std::vector<std::string_view>{"one", "two"});
  w.add_tensor("a.weight", quant::TypeId::Q4_K, std::vector<uint64_t>{256, 2});
  w.add_tensor("b.weight", quant::TypeId::F32, std::vector<uint64_t>{7});
  std::vector<uint8_t> image = w.header();
  image.resize(w.total_bytes());
  return image;
}

// Reads everything that a parsed file points to.
uint64_t touch(const File& file) {
  uint64_t sum = file.hash();
  for (const auto& [key, value] : file.metadata().entries()) {
    sum += key.size() + value.text.size();
    for (const auto text : value.strings) {
      for (char c : text) sum += static_cast<uint8_t>(c);
    }
    if (value.data != nullptr) sum += file.metadata().find_reals(key)->size();
  }
  for (const TensorInfo& tensor : file.tensors()) {
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += tensor.data[i];
  }
  return sum;
}

TEST(GgufBadFiles, EveryPrefixIsRefusedOrWhole) {
  const std::vector<uint8_t> image = good_image();
  const uint64_t end = image.size() - 4;  // the last tensor ends 4 bytes before its padding does
  for (size_t size = 0; size < image.size(); ++size) {
    const std::vector<uint8_t> prefix(image.begin(),
                                      image.begin() + static_cast<ptrdiff_t>(size));  // heap: sanitizers watch
    EXPECT_EQ(message_of(prefix).empty(), size >= end) << size;
  }
}

// Random damage never crashes: each image is refused with an error or is consistent.
TEST(GgufBadFiles, RandomDamageIsSafe) {
  const std::vector<uint8_t> good = good_image();
  int n_refused = 0;
  uint64_t counter = 0, sum = 0;
  const auto draw = [&counter](uint64_t below) { return random_u64(42, counter++) % below; };
  constexpr int n_trials = 20000;
  for (int trial = 0; trial < n_trials; ++trial) {
    std::vector<uint8_t> image = good;
    for (uint64_t n = draw(4) + 1; n > 0; --n) {
      const uint64_t at = draw(draw(2) == 0 ? 250 : image.size());
      const uint8_t specials[] = {0, 1, 0x7F, 0x80, 0xFF, static_cast<uint8_t>(draw(256))};
      image[at] = specials[draw(6)];
    }
    if (draw(4) == 0) image.resize(draw(image.size() + 1));
    try {
      sum += touch(File::parse(image, "image"));
    } catch (const Error&) {
      ++n_refused;
    }
  }
  EXPECT_GT(n_refused, n_trials / 10);
  EXPECT_LT(n_refused, n_trials);
  EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace tally::gguf
