#include "shoal/cluster/chaos/small_model.h"

#include "shoal/base/math/random.h"
#include "shoal/model/ops/ops.h"

namespace shoal::chaos {
namespace {

constexpr int64_t kSide = 6;

Tensor random_tensor(const Shape& shape, uint64_t number) {
  Tensor tensor({DType::kF32, shape});
  fill_uniform(tensor.data<float>(), RandomStream(7, number), -1, 1);
  return tensor;
}

}  // namespace

Result<Graph> make_small_model(int64_t channels, size_t version) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, channels, kSide, kSide}});
  for (uint64_t layer = 0; layer < 2; ++layer) {
    const Tensor weights = random_tensor({channels, channels, 3, 3}, 100 * (version + 1) + layer);
    const ValueId w = graph.add_constant("w" + std::to_string(layer), weights);
    SHOAL_ASSIGN(x, graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
    SHOAL_ASSIGN(x, graph.add(ops::relu, {x}));
  }
  graph.mark_output(x);
  return graph;
}

Tensor make_small_input(int64_t channels, uint64_t number) {
  return random_tensor({1, channels, kSide, kSide}, number);
}

plan::ClusterProfile slow_workers(int count) {
  plan::ClusterProfile profile;
  for (int i = 0; i < count; ++i) {
    profile.workers.push_back(plan::uniform_worker("worker-" + std::to_string(i), 1, 1));
    profile.links.emplace_back();
  }
  return profile;
}

}  // namespace shoal::chaos
