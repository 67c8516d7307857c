// The family of a model by its chat template.
#include <gtest/gtest.h>

#include "support.h"
#include "text/parse/parser.h"

namespace tally::test {
namespace {

constexpr std::pair<const char*, const char*> kTemplates[] = {
    {"Bielik-11B-v3.0-Instruct", "qwen3"},
    {"Cohere2MoE", "command-r"},
    {"GLM-4.6", "glm4.5"},
    {"GLM-4.7-Flash", "glm4.5"},
    {"HuggingFaceTB-SmolLM3-3B", "smollm3"},
    {"LFM2-8B-A1B", "lfm2"},
    {"LFM2.5-8B-A1B", "lfm2"},
    {"LFM2.5-Instruct", "lfm2"},
    {"MiMo-VL", "hermes"},
    {"Mistral-Small-3.2-24B-Instruct-2506", "mistral-new"},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "hermes"},
    {"Qwen-QwQ-32B", "qwen3"},
    {"Qwen-Qwen2.5-7B-Instruct", "hermes"},
    {"Qwen-Qwen3-0.6B", "qwen3"},
    {"Qwen3-Coder", "qwen3-coder"},
    {"Qwen3.5-4B", "qwen3.5"},
    {"Reka-Edge", "qwen3"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-r1"},
    {"deepseek-ai-DeepSeek-V3.1", "deepseek-v3.1"},
    {"google-gemma-3", "gemma3"},
    {"google-gemma-4-31B-it", "gemma4"},
    {"ibm-granite-granite-3.3-2B-Instruct", "granite3"},
    {"meta-llama-Llama-3.1-8B-Instruct", "llama3"},
    {"meta-llama-Llama-3.2-3B-Instruct", "llama3"},
    {"mistralai-Ministral-3-14B-Reasoning-2512", "mistral-new"},
    {"mistralai-Mistral-Nemo-Instruct-2407", "mistral-old"},
    {"openai-gpt-oss-120b", "gpt-oss"},
    {"poolside-Laguna-S-2.1", "glm4.5"},
    {"poolside-Laguna-XS-2.1", "glm4.5"},
};

TEST(Family, FollowsFromTheTemplate) {
  if (!shared_data()) GTEST_SKIP() << kNoSharedData;
  int others = 0;
  for (const auto& file : std::filesystem::directory_iterator(*shared_data() / "data/templates/templates")) {
    const std::string name = file.path().stem().string();
    const auto bytes = read_file(file.path());
    std::string want = "generic";  // a format of its own, or none
    for (auto [n, family] : kTemplates)
      if (name == n) want = family;
    others += want == "generic";
    EXPECT_EQ(parse::detect_family(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())), want)
        << name;
  }
  EXPECT_EQ(others, 16);
}

TEST(Family, FollowsFromTheModelWhereThereIsNoTemplate) {
  EXPECT_EQ(parse::detect_family("", "gpt-oss"), "gpt-oss");
  EXPECT_EQ(parse::detect_family("", "phi3", "Phi-4-mini-instruct"), "phi4-mini");
  EXPECT_EQ(parse::detect_family("", "phi3", "Phi-3.5-mini"), "generic");
  EXPECT_EQ(parse::detect_family("{{ messages }}", "gpt-oss"), "generic");  // the template decides
  EXPECT_EQ(parse::detect_family("", ""), "generic");
}

TEST(Family, IsAlwaysOneThatCanBeParsed) {
  for (std::string_view name : parse::family_names())
    EXPECT_NO_THROW(parse::OutputParser({.family = std::string(name), .tools = {}, .prompt_opens = ""})) << name;
  EXPECT_EQ(parse::family_names().size(), 22u);
}

}  // namespace
}  // namespace tally::test
