// The examples to learn from and those to evaluate on.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_options.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// The two parts of a data set.
struct TrainingData {
  std::shared_ptr<const Dataset> training, held_out;
};

// The examples [0, count) in two parts, training and held out: `share` of them, drawn by the seed.
// REQUIRES: 0 <= share <= 1.
std::pair<std::vector<size_t>, std::vector<size_t>> split(size_t count, double share,
                                                          uint64_t seed);

// Data that is open already. `held_out` may be null: options.hold_out of the training examples are
// then held out. options.limit leaves a random choice of training examples. The result keeps the
// data sets. TrainingLoop checks that the examples fill a batch. REQUIRES: check(options) is OK.
Result<TrainingData> make_training_data(std::shared_ptr<const Dataset> training,
                                        std::shared_ptr<const Dataset> held_out,
                                        const TrainingOptions& options);

// The data of a comparison between networks, in three parts. 20,000 images to learn from become
// 18,000 and 2,000 with options.hold_out = 0.1.
struct JudgedData {
  TrainingData data;                    // whose held-out examples may choose: epochs, units, ratios
  std::shared_ptr<const Dataset> test;  // looked at by networks that are finished, and by no choice
};

// Data that is open already: options.hold_out of the training examples choose. So many of them, and
// before, are the test where `test` is null. REQUIRES: as above.
Result<JudgedData> make_judged_data(std::shared_ptr<const Dataset> training,
                                    std::shared_ptr<const Dataset> test,
                                    const TrainingOptions& options);

// The data in the folder options.data, with its own held-out examples if it keeps some apart. Fails
// as open_dataset and make_training_data do.
Result<TrainingData> open_training_data(const TrainingOptions& options);

// The same in three parts; examples that the data set keeps apart are the test.
Result<JudgedData> open_judged_data(const TrainingOptions& options);

}  // namespace shoal::fit

#pragma GCC visibility pop
