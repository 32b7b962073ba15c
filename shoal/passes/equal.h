// When nodes and graphs are the same.
#pragma once

#include <string>

#include "shoal/graph/graph.h"

namespace shoal::passes {

// Appends what tells this from every other: equal keys, equal things.
void append_key(std::string& key, const Tensor& tensor);
void append_key(std::string& key, const Attributes& attributes);

// The same nodes in the same order on the same names, and the same constants; of these the place
// in memory is compared, not the elements.
bool same(const Graph& a, const Graph& b);

}  // namespace shoal::passes
