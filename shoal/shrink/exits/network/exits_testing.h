// Random networks for tests, with blocks, pools, norms and branches.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/exits/network/heads.h"
#include "shoal/shrink/exits/network/places.h"
#include "shoal/shrink/exits/network/stages.h"

namespace shoal::exits::testing {

inline constexpr int64_t kClasses = 5, kSide = 16;

// A random classifier of images [batch, 3, 16, 16], a function of the seed; the batch changes types
// only. Channels are multiples of `unit`.
class RandomNetwork {
 public:
  RandomNetwork(uint64_t seed, int64_t batch, int64_t unit = 1) : rng_(seed), seed_(seed) {
    ValueId x = graph_.add_input("x", {DType::kF32, {batch, 3, kSide, kSide}});
    x = conv(x, 4 * unit);
    for (int i = 0; i < 5; ++i) {
      switch (rng_() % 4) {
        case 0:
          x = conv(x, (4 + static_cast<int64_t>(rng_() % 5)) * unit);
          break;
        case 1:  // a residual block
          x = add(ops::relu, {add(ops::add, {conv(conv(x, channels(x)), channels(x)), x})});
          break;
        case 2: {  // two branches of different depth
          const ValueId branch = conv(x, 3 * unit);
          x = add(ops::concat, {conv(conv(x, 4 * unit), 4 * unit), branch}, {{"axis", int64_t{1}}});
          break;
        }
        default:
          if (graph_[x].type.shape[2] < 4) break;
          x = add(ops::max_pool, {x},
                  {{"kernel_shape", std::vector<int64_t>{2, 2}},
                   {"strides", std::vector<int64_t>{2, 2}}});
      }
    }
    x = add(ops::flatten, {add(ops::global_average_pool, {x})}, {{"axis", int64_t{1}}});
    const ValueId w = constant({kClasses, channels(x)}), b = constant({kClasses});
    graph_.mark_output(add(ops::gemm, {x, w, b}, {{"transB", int64_t{1}}}));
  }

  const Graph& graph() const { return graph_; }

 private:
  int64_t channels(ValueId x) const { return graph_[x].type.shape[1]; }

  ValueId constant(const Shape& shape) {
    Tensor tensor({DType::kF32, shape});
    const int64_t fan_in = shape.rank() > 1 ? shape.count(1, shape.rank()) : 10;
    fill_normal(tensor.data<float>(), RandomStream(seed_, constants_++),
                1 / std::sqrt(static_cast<double>(fan_in)));
    return graph_.add_constant("w" + std::to_string(constants_), std::move(tensor));
  }

  ValueId add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const auto result = graph_.add(op, std::move(inputs), std::move(attributes),
                                   "v" + std::to_string(graph_.nodes().size()));
    SHOAL_CHECK(result.ok());
    return *result;
  }

  // With a norm and a rectifier, or without.
  ValueId conv(ValueId x, int64_t filters) {
    const ValueId w = constant({filters, channels(x), 3, 3});
    x = add(
        ops::conv, {x, w},
        {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    if (rng_() % 2 == 0) {
      Tensor ones({DType::kF32, {filters}});
      std::ranges::fill(ones.data<float>(), 1.F);
      const ValueId scale = constant({filters}), bias = constant({filters});
      const ValueId mean = constant({filters}), variance = graph_.add_constant("variance", ones);
      x = add(ops::batch_normalization, {x, scale, bias, mean, variance}, {{"epsilon", 1e-5F}});
    }
    return rng_() % 4 == 0 ? x : add(ops::relu, {x});
  }

  Graph graph_;
  std::mt19937 rng_;
  uint64_t seed_, constants_ = 0;
};

// Up to three random values where exits can be added.
inline std::vector<std::string> random_places(const Graph& network, uint64_t seed) {
  std::vector<std::string> all, chosen;
  for (const Node& node : network.nodes()) {
    const std::vector<std::string> name{network[node.outputs[0]].name};
    if (find_places(network, name).ok()) all.push_back(name[0]);
  }
  std::mt19937 rng(seed);
  std::ranges::shuffle(all, rng);
  all.resize(std::min<size_t>(all.size(), 1 + seed % 3));
  return all;
}

// A network with random exits, as a function of the batch.
inline MultiExitForBatch random_multi_exit(uint64_t seed, int64_t unit = 1) {
  return [seed, unit](int64_t batch) -> Result<MultiExit> {
    const RandomNetwork network(seed, batch, unit);
    const std::vector<std::string> names = random_places(network.graph(), seed);
    SHOAL_ASSIGN(const std::vector<ValueId> places, find_places(network.graph(), names));
    const auto kind = seed % 2 == 0 ? HeadOptions::Kind::kConv : HeadOptions::Kind::kPool;
    SHOAL_ASSIGN(WithHeads with_heads,
                 add_heads(network.graph(), places, {.kind = kind, .aggregate = seed % 3 != 0}));
    return std::move(with_heads.network);
  };
}

// Images for a network, the same for the same seed.
inline Tensor random_images(const TensorType& tensor_type, int64_t count, uint64_t seed) {
  TensorType type = tensor_type;
  type.shape[0] = count;
  Tensor images(type);
  fill_normal(images.data<float>(), RandomStream(seed, 77), 1);
  return images;
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace shoal::exits::testing
