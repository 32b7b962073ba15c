// Builder: builds a network layer by layer. Layers have PyTorch's names ("layer1.0.conv2"), and so
// have their weights ("layer1.0.conv2.weight"); a value has the name of the node that computes it.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/zoo/zoo.h"

namespace shoal::zoo {

// The operator before a layer, for weights that keep activations near one: a ReLU halves the mean
// square, others keep it.
enum class After { kRelu, kLinear };

struct Convolution {
  int64_t filters;
  int64_t kernel;  // along every spatial axis of the input
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t groups = 1;
  bool bias = true;
  After after = After::kRelu;
};

// One entry per spatial axis; pads are the beginnings, then the ends.
struct Window {
  std::vector<int64_t> kernel, strides, pads;

  static Window square(int64_t kernel, int64_t stride, int64_t pad = 0) {
    return {{kernel, kernel}, {stride, stride}, {pad, pad, pad, pad}};
  }
};

// After a layer that cannot be added, later calls do nothing, and finish() returns the error.
class Builder {
 public:
  explicit Builder(const Options& options) : options_(options) {}

  // The published number of channels, and of rows, columns or tokens, as the options change it.
  int64_t wide(int64_t published) const;
  int64_t size(int64_t published);

  ValueId input(std::string name, std::initializer_list<int64_t> shape_of_one);
  // A square image: [batch, before..., published size, published size].
  ValueId image(std::string name, std::initializer_list<int64_t> before, int64_t published);

  ValueId conv(const std::string& name, ValueId x, const Convolution& layer);
  ValueId fc(const std::string& name, ValueId x, int64_t outputs, After after = After::kRelu);
  // y = xW + b over the last axis, whatever the rank: MatMul and Add, as PyTorch exports it.
  ValueId linear(const std::string& name, ValueId x, int64_t outputs, After after);
  // Statistics and weights are random, scaled so that the mean square is multiplied by about
  // scale^2.
  ValueId batch_norm(ValueId x, float scale = 1);

  // Named after their input: "conv1.relu".
  ValueId relu(ValueId x);
  ValueId relu6(ValueId x);
  ValueId leaky_relu(ValueId x, float slope);
  ValueId tanh(ValueId x);
  ValueId max_pool(ValueId x, const Window& window, Attributes more = {});
  ValueId average_pool(ValueId x, const Window& window);
  ValueId global_average_pool(ValueId x);
  ValueId flatten(ValueId x);  // all but the batch
  ValueId softmax(ValueId x, int64_t axis);

  // Any operator; the node and its output are called `name`.
  ValueId add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes,
              const std::string& name);

  // Constants that training must not learn have to be scalars or integers: see parameters() of
  // graph.h.
  ValueId constant(std::string name, Tensor tensor);
  ValueId normal(std::string name, const Shape& shape, double deviation);
  ValueId uniform(std::string name, const Shape& shape, float low, float high);

  const std::string& name_of(ValueId id) const { return graph_[id].name; }
  const Shape& shape_of(ValueId id) const { return graph_[id].type.shape; }

  // The graph with this value as its one output, called "output".
  Result<Graph> finish(ValueId output);

 private:
  ValueId input(std::string name, const Shape& shape);
  ValueId apply(const Operator& op, ValueId x, std::string_view suffix, Attributes attributes = {});

  Options options_;
  Graph graph_;
  Status status_;
  uint64_t tensors_ = 0;  // the number of the next random stream
};

// One function per network, with the name it has in the zoo.

// classic.cc
Result<Graph> logistic(const Options& options);
Result<Graph> lenet5(const Options& options);
Result<Graph> mlp(const Options& options);
Result<Graph> convnet(const Options& options);
Result<Graph> allcnn(const Options& options);
Result<Graph> nin(const Options& options);
Result<Graph> alexnet(const Options& options);

Result<Graph> vgg16(const Options& options);
Result<Graph> vgg16_cifar(const Options& options);
Result<Graph> resnet20(const Options& options);
Result<Graph> resnet56(const Options& options);
Result<Graph> resnet18(const Options& options);
Result<Graph> resnet50(const Options& options);
Result<Graph> mobilenetv2(const Options& options);
Result<Graph> squeezenet(const Options& options);
Result<Graph> tinyyolov2(const Options& options);
Result<Graph> c3d(const Options& options);

// transformer.cc
Result<Graph> encoder(const Options& options);
Result<Graph> seq2seq(const Options& options);

}  // namespace shoal::zoo
