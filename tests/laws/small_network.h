// The networks of the zoo, small enough for tests that run them many times.
#pragma once

#include <map>
#include <string_view>

#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/model/zoo/zoo.h"

namespace shoal::laws {

// The smallest images that leave more than one place to the last norm, which could not measure
// anything otherwise, and the smallest that the other networks can take.
inline const std::map<std::string_view, int64_t> kSizes = {
    {"convnet", 16},    {"logistic", 8}, {"mlp", 8},         {"lenet5", 16},      {"nin", 16},
    {"squeezenet", 40}, {"allcnn", 16},  {"encoder", 6},     {"mobilenetv2", 64}, {"seq2seq", 6},
    {"resnet20", 8},    {"resnet56", 8}, {"resnet18", 64},   {"resnet50", 64},    {"alexnet", 64},
    {"c3d", 16},        {"vgg16", 32},   {"vgg16cifar", 32}, {"tinyyolov2", 64}};

// A network of the zoo with narrow layers and small images, but all of its layers.
inline Result<Graph> small_network(std::string_view name, int64_t batch, double width) {
  if (name == "digits") {
    SHOAL_ASSIGN(const auto model, onnx::Model::parse(nullptr, zoo::digits_model()));
    SHOAL_ASSIGN(const auto inputs, onnx::declared_inputs(*model, batch));
    SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(model, inputs));
    return std::move(bound.graph);
  }
  const auto size = kSizes.find(name);
  if (size == kSizes.end()) return invalid("nobody said how small this network can be");
  return zoo::build(name, {.batch = batch, .width = width, .size = size->second});
}

}  // namespace shoal::laws
