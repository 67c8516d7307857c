// tally dequantize and tally quantize, called as the program calls them.
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/base64.h"
#include "base/error.h"
#include "cli/command.h"
#include "support.h"

namespace tally::cli {
namespace {

using nlohmann::json;

// Runs one command line with `input` as standard input; returns standard output.
std::string run(const std::string& line, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  auto* const old_in = std::cin.rdbuf(in.rdbuf());
  auto* const old_out = std::cout.rdbuf(out.rdbuf());
  const auto restore = [&] {
    std::cin.rdbuf(old_in);
    std::cout.rdbuf(old_out);
  };
  try {
    CLI::App app;
    add_commands(app);
    app.parse(line);
  } catch (...) {
    restore();
    throw;
  }
  restore();
  return out.str();
}

TEST(DequantizeCommand, OneLineInOneLineOut) {
  std::vector<uint8_t> block(34, 0);  // q8_0: scale 0.5, first code 3
  block[1] = 0x38, block[2] = 3;
  const std::string good = json{{"id", 5}, {"blocks", base64_encode(block)}}.dump();
  const std::string output =
      run("dequantize q8_0 --jsonl",
          good + "\n{\"blocks\":\"AAAA\"}\n{\"blocks\":\"?\"}\n{\"blocks\":1}\n{}\n" + good + "\n");
  std::vector<json> lines;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], lines[5]);
  EXPECT_EQ(lines[0].at("id"), 5);
  const auto bytes = base64_decode(lines[0].at("values").get<std::string>());
  ASSERT_TRUE(bytes.has_value());
  ASSERT_EQ(bytes->size(), 128u);
  float first;
  std::memcpy(&first, bytes->data(), sizeof first);
  EXPECT_EQ(first, 1.5f);
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(lines[i].at("error").at("code"), "bad_input") << lines[i];
  EXPECT_NE(lines[1].at("error").at("message").get<std::string>().find("multiple of 34"), std::string::npos);
}

TEST(DequantizeCommand, UnknownTypesListTheKnownOnes) {
  for (const char* line : {"dequantize q9 --jsonl", "dequantize i32 --jsonl"}) {
    try {
      run(line, "");
      ADD_FAILURE() << line;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Usage);
      EXPECT_NE(std::string(e.what()).find("iq3_xxs"), std::string::npos) << e.what();
    }
  }
}

TEST(QuantizeCommand, ReportIsJson) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStdout();
  run("quantize " TALLY_SOURCE_DIR "/models/tally-tiny.gguf " + folder.file("out.gguf") +
          " --type q4_k_m --json --quiet",
      "");
  const json report = json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(report.at("tensors").size(), 169u);
  int n_found = 0;
  for (const json& row : report.at("tensors")) {
    // Of 9 layers the first, the fourth, the seventh and the last two get more bits.
    const bool more = row.at("name") == "blk.3.ffn_down_exps.weight",
               base = row.at("name") == "blk.1.ffn_down_exps.weight";
    if (!more && !base) continue;
    ++n_found;
    EXPECT_EQ(row.at("type_before"), "q6_k");
    EXPECT_EQ(row.at("type_after"), more ? "q6_k" : "q4_k");
    EXPECT_EQ(row.at("rmse").get<double>() > 0, base);
  }
  EXPECT_EQ(n_found, 2);
  EXPECT_TRUE(std::filesystem::exists(folder.file("out.gguf")));
}

}  // namespace
}  // namespace tally::cli
