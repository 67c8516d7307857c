// Test vectors of the definitions: {"id", "fn", "in", "out", "tol"}, one JSON object a line. Each function of section
// M1–M24 has a name here, so that a file of vectors can check what the commands compute with.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lab/output.h"

namespace tally::lab {

// The arguments of a vector. A function names what it needs; where files spell a name differently, all spellings are
// given and the first that occurs counts. Missing or of the wrong kind → Error that lists what there is. "inf" is a
// number.
class VectorArgs {
 public:
  explicit VectorArgs(const Json& in) : in_(in) {}
  using Names = std::initializer_list<const char*>;
  double number(Names names) const;
  double number_or(Names names, double otherwise) const;
  int whole(Names names) const;  // a number without fraction, 0…2^31 − 1
  int whole_or(Names names, int otherwise) const { return has(names) ? whole(names) : otherwise; }
  std::vector<double> list(Names names) const;  // a list of numbers, or one number
  bool has(Names names) const { return find(names) != nullptr; }
  const Json* find(Names names) const;
  const Json& need(Names names) const;
  // Keys that nothing has asked for: misspelt arguments.
  std::vector<std::string> unused(Names reserved) const;

 private:
  const Json& in_;
  mutable std::set<std::string> used_;
};

using VectorFn = std::function<Json(const VectorArgs&)>;  // a number, or an object of named numbers
using VectorTable = std::map<std::string, VectorFn>;

const VectorTable& vector_functions();
void add_basic_vectors(VectorTable& t);     // ratios, rates, samples, percent
void add_ceiling_vectors(VectorTable& t);   // M1–M5, M22
void add_fit_vectors(VectorTable& t);       // M6–M12
void add_hardware_vectors(VectorTable& t);  // M13–M15, M20
void add_estimate_vectors(VectorTable& t);  // M16–M19, M21, M23

// Default tolerance: |found − expected| ≤ 1e-6 + 1e-5·|expected| (expected values are printed with about six digits).
// With "tol" (a number, or an object with a number per key of "out"): |found − expected| ≤ tol.
struct VectorResult {
  enum class Kind { Pass, Fail, Unknown } kind = Kind::Fail;
  std::string line;  // what is printed
};
// One vector. {"error": true} in place of "out" expects a refusal. Error when the object is no vector.
VectorResult check_vector(const Json& vector);

}  // namespace tally::lab
