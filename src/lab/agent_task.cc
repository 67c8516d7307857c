// The conversation of the agent's task.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "lab/agent.h"

namespace tally::lab {

namespace {

constexpr size_t kCallsMax = 16;  // of one answer

struct ToolCall {
  std::string id, name, arguments;
};

// One streamed answer, put together.
struct Answer {
  std::string content, finish;
  std::vector<ToolCall> calls;
  double first_ms = 0;
  double tokens_in = -1, tokens_out = -1, tokens_cached = 0;

  void take(const Json& event, double ms) {
    if (auto error = event.find("error"); error != event.end())
      fail(ErrorCode::Failed, "the server broke off: {}", error->dump().substr(0, 500));
    if (auto usage = event.find("usage"); usage != event.end() && usage->is_object()) take_usage(*usage);
    auto choices = event.find("choices");
    if (choices == event.end() || !choices->is_array() || choices->empty() || !(*choices)[0].is_object()) return;
    const Json& choice = (*choices)[0];
    if (auto f = choice.find("finish_reason"); f != choice.end() && f->is_string()) finish = *f;
    auto delta = choice.find("delta");
    if (delta == choice.end() || !delta->is_object()) return;
    bool any = false;
    for (const char* key : {"reasoning_content", "reasoning"})
      if (auto t = delta->find(key); t != delta->end() && t->is_string() && !t->get_ref<const std::string&>().empty())
        any = true;  // counts as the first token, is not kept
    if (auto t = delta->find("content"); t != delta->end() && t->is_string()) {
      content += t->get<std::string>();
      any = any || !t->get_ref<const std::string&>().empty();
    }
    if (auto t = delta->find("tool_calls"); t != delta->end() && t->is_array()) {
      for (const Json& piece : *t) take_call(piece);
      any = true;
    }
    if (any && first_ms == 0) first_ms = ms;
  }

  void take_usage(const Json& usage) {
    auto number = [](const Json& object, const char* key, double otherwise) {
      auto it = object.find(key);
      return it != object.end() && it->is_number() ? it->get<double>() : otherwise;
    };
    tokens_in = number(usage, "prompt_tokens", tokens_in);
    tokens_out = number(usage, "completion_tokens", tokens_out);
    if (auto d = usage.find("prompt_tokens_details"); d != usage.end() && d->is_object())
      tokens_cached = number(*d, "cached_tokens", tokens_cached);
  }

  void take_call(const Json& piece) {
    if (!piece.is_object()) return;
    size_t index = calls.empty() ? 0 : calls.size() - 1;
    if (auto i = piece.find("index"); i != piece.end() && i->is_number_unsigned()) index = i->get<size_t>();
    if (index >= kCallsMax) fail(ErrorCode::Failed, "the model calls more than {} tools at once", kCallsMax);
    if (index >= calls.size()) calls.resize(index + 1);
    ToolCall& call = calls[index];
    if (auto id = piece.find("id"); id != piece.end() && id->is_string()) call.id = *id;
    auto f = piece.find("function");
    if (f == piece.end() || !f->is_object()) return;
    if (auto n = f->find("name"); n != f->end() && n->is_string()) call.name += n->get<std::string>();
    if (auto a = f->find("arguments"); a != f->end() && a->is_string()) call.arguments += a->get<std::string>();
  }
};

Json tools() {
  Json none{{"type", "object"}, {"properties", Json::object()}};
  Json name{{"type", "object"},
            {"properties", {{"name", {{"type", "string"}, {"description", "a name that list_files gave"}}}}},
            {"required", {"name"}}};
  auto tool = [](const char* id, const char* what, const Json& parameters) {
    return Json{{"type", "function"}, {"function", {{"name", id}, {"description", what}, {"parameters", parameters}}}};
  };
  return Json::array({tool("list_files", "lists the files of the folder", none),
                      tool("read_file", "gives the text of one file of the folder", name)});
}

class Conversation {
 public:
  Conversation(HttpClient& client, const AgentArgs& args, const SampleFolder& folder)
      : client_(client), args_(args), folder_(folder) {}

  AgentRun run(int number) {
    const uint64_t begin = now_ns();
    messages_ = Json::array(
        {message("system", fmt::format("Session {}. You work with the files of a folder, through tools.", number)),
         message("user", fmt::format("List the files of the folder, read {}, then sum it up in exactly two bullets, "
                                     "each a line that begins with \"- \".",
                                     folder_.wanted()))});
    while (int(run_.turns.size()) < args_.max_turns) {
      const Answer answer = turn();
      if (answer.calls.empty()) {
        run_.answer = answer.content;
        if (run_.read || !run_.scripted.empty()) break;
        script("the model did not read the file through the tools", answer);
      } else {
        answer_calls(answer);
      }
    }
    run_.wall_s = double(now_ns() - begin) / 1e9;
    run_.n_bullets = count_bullets(run_.answer);
    return std::move(run_);
  }

 private:
  static Json message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

  Answer turn() {
    try {
      return request();
    } catch (const Error& e) {  // a server or a model without tools: the file is given as text
      if (!with_tools_ || !run_.turns.empty() || e.code() != ErrorCode::Failed) throw;
      with_tools_ = false;
      run_.scripted = fmt::format("the server refuses tools ({})", std::string(e.what()).substr(0, 160));
      give_file();
      return request();
    }
  }

  Answer request() {
    Json body{{"messages", messages_},
              {"max_tokens", args_.max_tokens},
              {"temperature", 0},
              {"stream", true},
              {"stream_options", {{"include_usage", true}}}};
    if (!args_.model.empty()) body["model"] = args_.model;
    if (with_tools_) body["tools"] = tools();
    Answer answer;
    const uint64_t begin = now_ns();
    client_.post_stream("/chat/completions", body, [&](const Json& event, double ms) { answer.take(event, ms); });
    if (answer.tokens_in < 0 || answer.tokens_out < 0)
      fail(ErrorCode::Failed,
           "{}: the server reports no usage (prompt_tokens, completion_tokens); without it the task's time cannot be "
           "taken apart",
           client_.base());
    AgentTurn& turn = run_.turns.emplace_back();
    turn.wall_ms = double(now_ns() - begin) / 1e6;
    turn.first_ms = answer.first_ms;
    turn.tokens_cached = std::min(answer.tokens_cached, answer.tokens_in);
    turn.tokens_in = answer.tokens_in - turn.tokens_cached;
    turn.tokens_out = answer.tokens_out;
    turn.finish_reason = answer.finish;
    return answer;
  }

  void answer_calls(const Answer& answer) {
    Json calls = Json::array(), results = Json::array();
    AgentTurn& turn = run_.turns.back();
    for (size_t i = 0; i < answer.calls.size(); ++i) {
      const ToolCall& call = answer.calls[i];
      const std::string id = call.id.empty() ? fmt::format("call_{}_{}", run_.turns.size(), i) : call.id;
      const uint64_t begin = now_ns();
      const std::string result = folder_.call(call.name, call.arguments, run_);
      turn.tool_ms += double(now_ns() - begin) / 1e6;
      turn.tools.push_back(call.name);
      calls.push_back(
          {{"id", id},
           {"type", "function"},
           {"function", {{"name", call.name}, {"arguments", call.arguments.empty() ? "{}" : call.arguments}}}});
      results.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", result}});
    }
    run_.tools_s += turn.tool_ms / 1e3;
    messages_.push_back({{"role", "assistant"}, {"content", answer.content}, {"tool_calls", calls}});
    for (Json& r : results) messages_.push_back(std::move(r));
  }

  // What the tools would have brought, as text; the next answer is the last.
  void script(const std::string& why, const Answer& answer) {
    run_.scripted = why;
    messages_.push_back(message("assistant", answer.content.empty() ? "…" : answer.content));
    give_file();
  }

  void give_file() {
    const std::string text = fmt::format(
        "The files are:\n{}\nThe text of {}:\n\n{}\nSum it up in exactly two bullets, each a line that "
        "begins with \"- \".",
        folder_.list(), folder_.wanted(), folder_.read(folder_.wanted()).value());
    if (messages_.back()["role"] == "user") {
      messages_.back()["content"] = text;  // templates want user and assistant in turn
    } else {
      messages_.push_back(message("user", text));
    }
  }

  HttpClient& client_;
  const AgentArgs& args_;
  const SampleFolder& folder_;
  Json messages_;
  bool with_tools_ = true;
  AgentRun run_;
};

}  // namespace

double AgentRun::tokens_in() const {
  double n = 0;
  for (const AgentTurn& t : turns) n += t.tokens_in;
  return n;
}

double AgentRun::tokens_out() const {
  double n = 0;
  for (const AgentTurn& t : turns) n += t.tokens_out;
  return n;
}

int count_bullets(const std::string& answer) {
  int n = 0;
  for (size_t at = 0; at < answer.size();) {
    const size_t end = std::min(answer.find('\n', at), answer.size());
    const std::string line = answer.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    const std::string_view rest = std::string_view(line).substr(first);
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    n += rest.substr(0, 2) == "- " || rest.substr(0, 2) == "* " || rest.substr(0, 3) == "•" ||
         (digits > 0 && digits < 4 && rest.substr(digits, 2) == ". ");
  }
  return n;
}

AgentRun run_agent_task(HttpClient& client, const AgentArgs& args, const SampleFolder& folder, int number) {
  return Conversation(client, args, folder).run(number);
}

}  // namespace tally::lab
