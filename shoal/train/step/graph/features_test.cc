#include "shoal/train/step/graph/features.h"

#include <gtest/gtest.h>

#include <string>

#include "shoal/base/math/random.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::train {
namespace {

Graph parse(const std::string& text) {
  auto graph = parse_text(text, ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

// Images of 6 x 6, then of 3 x 3, and one pixel in which they end.
Graph network(int64_t inner = 5) {
  const std::string c = std::to_string(inner);
  return parse("input x f32[4,2,6,6]\nconst a f32[3,2,3,3] = random(1)\nconst b f32[" + c +
               ",3,3,3] = random(2)\nconst w f32[" + c + ",4] = random(3)\n" +
               R"(first = Conv(x, a) pads=[1,1,1,1]
end1 = Relu(first)
const zero i64[1] = [0]
const three i64[1] = [3]
const axis i64[1] = [3]
part = Slice(end1, zero, three, axis)
second = Conv(end1, b) pads=[1,1,1,1] strides=[2,2]
end2 = Relu(second)
pool = GlobalAveragePool(end2)
of_part = GlobalMaxPool(part)
flat = Flatten(pool)
flat_part = Flatten(of_part)
whole = Gemm(flat, w)
const v f32[3,4] = random(4)
y = Gemm(flat_part, v, whole)
output y
)");
}

Tensor random(const Shape& shape, uint64_t seed) {
  Tensor tensor({DType::kF32, shape});
  fill_normal(tensor.data<float>(), RandomStream(seed, 0), 1);
  return tensor;
}

double distance(const Tensor& features, const Tensor& teacher) {
  Graph graph;
  const ValueId x = graph.add_input("x", features.type()), t = graph.add_input("t", teacher.type());
  const auto loss = add_feature_loss(graph, x, t);
  SHOAL_CHECK(loss.ok());
  graph.mark_output(*loss);
  const auto device = make_reference_device();
  std::vector<Tensor> outputs(1);
  SHOAL_CHECK(
      (*device->compile(graph))->run(std::vector<Tensor>{features, teacher}, outputs, {}).ok());
  EXPECT_EQ(outputs[0].shape().rank(), 0u);
  return double{outputs[0].data<float>()[0]};
}

TEST(StageEnds, AreTheLastOfEachSize) {
  const Graph graph = network();
  std::vector<std::string> names;
  for (ValueId id : stage_ends(graph)) names.push_back(graph[id].name);
  EXPECT_EQ(names, (std::vector<std::string>{"end1", "end2"}));
}

TEST(FeatureLoss, CountsInVariancesOfTheTeacher) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Tensor teacher = random({3, 4, 5, 2}, seed);
    for (size_t i = 0; i < teacher.data<float>().size(); ++i) {
      teacher.data<float>()[i] += static_cast<float>(i / 10 % 4);  // a mean for each channel
    }
    EXPECT_NEAR(distance(teacher, teacher), 0, 1e-6);
    // What is constant in each channel knows nothing: its distance is 1, whatever the scale.
    Tensor means = teacher.clone(), far = teacher.clone(), large = teacher.clone();
    for (int64_t channel = 0; channel < 4; ++channel) {
      double sum = 0;
      const auto each = [&](auto f) {
        for (int64_t n = 0; n < 3; ++n) {
          for (int64_t i = 0; i < 10; ++i) f(static_cast<size_t>((n * 4 + channel) * 10 + i));
        }
      };
      each([&](size_t i) { sum += double{teacher.data<float>()[i]}; });
      each([&](size_t i) { means.data<float>()[i] = static_cast<float>(sum / 30); });
    }
    EXPECT_NEAR(distance(means, teacher), 1, 1e-4);
    for (float& x : far.data<float>()) x *= 7;
    for (float& x : large.data<float>()) x *= 14;
    EXPECT_NEAR(distance(far, large),
                distance(teacher,
                         [&] {
                           Tensor twice = teacher.clone();
                           for (float& x : twice.data<float>()) x *= 2;
                           return twice;
                         }()),
                1e-3);
  }
}

TEST(FeatureLoss, RefusesOtherSizes) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2, 3, 4, 4}});
  for (const Shape& other :
       {Shape{3, 3, 4, 4}, Shape{2, 2, 4, 4}, Shape{2, 3, 5, 4}, Shape{2, 3, 4, 5}, Shape{2}}) {
    const ValueId t = graph.add_input("t", {DType::kF32, other});
    EXPECT_EQ(add_feature_loss(graph, x, t).status().code(), Code::kInvalidArgument);
  }
}

// The step's loss is the plain one and the weighted mean of what each stage is away by, and a
// gradient step towards a teacher brings the network nearer to it.
TEST(FeatureLoss, IsAPartOfAStep) {
  const auto device = make_reference_device();
  for (const int64_t inner : {5, 2}) {
    const Graph graph = network(inner);
    const std::vector<Tensor> features = {random({4, 3, 6, 6}, 3), random({4, inner, 3, 3}, 4)};
    StepOptions options{.distill_features = 2,
                        .teacher_features = {features[0].type(), features[1].type()}};
    auto taught = Trainer::create(*device, graph, {.optimizer = {.rate = 0.01F}, .step = options});
    ASSERT_TRUE(taught.ok()) << taught.status().message();
    auto plain = Trainer::create(*device, graph, {});
    ASSERT_TRUE(plain.ok());
    Graph open = graph;
    const std::vector<ValueId> ends = stage_ends(graph);
    for (ValueId end : ends) open.mark_output(end);
    const Tensor images = random({4, 2, 6, 6}, 5);
    std::vector<Tensor> outputs(3);
    ASSERT_TRUE((*device->compile(open))->run(std::span(&images, 1), outputs, {}).ok());
    const double away = distance(outputs[1], features[0]) + distance(outputs[2], features[1]);
    std::vector<Tensor> targets{Tensor::of<int64_t>({4}, {0, 3, 1, 2})};
    const auto before = plain->compute(images, targets);
    targets.insert(targets.end(), features.begin(), features.end());
    const auto first = taught->step(images, targets);
    ASSERT_TRUE(before.ok() && first.ok());
    EXPECT_NEAR(*first, double{*before} + 2 * away / 2, 1e-4);
    const auto second = taught->step(images, targets);
    ASSERT_TRUE(second.ok());
    EXPECT_LT(*second, *first);
  }
}

TEST(FeatureLoss, RefusesTeachersWithoutMeaning) {
  const auto code = [](StepOptions options) {
    return make_step_graph(network(), options).status().code();
  };
  const TensorType tensor_type{DType::kF32, {4, 3, 6, 6}}, two{DType::kF32, {4, 5, 3, 3}};
  EXPECT_EQ(code({.distill_features = 1, .teacher_features = {tensor_type, two}}), Code::kOk);
  EXPECT_EQ(code({.distill_features = 1}), Code::kInvalidArgument);
  EXPECT_EQ(code({.teacher_features = {tensor_type, two}}), Code::kInvalidArgument);
  EXPECT_EQ(code({.distill_features = 1, .teacher_features = {tensor_type}}),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.distill_features = 1, .teacher_features = {two, tensor_type}}),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.distill_features = -1, .teacher_features = {tensor_type, two}}),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::train
