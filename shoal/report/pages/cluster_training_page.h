// A page about a training run on a cluster: what was learned over time, who computed how much, who
// was lost when, and what one device alone would take. It needs no other file.
#pragma once

#include <cstddef>
#include <string>

#include "shoal/train/distributed/run/run_record.h"

namespace shoal::report {

// A title for the page of a model that learned from this data.
std::string cluster_training_title(const std::string& model, const std::string& data,
                                   size_t devices);

// The title and the names of devices may be anybody's text.
std::string cluster_training_page(const std::string& title, const learn::RunRecord& record);

}  // namespace shoal::report
