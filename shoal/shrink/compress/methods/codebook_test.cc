#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/methods/methods.h"
#include "shoal/shrink/compress/units/compress_testing.h"

namespace shoal::compress {
namespace {

class Codebook : public ::testing::Test {
 protected:
  // y = x W, where W is read twice.
  static Graph network(const Tensor& weights) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {1, weights.shape()[0]}});
    const ValueId w = graph.add_constant("w", weights);
    graph.mark_output(*graph.add(ops::mat_mul, {x, w}));
    graph.mark_output(*graph.add(ops::mat_mul, {x, w}));
    return graph;
  }
  Result<Compressed> run(const Graph& graph) {
    return find_method("codebook")->run(graph, {.device = *device_});
  }
  // The weights as a run looks them up: the rows of answers to unit vectors.
  std::vector<float> looked_up(const Graph& graph, int64_t rows) {
    std::vector<float> all;
    for (int64_t row = 0; row < rows; ++row) {
      Tensor x({DType::kF32, {1, rows}});
      x.data<float>()[static_cast<size_t>(row)] = 1;
      const auto answer = answers(graph, {x}, *device_);
      EXPECT_TRUE(answer.ok()) << answer.status().message();
      const auto line = (*answer)[1].data<float>();
      all.insert(all.end(), line.begin(), line.end());
    }
    return all;
  }
  static double squared_error(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
    return sum;
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  std::mt19937 rng_{1};
};

TEST_F(Codebook, LosesNothingOfFewNumbers) {
  Tensor weights({DType::kF32, {40, 30}});
  for (float& x : weights.data<float>()) x = std::ldexp(1.0F, static_cast<int>(rng_() % 200) - 100);
  const auto result = run(network(weights));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->compressed, 1u);  // once for both readers
  EXPECT_TRUE(std::ranges::equal(looked_up(result->graph, 40), weights.data<float>()));
}

// A grid of 256 steps over the range is what a table must beat.
TEST_F(Codebook, IsCloserThanAGrid) {
  Tensor weights({DType::kF32, {64, 64}});
  std::normal_distribution<float> normal;
  for (float& x : weights.data<float>()) x = normal(rng_);
  const auto w = weights.data<float>();
  const auto result = run(network(weights));
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto [low, high] = std::ranges::minmax(w);
  std::vector<float> grid;
  for (float x : w)
    grid.push_back(low + (high - low) / 255 * std::round((x - low) / (high - low) * 255));
  const std::vector<float> found = looked_up(result->graph, 64);
  EXPECT_LT(squared_error(found, w), 0.8 * squared_error(grid, w));
  size_t bytes = 0;
  for (size_t i = 0; i < result->graph.value_count(); ++i) {
    const Value& value = result->graph[static_cast<ValueId>(i)];
    if (value.constant) bytes += value.type.bytes();
  }
  EXPECT_EQ(bytes, 64u * 64 + 4 * 256);
  // Each weight has the nearest number of the table.
  std::vector<float> table = found;
  std::ranges::sort(table);
  for (size_t i = 0; i < w.size(); ++i) {
    const auto nearest =
        std::ranges::min_element(table, {}, [&](float x) { return std::abs(x - w[i]); });
    EXPECT_LE(std::abs(found[i] - w[i]), std::abs(*nearest - w[i]) + 1e-6F);
  }
}

TEST_F(Codebook, LeavesWhatIsSmallOrNoNumber) {
  EXPECT_EQ(run(network(Tensor({DType::kF32, {3, 3}}))).status().code(), Code::kUnsupported);
  Tensor weights({DType::kF32, {40, 30}});
  weights.data<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(run(network(weights)).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::compress
