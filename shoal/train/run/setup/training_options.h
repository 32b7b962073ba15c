// TrainingOptions: all that decides how a network is trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/train/data/augment.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/privacy/privacy_options.h"
#include "shoal/train/step/optimizer/schedule.h"
#include "shoal/train/step/trainer/trainer.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// Defaults suit small networks on images. A value.
struct TrainingOptions {
  // The network.
  std::string model = {};                // as open_model takes it
  bool from_scratch = false;             // fresh weights; the zoo's networks have them anyway
  int64_t retarget = 0;                  // replace the last layer by one for n classes; 0: keep it
  std::vector<std::string> freeze = {};  // shell patterns of the weights that stay as they are

  // The data.
  std::filesystem::path data = {};  // a folder
  std::string format = {};          // as open_dataset takes it
  size_t limit = 0;                 // only n training examples; 0: all
  double hold_out = 0.1;            // share to evaluate on where the data has no such split
  Damaged damaged = Damaged::kRefuse;
  Preprocess preprocess = {};
  Augment augment = {};
  int loaders = 1;  // threads that read and augment images; no influence on the result

  // The steps.
  int64_t epochs = 10;
  size_t batch = 64;
  uint64_t seed = 1;         // of weights, order, augmentation and dropout
  bool bf16 = false;         // as TrainerOptions says
  int64_t memory_bytes = 0;  // as TrainerOptions says; 0: no limit
  // Memory for the features that a frozen part computes, which then runs only once; 0: none.
  size_t feature_cache_bytes = 256'000'000;

  // The rule. A rate of 0 is the usual one: 0.02 for SGD, 0.001 for Adam and AdamW.
  train::OptimizerOptions optimizer = {.rate = 0, .momentum = 0.9f};
  train::Schedule::Kind schedule = train::Schedule::Kind::kCosine;
  double warm_up = 0;      // epochs in which the rate grows from zero
  double drop_every = 10;  // kStep: epochs between two drops
  double drop = 0.1;       // kStep: to this part
  train::Loss loss = {.temperature = 4};
  // The network has several outputs that all learn: how much the loss of each counts. Results are
  // those of the first. Empty: there is one output.
  std::vector<float> output_weights = {};
  float self_distill = 0;  // as train::StepOptions says
  // How much the distance from the features of the teacher counts, likewise; 0: it does not.
  float distill_features = 0;
  std::vector<std::string> penalties = {};  // as train::parse_regularizer takes them
  std::string teacher = {};  // the model whose answers have the share loss.distill; empty: none
  // Training stops after n epochs without a better result on held-out examples, and keeps the
  // weights of the best epoch; 0: never. Needs such examples.
  int64_t patience = 0;
  // Differential privacy. Each example is then in a step with probability batch / examples, so that
  // `batch` is the number that is expected. The loss and the accuracy of the training examples on
  // the way are not protected.
  privacy::PrivacyOptions privacy = {};

  // The files.
  std::filesystem::path out = {};         // the trained network as ONNX; empty: none
  std::filesystem::path checkpoint = {};  // empty: none
  int64_t checkpoint_every = 0;           // steps; 0: after each epoch
  bool resume = false;                    // go on from the checkpoint if it exists
};

// Fails with kInvalidArgument if options contradict each other or have no meaning.
Status check(const TrainingOptions& options);

}  // namespace shoal::fit

#pragma GCC visibility pop
