// The optimiser's update as nodes of the step's graph, so that it runs where the weights are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/train/step/optimizer/optimizer.h"

namespace shoal::train {

// A step with its update. Inputs: those of the step, whose last ones are the weights; the update's
// scalars (update_scalars); the optimiser's memories, role by role as Optimizer has them, in each
// the weights in order. Outputs: those of the step but for the gradients, which were its last; the
// norm of all gradients together; the weights after the step; the memories after it.
//
// All rules of Optimizer, with clipping and decay, are expressed: they are element-wise but for the
// norm. The norm adds up in f32, so a clipped gradient may differ from the host's in the last bits.
struct UpdateGraph {
  Graph graph;
  size_t weights = 0;
  size_t scalars = 0;
  size_t memories = 0;  // tensors: roles times weights
};

Result<UpdateGraph> add_update(const Graph& step, size_t weights, const OptimizerOptions& options);

// Numbers that an update depends on beside tensors: rates, and Adam's corrections for means that
// begin with zero. `step` counts from 1; `factor` as in Optimizer::update().
std::vector<float> update_scalars(const OptimizerOptions& options, int64_t step, double factor);

}  // namespace shoal::train
