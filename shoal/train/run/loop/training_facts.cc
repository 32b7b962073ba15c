#include "shoal/train/run/loop/training_facts.h"

#include <cstdio>

#include "shoal/base/machine/machine.h"

namespace shoal::fit {

Facts facts_of(const TrainingResult& result) {
  const auto& epochs = result.progress.results;
  const double loss = epochs.empty() ? 0 : epochs.back().loss;
  const double peak = static_cast<double>(peak_memory_bytes()) / (1 << 20);
  return {{"epochs", epochs.size(), "epochs"},
          {"loss", loss, "loss", 4},
          {"top1", result.evaluation.top1(), "held-out top-1", 2, " %"},
          {"seconds", result.progress.seconds, "seconds", 1},
          {"images_per_s", result.images_per_second, "images/s", 0},
          {"peak_rss_mb", peak, "peak RSS MB", 1},
          {"held_out_loss", result.evaluation.loss()}};
}

Facts facts_of(const privacy::PrivacySpent& spent, double images_per_second) {
  char delta[16];
  std::snprintf(delta, sizeof delta, "%.2g", spent.delta);
  const bool known = images_per_second > 0 && spent.plain_images_per_second > 0;
  return {
      {"epsilon", spent.epsilon, "epsilon", 3},
      {"delta", spent.delta, "delta", delta},
      {"dp_steps", spent.steps, "steps"},
      {"dp_sample_rate", spent.sample_rate, "sampled", fixed(100 * spent.sample_rate, 3) + " %"},
      {"dp_clipped", spent.clipped, "gradients clipped", fixed(100 * spent.clipped, 1) + " %"},
      {"images_per_s_without_dp", spent.plain_images_per_second, "cost",
       known ? fixed(spent.plain_images_per_second / images_per_second, 1) + " x the time"
             : "not measured"}};
}

Json to_json(const TrainingResult& result) {
  Json object = object_of(facts_of(result));
  if (result.privacy) {
    object.update(object_of(facts_of(*result.privacy, result.images_per_second)));
  }
  return object;
}

std::string text_of(const StepReport& report) {
  return "loss " + fixed(report.loss, 4) + ", top-1 " + fixed(report.top1, 2) + " %";
}

std::string text_of_epoch(const TrainingProgress& progress) {
  const EpochResult& last = progress.results.back();
  return "epoch " + std::to_string(progress.results.size()) + ": loss " + fixed(last.loss, 4) +
         ", top-1 " + fixed(last.top1, 2) + " %; held out: loss " + fixed(last.held_out_loss, 4) +
         ", top-1 " + fixed(last.held_out_top1, 2) + " %";
}

}  // namespace shoal::fit
