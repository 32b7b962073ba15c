#include "shoal/shrink/exits/thresholds/drop_calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "shoal/base/math/matrix.h"
#include "shoal/engine/run/scores.h"
#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {
namespace {

// A softmax of some classifiers' scores, each with a weight.
class Stack {
 public:
  // Of these exits, by the weights with which the labels are most likely.
  static Result<Stack> fit(const ExitScores& scores, std::vector<size_t> exits) {
    Stack stack(scores, std::move(exits));
    SHOAL_TRY(stack.climb());
    return stack;
  }

  const std::vector<double>& weights() const { return weights_; }

  std::vector<double> probabilities(size_t image) const { return at(weights_, image); }

 private:
  // Keeps weights finite where all answers are right, and the Hessian positive.
  static constexpr double kRidge = 1e-4;

  Stack(const ExitScores& scores, std::vector<size_t> exits)
      : scores_(scores), exits_(std::move(exits)) {
    weights_.assign(exits_.size(), 1.0 / static_cast<double>(exits_.size()));
  }

  std::vector<double> at(const std::vector<double>& weights, size_t image) const {
    std::vector<float> sum(scores_.classes);
    for (size_t e = 0; e < exits_.size(); ++e) {
      const auto own = scores_.of(exits_[e], image);
      for (size_t c = 0; c < sum.size(); ++c) {
        sum[c] += static_cast<float>(weights[e] * double{own[c]});
      }
    }
    return fit::softmax(sum);
  }

  // The mean of -log q(label), and the ridge.
  double loss(const std::vector<double>& weights) const {
    double sum = 0, ridge = 0;
    for (size_t i = 0; i < scores_.labels.size(); ++i) {
      const double p = at(weights, i)[static_cast<size_t>(scores_.labels[i])];
      sum -= std::log(std::max(p, std::numeric_limits<double>::min()));
    }
    for (double w : weights) ridge += w * w;
    return sum / static_cast<double>(scores_.labels.size()) + kRidge / 2 * ridge;
  }

  // Newton's step from the present weights. The gradient is the mean of E_q[scores] minus the
  // label's, the Hessian that of their covariance under q.
  Result<Matrix> step() const {
    const size_t count = exits_.size();
    const auto images = static_cast<double>(scores_.labels.size());
    Matrix gradient(count, 1), hessian(count, count);
    std::vector<double> means(count);
    for (size_t i = 0; i < scores_.labels.size(); ++i) {
      const std::vector<double> q = probabilities(i);
      const auto label = static_cast<size_t>(scores_.labels[i]);
      for (size_t a = 0; a < count; ++a) {
        const auto x = scores_.of(exits_[a], i);
        means[a] = std::inner_product(q.begin(), q.end(), x.begin(), 0.0);
        gradient(a, 0) += (means[a] - double{x[label]}) / images;
        for (size_t b = 0; b <= a; ++b) {
          const auto y = scores_.of(exits_[b], i);
          double both = 0;
          for (size_t c = 0; c < q.size(); ++c) both += q[c] * double{x[c]} * double{y[c]};
          hessian(a, b) += (both - means[a] * means[b]) / images;
        }
      }
    }
    for (size_t a = 0; a < count; ++a) {
      gradient(a, 0) += kRidge * weights_[a];
      hessian(a, a) += kRidge;
    }
    return solved(hessian, gradient);
  }

  // The loss is convex. A step that does not lower it is halved.
  Status climb() {
    constexpr int kMostSteps = 50, kMostHalves = 20;
    constexpr double kEnough = 1e-9;
    double best = loss(weights_);
    for (int i = 0; i < kMostSteps; ++i) {
      SHOAL_ASSIGN(const Matrix full, step());
      bool better = false;
      double part = 1;
      for (int half = 0; half < kMostHalves && !better; ++half, part /= 2) {
        std::vector<double> next = weights_;
        for (size_t e = 0; e < next.size(); ++e) next[e] -= part * full(e, 0);
        const double now = loss(next);
        better = now < best - kEnough;
        if (!better) continue;
        best = now;
        weights_ = std::move(next);
      }
      if (!better) break;
    }
    return {};
  }

  const ExitScores& scores_;
  std::vector<size_t> exits_;
  std::vector<double> weights_;
};

struct Views {
  std::vector<std::vector<double>> probability, loss;  // per exit, then per image
};

Views views_of(const ExitScores& calibrated, const Stack& stack) {
  const size_t exits = calibrated.exits.size() - 1, images = calibrated.labels.size();
  Views views{std::vector(exits, std::vector<double>(images)),
              std::vector(exits, std::vector<double>(images))};
  for (size_t i = 0; i < images; ++i) {
    const std::vector<double> q = stack.probabilities(i);
    const auto best_of = [&](size_t exit) {
      return static_cast<size_t>(fit::best_class(calibrated.of(exit, i)));
    };
    for (size_t e = 0; e < exits; ++e) {
      const size_t best = best_of(e);
      views.probability[e][i] = fit::softmax(calibrated.of(e, i))[best];
      views.loss[e][i] = q[best_of(exits)] - q[best];
    }
  }
  return views;
}

// r / s of each exit, the largest of them 1: how far thresholds go down with lambda.
std::vector<double> slopes_of(const Views& views, std::span<const int64_t> stage_macs) {
  // An exit that seems to lose nothing may do so by luck.
  constexpr double kLeastLoss = 0.05;
  const double all = std::accumulate(stage_macs.begin(), stage_macs.end(), 0.0);
  std::vector<double> slopes;
  double left = all;
  for (size_t e = 0; e < views.loss.size(); ++e) {
    left -= static_cast<double>(stage_macs[e]);
    double product = 0, square = 0;
    for (size_t i = 0; i < views.loss[e].size(); ++i) {
      const double doubt = 1 - views.probability[e][i];
      product += views.loss[e][i] * doubt;
      square += doubt * doubt;
    }
    slopes.push_back(left / std::max(square > 0 ? product / square : 0, kLeastLoss));
  }
  const double most = std::ranges::max(slopes);
  for (double& slope : slopes) slope /= most > 0 ? most : 1;
  return slopes;
}

// Whether the images show that the mean loss with these thresholds is at most `wanted`: a normal
// bound on the mean. One image with a whole loss is added, or a few images without a loss would
// show everything; the bound is then about 3 / n, as it should be.
bool shows(const Views& views, std::span<const double> thresholds, const WantedDrop& wanted) {
  double sum = 1, squares = 1;
  const size_t images = views.loss[0].size();
  for (size_t i = 0; i < images; ++i) {
    for (size_t e = 0; e < thresholds.size(); ++e) {
      if (!(views.probability[e][i] >= thresholds[e])) continue;
      sum += views.loss[e][i];
      squares += views.loss[e][i] * views.loss[e][i];
      break;
    }
  }
  const auto n = static_cast<double>(images + 1);
  const double mean = sum / n;
  const double error = std::sqrt(std::max(squares / n - mean * mean, 0.0) / n);
  const double deviations = (wanted.points / 100 - mean) / error;
  return std::erfc(deviations / std::sqrt(2.0)) / 2 <= wanted.risk;
}

Status check(const ExitScores& scores, const WantedDrop& wanted) {
  if (!(wanted.points >= 0) || !(wanted.risk > 0 && wanted.risk < 1)) {
    return invalid("a loss is not negative, and its risk is between 0 and 1");
  }
  for (int64_t label : scores.labels) {
    if (label < 0 || label >= static_cast<int64_t>(scores.classes)) {
      return invalid("there is no class " + std::to_string(label));
    }
  }
  return {};
}

// A score that is no number is as low as can be.
ExitScores made_finite(ExitScores scores) {
  constexpr float kMost = 1e4F;
  for (auto& exit : scores.exits) {
    for (float& x : exit) x = std::isnan(x) ? -kMost : std::clamp(x, -kMost, kMost);
  }
  return scores;
}

}  // namespace

Verdicts verdicts_of(const ExitScores& scores) {
  Verdicts verdicts{.exits = std::vector<std::vector<Verdict>>(scores.exits.size())};
  for (size_t e = 0; e < scores.exits.size(); ++e) {
    for (size_t i = 0; i < scores.labels.size(); ++i) {
      const auto own = scores.of(e, i);
      const auto best = static_cast<size_t>(fit::best_class(own));
      verdicts.exits[e].push_back({.probability = fit::softmax(own)[best],
                                   .correct = fit::rank_of(own, scores.labels[i]) == 0});
    }
  }
  return verdicts;
}

ExitScores scaled(ExitScores scores, std::span<const double> scales) {
  for (size_t e = 0; e < scales.size(); ++e) {
    const auto scale = static_cast<float>(scales[e]);
    for (float& x : scores.exits[e]) x *= scale;
  }
  return scores;
}

Result<DropCalibration> calibrate_for_drop(const ExitScores& scores, const WantedDrop& wanted,
                                           std::span<const int64_t> stage_macs) {
  SHOAL_TRY(check(scores, wanted));
  SHOAL_CHECK(scores.exits.size() == stage_macs.size() && !stage_macs.empty());
  const size_t exits = scores.exits.size() - 1;
  DropCalibration result{std::vector<double>(exits, 1), std::vector<double>(exits, kNever)};
  if (exits == 0 || scores.labels.empty()) return result;
  const ExitScores finite = made_finite(scores);
  for (size_t e = 0; e < exits; ++e) {
    SHOAL_ASSIGN(const Stack alone, Stack::fit(finite, {e}));
    // An exit that knows nothing would be turned around or switched off.
    constexpr double kLeastScale = 1e-3;
    result.scales[e] = std::max(alone.weights()[0], kLeastScale);
  }
  std::vector<size_t> all(exits + 1);
  std::iota(all.begin(), all.end(), size_t{0});
  SHOAL_ASSIGN(const Stack stack, Stack::fit(finite, all));
  const Views views = views_of(scaled(finite, result.scales), stack);
  const std::vector<double> slopes = slopes_of(views, stage_macs);
  // From where nearly nothing may be lost to where all exits answer everything.
  constexpr double kFirst = 1e-3, kFactor = 1.05;
  const double last = 1 / std::max(std::ranges::min(slopes), kFirst);
  for (double lambda = kFirst; lambda < kFactor * last; lambda *= kFactor) {
    std::vector<double> thresholds;
    for (double slope : slopes) thresholds.push_back(std::max(1 - lambda * slope, 0.0));
    if (!shows(views, thresholds, wanted)) break;
    result.thresholds = std::move(thresholds);
  }
  return result;
}

}  // namespace shoal::exits
