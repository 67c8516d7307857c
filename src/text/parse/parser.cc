#include "text/parse/parser.h"

#include "base/error.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

const Family& family_named(std::string_view name) {
  if (const Family* f = find_family(name)) return *f;
  std::string known;
  for (std::string_view n : family_names()) known += (known.empty() ? "" : ", ") + std::string(n);
  fail(ErrorCode::BadInput, "there is no output format named \"{}\"; expected one of {}", name, known);
}

Task<> read_output(Reader& r, std::string prompt) {
  READER;
  if (r.family.whole) {
    co_await r.family.whole(r);
  } else {
    co_await read_reasoning(r, prompt);
    co_await read_content(r);
  }
}

// The unfinished header of a message that the prompt ended with: the output goes on in it.
std::string open_header(const Family& family, std::string_view prompt) {
  if (!family.whole) return "";
  const size_t start = prompt.rfind("<|start|>");
  if (start == prompt.npos) return "";
  const size_t message = prompt.find("<|message|>", start);
  const size_t end = message == prompt.npos ? prompt.size() : message + std::string_view("<|message|>").size();
  return std::string(prompt.substr(start, end - start));
}

}  // namespace

struct OutputParser::State {
  explicit State(ParserSettings s)
      : settings(std::move(s)),
        family(family_named(settings.family)),
        sink(settings.id_seed, family.own_ids),
        reader{input, sink, settings.tools, family, {}},
        task(read_output(reader, settings.prompt_opens)) {
    input.text = open_header(family, settings.prompt_opens);
    input.prompt = input.text.size();
    task.start(runner);
  }

  ParserSettings settings;
  const Family& family;
  CharacterStream characters;
  Runner runner;
  Input input{runner};
  Sink sink;
  Reader reader;
  Task<> task;
  Finish how = Finish::Stop;
};

OutputParser::OutputParser(ParserSettings settings) : state_(std::make_unique<State>(std::move(settings))) {}
OutputParser::~OutputParser() = default;
OutputParser::OutputParser(OutputParser&&) noexcept = default;

std::vector<Delta> OutputParser::feed(std::string_view bytes) {
  State& s = *state_;
  CHECK(!s.input.ended, "fed after its end");
  s.characters.feed(bytes, &s.input.text);
  if (s.input.can_resume()) s.runner.run();
  return s.sink.take();
}

std::vector<Delta> OutputParser::finish(Finish finish) {
  State& s = *state_;
  CHECK(!s.input.ended, "ended twice");
  s.characters.finish(&s.input.text);
  s.input.ended = true;
  s.input.cut = finish == Finish::Length;
  s.how = finish;
  s.runner.run();
  CHECK(s.runner.done(), "a reader waits behind the end of its text");
  s.sink.end();
  return s.sink.take();
}

Parsed OutputParser::result() const { return state_->sink.result(state_->how); }

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const Family& f : families()) names.push_back(f.name);
  return names;
}

}  // namespace tally::parse
