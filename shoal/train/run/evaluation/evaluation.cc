#include "shoal/train/run/evaluation/evaluation.h"

#include <cmath>

#include "shoal/engine/run/scores.h"

namespace shoal::fit {
namespace {

// The floor of a probability. A network that is wrong and certain loses much, but not everything:
// log(0) would hide the other examples.
constexpr double kLeastProbability = 1e-30;

constexpr size_t kTop5 = 5;

}  // namespace

void Evaluation::add(std::span<const float> scores, bool probabilities, int64_t label,
                     size_t example) {
  if (images_ == 0) {
    classes_ = scores.size();
    // The matrix has classes^2 counters: 128 MB at kMaxClasses. With more classes it is unreadable.
    confusions_.assign(classes_ <= kMaxClasses ? classes_ * classes_ : 0, 0);
  }
  SHOAL_CHECK(scores.size() == classes_);
  const std::vector<double> p =
      probabilities ? std::vector<double>(scores.begin(), scores.end()) : softmax(scores);
  const size_t rank = rank_of(scores, label);
  const int64_t answer = best_class(scores);
  const bool is_class = rank < classes_;
  ++images_;
  with_nan_ += std::ranges::any_of(scores, [](float x) { return std::isnan(x); }) ? 1 : 0;
  correct_ += rank < 1 ? 1 : 0;
  in_top5_ += rank < kTop5 && is_class ? 1 : 0;
  const double own = is_class ? p[static_cast<size_t>(label)] : 0;
  loss_sum_ -= std::log(std::max(own, kLeastProbability));
  if (is_class && !confusions_.empty()) {
    ++confusions_[static_cast<size_t>(label) * classes_ + static_cast<size_t>(answer)];
  }
  // The list stays sorted and short, so that an insertion costs a sort of at most 25 elements.
  if (rank == 0) return;
  const double probability = p[static_cast<size_t>(answer)];  // NaN has no place in an order
  mistakes_.push_back({example, label, answer, std::isnan(probability) ? 0 : probability});
  std::ranges::stable_sort(mistakes_, std::greater(), &Mistake::probability);
  if (mistakes_.size() > kMaxMistakes) mistakes_.pop_back();
}

double Evaluation::percent(size_t count) const {
  return images_ == 0 ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(images_);
}

double Evaluation::loss() const {
  return loss_sum_ / static_cast<double>(std::max<size_t>(images_, 1));
}

size_t Evaluation::confusions(size_t label, size_t answer) const {
  return confusions_.empty() ? 0 : confusions_[label * classes_ + answer];
}

}  // namespace shoal::fit
