// int8 in two steps: choices are made on a network for one example, and applied to it for any
// batch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/compress/methods/methods.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The quantisation of a network's values and products, by name. A value.
struct Int8Choice {
  RangeRule values = RangeRule::kMse, weights = RangeRule::kMinMax;
  std::map<std::string, Range> ranges = {};               // of values; others stay real
  std::set<std::string> real = {};                        // products that stay so, by their output
  std::map<std::string, std::vector<float>> shifts = {};  // of the biases of products
  double noise = 0;  // of the answers, in [0, 1], on examples that showed neither ranges nor shifts
};

// Chooses as context.int8 says. Fails as examples and device do, with kInvalidArgument if there are
// no examples, and with kUnsupported if there is no product to quantise.
Result<Int8Choice> choose_int8(const Graph& network, const Context& context);

// The quantised network. Fails as passes do. REQUIRES: the choice was made on the network, perhaps
// for another batch.
Result<Graph> quantized(const Graph& network, const Int8Choice& choice);

// The same for training: weights and biases are f32 constants under the names of prepare(network),
// and shifts are left out, because biases are trained.
Result<Graph> rounding(const Graph& network, const Int8Choice& choice);

// What was chosen, a line each, for people.
std::vector<std::string> notes_of(const Int8Choice& choice);

}  // namespace shoal::compress

#pragma GCC visibility pop
