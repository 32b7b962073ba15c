// TrainingOptions in the terms of the parts that do the work.
#pragma once

#include "shoal/train/data/batches.h"
#include "shoal/train/run/setup/training_options.h"
#include "shoal/train/step/optimizer/schedule.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::fit {

// REQUIRES: check(options) is OK.
train::TrainerOptions trainer_options(const TrainingOptions& options);
train::Schedule schedule_of(const TrainingOptions& options, size_t steps_per_epoch);
BatchOptions training_batches(const TrainingOptions& options, int64_t classes);
BatchOptions evaluation_batches(const TrainingOptions& options, int64_t classes);
// Examples that a run of the network takes. With privacy they come one by one, as each has a
// gradient of its own.
size_t network_batch(const TrainingOptions& options);

}  // namespace shoal::fit
