#include "shoal/shrink/exits/inference/exit_evaluation_facts.h"

#include <numeric>

#include "shoal/train/run/evaluation/evaluation_facts.h"

namespace shoal::exits {

Json to_json(const ExitsEvaluation& result, const Runner& runner, double seconds) {
  const auto& macs = runner.stage_macs();
  Json object = object_of(fit::facts_of(result.answers, seconds));
  object["mean_macs"] = result.figures.mean_macs;
  object["macs"] = std::accumulate(macs.begin(), macs.end(), int64_t{0});
  object["exit_share"] = result.figures.share;
  object["exit_precision"] = result.figures.precision;
  return object;
}

std::vector<Facts> rows_of(const ExitsEvaluation& result, const Runner& runner) {
  std::vector<Facts> rows;
  for (size_t i = 0; i < runner.stage_macs().size(); ++i) {
    const bool is_last = i >= runner.exits().size();
    rows.push_back({{"exit", is_last ? std::string("the last") : runner.exits()[i].at, "exit"},
                    {"answers", 100 * result.figures.share[i], "answers", 1, " %"},
                    {"precision", result.figures.precision[i], "precision", 2, " %"}});
  }
  return rows;
}

std::string summary_text(const ExitsEvaluation& result, double seconds) {
  return "all: top-1 " + fixed(result.answers.top1(), 2) + " %, " +
         fixed(result.figures.mean_macs / 1e6, 3) + " M MACs per image, " +
         fixed(fit::images_per_s(result.answers, seconds), 1) + " images/s\n";
}

}  // namespace shoal::exits
