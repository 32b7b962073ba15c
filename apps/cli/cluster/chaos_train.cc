#include "chaos_train.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "../model.h"
#include "../progress.h"
#include "../table.h"
#include "apps/flags/json.h"
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

Json to_json(const chaos::TrainChaosReport& report) {
  return {{"kills", report.kills},
          {"hangs", report.hangs},
          {"steps", report.steps},
          {"steps_lost", report.steps_lost()},
          {"joined_again", report.joined_again},
          {"next_step_ms_p50", report.next_step.quantile(0.5)},
          {"next_step_ms_max", report.next_step.max()},
          {"calm_step_ms", report.calm_step_ms},
          {"replicas_differed", report.differing},
          {"lost_norm_max", report.lost_norm},
          {"loss", report.loss},
          {"calm_loss", report.calm_loss},
          {"weights_equal", report.is_equal}};
}

void print(const chaos::TrainChaosReport& report) {
  Table table({"kills", "steps", "computed again", "next step ms", "longest ms", "calm step ms",
               "loss", "calm loss", "weights"});
  table.add({std::to_string(report.kills), std::to_string(report.steps),
             fixed(report.steps_lost(), 2) + " steps", fixed(report.next_step.quantile(0.5), 1),
             fixed(report.next_step.max(), 1), fixed(report.calm_step_ms, 1), fixed(report.loss, 4),
             fixed(report.calm_loss, 4), report.is_equal ? "as without kills" : "others"});
  table.print();
}

Json to_json(const chaos::TrainingCampaign& campaign) {
  return {{"histories", campaign.histories},
          {"violations", campaign.violations},
          {"first_bad_seed", campaign.first_bad_seed},
          {"compared", campaign.compared},
          {"steps", campaign.steps},
          {"kills", campaign.kills},
          {"hub_kills", campaign.hub_kills},
          {"hub_steps_lost", campaign.hub_steps_lost},
          {"damages", campaign.damages},
          {"stalls", campaign.stalls},
          {"next_step_ms_max", ms(campaign.longest_recovery)}};
}

void print(const chaos::TrainingCampaign& campaign) {
  Table table(
      {"histories", "compared", "steps", "workers killed", "hubs killed", "damages", "violations"});
  const auto shown = [](auto n) { return with_commas(static_cast<long long>(n)); };
  table.add({shown(campaign.histories), shown(campaign.compared), shown(campaign.steps),
             shown(campaign.kills), shown(campaign.hub_kills), shown(campaign.damages),
             shown(campaign.violations)});
  table.print();
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
  if (flags.json) {
    std::printf("%s\n", to_json(*report).dump().c_str());
  } else {
    print(*report);
  }
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
  if (flags.json) {
    std::printf("%s\n", to_json(campaign).dump().c_str());
  } else {
    print(campaign);
  }
  if (campaign.violations == 0) return {};
  return {Exit::kAccuracy,
          "seed " + std::to_string(campaign.first_bad_seed) + ": " + campaign.first_violation};
}

}  // namespace shoal::cli
