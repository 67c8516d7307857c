// The files of src/lab/page as text; the build writes them into the program (src/CMakeLists.txt).
#pragma once

#include <string_view>

namespace tally::lab::page {

std::string_view frame();   // page.html, with the marks {{policy}}, {{title}}, {{style}}, {{data}}, {{script}}
std::string_view style();   // style.css
std::string_view script();  // all .js files, in the order of their names

}  // namespace tally::lab::page
