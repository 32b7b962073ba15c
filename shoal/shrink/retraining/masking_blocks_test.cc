#include "shoal/shrink/retraining/masking_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/train/run/setup/tiny_network_testing.h"
#include "shoal/train/step/trainer/trainer.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::shrink {
namespace {

constexpr int64_t kBatch = 6;

// Two convolutions whose outputs are concatenated, and a third one: a value with units of two
// groups, and others with one.
Graph convolutions() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {kBatch, 2, 4, 4}});
  const auto conv = [&](ValueId from, int64_t inputs, int64_t outputs, const char* name) {
    const ValueId w = graph.add_constant(
        name, fit::testing::weight({outputs, inputs, 3, 3}, static_cast<uint64_t>(outputs)));
    return *graph.add(ops::relu, {*graph.add(ops::conv, {from, w},
                                             {{"pads", std::vector<int64_t>{1, 1, 1, 1}}})});
  };
  const ValueId both =
      *graph.add(ops::concat, {conv(x, 2, 5, "a"), conv(x, 2, 10, "b")}, {{"axis", int64_t{1}}});
  ValueId y = conv(both, 15, 7, "c");
  y = *graph.add(ops::flatten, {y}, {{"axis", int64_t{1}}});
  const ValueId fc = graph.add_constant("fc", fit::testing::weight({7 * 16, 3}, 3));
  graph.mark_output(*graph.add(ops::gemm, {y, fc}));
  return graph;
}

class MaskingBlocks : public ::testing::Test {
 protected:
  std::vector<Tensor> run(const Graph& graph) {
    auto outputs = compress::answers(graph, inputs_, *device_);
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    return *outputs;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  const Graph graph_ = convolutions();
  const compress::Groups groups_ = *compress::find_groups(graph_);
  std::mt19937 rng_{1};
  const std::vector<Tensor> inputs_ = random_inputs(graph_, rng_);
};

// DP-2 of docs/references.md: the lowest scores are masked, exactly a fifth of what is left and
// what is gone.
TEST_F(MaskingBlocks, MaskTheLowestScores) {
  ASSERT_EQ(groups_.groups.size(), 3u);
  const compress::Group& wide = groups_.groups[1];
  ASSERT_EQ(wide.size(), 10u);
  for (const std::vector<size_t>& gone :
       {std::vector<size_t>{}, {wide.begin + 3}, {wide.begin, wide.begin + 4, wide.begin + 9}}) {
    const auto blocks = with_masking_blocks(graph_, groups_, gone, {.shows_masks = true});
    ASSERT_TRUE(blocks.ok()) << blocks.status().message();
    ASSERT_EQ(blocks->groups, (std::vector<size_t>{0, 1, 2}));
    const std::vector<Tensor> outputs = run(blocks->graph);
    ASSERT_EQ(outputs.size(), 7u);
    const size_t left = 10 - gone.size();
    const size_t masked = gone.size() + std::max<size_t>(left / 5, 1);
    const auto mask = outputs[3].data<float>(), scores = outputs[4].data<float>();
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(mask, 0.0F)), masked);
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(mask, 1.0F)), 10 - masked);
    float least_kept = 1, most_masked = 0;
    for (size_t unit = 0; unit < 10; ++unit) {
      const bool is_gone = std::ranges::find(gone, wide.begin + unit) != gone.end();
      if (is_gone) {
        EXPECT_EQ(mask[unit], 0);
      } else if (mask[unit] == 0) {
        most_masked = std::max(most_masked, scores[unit]);
      } else {
        least_kept = std::min(least_kept, scores[unit]);
      }
    }
    EXPECT_LE(most_masked, least_kept);
  }
}

// DP-3 of docs/references.md: where no score decides, the network with masks is the one without the
// units.
TEST_F(MaskingBlocks, MaskedEqualsRemoved) {
  for (int i = 0; i < 10; ++i) {
    // All but one unit of each group, so that nothing is left to choose.
    std::vector<size_t> gone;
    for (const compress::Group& group : groups_.groups) {
      const size_t stays = group.begin + rng_() % group.size();
      for (size_t unit = group.begin; unit < group.end; ++unit) {
        if (unit != stays) gone.push_back(unit);
      }
    }
    const auto blocks = with_masking_blocks(graph_, groups_, gone);
    const auto smaller = compress::remove(graph_, groups_, gone);
    ASSERT_TRUE(blocks.ok() && smaller.ok());
    EXPECT_LE(relative_error(run(blocks->graph), run(*smaller)), 1e-5);
  }
}

// DP-4 of docs/references.md. A score has the gradient of the mask times the slope of a sigmoid,
// which is a quarter where all scores are 0. With their bias as the parameter, the former is what
// the loss changes by if the mask of a unit does.
TEST_F(MaskingBlocks, ScoresLearnStraightThrough) {
  const auto blocks = with_masking_blocks(graph_, groups_, {});
  ASSERT_TRUE(blocks.ok());
  const std::map<std::string, Tensor> zero = {
      {"masking_block.2.2.weight", Tensor({DType::kF32, {4, 7}})}};
  const Graph network = *train::with_constants(blocks->graph, zero);
  auto trainer = train::Trainer::create(*device_, network, {});
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const Tensor labels = Tensor::of<int64_t>({kBatch}, {0, 1, 2, 0, 1, 2});
  const auto loss_of = [&](const Graph& graph) {
    return static_cast<double>(
        *train::Trainer::create(*device_, graph, {})->compute(inputs_[0], std::span(&labels, 1)));
  };
  const double loss = *trainer->compute(inputs_[0], std::span(&labels, 1));
  EXPECT_TRUE(std::isfinite(loss));
  // The units of the last group are read by one product alone. Scaling what a kept unit gives is
  // the same as changing its mask.
  const compress::Group& last = groups_.groups[2];
  const auto shown = with_masking_blocks(graph_, groups_, {}, {.shows_masks = true});
  const Tensor mask = run(*train::with_constants(shown->graph, zero))[5];
  const auto& names = trainer->parameters();
  const auto bias = std::ranges::find(names, "masking_block.2.2.bias") - names.begin();
  ASSERT_LT(bias, std::ssize(names));
  const Tensor gradient = trainer->gradients()[static_cast<size_t>(bias)].clone();
  size_t compared = 0;
  for (size_t unit = 0; unit < last.size(); ++unit) {
    if (mask.data<float>()[unit] == 0) continue;  // a factor of its weights is none of its mask
    ++compared;
    const auto scaled = [&](float factor) {
      Tensor fc = fit::testing::weight({7 * 16, 3}, 3);
      for (size_t i = unit * 16 * 3; i < (unit + 1) * 16 * 3; ++i) fc.data<float>()[i] *= factor;
      return loss_of(*train::with_constants(network, {{"fc", fc}}));
    };
    constexpr float kStep = 1e-2F;
    const double want = (scaled(1 + kStep) - scaled(1 - kStep)) / (2 * double{kStep});
    EXPECT_NEAR(4 * double{gradient.data<float>()[unit]}, want,
                1e-3 * std::max(1.0, std::abs(want)));
  }
  EXPECT_GT(compared, 0u);
}

// A product of two values of the network, in which the batch is not the first axis.
TEST_F(MaskingBlocks, LeaveGroupsAloneThatHaveNoImages) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2, 3, 4}});
  const ValueId w = graph.add_constant("w", fit::testing::weight({4, 5}, 1));
  const ValueId v = graph.add_constant("v", fit::testing::weight({5, 2}, 2));
  ValueId y = *graph.add(ops::mat_mul, {x, w});
  const ValueId shape = graph.add_constant("shape", Tensor::of<int64_t>({2}, {6, 5}));
  y = *graph.add(ops::reshape, {y, shape});
  graph.mark_output(*graph.add(ops::mat_mul, {y, v}));
  const auto groups = compress::find_groups(graph);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->groups.size(), 1u);
  const auto blocks = with_masking_blocks(graph, *groups, {});
  ASSERT_TRUE(blocks.ok()) << blocks.status().message();
  EXPECT_TRUE(blocks->groups.empty());
}

}  // namespace
}  // namespace shoal::shrink
