// Test helpers: graphs as text, random units, and the law that removal equals masking.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/narrowing.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::compress {

// REQUIRES: it is one.
inline Graph parse(const std::string& text) {
  auto graph = parse_text(text, ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

// A random share of the units, one of each group left out.
inline std::vector<size_t> random_units(const Groups& groups, std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const double share = uniform(rng);
  std::vector<size_t> units;
  for (const Group& group : groups.groups) {
    const size_t stays = group.begin + rng() % group.size();
    for (size_t unit = group.begin; unit < group.end; ++unit) {
      if (unit != stays && uniform(rng) < share) units.push_back(unit);
    }
  }
  return units;
}

inline Result<std::vector<Tensor>> answers(const Graph& graph, const std::vector<Tensor>& inputs,
                                           Device& device) {
  SHOAL_ASSIGN(const auto executable, device.compile(graph));
  std::vector<Tensor> outputs(graph.outputs().size());
  SHOAL_TRY(executable->run(inputs, outputs, {}));
  return outputs;
}

// The distance between the answers after removal and after masking. With free ends, compares the
// remaining inputs and outputs.
inline Result<double> removal_error(const Graph& graph, const Groups& groups,
                                    const std::vector<size_t>& units,
                                    const std::vector<Tensor>& inputs, Device& device) {
  SHOAL_ASSIGN(const Graph smaller, remove(graph, groups, units));
  SHOAL_ASSIGN(const Graph mask, masked(graph, groups, units));
  Narrowing narrowing(graph);
  for (size_t unit : units) narrowing.drop(groups.units[unit]);
  std::vector<Tensor> rest;
  for (size_t i = 0; i < inputs.size(); ++i) {
    rest.push_back(take(inputs[i], narrowing.left(graph.inputs()[i])));
  }
  SHOAL_ASSIGN(std::vector<Tensor> want, answers(mask, inputs, device));
  for (size_t i = 0; i < want.size(); ++i) {
    want[i] = take(want[i], narrowing.left(graph.outputs()[i]));
  }
  SHOAL_ASSIGN(const std::vector<Tensor> got, answers(smaller, rest, device));
  return relative_error(got, want);
}

}  // namespace shoal::compress
