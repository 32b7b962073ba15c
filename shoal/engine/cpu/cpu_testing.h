// Helpers for tests of kernels: compare one node, or a graph, on the CPU with the reference, under
// every instruction set.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

Tensor random_floats(std::mt19937& rng, const Shape& shape);
Tensor random_bytes(std::mt19937& rng, DType dtype, const Shape& shape);  // i8 or u8, of all sizes

// Names of kernels, one of which must have computed the node. Empty: any kernel.
struct KernelNames : std::vector<std::string_view> {
  using vector::vector;
  KernelNames(const char* name) : vector{name} {}
};

// Runs the node on 1 and 2 threads and under every instruction set; its inputs after the first are
// constants, and not. Floats must agree to `tolerance` of the largest, others exactly.
void expect_agreement(const Operator& op, const std::vector<Tensor>& inputs,
                      const Attributes& attributes, const KernelNames& kernels,
                      float tolerance = 1e-5f);

// The same with inputs after the first constant, by the one kernel named, or by one of the others
// where an instruction set does not have it.
void expect_agreement_by(std::string_view kernel, const Operator& op,
                         const std::vector<Tensor>& inputs, const Attributes& attributes,
                         float tolerance = 1e-5f, KernelNames others = {});

// The same also with all inputs given at each run, as in training.
void expect_agreement_always_by(std::string_view kernel, const Operator& op,
                                const std::vector<Tensor>& inputs, const Attributes& attributes,
                                float tolerance = 1e-5f);

// The same of a whole graph, as it is.
void expect_agreement_of(const Graph& graph, const std::vector<Tensor>& feeds,
                         const KernelNames& kernels, float tolerance = 1e-5f);

// The same for a whole graph, by the kernels chosen for it.
void expect_agreement_of(const Graph& graph, const KernelNames& kernels, float tolerance = 1e-5f);

}  // namespace shoal::cpu
