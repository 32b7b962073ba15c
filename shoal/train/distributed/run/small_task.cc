#include "shoal/train/distributed/run/small_task.h"

#include <algorithm>

#include "shoal/base/math/random.h"
#include "shoal/model/ops/ops.h"

namespace shoal::learn {

Graph SmallTask::network() const {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {samples, inputs}});
  const auto layer = [&](const std::string& name, int64_t from, int64_t to) {
    Tensor weight({DType::kF32, {to, from}});
    fill_normal(weight.data<float>(), RandomStream(7, static_cast<uint64_t>(to)), 0.3);
    const ValueId w = graph.add_constant(name + ".weight", std::move(weight));
    const ValueId b = graph.add_constant(name + ".bias", Tensor({DType::kF32, {to}}));
    x = *graph.add(ops::gemm, {x, w, b}, {{"transB", int64_t{1}}}, name);
  };
  layer("fc1", inputs, hidden);
  if (has_norm) {
    Tensor zeros({DType::kF32, {hidden}}), ones({DType::kF32, {hidden}});
    std::ranges::fill(ones.data<float>(), 1.0f);
    x = *graph.add(ops::batch_normalization,
                   {x, graph.add_constant("scale", ones), graph.add_constant("shift", zeros),
                    graph.add_constant("mean", zeros), graph.add_constant("variance", ones)});
  }
  x = *graph.add(ops::relu, {x});
  layer("fc2", hidden, classes);
  graph.mark_output(x);
  return graph;
}

Result<MicroBatch> SmallTask::examples(int64_t step, int64_t number) const {
  MicroBatch batch{Tensor({DType::kF32, {samples, inputs}}), {Tensor({DType::kI64, {samples}})}};
  const RandomStream random(static_cast<uint64_t>(step), static_cast<uint64_t>(number));
  fill_uniform(batch.inputs.data<float>(), random, -1, 1);
  size_t i = 0;
  for (int64_t& label : batch.targets[0].data<int64_t>()) {
    label = static_cast<int64_t>(random.child(1).below(static_cast<uint64_t>(classes), i++));
  }
  return batch;
}

}  // namespace shoal::learn
