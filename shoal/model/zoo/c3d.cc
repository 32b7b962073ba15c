// C3D (Tran et al. 2015): eight 3 x 3 x 3 convolutions over 16 images of a video, with the 101
// classes of UCF-101.
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

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

}  // namespace shoal::zoo
