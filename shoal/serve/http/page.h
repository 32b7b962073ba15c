// The page at "/": models, their figures, and a picture to classify.
#pragma once

#include <string_view>

namespace shoal::serve {

std::string_view page();  // HTML that needs no other file

}  // namespace shoal::serve
