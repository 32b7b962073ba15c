// train_path NETWORK IMAGES.npy LABELS.npy BATCH STEPS RATE FOLDER: prints the loss of every step
// of SGD on a network of the zoo or MODEL.onnx, and writes the weights it began with and the first
// gradients, numbered in order, for a peer to do the same.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::train {
namespace {

// Rows [index * size, (index + 1) * size) of the first axis.
Tensor batch_of(const Tensor& all, int64_t index, int64_t size) {
  Region rows = Region::whole(all.shape());
  rows.begin[0] = index * size;
  rows.end[0] = rows.begin[0] + size;
  return crop(all, rows);
}

Result<Graph> load(const std::string& name, const TensorType& input) {
  if (!name.ends_with(".onnx")) return zoo::build(name, {.batch = input.shape[0]});
  SHOAL_ASSIGN(const auto model, onnx::Model::open(name));
  SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(model, {{model->inputs()[0].name, {input, {}}}}));
  return std::move(bound.graph);
}

Status write_all(const std::string& prefix, std::span<const Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    SHOAL_TRY(write_npy(prefix + std::to_string(i) + ".npy", tensors[i]));
  }
  return {};
}

Status train(char** arguments) {
  const int64_t batch = std::atoll(arguments[4]), steps = std::atoll(arguments[5]);
  const auto rate = static_cast<float>(std::atof(arguments[6]));
  const std::string folder = arguments[7];
  SHOAL_ASSIGN(const Tensor images, read_npy(arguments[2]));
  SHOAL_ASSIGN(const Tensor labels, read_npy(arguments[3]));
  SHOAL_ASSIGN(const Graph network, load(arguments[1], batch_of(images, 0, batch).type()));
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(Trainer trainer,
               Trainer::create(*device, network, {.optimizer = {.rate = rate, .momentum = 0.9f}}));
  SHOAL_TRY(write_all(folder + "/weight_", trainer.weights()));
  for (int64_t i = 0; i < steps; ++i) {
    SHOAL_ASSIGN(const float loss,
                 trainer.step(batch_of(images, i, batch), std::vector{batch_of(labels, i, batch)}));
    if (i == 0) SHOAL_TRY(write_all(folder + "/gradient_", trainer.gradients()));
    std::printf("%.9g\n", static_cast<double>(loss));
  }
  return {};
}

}  // namespace
}  // namespace shoal::train

int main(int count, char** arguments) {
  if (count != 8) return 2;
  const shoal::Status status = shoal::train::train(arguments);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
