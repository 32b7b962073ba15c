// SqueezeNet 1.1 (Iandola et al. 2016).
#include "shoal/model/ops/ops.h"
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

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

}  // namespace shoal::zoo
