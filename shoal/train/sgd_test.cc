#include "shoal/train/sgd.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

// One weight of 1 after two steps with gradients 2 and 4; the rate is 1/2, the momentum 1/4, where
// there is one, and the decay 1.
float after_two_steps(const SgdOptions& options) {
  Sgd sgd(options);
  std::vector<Tensor> weights{Tensor::of<float>({1}, {1})};
  sgd.update(weights, std::vector{Tensor::of<float>({1}, {2})});
  sgd.update(weights, std::vector{Tensor::of<float>({1}, {4})});
  return weights[0].data<float>()[0];
}

TEST(Sgd, FollowsTheGradient) { EXPECT_EQ(after_two_steps({.rate = 0.5f}), 1 - 1 - 2); }

TEST(Sgd, KeepsMomentum) {
  // v: 2, then 0.25 * 2 + 4
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .momentum = 0.25f}), 1 - 1 - 2.25f);
}

TEST(Sgd, LooksAheadWithNesterov) {
  // 2 + 0.25 * 2, then 4 + 0.25 * 4.5
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .momentum = 0.25f, .nesterov = true}),
            1 - 1.25f - 2.5625f);
}

TEST(Sgd, PullsWeightsToZero) {
  // gradients 2 + 1, which brings the weight to -0.5, then 4 - 0.5
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .weight_decay = 1}), 1 - 1.5f - 1.75f);
}

}  // namespace
}  // namespace shoal::train
