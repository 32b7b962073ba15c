#include "shoal/engine/run/fallback_answer.h"

namespace shoal::fit {

bool calls_for_fallback(RunStep step, const Status& why) {
  switch (why.code()) {
    case Code::kUnavailable:
    case Code::kDeadline:
    case Code::kExhausted:
      return true;
    case Code::kNotFound:
      return step != RunStep::kOpen;
    default:
      return false;
  }
}

Result<Answer> answer_instead(Session& fallback, const Session::Tensors& inputs,
                              const std::string& model, const Status& why) {
  SHOAL_ASSIGN(auto outputs, fallback.run(inputs));
  return Answer{std::move(outputs), model + " answered: " + std::string(why.message())};
}

Json to_json(const Answer& answer, const AnswerView& view) {
  Json json = to_json(answer.outputs, view);
  if (!answer.degraded.empty()) json["degraded"] = answer.degraded;
  return json;
}

}  // namespace shoal::fit
