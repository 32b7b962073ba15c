// Wire format: sends values between workers in fewer bytes than they are computed with, if the user
// allows an error. It is written into the graph, as a cast before sending and one after receiving,
// so that plans, simulation and workers need no support for it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {

enum class WireFormat : uint8_t { kF32, kF16, kI8 };
std::string_view name_of(WireFormat format);

// Largest change of an element by rounding, as a part of the largest element.
double error_of(WireFormat format);

struct WireOptions {
  WireFormat smallest = WireFormat::kF32;
  // Allowed error of the answer, as a part of its largest element. The errors of all rounded values
  // are assumed to add up, which holds if layers do not amplify their inputs.
  double error = 0;
  // The largest magnitudes of values, by name. Values that are not listed are not made i8, and for
  // f16 are taken to be below its largest, 65504; those listed as larger stay f32.
  std::map<std::string, float, std::less<>> largest = {};
  // Inputs of the graph travel rounded, too: the plan's graph has them in that format, and its
  // caller rounds them.
  bool inputs = false;
};

struct WiredPlan {
  Graph graph;
  Plan plan;
  double error = 0;  // of all that is rounded
};

// Rounds f32 values that travel between workers, those with most bytes first, and inputs if the
// options say so. Other values of the coordinator are unchanged.
Result<WiredPlan> with_wire_format(const Graph& graph, const Plan& plan, const Schedule& schedule,
                                   const WireOptions& options);

// Inputs that travel in fewer bytes: such a plan's graph has them in f16 or i8 instead of f32
// (WireOptions::inputs), and its caller rounds them.

// Rounds an input to the type it has in the plan's graph. A tensor that has that type, or that
// cannot be rounded, is returned unchanged; a run reports a wrong type. REQUIRES: the graph has
// such an input.
Tensor as_sent(const Graph& graph, size_t input, const Tensor& values);

// The graph with f32 inputs that it rounds itself: computes the plan's answer in one piece.
Result<Graph> rounding_inputs(const Graph& graph);

}  // namespace shoal::plan
