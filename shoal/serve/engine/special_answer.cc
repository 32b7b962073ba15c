#include "shoal/serve/engine/special_answer.h"

#include <algorithm>
#include <cmath>

#include "shoal/engine/run/scores.h"

namespace shoal::serve {
namespace {

constexpr double kLeast = 1e-12;  // a probability whose logarithm is a number

bool are_scores(const Tensor& scores) {
  return scores.dtype() == DType::kF32 && scores.shape().rank() == 2 && scores.shape()[0] > 0 &&
         scores.shape()[1] > 0;
}

}  // namespace

std::optional<Tensor> scores_for_all(const SpecialNetwork& network, const Tensor& scores,
                                     int64_t classes, bool probabilities) {
  const int64_t known = std::ssize(network.classes);
  if (!are_scores(scores) || known == 0 || known > classes) return std::nullopt;
  const int64_t items = scores.shape()[0], outputs = scores.shape()[1];
  if (outputs != known && outputs != known + 1) return std::nullopt;
  Tensor all = Tensor::uninitialized({DType::kF32, {items, classes}});
  const auto write = [&](float& to, double share) {
    to = static_cast<float>(probabilities ? share : std::log(std::max(share, kLeast)));
  };
  for (int64_t item = 0; item < items; ++item) {
    const auto own = scores.data<float>().subspan(static_cast<size_t>(item * outputs),
                                                  static_cast<size_t>(outputs));
    const std::vector<double> shares = fit::softmax(own);
    const auto best = std::ranges::max_element(shares);
    if (best - shares.begin() >= known || !(*best >= network.threshold)) return std::nullopt;
    const double other = outputs > known && classes > known
                             ? shares.back() / static_cast<double>(classes - known)
                             : 0;
    const auto to = all.data<float>().subspan(static_cast<size_t>(item * classes),
                                              static_cast<size_t>(classes));
    for (float& one : to) write(one, other);
    for (size_t i = 0; i < network.classes.size(); ++i) {
      const int64_t place = network.classes[i];
      if (place < 0 || place >= classes) return std::nullopt;
      write(to[static_cast<size_t>(place)], shares[i]);
    }
  }
  return all;
}

std::vector<size_t> best_classes(const Tensor& scores) {
  std::vector<size_t> best;
  if (!are_scores(scores)) return best;
  const auto classes = static_cast<size_t>(scores.shape()[1]);
  for (size_t i = 0; i < static_cast<size_t>(scores.shape()[0]); ++i) {
    const auto own = scores.data<float>().subspan(i * classes, classes);
    best.push_back(static_cast<size_t>(fit::best_class(own)));
  }
  return best;
}

}  // namespace shoal::serve
