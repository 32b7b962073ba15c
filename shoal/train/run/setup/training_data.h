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

// Splits the examples [0, count) into training and held-out ones, `share` of them, drawn by the
// seed. REQUIRES: 0 <= share <= 1.
std::pair<std::vector<size_t>, std::vector<size_t>> split(size_t count, double share,
                                                          uint64_t seed);

// From open data. If `held_out` is null, options.hold_out of the training examples are held out.
// options.limit keeps a random choice of training examples. The result keeps the data sets.
// REQUIRES: check(options) is OK.
Result<TrainingData> make_training_data(std::shared_ptr<const Dataset> training,
                                        std::shared_ptr<const Dataset> held_out,
                                        const TrainingOptions& options);

// Data for comparing networks, in three parts. 20,000 training images become 18,000 and 2,000 with
// options.hold_out = 0.1.
struct JudgedData {
  TrainingData data;                    // its held-out examples may choose epochs, units, ratios
  std::shared_ptr<const Dataset> test;  // evaluates finished networks only; chooses nothing
};

// From open data: options.hold_out of the training examples choose. If `test` is null, the same
// number is set apart before as the test. REQUIRES: as above.
Result<JudgedData> make_judged_data(std::shared_ptr<const Dataset> training,
                                    std::shared_ptr<const Dataset> test,
                                    const TrainingOptions& options);

// The data in the folder options.data, with its own held-out examples if it has any. Fails as
// open_dataset and make_training_data do.
Result<TrainingData> open_training_data(const TrainingOptions& options);

// The same in three parts; the data set's own held-out examples are the test.
Result<JudgedData> open_judged_data(const TrainingOptions& options);

}  // namespace shoal::fit

#pragma GCC visibility pop
