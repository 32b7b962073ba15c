// Scores of classes as an answer for people.
#pragma once

#include <string>

#include "shoal/serve/engine/served_model.h"

namespace shoal::serve {

// {"model_name","model_version","top":[{"index","label","score","share"}]}, best first.
// kInvalidArgument if the tensor holds no scores of one example.
Result<std::string> print_classes(const ServedModel& model, const Tensor& scores, size_t top);

}  // namespace shoal::serve
