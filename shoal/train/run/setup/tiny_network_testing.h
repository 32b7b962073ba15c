// A tiny network for tests, and images that it can tell apart.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/data/dataset.h"

namespace shoal::fit::testing {

inline constexpr int64_t kSide = 4, kClasses = 4;

// Images of 4 x 4 noisy pixels with one bright row: the label is its number.
class Rows : public Dataset {
 public:
  explicit Rows(size_t count, uint64_t seed = 1) : count_(count), seed_(seed) {}
  size_t size() const override { return count_; }
  Result<Example> at(size_t index) const override {
    const RandomStream random = RandomStream(seed_, index);
    const auto label = static_cast<int64_t>(random.below(kClasses, 0));
    Tensor image({DType::kU8, {kSide, kSide, 1}});
    for (size_t i = 0; i < kSide * kSide; ++i) {
      const bool bright = static_cast<int64_t>(i) / kSide == label;
      image.data<uint8_t>()[i] = static_cast<uint8_t>(random.below(80, i + 1) + (bright ? 170 : 0));
    }
    return Example{image, label};
  }
  std::string place(size_t index) const override { return "row " + std::to_string(index); }

 private:
  size_t count_;
  uint64_t seed_;
};

inline Tensor weight(const Shape& shape, uint64_t seed) {
  Tensor tensor({DType::kF32, shape});
  fill_normal(tensor.data<float>(), RandomStream(7, seed), 0.3);
  return tensor;
}

// x [batch, 1, 4, 4] -> Flatten -> fc1 -> Relu -> fc2 [batch, 4], and a Softmax if it is wanted.
inline Graph make_network(int64_t batch, uint64_t seed = 1, bool softmax = false) {
  Graph graph;
  const auto must = [](Result<ValueId> id) {
    SHOAL_CHECK(id.ok());
    return *id;
  };
  ValueId x = graph.add_input("x", {DType::kF32, {batch, 1, kSide, kSide}});
  x = must(graph.add(ops::flatten, {x}, {{"axis", int64_t{1}}}, "flat"));
  const auto layer = [&](const std::string& name, int64_t inputs, int64_t outputs) {
    const ValueId w = graph.add_constant(
        name + ".weight", weight({outputs, inputs}, seed + static_cast<uint64_t>(outputs)));
    const ValueId b = graph.add_constant(name + ".bias", Tensor({DType::kF32, {outputs}}));
    x = must(graph.add(ops::gemm, {x, w, b}, {{"transB", int64_t{1}}}, name));
  };
  layer("fc1", kSide * kSide, 8);
  x = must(graph.add(ops::relu, {x}, {}, "hidden"));
  layer("fc2", 8, kClasses);
  if (softmax) x = must(graph.add(ops::softmax, {x}, {{"axis", int64_t{1}}}, "p"));
  graph.mark_output(x);
  return graph;
}

inline bool same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.type() == y.second.type() &&
           std::ranges::equal(x.second.bytes(), y.second.bytes());
  });
}

}  // namespace shoal::fit::testing
