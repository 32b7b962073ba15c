// Tiny YOLOv2 (Redmon and Farhadi 2017) for the 20 classes of Pascal VOC.
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

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

}  // namespace shoal::zoo
