// Wire format: what travels between workers in fewer bytes than it is computed with, where the user
// allows an error. Written into the graph, as a cast before sending and one after receiving, so
// that plans, simulation and workers need nothing for it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "shoal/plan/plan.h"

namespace shoal::plan {

enum class WireFormat : uint8_t { kF32, kF16, kI8 };
std::string_view name_of(WireFormat format);

// What rounding may change an element by, as a part of the largest one.
double error_of(WireFormat format);

struct WireOptions {
  WireFormat smallest = WireFormat::kF32;
  // Of the answer, as a part of its largest element. The errors of all that is rounded are taken to
  // add up, as they do where layers do not amplify what they read.
  double error = 0;
  // The largest magnitudes of values, by name. What is not there is not made i8.
  std::map<std::string, float, std::less<>> largest = {};
};

struct WiredPlan {
  Graph graph;
  Plan plan;
  double error = 0;  // of all that is rounded
};

// Rounds f32 values that travel between workers, those with most bytes first. What the coordinator
// sends and gets stays as it is.
Result<WiredPlan> with_wire_format(const Graph& graph, const Plan& plan, const Schedule& schedule,
                                   const WireOptions& options);

}  // namespace shoal::plan
