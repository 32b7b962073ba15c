// The table of networks. The numbers of parameters are those of the papers or of torchvision, and a
// test compares them.
#include "shoal/model/zoo/zoo.h"

#include <algorithm>
#include <array>
#include <string>

#include "shoal/model/zoo/builder.h"

namespace shoal::zoo {
namespace {

struct Network {
  Entry entry;
  Result<Graph> (*build)(const Options&);  // null: an ONNX file in embedded.h
};

constexpr std::array kNetworks = {
    Network{{"digits", "hand-drawn digits, trained, inside this program"}, nullptr},
    Network{{"logistic", "logistic regression, 28 x 28, 7,850 parameters"}, logistic},
    Network{{"convnet", "CIFAR ConvNet, 32 x 32, 89,578 parameters"}, convnet},
    Network{{"mlp", "MLP 784-128-64-10, 28 x 28, 109,386 parameters"}, mlp},
    Network{{"resnet20", "ResNet-20 for CIFAR, 32 x 32, 269,722 parameters"}, resnet20},
    Network{{"lenet5", "LeNet-5 (20-50-500-10), 28 x 28, 431,080 parameters"}, lenet5},
    Network{{"resnet56", "ResNet-56 for CIFAR, 32 x 32, 853,018 parameters"}, resnet56},
    Network{{"nin", "Network in Network, 32 x 32, 966,986 parameters"}, nin},
    Network{{"squeezenet", "SqueezeNet 1.1, 224 x 224, 1,235,496 parameters"}, squeezenet},
    Network{{"allcnn", "ALL-CNN-C, 32 x 32, 1,369,738 parameters"}, allcnn},
    Network{
        {"encoder", "transformer encoder, 4 layers, 128 tokens of width 256, 3,159,040 parameters"},
        encoder},
    Network{{"mobilenetv2", "MobileNetV2, 224 x 224, 3,504,872 parameters"}, mobilenetv2},
    Network{{"seq2seq",
             "transformer encoder-decoder, 2 + 2 layers, 64 tokens of width 256, "
             "3,686,400 parameters"},
            seq2seq},
    Network{{"resnet18", "ResNet-18, 224 x 224, 11,689,512 parameters"}, resnet18},
    Network{{"vgg16cifar", "VGG-16 for CIFAR, 32 x 32, 14,719,818 parameters"}, vgg16_cifar},
    Network{{"tinyyolov2", "Tiny YOLOv2 for 20 classes, 416 x 416, 15,861,773 parameters"},
            tinyyolov2},
    Network{{"resnet50", "ResNet-50, 224 x 224, 25,557,032 parameters"}, resnet50},
    Network{{"alexnet", "AlexNet, 224 x 224, 61,100,840 parameters"}, alexnet},
    Network{{"c3d", "C3D for 101 classes, 16 x 112 x 112, 78,409,573 parameters"}, c3d},
    Network{{"vgg16", "VGG-16, 224 x 224, 138,357,544 parameters"}, vgg16},
};

constexpr auto kEntries = [] {
  std::array<Entry, kNetworks.size()> entries;
  std::ranges::transform(kNetworks, entries.begin(), &Network::entry);
  return entries;
}();

}  // namespace

std::span<const Entry> list() { return kEntries; }

Result<Graph> build(std::string_view name, const Options& options) {
  const auto network = std::ranges::find(
      kNetworks, name, [](const Network& candidate) { return candidate.entry.name; });
  if (network == kNetworks.end()) {
    return Status(Code::kNotFound,
                  "there is no network '" + std::string(name) + "'; 'shoal zoo' lists them");
  }
  if (network->build == nullptr) {
    return invalid("'" + std::string(name) + "' is an ONNX file, not built: see digits_model()");
  }
  if (options.batch < 1) return invalid("the batch must be at least 1");
  if (!(options.width > 0 && options.width <= 1)) {
    return invalid("the width must be more than 0 and at most 1");
  }
  auto graph = network->build(options);
  return graph.ok() ? std::move(graph) : Result<Graph>(graph.status().at(name));
}

}  // namespace shoal::zoo
