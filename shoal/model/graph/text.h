// The text form of a graph, which pass tests compare and `shoal inspect` prints. It has one
// statement per line, in topological order; # begins a comment.
//
//   input x f32[1,3,8,8]
//   const w f32[4,3,3,3] = random(1)
//   const k i64[1] = [2]
//   y = Conv(x, w, _) pads=[1,1,1,1] group=1 @first     # _ is an input left out
//   "a b", i = TopK(y, k) axis=-1
//   output i
//
// A constant's elements are a list in row-major order, or one of zeros, ones, full(0.5), identity,
// random(seed). Attributes are integers 1, floats 0.5 (always with a point, an exponent, inf or
// nan), strings "x", lists of these (the empty ones are [], floats[] and strings[]) and tensors
// f32[2]{1,2}. The node's name follows @. Names beyond [A-Za-z0-9_./:-]+ are quoted.
#pragma once

#include <string>
#include <string_view>

#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal {

// Tensors of more than 16 elements are printed as a hash, which shows a change and is refused by
// parse_text. Apart from them, parsing the text gives a graph that prints as the same text.
std::string to_text(const Graph& graph);

// An attribute in that text: [1,1,1,1], 0.5 or "x".
std::string to_text(const Attribute& attribute);

// Safe on any text: errors name the line. `find` looks operators up, as ops::find does. REQUIRES:
// they outlive the graph.
Result<Graph> parse_text(std::string_view text, const Operator* (*find)(std::string_view));

}  // namespace shoal

#pragma GCC visibility pop
