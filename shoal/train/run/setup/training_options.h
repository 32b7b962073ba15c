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
  double hold_out = 0.1;            // share to evaluate on if the data has no such split
  Damaged damaged = Damaged::kRefuse;
  Preprocess preprocess = {};
  Augment augment = {};
  int loaders = 1;  // threads that read and augment images; no influence on the result

  // The steps.
  int64_t epochs = 10;
  size_t batch = 64;
  uint64_t seed = 1;         // of weights, order, augmentation and dropout
  bool bf16 = false;         // see TrainerOptions
  int64_t memory_bytes = 0;  // see TrainerOptions; 0: no limit
  // Memory to cache the features of a frozen part, which then runs only once; 0: none.
  size_t feature_cache_bytes = 256'000'000;

  // The rule. Rate 0 means the default: 0.02 for SGD, 0.001 for Adam and AdamW.
  train::OptimizerOptions optimizer = {.rate = 0, .momentum = 0.9f};
  train::Schedule::Kind schedule = train::Schedule::Kind::kCosine;
  double warm_up = 0;      // epochs in which the rate grows from zero
  double drop_every = 10;  // kStep: epochs between two drops
  double drop = 0.1;       // kStep: the factor
  train::Loss loss = {.temperature = 4};
  // Loss weights of a network with several outputs; results are those of the first. Empty: one
  // output.
  std::vector<float> output_weights = {};
  float self_distill = 0;  // see train::StepOptions
  // The weight of the distance from the teacher's features; 0: none.
  float distill_features = 0;
  std::vector<std::string> penalties = {};  // for train::parse_regularizer
  std::string teacher = {};                 // the model of loss.distill; empty: none
  // Stops after n epochs without a better held-out result and keeps the best epoch's weights; 0:
  // never. Needs held-out examples.
  int64_t patience = 0;
  // Differential privacy. Each example is then in a step with probability batch / examples; `batch`
  // is the expected number. The running loss and accuracy on training examples are not protected.
  privacy::PrivacyOptions privacy = {};

  // The files.
  std::filesystem::path out = {};         // the trained network as ONNX; empty: none
  std::filesystem::path checkpoint = {};  // empty: none
  int64_t checkpoint_every = 0;           // steps; 0: after each epoch
  bool resume = false;                    // go on from the checkpoint if it exists
};

// kInvalidArgument if options contradict each other or make no sense.
Status check(const TrainingOptions& options);

}  // namespace shoal::fit

#pragma GCC visibility pop
