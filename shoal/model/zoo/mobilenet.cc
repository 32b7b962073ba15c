// MobileNetV2 (Sandler et al. 2018), width 1.0.
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

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
