// TrainingOptions in the terms of the rooms that do the work.
#pragma once

#include "shoal/data/batches.h"
#include "shoal/fit/training_options.h"
#include "shoal/train/schedule.h"
#include "shoal/train/trainer.h"

namespace shoal::fit {

// REQUIRES: check(options) is OK.
train::TrainerOptions trainer_options(const TrainingOptions& options);
train::Schedule schedule_of(const TrainingOptions& options, size_t steps_per_epoch);
BatchOptions training_batches(const TrainingOptions& options, int64_t classes);
BatchOptions evaluation_batches(const TrainingOptions& options, int64_t classes);

}  // namespace shoal::fit
