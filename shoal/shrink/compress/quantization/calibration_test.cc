#include "shoal/shrink/compress/quantization/calibration.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/methods/methods.h"
#include "shoal/shrink/compress/quantization/quantize.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

// y = 2x, so that its range is known.
Graph doubling() {
  return parse(R"(
input x f32[1,4]
const w f32[4,4] = [2,0,0,0,0,2,0,0,0,0,2,0,0,0,0,2]
y = MatMul(x, w)
z = Relu(y)
v = MatMul(z, w)
output v
)");
}

ValueId id_of(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    if (graph[static_cast<ValueId>(i)].name == name) return static_cast<ValueId>(i);
  }
  return kNoValue;
}

CalibrationData inputs_of(std::vector<Tensor> all) {
  const size_t count = all.size();
  return {count, [all = std::move(all)](size_t i) -> Result<std::vector<Tensor>> {
            return std::vector<Tensor>{all[i]};
          }};
}

TEST(Calibration, SeesTheRangesOfAllExamples) {
  const Graph graph = doubling();
  const auto device = make_reference_device();
  auto calibration = Calibration::start(graph, *device);
  ASSERT_TRUE(calibration.ok());
  std::vector<size_t> progress;
  ASSERT_TRUE(calibration
                  ->observe(inputs_of({Tensor::of<float>({1, 4}, {-1, 0, 1, 2}),
                                       Tensor::of<float>({1, 4}, {-3, 0, 1, 0.5f})}),
                            [&](size_t i) { progress.push_back(i); })
                  .ok());
  EXPECT_EQ(progress, (std::vector<size_t>{0, 1}));
  const Ranges ranges = calibration->ranges();
  ASSERT_TRUE(ranges.contains(id_of(graph, "x")) && ranges.contains(id_of(graph, "z")));
  // A few values leave nothing to clip: the range is what was seen, but for the width of a bin.
  const Range x = ranges.at(id_of(graph, "x")), z = ranges.at(id_of(graph, "z"));
  EXPECT_NEAR(x.low, -3, 0.05);
  EXPECT_NEAR(x.high, 2, 0.05);
  EXPECT_EQ(z.low, 0);
  EXPECT_NEAR(z.high, 4, 0.05);
}

TEST(Calibration, EndsWithTheExampleThatFails) {
  const Graph graph = doubling();
  const auto device = make_reference_device();
  auto calibration = Calibration::start(graph, *device);
  ASSERT_TRUE(calibration.ok());
  const CalibrationData broken{3, [](size_t i) -> Result<std::vector<Tensor>> {
                                 if (i == 1) return Status(Code::kCorrupt, "example 1");
                                 return std::vector<Tensor>{Tensor({DType::kF32, {1, 4}})};
                               }};
  EXPECT_EQ(calibration->observe(broken).message(), "example 1");
}

TEST(Calibration, RandomExamplesAreTheSameEachTimeAndDiffer) {
  const Graph graph = doubling();
  const CalibrationData data = random_examples(graph, 3);
  EXPECT_EQ(data.count, 3u);
  const auto first_of = [&](size_t i) {
    const auto inputs = data.at(i);
    SHOAL_CHECK(inputs.ok() && inputs->size() == 1);
    EXPECT_EQ((*inputs)[0].type(), graph[graph.inputs()[0]].type);
    return (*inputs)[0].data<float>()[0];
  };
  EXPECT_EQ(first_of(0), first_of(0));
  EXPECT_NE(first_of(0), first_of(1));
}

TEST(Magnitudes, AreTheLargestOfEachNode) {
  const Graph graph = doubling();
  const auto device = make_reference_device();
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 4}, {-3, 0, 1, 2})};
  const auto largest = largest_magnitudes(graph, *device, inputs);
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest->at("y"), 6);  // of -6
  EXPECT_EQ(largest->at("z"), 4);
  EXPECT_EQ(largest->at("v"), 8);  // an output of the graph, too
  EXPECT_FALSE(largest->contains("x"));
}

TEST(Magnitudes, OfARandomInputAreTheSameInEveryCall) {
  const Graph graph = doubling();
  const auto device = make_reference_device();
  const auto largest = random_magnitudes(graph, *device);
  ASSERT_TRUE(largest.ok());
  EXPECT_GT(largest->at("y"), 0);
  EXPECT_EQ(*random_magnitudes(graph, *device), *largest);
}

TEST(Methods, AreFoundByName) {
  ASSERT_FALSE(methods().empty());
  for (const Method& method : methods()) EXPECT_EQ(find_method(method.name), &method);
  EXPECT_EQ(find_method("unknown"), nullptr);
  ASSERT_NE(find_method("int8"), nullptr);
  EXPECT_EQ(find_method("int8")->needs, kExamples);
}

TEST(Methods, Int8CountsWhatItQuantised) {
  const Graph graph = doubling();
  const auto device = make_reference_device();
  const auto result = find_method("int8")->run(graph, {*device, random_examples(graph)});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->parts, 2u);
  EXPECT_EQ(result->compressed, 2u);
}

TEST(Methods, Int8RefusesAGraphWithoutProducts) {
  const Graph graph = parse("input x f32[4]\ny = Relu(x)\noutput y\n");
  const auto device = make_reference_device();
  const auto result = find_method("int8")->run(graph, {*device, random_examples(graph)});
  EXPECT_EQ(result.status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::compress
