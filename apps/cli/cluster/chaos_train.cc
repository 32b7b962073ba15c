#include "chaos_train.h"

#include <algorithm>
#include <optional>

#include "../exit_codes.h"
#include "../facts.h"
#include "../model.h"
#include "../progress.h"
#include "shoal/base/malloc_arenas.h"
#include "shoal/base/process.h"
#include "shoal/chaos/processes/train_chaos.h"
#include "shoal/chaos/training/training_history.h"
#include "shoal/cpu/cpu.h"
#include "shoal/fit/network.h"

namespace shoal::cli {
namespace {

constexpr int64_t kMicro = 4;  // samples of a micro-batch

double ms(chaos::Time time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::vector<Fact> facts_of(const chaos::TrainChaosReport& report) {
  return {{"kills", report.kills, "kills"},
          {"hangs", report.hangs},
          {"steps", report.steps, "steps"},
          {"steps_lost", report.steps_lost(), "computed again", 2, " steps"},
          {"joined_again", report.joined_again},
          {"next_step_ms_p50", report.next_step.quantile(0.5), "next step ms", 1},
          {"next_step_ms_max", report.next_step.max(), "longest ms", 1},
          {"calm_step_ms", report.calm_step_ms, "calm step ms", 1},
          {"replicas_differed", report.differing},
          {"lost_norm_max", report.lost_norm},
          {"loss", report.loss, "loss", 4},
          {"calm_loss", report.calm_loss, "calm loss", 4},
          {"weights_equal", report.is_equal, "weights",
           report.is_equal ? "as without kills" : "others"}};
}

std::vector<Fact> facts_of(const chaos::TrainingCampaign& campaign) {
  return {counted("histories", campaign.histories, "histories"),
          counted("compared", campaign.compared, "compared"),
          counted("steps", campaign.steps, "steps"),
          counted("kills", campaign.kills, "workers killed"),
          counted("hub_kills", campaign.hub_kills, "hubs killed"),
          counted("damages", campaign.damages, "damages"),
          counted("violations", campaign.violations, "violations"),
          {"first_bad_seed", campaign.first_bad_seed},
          {"hub_steps_lost", campaign.hub_steps_lost},
          {"stalls", campaign.stalls},
          {"next_step_ms_max", ms(campaign.longest_recovery)}};
}

Result<cluster::Lesson> lesson_of(const ChaosTrainFlags& flags) {
  SHOAL_ASSIGN(const Model model, open_model(flags.model, {.seed = flags.seed}));
  SHOAL_ASSIGN(LoadedGraph network, fit::load_for_batch(model, kMicro));
  return cluster::Lesson{
      .network = std::move(network.graph),
      .trainer = {.optimizer = {.rate = 0.02f, .momentum = 0.9f}},
      .exchange = {.codec = {.kind = *learn::find_codec(flags.codec), .seed = flags.seed}}};
}

}  // namespace

Outcome train_on_processes(const ChaosTrainFlags& flags) {
  use_one_malloc_arena();
  SHOAL_OR_EXIT(const cluster::Lesson lesson, Exit::kModel, lesson_of(flags));
  SHOAL_OR_EXIT(const auto source, Exit::kModel, chaos::synthetic_examples(lesson));
  const auto device = make_cpu_device({.threads = 1});
  std::optional<ProgressBar> bar;
  chaos::TrainChaosOptions options{.program = executable_path(),
                                   .workers = flags.workers,
                                   .kills = flags.kills,
                                   .seed = flags.seed};
  options.on_kill = [&](size_t kills, int64_t) {
    if (!bar) bar.emplace("kills", flags.kills);
    bar->at(kills);
  };
  const auto report = chaos::run_train_chaos(options, *device, lesson, source);
  bar.reset();
  if (!report.ok()) return fail(Doing::kTrain, report.status());
  print_facts(facts_of(*report), flags.json);
  if (report->differing > 0) return {Exit::kAccuracy, "the weights of workers differed"};
  if (flags.codec == "f32" && !report->is_equal) {
    return {Exit::kAccuracy, "kills changed what was learned"};
  }
  return {};
}

Outcome train_in_histories(const ChaosTrainFlags& flags) {
  constexpr uint64_t kAtOnce = 50;
  const auto device = make_reference_device();
  chaos::TrainingHistories histories(*device);
  chaos::TrainingCampaign campaign;
  ProgressBar progress("histories", flags.histories);
  while (campaign.histories < flags.histories) {
    const uint64_t count = std::min(kAtOnce, flags.histories - campaign.histories);
    histories.live_through(flags.seed + campaign.histories, count, campaign);
    progress.at(campaign.histories);
  }
  print_facts(facts_of(campaign), flags.json);
  if (campaign.violations == 0) return {};
  return {Exit::kAccuracy,
          "seed " + std::to_string(campaign.first_bad_seed) + ": " + campaign.first_violation};
}

}  // namespace shoal::cli
