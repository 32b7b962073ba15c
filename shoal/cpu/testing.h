// For the tests of kernels: one node on the reference and on the CPU, under every instruction set.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::cpu {

Tensor random_floats(std::mt19937& rng, const Shape& shape);

// What must be at work: one of these. None named: anything.
struct KernelNames : std::vector<std::string_view> {
  using vector::vector;
  KernelNames(const char* name) : vector{name} {}
};

// Runs the node on 1 and 2 threads and under every instruction set; its inputs after the first are
// constants, and not. Elements must agree to `tolerance` of the largest.
void expect_agreement(const Operator& op, const std::vector<Tensor>& inputs,
                      const Attributes& attributes, const KernelNames& kernels,
                      float tolerance = 1e-5f);

// The same with inputs after the first constant, by the one kernel named.
void expect_agreement_by(std::string_view kernel, const Operator& op,
                         const std::vector<Tensor>& inputs, const Attributes& attributes,
                         float tolerance = 1e-5f);

}  // namespace shoal::cpu
