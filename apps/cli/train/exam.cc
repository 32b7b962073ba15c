#include "exam.h"

#include <algorithm>
#include <cmath>

#include "shoal/data/prefetch.h"
#include "shoal/passes/passes.h"
#include "shoal/train/step_graph.h"

namespace shoal::cli {
namespace {

constexpr size_t kKeptMistakes = 24;

std::span<const float> row_of(const Tensor& scores, size_t row) {
  const auto classes = static_cast<size_t>(scores.shape()[1]);
  return scores.data<float>().subspan(row * classes, classes);
}

// In f64, and away from zero: a network that is wrong and sure loses much, but not everything.
std::vector<double> probabilities(std::span<const float> scores, bool are_probabilities) {
  std::vector<double> p(scores.begin(), scores.end());
  if (!are_probabilities) {
    const double top = *std::ranges::max_element(p);
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - top);
    for (double& x : p) x /= sum;
  }
  for (double& x : p) x = std::max(x, 1e-30);
  return p;
}

void mark(Exam& exam, const Batch& batch, size_t row, const std::vector<double>& p) {
  const int64_t label = batch.labels.data<int64_t>()[row];
  const int64_t answer = std::ranges::max_element(p) - p.begin();
  ++exam.images;
  exam.loss -= std::log(p[static_cast<size_t>(label)]);
  ++exam.confusions[static_cast<size_t>(label) * exam.classes + static_cast<size_t>(answer)];
  if (answer == label) {
    ++exam.right;
    return;
  }
  exam.mistakes.push_back({batch.examples[row], label, answer, p[static_cast<size_t>(answer)]});
  std::ranges::stable_sort(exam.mistakes, std::greater(), &Mistake::sure);
  if (exam.mistakes.size() > kKeptMistakes) exam.mistakes.pop_back();
}

}  // namespace

size_t count_right(const Tensor& scores, const Tensor& labels, size_t count) {
  size_t right = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto row = row_of(scores, i);
    const int64_t answer = std::ranges::max_element(row) - row.begin();
    right += answer == labels.data<int64_t>()[i] ? 1 : 0;
  }
  return right;
}

Result<Exam> examine(Device& device, const Graph& network, const Batches& batches) {
  const bool ends_with_softmax = train::scores_of(network) != network.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Exam exam;
  exam.classes = static_cast<size_t>(network[network.outputs()[0]].type.shape[1]);
  exam.confusions.resize(exam.classes * exam.classes);
  Prefetch prefetch(batches, 0, 0, 1, 2);
  std::vector<Tensor> outputs(1);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, nullptr));
    for (size_t row = 0; row < batch.fresh; ++row) {
      mark(exam, batch, row, probabilities(row_of(outputs[0], row), ends_with_softmax));
    }
  }
  exam.loss /= static_cast<double>(std::max<size_t>(exam.images, 1));
  return exam;
}

}  // namespace shoal::cli
