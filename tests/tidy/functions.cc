#include "tidy/functions.h"

#include <algorithm>
#include <cctype>

namespace tally::tidy {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void blank(std::string* text, size_t begin, size_t end) {
  for (size_t i = begin; i < end && i < text->size(); ++i) {
    if ((*text)[i] != '\n') (*text)[i] = ' ';
  }
}

// The end of a quoted literal that begins at `at` (its opening quote).
size_t end_of_quoted(const std::string& text, size_t at) {
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

size_t end_of_raw_string(const std::string& text, size_t quote) {
  const size_t open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  const std::string close = ")" + text.substr(quote + 1, open - quote - 1) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string::npos ? text.size() : end + close.size();
}

// The end of a preprocessor directive with its continued lines.
size_t end_of_directive(const std::string& text, size_t at) {
  while (true) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) return text.size();
    if (text[end - 1] != '\\') return end;
    at = end + 1;
  }
}

bool begins_line(const std::string& text, size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
  return at == 0 || text[at - 1] == '\n';
}

bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_word(text[at - 1])) && (at + word.size() == text.size() || !is_word(text[at + word.size()])))
      return true;
  }
  return false;
}

enum class Scope { Namespace, Type, Function, Other };

// What stands since the last statement ended, before an opening brace.
struct Head {
  std::string text;
  size_t begin = 0;  // of the text in the file
  int n_open_parens = 0;
};

std::string without_template_head(const std::string& text) {
  size_t at = text.find_first_not_of(" \n\t");
  if (at == std::string::npos || text.compare(at, 8, "template") != 0) return text;
  int depth = 0;
  for (at = text.find('<', at); at < text.size(); ++at) {
    depth += text[at] == '<' ? 1 : text[at] == '>' && text[at - 1] != '-' ? -1 : 0;
    if (depth == 0) return without_template_head(text.substr(at + 1));
  }
  return text;
}

Scope scope_of(const Head& head) {
  const std::string text = without_template_head(head.text);
  if (has_word(text, "namespace") || text.find("extern") != std::string::npos) {
    if (text.find('(') == std::string::npos) return Scope::Namespace;
  }
  if (head.n_open_parens > 0) return Scope::Other;  // an argument
  const size_t paren = text.find('(');
  for (const char* word : {"class", "struct", "union", "enum"}) {
    const size_t at = text.find(word);
    // "struct alignas(64) Foo" is a type, "struct Foo make()" a function.
    if (has_word(text, word) && (paren == std::string::npos || text.find("alignas") != std::string::npos) && at < paren)
      return Scope::Type;
  }
  if (paren == std::string::npos) return Scope::Other;  // an initialiser
  // A brace right after a name in a constructor's list is a member's initialiser: "Foo() : a{1}".
  const size_t close = text.rfind(')');
  const size_t last = text.find_last_not_of(" \n\t");
  const size_t colon = text.find(" : ", paren);
  if (colon != std::string::npos && last != close && text[last] != '}') return Scope::Other;
  const size_t equals = text.find('=');
  if (equals != std::string::npos && equals < paren && text.find("operator") == std::string::npos &&
      text.find('[') == std::string::npos) {
    return Scope::Other;
  }
  return Scope::Function;
}

// The name before the first parenthesis.
std::string name_of(const std::string& head) {
  const std::string text = without_template_head(head);
  const size_t paren = text.find('(');
  size_t end = text.find_last_not_of(" \n\t", paren == 0 ? 0 : paren - 1) + 1;
  size_t begin = end;
  while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == ':' || text[begin - 1] == '~')) --begin;
  std::string name = text.substr(begin, end - begin);
  if (name == "TEST" || name == "TEST_F" || name == "TEST_P") name += text.substr(paren, text.find(')') - paren + 1);
  return name.empty() ? "operator" : name;
}

class Finder {
 public:
  explicit Finder(const std::string& text) : text_(blank_out(text)) {}

  std::vector<Function> run() {
    for (size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      if (n_nested_ > 0) {
        nested(c, at);
      } else if (c == '{') {
        open(at);
      } else if (c == '}') {
        if (!scopes_.empty()) scopes_.pop_back();
        restart(at + 1);
      } else if (c == ';' && head_.n_open_parens == 0) {
        restart(at + 1);
      } else {
        head_.n_open_parens += c == '(' ? 1 : c == ')' ? -1 : 0;
        head_.text += c;
        if (c == ':' &&
            (has_only(head_.text, "public") || has_only(head_.text, "private") || has_only(head_.text, "protected")))
          restart(at + 1);
      }
    }
    return functions_;
  }

 private:
  static bool has_only(const std::string& text, const std::string& word) {
    const size_t at = text.find_first_not_of(" \n\t");
    return at != std::string::npos && text.substr(at) == word + ":";
  }
  int line_of(size_t at) const {
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  void restart(size_t at) { head_ = Head{"", at, 0}; }

  void open(size_t at) {
    kind_ = scope_of(head_);
    if (kind_ == Scope::Namespace || kind_ == Scope::Type) {
      scopes_.push_back(kind_);
      restart(at + 1);
      return;
    }
    n_nested_ = 1;
    if (kind_ != Scope::Function) return;
    const size_t first = head_.text.size() - without_template_head(head_.text).size();
    const size_t begin = text_.find_first_not_of(" \n\t", head_.begin + first);
    functions_.push_back({name_of(head_.text), line_of(begin), 0});
  }

  // Inside a function's body or an initialiser only the depth matters.
  void nested(char c, size_t at) {
    n_nested_ += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (n_nested_ > 0) return;
    if (kind_ == Scope::Function) {
      functions_.back().n_lines = line_of(at) - functions_.back().line + 1;
      restart(at + 1);
    } else {
      head_.text += '}';  // the statement goes on
    }
  }

  std::string text_;
  std::vector<Scope> scopes_;
  Head head_;
  Scope kind_ = Scope::Other;
  int n_nested_ = 0;
  std::vector<Function> functions_;
};

}  // namespace

std::string blank_out(const std::string& original) {
  std::string text = original;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (original.compare(at, 2, "//") == 0) {
      end = std::min(original.find('\n', at), text.size());
      blank(&text, at, end);
    } else if (original.compare(at, 2, "/*") == 0) {
      const size_t close = original.find("*/", at + 2);
      end = close == std::string::npos ? text.size() : close + 2;
      blank(&text, at, end);
    } else if (original[at] == '#' && begins_line(original, at)) {
      end = end_of_directive(original, at);
      blank(&text, at, end);
    } else if (original[at] == '"') {
      const bool raw =
          at > 0 && original[at - 1] == 'R' && (at < 2 || !is_word(original[at - 2]) || original[at - 2] == '8');
      end = raw ? end_of_raw_string(original, at) : end_of_quoted(original, at);
      blank(&text, at + 1, end - 1);
    } else if (original[at] == '\'' && (at == 0 || !is_word(original[at - 1]))) {  // else it separates digits
      end = end_of_quoted(original, at);
      blank(&text, at + 1, end - 1);
    }
    at = end;
  }
  return text;
}

std::vector<Function> find_functions(const std::string& text) { return Finder(text).run(); }

}  // namespace tally::tidy
