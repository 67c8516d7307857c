// tally dequantize: blocks of a format to float32 values, for scripts and tests.
#include <iostream>
#include <memory>
#include <string>

#include "app/jsonl.h"
#include "base/base64.h"
#include "base/error.h"
#include "cli/command.h"
#include "quant/types.h"

namespace tally::cli {
namespace {

const quant::QuantType& weight_type(const std::string& name) {
  const quant::QuantType* type = quant::find_type(name);
  if (type != nullptr && type->dequantize != nullptr) return *type;
  std::string known;
  for (const quant::QuantType& row : quant::all_types()) {
    if (row.dequantize != nullptr) known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  fail(ErrorCode::Usage, "dequantize: {} \"{}\"; known: {}",
       type == nullptr ? "there is no type" : "no weights are stored as type", name, known);
}

nlohmann::ordered_json dequantize_line(const quant::QuantType& type, const nlohmann::json& line) {
  const auto blocks = base64_decode(line.at("blocks").get_ref<const std::string&>());
  if (!blocks) fail(ErrorCode::BadInput, "\"blocks\" is not base64 (standard alphabet, with padding)");
  const auto block_bytes = static_cast<size_t>(type.block_bytes);
  if (blocks->size() % block_bytes != 0) {
    fail(ErrorCode::BadInput, "\"blocks\" holds {} bytes, expected a multiple of {} (the block of type {})",
         blocks->size(), block_bytes, type.name);
  }
  const size_t n_blocks = blocks->size() / block_bytes;
  std::vector<float> values(n_blocks * static_cast<size_t>(type.block_elements));
  type.dequantize(blocks->data(), values.data(), static_cast<int64_t>(n_blocks));
  const std::span bytes(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
  return {{"values", base64_encode(bytes)}};
}

}  // namespace

void add_dequantize(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("dequantize", "blocks of a number format to float32 values");
  command->add_option("TYPE", *name, "format of the blocks, for instance q4_k")->required();
  auto as_lines = std::make_shared<bool>(false);
  command
      ->add_flag("--jsonl", *as_lines,
                 "one JSON object a line from standard input, {\"blocks\":\"base64\"}; one a line to standard\n"
                 "output, {\"values\":\"base64 of little-endian float32\"}")
      ->required();
  command->callback([name, as_lines] {
    const quant::QuantType& type = weight_type(*name);
    app::run_jsonl(std::cin, std::cout, [&type](const nlohmann::json& line) { return dequantize_line(type, line); });
  });
}

}  // namespace tally::cli
