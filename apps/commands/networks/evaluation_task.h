// What is evaluated: which question a model answers, and the formats of data that ask it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::config {

enum class EvaluationTask : uint8_t {
  kClassify,  // the class of an image
  kDetect,    // boxes in an image
  kTrack,     // which boxes of a video are one object
  kGate,      // which frames of a video need no look
};

// All names, for command lines.
std::vector<std::string> evaluation_tasks();
std::vector<std::string> evaluation_formats();

// The task of this name. kInvalidArgument for another name, and where the task does not read data
// of this format: each format is read by one task.
Result<EvaluationTask> evaluation_task(std::string_view task, std::string_view format);

}  // namespace shoal::config
