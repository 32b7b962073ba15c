#include "chaos_train.h"

#include "../facts.h"
#include "../model.h"
#include "shoal/base/machine/malloc_arenas.h"
#include "shoal/base/processes/process.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/cluster/chaos/processes/train_chaos.h"
#include "shoal/cluster/chaos/training/training_history.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::cli {
namespace {

Result<cluster::TrainingSetup> setup_of(const chaos::ChaosSettings& settings) {
  SHOAL_ASSIGN(const Model model, open_model(settings.model, {.seed = settings.run.seed}));
  SHOAL_ASSIGN(LoadedGraph network, fit::load_for_batch(model, chaos::kMicroBatch));
  return chaos::chaos_setup(std::move(network.graph), *learn::find_codec(settings.codec),
                            settings.run.seed);
}

}  // namespace

Outcome train_on_processes(const chaos::ChaosSettings& settings, bool json) {
  use_one_malloc_arena();
  SHOAL_OR_EXIT(const cluster::TrainingSetup setup, Exit::kModel, setup_of(settings));
  SHOAL_OR_EXIT(const auto source, Exit::kModel, chaos::synthetic_examples(setup));
  const auto device = make_cpu_device({.threads = 1});
  const size_t kills = settings.run.faults.kills;
  ProgressBar bar("kills", kills);
  const chaos::TrainChaosOptions options{.program = executable_path(),
                                         .workers = settings.workers,
                                         .kills = kills,
                                         .seed = settings.run.seed,
                                         .on_kill = [&](size_t done, int64_t) { bar.at(done); }};
  SHOAL_OR_EXIT(const auto report, Doing::kTrain,
                chaos::run_train_chaos(options, *device, setup, source));
  bar.end();
  print_facts(facts_of(report), json);
  return outcome_of(report.verdict(settings.codec == "f32"));
}

Outcome train_in_histories(const chaos::ChaosSettings& settings, bool json) {
  const auto device = make_reference_device();
  ProgressBar bar("histories", settings.histories);
  const chaos::TrainingCampaign campaign = chaos::TrainingHistories(*device).live_through(
      settings.run.seed, settings.histories, [&](uint64_t done) { bar.at(done); });
  bar.end();
  print_facts(facts_of(campaign), json);
  return outcome_of(campaign.verdict());
}

}  // namespace shoal::cli
