#include "chaos_train.h"

#include <optional>

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
  return outcome_of(report->verdict(flags.codec == "f32"));
}

Outcome train_in_histories(const ChaosTrainFlags& flags, uint64_t histories) {
  const auto device = make_reference_device();
  std::optional<ProgressBar> bar(std::in_place, "histories", histories);
  const chaos::TrainingCampaign campaign = chaos::TrainingHistories(*device).live_through(
      flags.seed, histories, [&](uint64_t done) { bar->at(done); });
  bar.reset();
  print_facts(facts_of(campaign), flags.json);
  return outcome_of(campaign.verdict());
}

}  // namespace shoal::cli
