#include "shoal/fit/evaluation_facts.h"

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

}  // namespace shoal::fit
