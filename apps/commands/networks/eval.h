// shoal eval: its tasks, and the rows, JSON fields and sentences of its results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/json.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/detect/precision.h"
#include "shoal/video/watch/run/evaluation.h"

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

// The task of this name. kInvalidArgument for another name, and if the task does not read this data
// format: each format is read by one task.
Result<EvaluationTask> evaluation_task(std::string_view task, std::string_view format);

}  // namespace shoal::config

namespace shoal::fit {

// Images in a second. REQUIRES: seconds > 0.
double images_per_s(const Evaluation& answers, double seconds);

// Answers that took `seconds`.
Facts facts_of(const Evaluation& answers, double seconds);

// A caveat for readers of the results, in one line; empty if none.
std::string warning_of(const Evaluation& answers);

}  // namespace shoal::fit

namespace shoal::exits {

// Answers that took `seconds`, and the savings of the exits.
Json to_json(const ExitsEvaluation& result, const Runner& runner, double seconds);
// A row for each exit and for the last classifier.
std::vector<Facts> rows_of(const ExitsEvaluation& result, const Runner& runner);
// All of them in a sentence.
std::string summary_text(const ExitsEvaluation& result, double seconds);

}  // namespace shoal::exits

namespace shoal::detect {

// For images that took `seconds`, by a detector of this head.
Json to_json(const Precision& precision, HeadKind head, double seconds);
std::string text_of(const Precision& precision, HeadKind head);

}  // namespace shoal::detect

namespace shoal::watch {

Json to_json(const GateEvaluation& result);
std::string text_of(const GateEvaluation& result);

// The metrics of the better association, and of the plain one under its name.
Json to_json(const TrackEvaluation& result);
// A row for each association.
std::vector<Facts> rows_of(const TrackEvaluation& result);

}  // namespace shoal::watch
