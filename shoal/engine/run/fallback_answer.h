// A smaller model that answers on this device where the workers of a cluster cannot.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/json.h"
#include "shoal/engine/run/answers.h"
#include "shoal/engine/session/session.h"

namespace shoal::fit {

// What was being done when it failed: reaching the device, opening the model on it, running it.
enum class RunStep : uint8_t { kReach, kOpen, kRun };

// Whether too few workers are left for the model, or none that can be reached: what a smaller one
// is for. What is not found when a model is opened is its file, which is no matter of workers.
bool calls_for_fallback(RunStep step, const Status& why);

struct Answer {
  Session::Tensors outputs;
  std::string degraded = {};  // which model answered instead, and why; empty: the one asked for
};

// The answer of the fallback, whose name is `model`, after the failure `why`. Fails as the session
// does.
Result<Answer> answer_instead(Session& fallback, const Session::Tensors& inputs,
                              const std::string& model, const Status& why);

// Its outputs, and under "degraded" why it is another model's.
Json to_json(const Answer& answer, const AnswerView& view);

}  // namespace shoal::fit
