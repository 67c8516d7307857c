// Finds the functions of a C++ file by its braces, without a compiler: good enough to measure their length.
#pragma once

#include <string>
#include <vector>

namespace tally::tidy {

struct Function {
  std::string name;  // as written before its parameters: "Reader::read"
  int line = 0;      // of its head, counted from 1
  int n_lines = 0;   // head to closing brace
};

// The text with comments, string and character literals and preprocessor lines blanked out; line breaks stay.
std::string blank_out(const std::string& text);

// Functions of namespaces and classes, in order; lambdas and local classes count to the function around them.
std::vector<Function> find_functions(const std::string& text);

}  // namespace tally::tidy
