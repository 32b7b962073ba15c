#include "exam.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "../model.h"
#include "shoal/cpu/cpu.h"

namespace shoal::cli {
namespace {

bool matches(const Tensor& got, const Tensor& want) {
  constexpr float kTolerance = 1e-4F;
  if (got.type() != want.type()) return false;
  if (want.dtype() != DType::kF32) return std::ranges::equal(got.bytes(), want.bytes());
  const auto g = got.data<float>(), w = want.data<float>();
  float largest = 0, error = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    largest = std::max(largest, std::abs(w[i]));
    error = std::max(error, std::abs(g[i] - w[i]));
  }
  return error <= kTolerance * largest &&
         (w.empty() ||
          std::ranges::max_element(g) - g.begin() == std::ranges::max_element(w) - w.begin());
}

}  // namespace

Result<std::vector<Question>> make_exam(const Graph& graph, uint64_t seed) {
  constexpr int kQuestions = 4;
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(const auto executable, device->compile(graph));
  std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
  std::vector<Question> exam(kQuestions);
  for (Question& question : exam) {
    for (ValueId id : graph.inputs()) question.inputs.push_back(random_tensor(graph[id].type, rng));
    question.answers.resize(graph.outputs().size());
    SHOAL_TRY(executable->run(question.inputs, question.answers, nullptr));
  }
  return exam;
}

bool is_right(std::span<const Tensor> got, const Question& question) {
  return std::ranges::equal(got, question.answers, matches);
}

}  // namespace shoal::cli
