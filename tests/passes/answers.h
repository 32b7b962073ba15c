// The outputs of a graph on random inputs, to compare before and after a pass.
#pragma once

#include <string>

#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

namespace shoal::passes {

// The graph that a text describes; fails the test if it is invalid.
Graph parse(const std::string& text);

// Fails the test if the devices differ, beyond rounding, in an answer.
void expect_same_answers(const Graph& graph, Device& got, Device& want);

// Fails the test if the graphs differ in inputs, outputs or, beyond rounding, in an answer.
void expect_same_answers(const Graph& before, const Graph& after);

}  // namespace shoal::passes
