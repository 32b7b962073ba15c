// The networks of the thesis [Hadidi 2021, 5.1], whose parameter totals are known. Weights are
// zeros: the tests count them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/ops.h"

namespace shoal::branch {

class Layers {
 public:
  explicit Layers(const Shape& image) { x_ = graph_.add_input("input", {DType::kF32, image}); }

  Layers& conv(int64_t filters, int64_t kernel, int64_t stride = 1, int64_t pad = 0) {
    const ValueId w = weight({filters, channels(), kernel, kernel}), b = weight({filters});
    return add(ops::conv, {x_, w, b},
               {{"strides", std::vector<int64_t>{stride, stride}},
                {"pads", std::vector<int64_t>{pad, pad, pad, pad}}});
  }
  Layers& pool(int64_t kernel, int64_t stride) {
    return add(ops::max_pool, {x_},
               {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                {"strides", std::vector<int64_t>{stride, stride}}});
  }
  Layers& relu() { return add(ops::relu, {x_}); }
  Layers& flatten() { return add(ops::flatten, {x_}); }
  Layers& fc(int64_t outputs) {
    const ValueId w = weight({outputs, channels()}), b = weight({outputs});
    return add(ops::gemm, {x_, w, b}, {{"transB", int64_t{1}}});
  }

  Graph finish() {
    graph_.mark_output(x_);
    return std::move(graph_);
  }

 private:
  int64_t channels() const { return graph_[x_].type.shape[1]; }
  ValueId weight(const Shape& shape) {
    return graph_.add_constant("w" + std::to_string(weights_++), Tensor({DType::kF32, shape}));
  }
  Layers& add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    x_ = *graph_.add(op, std::move(inputs), std::move(attributes));
    return *this;
  }

  Graph graph_;
  ValueId x_;
  int weights_ = 0;
};

inline Graph lenet5_of_1998() {
  return Layers({1, 1, 32, 32})
      .conv(6, 5)
      .relu()
      .pool(2, 2)
      .conv(16, 5)
      .relu()
      .pool(2, 2)
      .conv(120, 5)
      .relu()
      .flatten()
      .fc(84)
      .relu()
      .fc(10)
      .finish();
}

inline Graph cifarnet(int64_t classes) {
  return Layers({1, 3, 32, 32})
      .conv(64, 5)
      .relu()
      .pool(2, 2)
      .conv(64, 5)
      .relu()
      .pool(2, 2)
      .flatten()
      .fc(384)
      .relu()
      .fc(192)
      .relu()
      .fc(classes)
      .finish();
}

// Of 5 x 5 pixels after the convolutions.
inline Graph vgg_s(int64_t classes) {
  return Layers({1, 3, 11, 11})
      .conv(96, 7)
      .relu()
      .conv(256, 5, 1, 2)
      .relu()
      .conv(512, 3, 1, 1)
      .relu()
      .conv(512, 3, 1, 1)
      .relu()
      .conv(512, 3, 1, 1)
      .relu()
      .flatten()
      .fc(4096)
      .relu()
      .fc(4096)
      .relu()
      .fc(classes)
      .finish();
}

inline Graph alexnet_v2() {
  return Layers({1, 3, 224, 224})
      .conv(64, 11, 4)
      .relu()
      .pool(3, 2)
      .conv(192, 5, 1, 2)
      .relu()
      .pool(3, 2)
      .conv(384, 3, 1, 1)
      .relu()
      .conv(384, 3, 1, 1)
      .relu()
      .conv(256, 3, 1, 1)
      .relu()
      .pool(3, 2)
      .flatten()
      .fc(4096)
      .relu()
      .fc(4096)
      .relu()
      .fc(1000)
      .finish();
}

inline Graph vgg16() {
  Layers layers({1, 3, 224, 224});
  for (const auto& [convolutions, filters] :
       {std::pair{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}) {
    for (int i = 0; i < convolutions; ++i) layers.conv(filters, 3, 1, 1).relu();
    layers.pool(2, 2);
  }
  return layers.flatten().fc(4096).relu().fc(4096).relu().fc(1000).finish();
}

}  // namespace shoal::branch
