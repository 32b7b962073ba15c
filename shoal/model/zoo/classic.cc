// Plain chains of layers, from early convolutional networks to AlexNet.
#include "shoal/model/ops/ops.h"
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

namespace {

// VGG-16 (Simonyan and Zisserman 2015), configuration D, and its usual form for small images.

// All up to the classifier: 13 convolutions, and a pool after each stage.
ValueId features(Builder& b, ValueId x) {
  int layer = 0;  // torchvision counts ReLUs and pools too
  struct Stage {
    int convolutions;
    int64_t filters;
  };
  for (const auto& [convolutions, filters] :
       {Stage{2, 64}, Stage{2, 128}, Stage{3, 256}, Stage{3, 512}, Stage{3, 512}}) {
    for (int i = 0; i < convolutions; ++i, layer += 2) {
      const std::string name = "features." + std::to_string(layer);
      x = b.relu(b.conv(name, x, {.filters = b.wide(filters), .kernel = 3, .pad = 1}));
    }
    x = b.max_pool(x, Window::square(2, 2));
    ++layer;
  }
  return b.flatten(x);
}

}  // namespace

Result<Graph> vgg16(const Options& options) {
  Builder b(options);
  ValueId x = features(b, b.image("input", {3}, 224));
  x = b.relu(b.fc("classifier.0", x, b.wide(4096)));
  x = b.relu(b.fc("classifier.3", x, b.wide(4096)));
  return b.finish(b.fc("classifier.6", x, 1000));
}

Result<Graph> vgg16_cifar(const Options& options) {
  Builder b(options);
  const ValueId x = features(b, b.image("input", {3}, 32));
  return b.finish(b.fc("classifier", x, 10));
}

namespace {

// SqueezeNet 1.1 (Iandola et al. 2016).

// A fire module: narrows by 1 x 1, then widens by 1 x 1 and 3 x 3 filters side by side.
ValueId fire(Builder& b, int number, ValueId x, int64_t squeeze, int64_t expand) {
  const std::string name = "features." + std::to_string(number);
  x = b.relu(b.conv(name + ".squeeze", x, {.filters = b.wide(squeeze), .kernel = 1}));
  const ValueId pointwise =
      b.relu(b.conv(name + ".expand1x1", x, {.filters = b.wide(expand), .kernel = 1}));
  const ValueId square =
      b.relu(b.conv(name + ".expand3x3", x, {.filters = b.wide(expand), .kernel = 3, .pad = 1}));
  return b.add(ops::concat, {pointwise, square}, {{"axis", int64_t{1}}}, name + ".concat");
}

ValueId pool(Builder& b, ValueId x) {
  return b.max_pool(x, Window::square(3, 2), {{"ceil_mode", int64_t{1}}});
}

}  // namespace

Result<Graph> squeezenet(const Options& options) {
  Builder b(options);
  ValueId x = b.image("input", {3}, 224);
  x = b.relu(b.conv("features.0", x, {.filters = b.wide(64), .kernel = 3, .stride = 2}));
  x = pool(b, x);
  x = fire(b, 3, x, 16, 64);
  x = fire(b, 4, x, 16, 64);
  x = pool(b, x);
  x = fire(b, 6, x, 32, 128);
  x = fire(b, 7, x, 32, 128);
  x = pool(b, x);
  x = fire(b, 9, x, 48, 192);
  x = fire(b, 10, x, 48, 192);
  x = fire(b, 11, x, 64, 256);
  x = fire(b, 12, x, 64, 256);
  x = b.relu(b.conv("classifier.1", x, {.filters = 1000, .kernel = 1}));
  return b.finish(b.flatten(b.global_average_pool(x)));
}

namespace {

// Tiny YOLOv2 (Redmon and Farhadi 2017) for the 20 classes of Pascal VOC.
ValueId layer(Builder& b, int number, ValueId x, int64_t filters) {
  const std::string name = "conv" + std::to_string(number);
  x = b.conv(name, x, {.filters = b.wide(filters), .kernel = 3, .pad = 1, .bias = false});
  return b.leaky_relu(b.batch_norm(x), 0.1F);
}

}  // namespace

// The published total of 15,867,885 includes the running statistics of its BatchNorm layers;
// 15,861,773 of them are parameters.
Result<Graph> tinyyolov2(const Options& options) {
  Builder b(options);
  ValueId x = b.image("input", {3}, 416);
  for (int i = 0; i < 5; ++i) {
    x = layer(b, i + 1, x, int64_t{16} << i);
    x = b.max_pool(x, Window::square(2, 2));
  }
  x = layer(b, 6, x, 512);
  // Darknet's pool of stride 1, which keeps 13 x 13 by looking beyond the last row and column.
  x = b.max_pool(x, {{2, 2}, {1, 1}, {}}, {{"auto_pad", std::string("SAME_UPPER")}});
  x = layer(b, 7, x, 1024);
  x = layer(b, 8, x, 1024);
  // Per cell, 5 anchors of a box (4), a confidence and 20 classes.
  constexpr int64_t kFilters = 5 * (4 + 1 + 20);
  return b.finish(b.conv("conv9", x, {.filters = kFilters, .kernel = 1}));
}

namespace {

// C3D (Tran et al. 2015): eight 3 x 3 x 3 convolutions over 16 images of a video, with the 101
// classes of UCF-101.
ValueId layer(Builder& b, const std::string& name, ValueId x, int64_t filters) {
  return b.relu(b.conv(name, x, {.filters = b.wide(filters), .kernel = 3, .pad = 1}));
}

}  // namespace

Result<Graph> c3d(const Options& options) {
  Builder b(options);
  const Window halve = {{2, 2, 2}, {2, 2, 2}, {0, 0, 0, 0, 0, 0}};
  ValueId x = b.image("input", {3, 16}, 112);  // [n, c, t, h, w]
  x = layer(b, "conv1", x, 64);
  x = b.max_pool(x, {{1, 2, 2}, {1, 2, 2}, {0, 0, 0, 0, 0, 0}});  // time is halved later
  x = layer(b, "conv2", x, 128);
  x = b.max_pool(x, halve);
  x = layer(b, "conv3a", x, 256);
  x = layer(b, "conv3b", x, 256);
  x = b.max_pool(x, halve);
  x = layer(b, "conv4a", x, 512);
  x = layer(b, "conv4b", x, 512);
  x = b.max_pool(x, halve);
  x = layer(b, "conv5a", x, 512);
  x = layer(b, "conv5b", x, 512);
  x = b.max_pool(x, {{2, 2, 2}, {2, 2, 2}, {0, 1, 1, 0, 1, 1}});  // 7 x 7 to 4 x 4
  x = b.relu(b.fc("fc6", b.flatten(x), b.wide(4096)));
  x = b.relu(b.fc("fc7", x, b.wide(4096)));
  return b.finish(b.fc("fc8", x, 101));
}

namespace {

// MobileNetV2 (Sandler et al. 2018), width 1.0.

// ReLU6 cuts off little of activations near one, so weights behind it are those behind ReLU.
ValueId conv_bn_relu6(Builder& b, const std::string& name, ValueId x, Convolution layer) {
  layer.bias = false;
  return b.relu6(b.batch_norm(b.conv(name, x, layer)));
}

// An inverted residual block: widens by 1 x 1, filters each channel by 3 x 3, narrows by 1 x 1. The
// narrow ends are linear.
ValueId inverted_residual(Builder& b, const std::string& name, ValueId input, int64_t expansion,
                          int64_t filters, int64_t stride) {
  const int64_t channels = b.shape_of(input)[1];
  const int64_t wide = channels * expansion;
  ValueId x = input;
  if (expansion != 1) {
    x = conv_bn_relu6(b, name + ".expand", x,
                      {.filters = wide, .kernel = 1, .after = After::kLinear});
  }
  x = conv_bn_relu6(b, name + ".depthwise", x,
                    {.filters = wide, .kernel = 3, .stride = stride, .pad = 1, .groups = wide});
  x = b.conv(name + ".project", x, {.filters = filters, .kernel = 1, .bias = false});
  const bool residual = stride == 1 && channels == filters;
  x = b.batch_norm(x, residual ? 0.5F : 1.0F);
  return residual ? b.add(ops::add, {input, x}, {}, name + ".add") : x;
}

}  // namespace

Result<Graph> mobilenetv2(const Options& options) {
  Builder b(options);
  ValueId x = b.image("input", {3}, 224);
  x = conv_bn_relu6(b, "features.0", x,
                    {.filters = b.wide(32), .kernel = 3, .stride = 2, .pad = 1});
  struct Stage {
    int64_t expansion, filters;
    int blocks;
    int64_t stride;
  };
  int block = 0;
  for (const auto& [expansion, filters, blocks, stride] :
       {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
        Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
    for (int i = 0; i < blocks; ++i) {
      const std::string name = "features." + std::to_string(++block);
      x = inverted_residual(b, name, x, expansion, b.wide(filters), i == 0 ? stride : 1);
    }
  }
  x = conv_bn_relu6(b, "features.18", x,
                    {.filters = b.wide(1280), .kernel = 1, .after = After::kLinear});
  return b.finish(b.fc("classifier.1", b.flatten(b.global_average_pool(x)), 1000));
}

}  // namespace shoal::zoo
