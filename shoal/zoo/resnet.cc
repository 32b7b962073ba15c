// ResNet-18 and -50 (He et al. 2016) in torchvision's form: the stride is in the 3 x 3 layer.
#include <array>

#include "shoal/ops/ops.h"
#include "shoal/zoo/builder.h"
#include "shoal/zoo/networks.h"

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

ValueId basic_block(Builder& b, const std::string& name, ValueId input, int64_t filters,
                    int64_t stride) {
  ValueId x = b.conv(name + ".conv1", input,
                     {.filters = filters, .kernel = 3, .stride = stride, .pad = 1, .bias = false});
  x = b.relu(b.batch_norm(x));
  x = b.conv(name + ".conv2", x, {.filters = filters, .kernel = 3, .pad = 1, .bias = false});
  return add_shortcut(b, name, b.batch_norm(x, kBranchScale), input, stride);
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

}  // namespace

Result<Graph> resnet18(const Options& options) {
  return resnet(options, basic_block, {2, 2, 2, 2});
}

Result<Graph> resnet50(const Options& options) { return resnet(options, bottleneck, {3, 4, 6, 3}); }

}  // namespace shoal::zoo
