// train_path NETWORK IMAGES.npy LABELS.npy BATCH STEPS WEIGHTS_DIR: prints the loss of every step
// of SGD on a network of the zoo, and writes the weights it began with, for a peer to do the same.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "shoal/cpu/cpu.h"
#include "shoal/data/npy.h"
#include "shoal/train/trainer.h"
#include "shoal/zoo/zoo.h"

namespace shoal::train {
namespace {

// Rows [index * size, (index + 1) * size) of the first axis.
Tensor batch_of(const Tensor& all, int64_t index, int64_t size) {
  Region rows = Region::whole(all.shape());
  rows.begin[0] = index * size;
  rows.end[0] = rows.begin[0] + size;
  return crop(all, rows);
}

Status train(char** arguments) {
  const int64_t batch = std::atoll(arguments[4]), steps = std::atoll(arguments[5]);
  const std::string folder = arguments[6];
  SHOAL_ASSIGN(const Tensor images, read_npy(arguments[2]));
  SHOAL_ASSIGN(const Tensor labels, read_npy(arguments[3]));
  SHOAL_ASSIGN(const Graph network, zoo::build(arguments[1], {.batch = batch}));
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(Trainer trainer,
               Trainer::create(*device, network, {.rate = 0.02f, .momentum = 0.9f}));
  for (size_t i = 0; i < trainer.parameters().size(); ++i) {
    SHOAL_TRY(write_npy(folder + "/" + trainer.parameters()[i] + ".npy", trainer.weights()[i]));
  }
  for (int64_t i = 0; i < steps; ++i) {
    SHOAL_ASSIGN(const float loss,
                 trainer.step(batch_of(images, i, batch), batch_of(labels, i, batch)));
    std::printf("%.9g\n", static_cast<double>(loss));
  }
  return {};
}

}  // namespace
}  // namespace shoal::train

int main(int count, char** arguments) {
  if (count != 7) return 2;
  const shoal::Status status = shoal::train::train(arguments);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
