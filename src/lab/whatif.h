// What-if questions: the definitions applied to typed numbers or to the printed tables of an article, with complaints
// where numbers cannot belong together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/output.h"
#include "lab/vectors.h"

namespace tally::lab {

struct WhatIf {
  Block block;  // not valid, with the reason, when a definition refuses the numbers
  std::vector<std::string> complaints;
};

// One kind of question. `evaluate` fills verdict, table and values and adds complaints; it asks `in` for arguments.
struct WhatIfKind {
  std::string title, arguments;  // arguments: one line for --help
  void (*evaluate)(const VectorArgs& in, WhatIf& out);
};
using WhatIfTable = std::map<std::string, WhatIfKind>;
const WhatIfTable& whatif_kinds();
void add_whatif_ceilings(WhatIfTable& t);   // M1–M5, M14, M22
void add_whatif_measures(WhatIfTable& t);   // M6–M10, M12, M13
void add_whatif_estimates(WhatIfTable& t);  // M15–M21
void add_whatif_wording(WhatIfTable& t);    // M24 and claims about ratios

// {"kind": one of the above, arguments…, "title", "printed": {name of a value: text as printed}}. A printed value that
// the exact one does not round to is a complaint; "about 5 %"-like texts ("~0.05") allow 10 %. Error (Usage) for an
// unknown kind or argument.
WhatIf what_if(const Json& question);

// Whether `exact` rounds to the number printed as `text` ("1.69", "486,400", "~150", "5.1e3"): half a unit of its last
// digit, for "~" 10 %. Error when it is no number.
bool rounds_to(double exact, const std::string& text);

// The questions that a saved run can be asked (JSON Lines of any lab command): costs by prompt length, batches, widths
// of a forward, shares of segments. Error when it holds none.
std::vector<Json> questions_of_run(const std::vector<Json>& lines);

}  // namespace tally::lab
