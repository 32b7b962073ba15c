// What training came to, for scripts as an object, and for people as a table.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/train/run/loop/train.h"

namespace shoal::fit {

// With the memory that this process has had at most.
Facts facts_of(const TrainingResult& result);
// Of training with differential privacy, at this number of images a second.
Facts facts_of(const privacy::PrivacySpent& spent, double images_per_second);
// Both, if there was privacy. An epsilon that is infinite is null.
Json to_json(const TrainingResult& result);

// What a line of progress says of a step, and what is said of the epoch that ended last. REQUIRES:
// one has ended.
std::string text_of(const StepReport& report);
std::string text_of_epoch(const TrainingProgress& progress);

}  // namespace shoal::fit
