// How the families write a call.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tally::constrain {

enum class Arguments : unsigned char {
  Json,
  Function,  // <parameter=K>\nV\n</parameter>
  Keys,      // <arg_key>K</arg_key>\n<arg_value>V</arg_value>
  Python,    // K=V, K=V
  Gemma,     // K:V,K:V with <|"|> as quotes
};

// In all texts \x01 stands for white space that is left out, \x02 for one space, \x03 for one newline (each may be any
// white space where a model writes it freely), \x04 for digits. before + name + after + arguments + behind is a call.
struct CallForm {
  std::string_view family;
  std::string_view open;    // before the first call
  std::string_view before;  // before the name
  std::string_view after;   // between name and arguments
  Arguments arguments;
  std::string_view behind;
  std::string_view next;   // between two calls inside one opening; empty: each call is opened anew
  std::string_view close;  // behind the last call
  bool at_start = false;   // such calls stand at the start of the answer only
  bool unopened = false;   // `before` alone begins a call too
};

std::span<const CallForm> call_forms();  // a family's usual form comes first

// A call of NAME with one ARGUMENT of VALUE, as the family usually writes it.
std::string call_example(std::string_view family);

}  // namespace tally::constrain
