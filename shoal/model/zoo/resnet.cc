// ResNet-18 and -50 (He et al. 2016) in torchvision's form: the stride is in the 3 x 3 layer. And
// ResNet-20 and -56 for CIFAR, whose shortcuts have no weights (their option A): every second pixel
// is taken, and new channels are zeros.
#include <array>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

// A block adds its branch to its input. With branches as large as their input, activations would
// grow over 16 blocks.
constexpr float kBranchScale = 0.25F;

ValueId add_shortcut(Builder& b, const std::string& name, ValueId branch, ValueId x,
                     int64_t stride) {
  const int64_t filters = b.shape_of(branch)[1];
  if (stride != 1 || b.shape_of(x)[1] != filters) {
    x = b.conv(name + ".downsample", x,
               {.filters = filters, .kernel = 1, .stride = stride, .bias = false});
    x = b.batch_norm(x);
  }
  return b.relu(b.add(ops::add, {branch, x}, {}, name + ".add"));
}

ValueId basic_branch(Builder& b, const std::string& name, ValueId input, int64_t filters,
                     int64_t stride) {
  ValueId x = b.conv(name + ".conv1", input,
                     {.filters = filters, .kernel = 3, .stride = stride, .pad = 1, .bias = false});
  x = b.relu(b.batch_norm(x));
  x = b.conv(name + ".conv2", x, {.filters = filters, .kernel = 3, .pad = 1, .bias = false});
  return b.batch_norm(x, kBranchScale);
}

ValueId basic_block(Builder& b, const std::string& name, ValueId input, int64_t filters,
                    int64_t stride) {
  return add_shortcut(b, name, basic_branch(b, name, input, filters, stride), input, stride);
}

ValueId bottleneck(Builder& b, const std::string& name, ValueId input, int64_t filters,
                   int64_t stride) {
  ValueId x = b.conv(name + ".conv1", input, {.filters = filters, .kernel = 1, .bias = false});
  x = b.relu(b.batch_norm(x));
  x = b.conv(name + ".conv2", x,
             {.filters = filters, .kernel = 3, .stride = stride, .pad = 1, .bias = false});
  x = b.relu(b.batch_norm(x));
  x = b.conv(name + ".conv3", x, {.filters = 4 * filters, .kernel = 1, .bias = false});
  return add_shortcut(b, name, b.batch_norm(x, kBranchScale), input, stride);
}

Result<Graph> resnet(const Options& options, decltype(basic_block)* block,
                     const std::array<int, 4>& blocks) {
  Builder b(options);
  ValueId x = b.image("input", {3}, 224);
  x = b.conv("conv1", x,
             {.filters = b.wide(64), .kernel = 7, .stride = 2, .pad = 3, .bias = false});
  x = b.relu(b.batch_norm(x));
  x = b.max_pool(x, Window::square(3, 2, 1));
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = block(b, name, x, b.wide(int64_t{64} << stage), stage > 0 && i == 0 ? 2 : 1);
    }
  }
  return b.finish(b.fc("fc", b.flatten(b.global_average_pool(x)), 1000));
}

// Half of the new channels before and half behind those there are, as the usual PyTorch code does.
ValueId shortcut_without_weights(Builder& b, const std::string& name, ValueId x, int64_t filters) {
  const int64_t fresh = filters - b.shape_of(x)[1];
  const auto list = [&](const std::string& what, std::initializer_list<int64_t> items) {
    return b.constant(name + ".shortcut." + what,
                      Tensor::of<int64_t>({static_cast<int64_t>(items.size())}, items));
  };
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  x = b.add(ops::slice,
            {x, list("starts", {0, 0}), list("ends", {kEnd, kEnd}), list("axes", {2, 3}),
             list("steps", {2, 2})},
            {}, name + ".shortcut.slice");
  const ValueId pads = list("pads", {0, fresh / 2, 0, 0, 0, fresh - fresh / 2, 0, 0});
  return b.add(ops::pad_, {x, pads}, {{"mode", std::string("constant")}}, name + ".shortcut.pad");
}

ValueId cifar_block(Builder& b, const std::string& name, ValueId input, int64_t filters,
                    int64_t stride) {
  const ValueId branch = basic_branch(b, name, input, filters, stride);
  if (stride != 1) input = shortcut_without_weights(b, name, input, filters);
  return b.relu(b.add(ops::add, {branch, input}, {}, name + ".add"));
}

// Of 6 * blocks + 2 layers.
Result<Graph> cifar_resnet(const Options& options, int blocks) {
  Builder b(options);
  ValueId x = b.image("input", {3}, 32);
  x = b.conv("conv1", x, {.filters = b.wide(16), .kernel = 3, .pad = 1, .bias = false});
  x = b.relu(b.batch_norm(x));
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < blocks; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = cifar_block(b, name, x, b.wide(int64_t{16} << stage), stage > 0 && i == 0 ? 2 : 1);
    }
  }
  return b.finish(b.fc("fc", b.flatten(b.global_average_pool(x)), 10));
}

}  // namespace

Result<Graph> resnet20(const Options& options) { return cifar_resnet(options, 3); }

Result<Graph> resnet56(const Options& options) { return cifar_resnet(options, 9); }

Result<Graph> resnet18(const Options& options) {
  return resnet(options, basic_block, {2, 2, 2, 2});
}

Result<Graph> resnet50(const Options& options) { return resnet(options, bottleneck, {3, 4, 6, 3}); }

}  // namespace shoal::zoo
