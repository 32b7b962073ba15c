// Exam: questions to a model, with the answers that it gives on this device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::cli {

struct Question {
  std::vector<Tensor> inputs, answers;
};

// Several, so that the answer to another one is not taken for right.
Result<std::vector<Question>> make_exam(const Graph& graph, uint64_t seed);

// To 1e-4 of the largest element, and with the same one in first place.
bool is_right(std::span<const Tensor> got, const Question& question);

}  // namespace shoal::cli
