#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/step/graph/features.h"

namespace shoal::shrink {
namespace {

using Teaching = Shrinking;

// x [n, 1, 4, 4] -> two convolutions of two sizes -> scores.
Graph convolutions() {
  Graph graph;
  const auto weight = [&](const char* name, const Shape& shape) {
    return graph.add_constant(name, fit::testing::weight(shape, static_cast<uint64_t>(name[0])));
  };
  const std::vector<int64_t> pads{1, 1, 1, 1}, two{2, 2};
  ValueId x = graph.add_input("x", {DType::kF32, {1, 1, 4, 4}});
  x = *graph.add(ops::conv, {x, weight("a", {6, 1, 3, 3})}, {{"pads", pads}});
  x = *graph.add(ops::relu, {x}, {}, "end1");
  x = *graph.add(ops::conv, {x, weight("b", {8, 6, 3, 3})}, {{"pads", pads}, {"strides", two}});
  x = *graph.add(ops::relu, {x}, {}, "end2");
  x = *graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}});
  graph.mark_output(*graph.add(ops::gemm, {x, weight("c", {32, 4})}));
  return graph;
}

TEST_F(Teaching, LearnsFeaturesOfTheChannelsThatStay) {
  const Model model = model_of(convolutions());
  ShrinkOptions all = options();
  all.controls = true;
  all.out = out_;
  const auto bytes_with = [&](float features, Importance importance, Teacher teacher) {
    all.distill_features = features;
    all.importance = importance;
    all.teacher = teacher;
    const auto result = shrink({*device_, *device_}, model, data_, all);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return written();
  };
  for (const Teacher teacher : {Teacher::kDense, Teacher::kControl}) {
    const std::string without = bytes_with(0, Importance::kTaylor, teacher);
    EXPECT_NE(bytes_with(1, Importance::kTaylor, teacher), without);
  }
  all.teacher = Teacher::kNone;
  all.recipe.loss.distill = 0;
  EXPECT_EQ(shrink({*device_, *device_}, model, data_, all).status().code(),
            Code::kInvalidArgument);
  all = options();
  all.distill_features = 1;
  all.importance = Importance::kTucker;
  EXPECT_EQ(check(all).code(), Code::kInvalidArgument);
  all.distill_features = 0;
  EXPECT_TRUE(check(all).ok());
  all = options();  // a network that computes no images
  all.distill_features = 1;
  EXPECT_EQ(run(all).status().code(), Code::kInvalidArgument);
}

// What a teacher gives is what it computes, without the channels of the units that went.
TEST_F(Teaching, TeachersGiveTheEndsOfTheirStages) {
  const Graph graph = convolutions();
  const auto groups = compress::find_groups(graph);
  ASSERT_TRUE(groups.ok());
  const std::vector<size_t> units{0, 4, 7};  // of the first group, and of the second
  const auto smaller = compress::remove(graph, *groups, units);
  ASSERT_TRUE(smaller.ok());
  const StageChannels gone = channels_of(graph, *groups, units);
  const Model model = model_of(graph);
  const auto teacher = with_features(as_given(model), gone)(1);
  ASSERT_TRUE(teacher.ok()) << teacher.status().message();
  const std::vector<ValueId> ends = train::stage_ends(*smaller);
  ASSERT_EQ(teacher->graph.outputs().size(), 1 + ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(teacher->graph[teacher->graph.outputs()[i + 1]].type, (*smaller)[ends[i]].type);
  }
  EXPECT_EQ(gone, (StageChannels{{0, 4}, {1}}));
  for (const StageChannels& wrong :
       {StageChannels{{}}, StageChannels{{6}, {}}, StageChannels{{0, 1, 2, 3, 4, 5}, {}}}) {
    EXPECT_EQ(with_features(as_given(model), wrong)(1).status().code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(with_features(as_given(model_), {})(1).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::shrink
