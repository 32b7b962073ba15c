// Splitting networks, and pipelines of their parts.
#include "shoal/video/keyframe/split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/video/keyframe/keyframe_testing.h"
#include "shoal/video/keyframe/pipeline.h"

namespace shoal::keyframe {
namespace {

constexpr int64_t kHeight = 96, kWidth = 128;

// Features of strides 4 and 8, and a head on each: outputs are flat, as those of detectors.
struct TwoScales {
  Graph graph;
  ValueId early, fine, coarse;
};

TwoScales two_scales() {
  TwoScales result;
  Graph& graph = result.graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 3, kHeight, kWidth}});
  result.early = add_conv(graph, x, 8, 3, 2, 1);
  result.fine = add_conv(graph, result.early, 16, 3, 2, 2);
  const ValueId skip = add_conv(graph, result.fine, 16, 3, 1, 3);
  result.coarse = add_conv(graph, *graph.add(ops::add, {result.fine, skip}), 32, 3, 2, 4);
  for (const ValueId at : {result.fine, result.coarse}) {
    const ValueId y = add_conv(graph, at, 4, 1, 1, 5);
    graph.mark_output(*graph.add(ops::flatten, {y}));
  }
  return result;
}

TEST(Split, ComputesInTwoPartsWhatTheWholeDoes) {
  const auto device = make_cpu_device({.threads = 1});
  const TwoScales result = two_scales();
  const Tensor input = scene({}, kHeight, kWidth);
  const auto whole = run(*compile(*device, result.graph), std::span(&input, 1));
  for (const std::vector<ValueId>& at :
       {std::vector{result.early}, std::vector{result.coarse, result.fine}}) {
    const auto split = split_at(result.graph, at);
    ASSERT_TRUE(split.ok()) << split.status().message();
    EXPECT_EQ(split->task.inputs().size(), at.size());
    const auto features = run(*compile(*device, split->features), std::span(&input, 1));
    const auto outputs = run(*compile(*device, split->task), features);
    ASSERT_EQ(outputs.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_LE(largest_difference(outputs[i], whole[i]), 1e-5);
    }
    int64_t all = 0;
    for (const Node& node : result.graph.nodes()) all += macs(result.graph, node);
    EXPECT_EQ(split->features_macs + split->task_macs, all);
  }
}

TEST(Split, RefusesValuesThatAreNoCut) {
  const TwoScales result = two_scales();
  // The head of the fine features reads around the coarse ones.
  EXPECT_EQ(split_at(result.graph, std::vector{result.coarse}).status().code(),
            Code::kInvalidArgument);
  // With all of these, nothing needs the first.
  EXPECT_EQ(
      split_at(result.graph, std::vector{result.early, result.fine, result.coarse}).status().code(),
      Code::kInvalidArgument);
}

TEST(Split, FindsTheFirstPlaceAfterWhichLittleIsLeft) {
  const TwoScales result = two_scales();
  // After the first layer nearly all is left, after the backbone only the heads.
  EXPECT_EQ(*find_cut(result.graph, {.task_share = 1}),
            std::vector<ValueId>{ValueId(result.graph.nodes()[0].outputs[0])});
  const auto cut = find_cut(result.graph, {.task_share = 0.2});
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->size(), 2u);
  EXPECT_EQ(std::ranges::count(*cut, result.fine), 1);
  const auto split = split_at(result.graph, *cut);
  ASSERT_TRUE(split.ok());
  EXPECT_LE(split->task_macs, (split->features_macs + split->task_macs) / 5);
  // One value only: before the network forks, which leaves more.
  const auto single = find_cut(result.graph, {.task_share = 0.2, .most_values = 1});
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single->size(), 1u);
  EXPECT_TRUE(split_at(result.graph, *single).ok());
}

TEST(Split, SaysThatAVectorIsNoImage) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 8}});
  graph.mark_output(*graph.add(ops::relu, {x}));
  EXPECT_EQ(find_cut(graph).status().code(), Code::kUnsupported);
}

// Key frames are answered by the whole network; frames of a still scene by the same features.
TEST(Pipeline, AnswersKeyFramesAndStillOnesAsTheNetwork) {
  const auto device = make_cpu_device({.threads = 1});
  const TwoScales result = two_scales();
  const auto whole = compile(*device, result.graph);
  const auto pipeline =
      Pipeline::open(result.graph, *device, {.schedule = {.least = 4, .most = 4}});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().message();
  EXPECT_LT((*pipeline)->task_macs(), (*pipeline)->features_macs() / 4);
  EXPECT_EQ((*pipeline)->macs_share(), 1);
  for (size_t frame = 0; frame < 12; ++frame) {
    const bool moves = frame >= 8;
    const Tensor input =
        scene({.background_x = moves ? static_cast<int64_t>(frame) : 0}, kHeight, kWidth);
    const auto answer = (*pipeline)->run(input);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->is_key, frame % 4 == 0);
    EXPECT_EQ(answer->key, frame / 4 * 4);
    const auto expected = run(*whole, std::span(&input, 1));
    for (size_t i = 0; i < expected.size(); ++i) {
      const double error = relative_distance(answer->outputs[i], expected[i]);
      EXPECT_LE(error, !moves || answer->is_key ? 1e-5 : 0.5) << frame;
      if (moves && !answer->is_key) {
        EXPECT_GT(error, 1e-5);
      }
    }
  }
  const auto task = static_cast<double>((*pipeline)->task_macs());
  const double all = task + static_cast<double>((*pipeline)->features_macs());
  EXPECT_NEAR((*pipeline)->macs_share(), 0.25 + 0.75 * task / all, 1e-9);
}

// What is seen of a scene that moves is nearer to the truth than what was there before.
TEST(Pipeline, CarriesFeaturesAlong) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph network = stride16_network(kHeight, kWidth);
  const auto whole = compile(*device, network);
  const auto pipeline = Pipeline::open(
      network, *device, {.schedule = {.least = 50, .most = 50}, .at = {network.outputs()[0]}});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().message();
  // Without the edge, where nothing is known of what comes into the image.
  const auto inner = [](const Tensor& features) {
    return crop(features, {{0, 0, 1, 2}, {1, 8, kHeight / 16 - 1, kWidth / 16 - 1}});
  };
  Tensor first;
  double warped = 0, stale = 0;
  for (int64_t frame = 0; frame < 8; ++frame) {
    const Tensor input = scene({.background_x = 3 * frame}, kHeight, kWidth);
    const Tensor expected = inner(run(*whole, std::span(&input, 1))[0]);
    const auto answer = (*pipeline)->run(input);
    ASSERT_TRUE(answer.ok());
    if (frame == 0) first = expected;
    warped += relative_distance(inner(answer->outputs[0]), expected);
    stale += relative_distance(first, expected);
  }
  EXPECT_LT(warped, 0.5 * stale);
}

// With the motion that a codec would give, as with the flow that is estimated.
TEST(Pipeline, TakesMotionThatOthersKnow) {
  const auto device = make_cpu_device({.threads = 1});
  const Graph network = stride16_network(kHeight, kWidth);
  const PipelineOptions options{.schedule = {.least = 50, .most = 50},
                                .at = {network.outputs()[0]}};
  const auto estimating = Pipeline::open(network, *device, options);
  const auto told = Pipeline::open(network, *device, options);
  ASSERT_TRUE(estimating.ok() && told.ok());
  Flow step = no_flow(kHeight, kWidth);
  for (Vector& one : step.vectors) one = {-4, 0};  // where it was in the frame before
  for (int64_t frame = 0; frame < 6; ++frame) {
    const Tensor input = scene({.background_x = 4 * frame}, kHeight, kWidth);
    const auto a = (*estimating)->run(input), b = (*told)->run(input, &step);
    ASSERT_TRUE(a.ok() && b.ok());
    const auto inner = [](const Tensor& features) {
      return crop(features, {{0, 0, 1, 3}, {1, 8, kHeight / 16 - 1, kWidth / 16 - 1}});
    };
    EXPECT_LT(relative_distance(inner(b->outputs[0]), inner(a->outputs[0])), 0.05) << frame;
    EXPECT_NEAR(b->motion.mean, 4 * static_cast<double>(frame), 1e-3);
  }
  const Flow other = no_flow(kHeight, kWidth + 16);
  EXPECT_EQ((*told)->run(scene({}, kHeight, kWidth), &other).status().code(),
            Code::kInvalidArgument);
}

// Key frames of a scene in which a square moves: nearly those of the whole network, at a part of
// its cost; and where nothing moves, nothing is computed.
TEST(Pipeline, ComputesKeyFramesWhereTheImageChanged) {
  constexpr int64_t kTall = 256, kLong = 384;
  const auto device = make_cpu_device({.threads = 1});
  const Graph network = stride16_network(kTall, kLong);
  const auto whole = compile(*device, network);
  const PipelineOptions options{
      .schedule = {.least = 1, .most = 1}, .at = {network.outputs()[0]}, .sparse = true};
  const auto pipeline = Pipeline::open(network, *device, options);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().message();
  Tensor first;
  double stale = 0, worst = 0;
  constexpr int64_t kFrames = 4;
  const auto frame_at = [&](int64_t frame) {
    return scene({.top = 40, .left = 40 + 20 * frame, .side = 48}, kTall, kLong);
  };
  for (int64_t frame = 0; frame < kFrames; ++frame) {
    const Tensor input = frame_at(frame);
    const Tensor expected = run(*whole, std::span(&input, 1))[0];
    const auto answer = (*pipeline)->run(input);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_TRUE(answer->is_key);
    if (frame == 0) first = expected;
    stale = std::max(stale, relative_distance(first, expected));
    worst = std::max(worst, relative_distance(answer->outputs[0], expected));
  }
  EXPECT_LT(worst, stale / 5);
  EXPECT_LT((*pipeline)->macs_share(), 0.85);
  const double before = (*pipeline)->macs_share();
  const Tensor last = frame_at(kFrames - 1);
  for (int64_t i = 0; i < kFrames; ++i) ASSERT_TRUE((*pipeline)->run(last).ok());
  EXPECT_NEAR((*pipeline)->macs_share(), before / 2, 1e-9);
  const PipelineOptions both{.asynchronous = true, .sparse = true};
  EXPECT_EQ(Pipeline::open(network, *device, both).status().code(), Code::kInvalidArgument);
}

TEST(Pipeline, AnswersFromCompleteFeaturesInAsynchronousOrder) {
  const auto device = make_cpu_device({.threads = 1});
  const TwoScales result = two_scales();
  const auto pipeline = Pipeline::open(result.graph, *device,
                                       {.schedule = {.least = 5, .most = 5}, .asynchronous = true});
  ASSERT_TRUE(pipeline.ok());
  size_t last = 0;
  for (size_t frame = 0; frame < 60; ++frame) {
    const Tensor input = scene({.background_x = static_cast<int64_t>(frame % 7)}, kHeight, kWidth);
    const auto answer = (*pipeline)->run(input);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->key % 5, 0u);
    EXPECT_LE(answer->key, frame);
    EXPECT_GE(answer->key, last);
    last = answer->key;
  }
  EXPECT_GT(last, 0u);
}

TEST(Pipeline, IsAskedForInWords) {
  EXPECT_FALSE(parse_key_frames("off")->has_value());
  EXPECT_FALSE((*parse_key_frames("auto"))->asynchronous);
  EXPECT_LT((*parse_key_frames("auto:async"))->schedule.least,
            (*parse_key_frames("auto:async"))->schedule.most);
  const auto seven = *parse_key_frames("7:async");
  EXPECT_TRUE(seven->asynchronous);
  EXPECT_FALSE(seven->sparse);
  EXPECT_TRUE((*parse_key_frames("7:sparse"))->sparse);
  EXPECT_EQ(seven->schedule.least, 7u);
  EXPECT_EQ(seven->schedule.most, 7u);
  for (const char* const wrong : {"", "0", "-1", "7:", ":async", "off:async", "7x", "1e3"}) {
    EXPECT_EQ(parse_key_frames(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

TEST(Pipeline, RefusesWhatItCannotWatch) {
  const auto device = make_cpu_device({.threads = 1});
  const TwoScales result = two_scales();
  EXPECT_EQ(Pipeline::open(result.graph, *device, {.schedule = {.least = 0}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Pipeline::open(stride16_network(16, 64), *device).status().code(), Code::kUnsupported);
  const auto pipeline = Pipeline::open(result.graph, *device);
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ((*pipeline)->run(scene({}, kHeight, kWidth + 1)).status().code(),
            Code::kInvalidArgument);
  EXPECT_TRUE((*pipeline)->run(scene({}, kHeight, kWidth)).ok());
}

}  // namespace
}  // namespace shoal::keyframe
