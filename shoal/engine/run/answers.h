// Answers of a model as JSON and as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/json.h"
#include "shoal/engine/session/session.h"

namespace shoal::fit {

struct AnswerView {
  size_t top = 0;                        // classes of outputs that hold scores; 0: elements of all
  std::vector<std::string> labels = {};  // names of classes; others have a number
};

// Type, shape and elements of each output, or its best classes.
Json to_json(const Session::Tensors& outputs, const AnswerView& view);

// Whether the best classes of an output are shown.
bool shows_classes(const Tensor& output, const AnswerView& view);
// These classes, as rows. REQUIRES: shows_classes().
std::vector<Facts> class_rows(const std::string& name, const Tensor& output,
                              const AnswerView& view);

// Type and first elements of the other outputs, as rows.
std::vector<Facts> element_rows(const Session::Tensors& outputs, const AnswerView& view);

std::string summary_of(const Tensor& tensor);

// A smaller model that answers on this device if the workers of a cluster cannot.

// The step that failed: reaching the device, opening the model on it, running it.
enum class RunStep : uint8_t { kReach, kOpen, kRun };

// Whether the failure is one of workers (too few left, none reachable), which a smaller model
// solves. kNotFound when opening a model concerns its file, not workers.
bool calls_for_fallback(RunStep step, const Status& why);

struct Answer {
  Session::Tensors outputs;
  std::string degraded = {};  // which model answered instead, and why; empty: the one asked for
};

// The answer of the fallback, whose name is `model`, after the failure `why`. Fails as the session
// does.
Result<Answer> answer_instead(Session& fallback, const Session::Tensors& inputs,
                              const std::string& model, const Status& why);

// Its outputs; "degraded" has the reason for another model's answer.
Json to_json(const Answer& answer, const AnswerView& view);

}  // namespace shoal::fit
