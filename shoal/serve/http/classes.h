// Scores of classes as an answer for people.
#pragma once

#include <string>

#include "shoal/serve/engine/served_model.h"
#include "shoal/serve/protocol/infer.h"

namespace shoal::serve {

// {"model_name","model_version","top":[{"index","label","score","share"}]}, best first.
// The first output has the scores; parameters of the answer follow. kInvalidArgument if it holds no
// scores of one example.
Result<std::string> print_classes(const ModelFacts& model, const InferResponse& response,
                                  size_t top);

}  // namespace shoal::serve
