// A self-contained page about training: curves, confusions, sample mistakes.
#pragma once

#include <cstddef>
#include <string>

#include "shoal/train/distributed/run/run_record.h"
#include "shoal/train/run/loop/training_loop.h"

namespace shoal::report {

// The title is untrusted text.
std::string training_page(const std::string& title, const fit::EpochReport& report);

// A title for the page of a model that learned from this data.
std::string cluster_training_title(const std::string& model, const std::string& data,
                                   size_t devices);

// The title and the names of devices are untrusted text.
std::string cluster_training_page(const std::string& title, const learn::RunRecord& record);

}  // namespace shoal::report
