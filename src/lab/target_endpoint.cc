// The target `http://…`: an endpoint of the OpenAI dialects, seen from outside. Reading a prompt is timed by the time
// to the first token (which holds more than that: the rate is a lower bound); generating, by the times between tokens.
#include <fmt/format.h>

#include <array>
#include <set>

#include "app/model_path.h"
#include "base/error.h"
#include "base/rng.h"
#include "lab/child.h"
#include "lab/http.h"
#include "lab/machine.h"
#include "lab/target_kinds.h"

namespace tally::lab {

namespace {

// Common English words: with a blank in front, one token each in practically every vocabulary, so that the number of
// words and the number of tokens differ by a constant.
constexpr std::array kWords = {
    "the",   "of",   "and",   "to",   "in",    "is",    "that",  "it",   "was",  "for",   "on",  "are",   "with",
    "as",    "be",   "at",    "one",  "have",  "this",  "from",  "or",   "had",  "by",    "but", "some",  "what",
    "there", "we",   "can",   "out",  "other", "were",  "all",   "your", "when", "up",    "use", "word",  "how",
    "said",  "an",   "each",  "she",  "which", "do",    "their", "time", "if",   "will",  "way", "about", "many",
    "then",  "them", "would", "like", "so",    "these", "her",   "long", "make", "thing", "see", "him"};

struct Reply {
  double first_ms = 0, last_ms = 0;  // of the first and last event with a token
  int n_events = 0;                  // with a token
  int tokens_in = -1, tokens_out = -1;
  std::string text, finish;

  void take(const Json& event, double ms) {
    if (auto error = event.find("error"); error != event.end())
      fail(ErrorCode::Failed, "the server broke off: {}", error->dump().substr(0, 500));
    if (auto usage = event.find("usage"); usage != event.end() && usage->is_object()) {
      tokens_in = usage->value("prompt_tokens", -1);
      tokens_out = usage->value("completion_tokens", -1);
    }
    auto choices = event.find("choices");
    if (choices == event.end() || !choices->is_array() || choices->empty() || !(*choices)[0].is_object()) return;
    const Json& choice = (*choices)[0];
    std::string piece = text_of(choice);
    if (auto reason = choice.find("finish_reason"); reason != choice.end() && reason->is_string()) finish = *reason;
    if (piece.empty() && finish.empty()) return;
    if (n_events == 0) first_ms = ms;
    if (!piece.empty() || n_events == 0) last_ms = ms, ++n_events;
    text += piece;
  }

  static std::string text_of(const Json& choice) {
    std::string out;
    auto add = [&](const Json& object, const char* key) {
      if (auto found = object.find(key); found != object.end() && found->is_string()) out += found->get<std::string>();
    };
    add(choice, "text");
    if (auto delta = choice.find("delta"); delta != choice.end() && delta->is_object())
      for (const char* key : {"content", "reasoning_content", "reasoning"}) add(*delta, key);
    return out;
  }
};

class Endpoint : public Target {
 public:
  Endpoint(const std::string& text, const TargetOptions& options) : options_(options) {
    std::vector<std::string> words = split_words(text);
    label_ = words[0];
    for (size_t i = 1; i < words.size(); ++i) set(words[i]);
    client_ = std::make_unique<HttpClient>(words[0], options.timeout_s);
    if (model_.empty()) model_ = first_model();
    if (weights_.empty()) weights_ = options.model;
  }

  std::string weights_sha256() override {
    return weights_.empty() ? "" : lab::weights_sha256(app::find_model(weights_));
  }
  Json provenance() override {
    return {{"kind", "endpoint"},
            {"base", client_->base()},
            {"model", model_},
            {"api", chat_ ? "chat" : "completions"},
            {"weights_as_stated", weights_.empty() ? Json(nullptr) : Json(weights_)}};
  }

  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& test : tests) {
      if (test.batch > 1) fail(ErrorCode::Usage, "{}: an endpoint is timed with one sequence at a time", test.name());
      if (test.n_prompt > 0 && test.depth > 0)
        fail(ErrorCode::Usage, "{}: how much an endpoint keeps between requests is not known; leave the depth out",
             test.name());
      if (test.n_gen == 1) fail(ErrorCode::Usage, "tg1: times between tokens need two tokens or more");
      if (test.n_prompt + test.depth > 0) settle(test.n_prompt + test.depth);
      std::vector<Measurement>& list = out.emplace_back();
      for (int i = 0; i < reps; ++i) list.push_back(run(test));
    }
    return out;
  }

 private:
  void set(const std::string& word) {
    size_t at = word.find('=');
    std::string key = word.substr(0, at), value = at == std::string::npos ? "" : word.substr(at + 1);
    if (key == "model") {
      model_ = value;
    } else if (key == "weights") {
      weights_ = value;
    } else if (key == "api" && (value == "chat" || value == "completions")) {
      chat_ = value == "chat";
    } else if (key == "ignore_eos" && (value == "0" || value == "1")) {
      ignore_eos_ = value == "1";
    } else {
      fail(ErrorCode::Usage,
           "target {}: \"{}\" is no option; expected model=NAME, api=completions|chat, weights=FILE, ignore_eos=0|1",
           label_, word);
    }
  }

  std::string first_model() {
    Json models = client_->get("/models");
    auto data = models.find("data");
    if (data == models.end() || !data->is_array() || data->empty() || !(*data)[0].is_object())
      fail(ErrorCode::BadInput, "{}/models names no model; say which with model=NAME", client_->base());
    return (*data)[0].value("id", "");
  }

  // Never the same twice: a prefix cache shall find nothing.
  std::string next_prompt(int n_words) {
    std::string text;
    uint64_t seed = options_.seed ^ (++n_prompts_ << 20);
    for (int i = 0; i < n_words; ++i) {
      if (i > 0) text += ' ';
      text += kWords[random_u64(seed, uint64_t(i)) % kWords.size()];
    }
    return text;
  }

  Reply ask(const std::string& prompt, int n_gen) {
    Json body{{"model", model_},
              {"max_tokens", n_gen},
              {"temperature", 0},
              {"stream", true},
              {"stream_options", {{"include_usage", true}}}};
    if (chat_) {
      body["messages"] = Json::array({{{"role", "user"}, {"content", prompt}}});
    } else {
      body["prompt"] = prompt;
    }
    if (ignore_eos_) body["ignore_eos"] = true;
    Reply reply;
    client_->post_stream(chat_ ? "/chat/completions" : "/completions", body,
                         [&](const Json& event, double ms) { reply.take(event, ms); });
    if (reply.n_events == 0) fail(ErrorCode::Failed, "{}: the answer holds no token", label_);
    return reply;
  }

  // Finds how many tokens come on top of the words (start token, template), and warms the server.
  void settle(int n) {
    if (settled_.count(n)) return;
    for (int round = 0; round < 4; ++round) {
      Reply reply = ask(next_prompt(std::max(1, n - extra_)), 2);
      if (reply.tokens_in < 0)
        fail(ErrorCode::Failed, "{}: the server reports no usage, so the prompt's tokens are not known", label_);
      if (reply.tokens_in == n) break;
      extra_ += reply.tokens_in - n;
      if (n - extra_ < 1)
        fail(ErrorCode::Usage, "{}: a prompt of {} tokens is not possible, the least is {}", label_, n, extra_ + 1);
    }
    settled_.insert(n);
  }

  Measurement run(const TestShape& test) {
    int n = test.n_prompt + test.depth;
    std::string prompt = next_prompt(n > 0 ? std::max(1, n - extra_) : 8);  // tg at no depth: a short one
    Reply reply = ask(prompt, test.n_prompt > 0 ? 1 : test.n_gen);
    int made = reply.tokens_out >= 0 ? reply.tokens_out : reply.n_events;
    Measurement m;
    if (test.n_prompt > 0) {
      m.ms = reply.first_ms, m.tokens = reply.tokens_in, m.lower_bound = true;
    } else {
      if (made < 2 || reply.last_ms <= reply.first_ms)
        fail(ErrorCode::Failed, "{}: {} tokens came at once or the answer ended early ({}); no time between tokens",
             label_, made, reply.finish);
      m.ms = reply.last_ms - reply.first_ms, m.tokens = made - 1;
    }
    m.fields = {{"text_kind", "random common words"},
                {"prompt_sha256", sha256_of(prompt.data(), prompt.size())},
                {"tokens_in", reply.tokens_in},
                {"tokens_out", made},
                {"tokens_counted_by", reply.tokens_out >= 0 ? "usage" : "events"},
                {"ttft_ms", reply.first_ms},
                {"finish_reason", reply.finish},
                {"output_sha256", sha256_of(reply.text.data(), reply.text.size())}};
    return m;
  }

  TargetOptions options_;
  std::unique_ptr<HttpClient> client_;
  std::string model_, weights_;
  bool chat_ = false, ignore_eos_ = true;
  int extra_ = 0;
  uint64_t n_prompts_ = 0;
  std::set<int> settled_;  // prompt lengths
};

}  // namespace

std::unique_ptr<Target> open_endpoint(const std::string& text, const TargetOptions& options) {
  return std::make_unique<Endpoint>(text, options);
}

}  // namespace tally::lab
