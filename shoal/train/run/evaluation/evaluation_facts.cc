#include "shoal/train/run/evaluation/evaluation_facts.h"

namespace shoal::fit {

double images_per_s(const Evaluation& answers, double seconds) {
  return static_cast<double>(answers.images()) / seconds;
}

Facts facts_of(const Evaluation& answers, double seconds) {
  return {{"images", answers.images(), "images"},
          {"top1", answers.top1(), "top-1", 2, " %"},
          {"top5", answers.top5(), "top-5", 2, " %"},
          {"images_per_s", images_per_s(answers, seconds), "images/s", 1},
          {"with_nan", answers.with_nan()}};
}

std::string warning_of(const Evaluation& answers) {
  if (answers.with_nan() == 0) return "";
  return std::to_string(answers.with_nan()) + " of " + std::to_string(answers.images()) +
         " images have scores that are NaN, which count as wrong";
}

std::function<Result<double>(Session&)> share_right_of(const Dataset& data,
                                                       EvaluationOptions options) {
  return [&data, options = std::move(options)](Session& session) -> Result<double> {
    SHOAL_ASSIGN(const Evaluation answers, evaluate(session, data, options));
    return answers.top1() / 100;
  };
}

}  // namespace shoal::fit
