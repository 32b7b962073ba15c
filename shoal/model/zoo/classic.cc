// Plain chains of layers, from early convolutional networks to AlexNet.
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

// Caffe's 3 x 3 pool of stride 2. Caffe rounds the size up, which a pad of one row and column at
// the end repeats.
const Window kCaffePool = {{3, 3}, {2, 2}, {0, 0, 1, 1}};

// Convolutions with ReLU that keep the size, numbered from conv1.
class CifarChain {
 public:
  CifarChain(Builder& builder, ValueId x) : builder_(builder), x_(x) {}

  void conv(int64_t filters, int64_t kernel, int64_t stride = 1) {
    add({.filters = builder_.wide(filters), .kernel = kernel, .stride = stride, .pad = kernel / 2});
  }
  void max_pool() { x_ = builder_.max_pool(x_, kCaffePool); }
  void average_pool() { x_ = builder_.average_pool(x_, kCaffePool); }

  // One channel per class; the means over the image become probabilities.
  ValueId classes(int64_t count) {
    add({.filters = count, .kernel = 1});
    return builder_.softmax(builder_.flatten(builder_.global_average_pool(x_)), 1);
  }

 private:
  void add(const Convolution& layer) {
    x_ = builder_.relu(builder_.conv("conv" + std::to_string(++count_), x_, layer));
  }

  Builder& builder_;
  ValueId x_;
  int count_ = 0;
};

}  // namespace

// The 20-50-500-10 form of MXNet and Caffe, not LeCun's original of 61,706 parameters.
Result<Graph> lenet5(const Options& options) {
  Builder b(options);
  ValueId x = b.image("input", {1}, 28);
  x = b.tanh(b.conv("conv1", x, {.filters = b.wide(20), .kernel = 5, .after = After::kLinear}));
  x = b.max_pool(x, Window::square(2, 2));
  x = b.tanh(b.conv("conv2", x, {.filters = b.wide(50), .kernel = 5, .after = After::kLinear}));
  x = b.max_pool(x, Window::square(2, 2));
  x = b.tanh(b.fc("fc1", b.flatten(x), b.wide(500), After::kLinear));
  return b.finish(b.fc("fc2", x, 10, After::kLinear));
}

// A linear classifier, as the experiments of FedProx use for MNIST.
Result<Graph> logistic(const Options& options) {
  Builder b(options);
  return b.finish(b.fc("fc", b.flatten(b.image("input", {1}, 28)), 10));
}

// The usual first network for MNIST: 784-128-64-10.
Result<Graph> mlp(const Options& options) {
  Builder b(options);
  ValueId x = b.flatten(b.image("input", {1}, 28));
  x = b.relu(b.fc("fc1", x, b.wide(128)));
  x = b.relu(b.fc("fc2", x, b.wide(64)));
  return b.finish(b.fc("fc3", x, 10));
}

// The "quick" network of cuda-convnet for CIFAR-10, with one classifying layer.
Result<Graph> convnet(const Options& options) {
  Builder b(options);
  ValueId x = b.image("input", {3}, 32);
  x = b.conv("conv1", x, {.filters = b.wide(32), .kernel = 5, .pad = 2});
  x = b.relu(b.max_pool(x, kCaffePool));
  x = b.relu(b.conv("conv2", x, {.filters = b.wide(32), .kernel = 5, .pad = 2}));
  x = b.average_pool(x, kCaffePool);
  x = b.relu(b.conv("conv3", x, {.filters = b.wide(64), .kernel = 5, .pad = 2}));
  x = b.average_pool(x, kCaffePool);
  return b.finish(b.fc("fc", b.flatten(x), 10));
}

// ALL-CNN-C (Springenberg et al. 2015) on CIFAR-10: strides take the place of pools.
Result<Graph> allcnn(const Options& options) {
  Builder b(options);
  CifarChain chain(b, b.image("input", {3}, 32));
  chain.conv(96, 3);
  chain.conv(96, 3);
  chain.conv(96, 3, 2);
  chain.conv(192, 3);
  chain.conv(192, 3);
  chain.conv(192, 3, 2);
  chain.conv(192, 3);
  chain.conv(192, 1);
  return b.finish(chain.classes(10));
}

// Network in Network (Lin et al. 2014) on CIFAR-10.
Result<Graph> nin(const Options& options) {
  Builder b(options);
  CifarChain chain(b, b.image("input", {3}, 32));
  chain.conv(192, 5);
  chain.conv(160, 1);
  chain.conv(96, 1);
  chain.max_pool();
  chain.conv(192, 5);
  chain.conv(192, 1);
  chain.conv(192, 1);
  chain.average_pool();
  chain.conv(192, 3);
  chain.conv(192, 1);
  return b.finish(chain.classes(10));
}

// torchvision's AlexNet: the single stream of Krizhevsky's "one weird trick" paper (2014).
Result<Graph> alexnet(const Options& options) {
  Builder b(options);
  const Window pool = Window::square(3, 2);
  ValueId x = b.image("input", {3}, 224);
  x = b.relu(b.conv("features.0", x, {.filters = b.wide(64), .kernel = 11, .stride = 4, .pad = 2}));
  x = b.max_pool(x, pool);
  x = b.relu(b.conv("features.3", x, {.filters = b.wide(192), .kernel = 5, .pad = 2}));
  x = b.max_pool(x, pool);
  x = b.relu(b.conv("features.6", x, {.filters = b.wide(384), .kernel = 3, .pad = 1}));
  x = b.relu(b.conv("features.8", x, {.filters = b.wide(256), .kernel = 3, .pad = 1}));
  x = b.relu(b.conv("features.10", x, {.filters = b.wide(256), .kernel = 3, .pad = 1}));
  x = b.flatten(b.max_pool(x, pool));
  x = b.relu(b.fc("classifier.1", x, b.wide(4096)));
  x = b.relu(b.fc("classifier.4", x, b.wide(4096)));
  return b.finish(b.fc("classifier.6", x, 1000));
}

}  // namespace shoal::zoo
