// VGG-16 (Simonyan and Zisserman 2015), configuration D, and its usual form for small images.
#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

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

}  // namespace shoal::zoo
