// Equality of tensors, attributes and graphs.
#pragma once

#include <string>

#include "shoal/model/graph/graph.h"

namespace shoal::passes {

// Appends a key of the tensor or the attributes to `key`: equal keys mean equal contents.
void append_key(std::string& key, const Tensor& tensor);
void append_key(std::string& key, const Attributes& attributes);

// Whether both graphs have the same nodes in the same order on values of the same names, and the
// same constants. Constants are compared by their place in memory, not by their elements.
bool same(const Graph& a, const Graph& b);

}  // namespace shoal::passes
