// What the writer writes, the reader reads; files, shards and typed access to metadata.
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "support.h"

namespace tally::gguf {
namespace {

Writer sample_writer() {
  Writer w;
  w.add_text("general.architecture", "sample");
  w.add_int("sample.block_count", ValueType::Uint32, 3);
  w.add_int("sample.small", ValueType::Int8, -5);
  w.add_int("sample.huge", ValueType::Uint64, -1);  // 2^64 - 1
  w.add_int("sample.flag", ValueType::Bool, 1);
  w.add_real("sample.eps", ValueType::Float32, 1e-6);
  w.add_real("sample.exact", ValueType::Float64, 1.0 / 3);
  w.add_ints("sample.heads", ValueType::Int32, std::vector<int64_t>{4, -1, 8});
  w.add_reals("sample.factors", std::vector<float>{0.5f, 2.5f});
  w.add_texts("sample.words", std::vector<std::string_view>{"a", "", "\xff\xfe"});
  w.add_ints("sample.nothing", ValueType::Uint16, {});
  w.add_tensor("a.weight", quant::TypeId::F32, std::vector<uint64_t>{3, 2});
  w.add_tensor("b.weight", quant::TypeId::Q8_0, std::vector<uint64_t>{64, 2, 1});
  w.add_tensor("c.scale", quant::TypeId::F16, {});
  return w;
}

void fill_sample(int tensor, std::span<uint8_t> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(tensor));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadInput) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(GgufRoundTrip, EverythingComesBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("sample.gguf");
  const Writer w = sample_writer();
  w.write(path, fill_sample);
  EXPECT_EQ(std::filesystem::file_size(path), w.total_bytes());
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  const File file = File::open(path);
  const Metadata& m = file.metadata();
  EXPECT_EQ(m.architecture(), "sample");
  EXPECT_EQ(m.get_int("sample.block_count"), 3);
  EXPECT_EQ(m.get_int("sample.small"), -5);
  EXPECT_EQ(m.find_bool("sample.flag"), true);
  EXPECT_EQ(m.get_real("sample.eps"), static_cast<double>(1e-6f));
  EXPECT_EQ(m.get_real("sample.exact"), 1.0 / 3);
  EXPECT_EQ(m.get_real("sample.block_count"), 3.0);
  EXPECT_EQ(*m.find_ints("sample.heads"), (std::vector<int64_t>{4, -1, 8}));
  EXPECT_EQ(*m.find_ints("sample.block_count"), (std::vector<int64_t>{3}));
  EXPECT_EQ(*m.find_reals("sample.factors"), (std::vector<float>{0.5f, 2.5f}));
  EXPECT_EQ(*m.find_texts("sample.words"), (std::vector<std::string_view>{"a", "", "\xff\xfe"}));
  EXPECT_TRUE(m.find_ints("sample.nothing")->empty());
  EXPECT_FALSE(m.find_int("sample.absent").has_value());
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].n_elements(), 6u);
  EXPECT_EQ(file.tensors()[1].bytes, 4u * 34);
  EXPECT_EQ(file.tensors()[2].n_dims, 0);
  for (size_t i = 0; i < 3; ++i) {
    const TensorInfo& tensor = file.tensors()[i];
    std::vector<uint8_t> expected(tensor.bytes);
    fill_sample(static_cast<int>(i), expected);
    EXPECT_EQ(std::memcmp(tensor.data, expected.data(), expected.size()), 0) << tensor.name;
    EXPECT_EQ(tensor.offset, w.data_offset() + w.tensor_offset(static_cast<int>(i)));
    EXPECT_EQ(file.find(tensor.name), &tensor);
  }
  EXPECT_EQ(file.find("d"), nullptr);
  EXPECT_EQ(file.total_bytes(), w.total_bytes());
}

TEST(GgufRoundTrip, CopiedMetadataIsTheSameBytes) {
  const Writer first = sample_writer();
  std::vector<uint8_t> image = first.header();
  image.resize(first.total_bytes());
  const File file = File::parse(image, "image");
  Writer second;
  for (const auto& [key, value] : file.metadata().entries()) second.copy(key, value);
  for (const TensorInfo& t : file.tensors()) {
    second.add_tensor(t.name, t.type->id, std::span(t.dims, static_cast<size_t>(t.n_dims)));
  }
  EXPECT_EQ(second.header(), first.header());
}

TEST(GgufRoundTrip, WrongTypesNameKeyAndTypes) {
  const Writer w = sample_writer();
  std::vector<uint8_t> image = w.header();
  image.resize(w.total_bytes());
  const File file = File::parse(image, "image");
  const Metadata& m = file.metadata();
  EXPECT_EQ(message_of([&] { (void)m.find_int("sample.eps"); }).substr(0, 67),
            "image: metadata key \"sample.eps\" is float32, expected an integer; t");
  EXPECT_NE(message_of([&] { (void)m.find_int("sample.huge"); }).find("below 2^63"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)m.find_text("sample.flag"); }).find("is bool, expected a string"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)m.find_texts("sample.heads"); }).find("is array of int32"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)m.find_int("sample.heads"); }).find("expected an integer"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)m.find_ints("sample.factors"); }).find("array of float32"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)m.get_int("sample.absent"); }).find("\"sample.absent\" is missing"),
            std::string::npos);
}

TEST(GgufRoundTrip, AFailedWriteLeavesNoFile) {
  const test::TemporaryFolder folder;
  const auto refuse = [](int tensor, std::span<uint8_t>) {
    if (tensor == 1) fail(ErrorCode::BadInput, "refused");
  };
  EXPECT_THROW(sample_writer().write(folder.file("x.gguf"), refuse), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THROW(sample_writer().write(folder.file("no/such/folder.gguf"), fill_sample), Error);
}

TEST(GgufRoundTrip, SmallAlignment) {
  Writer w;
  w.add_int("general.alignment", ValueType::Uint32, 1);
  w.add_tensor("a", quant::TypeId::Q4_0, std::vector<uint64_t>{32});
  w.add_tensor("b", quant::TypeId::F32, std::vector<uint64_t>{2});
  std::vector<uint8_t> image = w.header();
  image.resize(w.total_bytes());
  const File file = File::parse(image, "image");
  EXPECT_EQ(file.tensors()[1].offset, w.data_offset() + 18);
}

// Shards of a model: three files, the first without tensors.
struct Shards {
  test::TemporaryFolder folder;
  std::vector<std::string> paths;

  static void write(const std::string& path, int number, int count, const std::vector<std::string>& tensors,
                    int total) {
    Writer w;
    if (number == 0) w.add_text("general.architecture", "sample");
    w.add_int("split.no", ValueType::Uint16, number);
    w.add_int("split.count", ValueType::Uint16, count);
    w.add_int("split.tensors.count", ValueType::Int32, total);
    for (const auto& name : tensors) w.add_tensor(name, quant::TypeId::F32, std::vector<uint64_t>{5});
    w.write(path, fill_sample);
  }

  Shards() {
    for (int i = 1; i <= 3; ++i) paths.push_back(folder.file("m-0000" + std::to_string(i) + "-of-00003.gguf"));
    write(paths[0], 0, 3, {}, 3);
    write(paths[1], 1, 3, {"a", "b"}, 3);
    write(paths[2], 2, 3, {"c"}, 3);
  }
};

TEST(GgufShards, AreJoined) {
  const Shards shards;
  const File file = File::open(shards.paths[0]);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.find("a")->shard, 1);
  EXPECT_EQ(file.find("c")->shard, 2);
  EXPECT_EQ(file.find("b")->data[0], 1);
  EXPECT_EQ(file.find("c")->data[1], 7);
  EXPECT_EQ(file.metadata().architecture(), "sample");
}

TEST(GgufShards, ProblemsAreNamed) {
  const auto problem = [](const std::function<void(Shards&)>& damage, const std::string& expected) {
    Shards shards;
    damage(shards);
    const std::string message = message_of([&] { File::open(shards.paths[0]); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  problem([](Shards& s) { s.paths[0] = s.paths[1]; }, "shard 2 of 3, expected the first one; open");
  problem([](Shards& s) { std::filesystem::remove(s.paths[2]); }, "shard 3 of 3 is missing");
  problem([](Shards& s) { Shards::write(s.paths[2], 1, 3, {"c"}, 3); },
          "shard 1 of 3 (counted from 0), expected 2 of 3");
  problem([](Shards& s) { Shards::write(s.paths[2], 2, 4, {"c"}, 3); }, "do not belong together");
  problem([](Shards& s) { Shards::write(s.paths[2], 2, 3, {"a"}, 3); }, "tensor \"a\" is in another shard too");
  problem([](Shards& s) { Shards::write(s.paths[2], 2, 3, {"c", "d"}, 3); }, "hold 4 tensors, expected 3");
  problem([](Shards& s) { std::filesystem::resize_file(s.paths[1], 240); }, "truncated");
  problem(
      [](Shards& s) {
        const auto renamed = s.folder.file("model.gguf");
        std::filesystem::rename(s.paths[0], renamed);
        s.paths[0] = renamed;
      },
      "its name must end in \"-00001-of-00003.gguf\"");
}

TEST(GgufOpen, UnreadableFiles) {
  const test::TemporaryFolder folder;
  EXPECT_NE(message_of([&] { File::open(folder.file("absent")); }).find("cannot open"), std::string::npos);
  EXPECT_NE(message_of([&] { File::open(folder.path().string()); }).find("not an ordinary file"), std::string::npos);
  std::ofstream(folder.file("empty"));
  EXPECT_NE(message_of([&] { File::open(folder.file("empty")); }).find("empty"), std::string::npos);
}

TEST(GgufOpen, TheModelInTheRepository) {
  const File file = File::open(TALLY_SOURCE_DIR "/models/tally-tiny.gguf");
  EXPECT_EQ(file.metadata().architecture(), "qwen35moe");
  EXPECT_NE(file.find("token_embd.weight"), nullptr);
  EXPECT_EQ(file.total_bytes(), 16247968u);
}

}  // namespace
}  // namespace tally::gguf
