#include "shoal/cluster/chaos/training/training_history.h"

#include "shoal/train/distributed/run/small_task.h"

namespace shoal::chaos {
namespace {

using learn::CodecKind;

constexpr std::chrono::seconds kMostRecovery{1};

SimulatedTrainingOptions options_of(uint64_t seed) {
  Random random(seed);
  SimulatedTrainingOptions options{.seed = seed};
  options.exchange.levels = static_cast<int>(random.between(0, 3));
  options.hub.steps = random.between(1, 8);
  options.workers = static_cast<int>(random.between(1, 4));
  options.save_every = random.between(1, 3);
  options.faults = {.kills = static_cast<int>(random.between(0, 4)),
                    .hub_kills = static_cast<int>(random.between(0, 2)),
                    .damages = static_cast<int>(random.between(0, 2)),
                    .stalls = static_cast<int>(random.between(0, 3))};
  if (random.between(0, 3) == 0) {
    options.exchange.local_steps = random.between(2, 3);
    options.exchange.outer = {.rate = 0.7f, .momentum = 0.5f};
  }
  const auto codecs = learn::all_codecs();
  switch (random.between(0, 3)) {
    case 0:
    case 1:
      break;  // exact, and complete steps
    case 2:   // codecs, and hubs that are killed
      options.exchange.codec.kind =
          codecs[static_cast<size_t>(random.between(0, std::ssize(codecs) - 1))];
      options.hub.fixed_shares = true;
      if (random.between(0, 1) == 1) options.hub.planned = {{0, 1000}, {1, 2000}, {2, 4000}};
      options.repeats = random.between(0, 1) == 1;
      if (!options.repeats) options.faults.kills = 0;
      options.faults.damages = 0;
      options.faults.hub_kills = static_cast<int>(random.between(1, 3));
      break;
    default:  // whatever there is, and stragglers
      options.exchange.codec.kind =
          codecs[static_cast<size_t>(random.between(0, std::ssize(codecs) - 1))];
      options.hub.slack = 1.2;
  }
  return options;
}

// Whether the weights must be those of the run without faults.
bool is_comparable(const SimulatedTrainingOptions& options) {
  if (options.hub.slack > 0) return false;
  const bool is_exact =
      options.exchange.codec.kind == CodecKind::kF32 && options.exchange.local_steps == 1;
  return is_exact || options.hub.fixed_shares;
}

// The limit of micro-batches that a fault may make compute again. With slack there is none, since a
// straggler computes what is carried over; nor if a lost worker costs the steps since a checkpoint.
std::string excess_of(const SimulatedTrainingOptions& options, const TrainingFigures& figures) {
  if (options.hub.slack > 0 || options.repeats) return {};
  const bool all_answer = options.hub.fixed_shares &&
                          options.workers <= options.exchange.micro_batches() && figures.kills == 0;
  if (all_answer && figures.most_hub_steps_lost > options.save_every) {
    return "a killed hub cost more steps than since its last checkpoint";
  }
  const int64_t faults = figures.kills + figures.hub_kills + figures.damages;
  const int64_t allowed = options.hub.steps + figures.hub_steps_lost + faults;
  const int64_t of_step = options.exchange.micro_batches() * options.exchange.local_steps;
  if (figures.micro_batches > allowed * of_step) {
    return "a fault cost more than one step";
  }
  const bool others_are_there = options.workers > figures.kills;
  if (others_are_there && figures.longest_recovery > kMostRecovery * options.exchange.local_steps) {
    return "the next step after a loss took longer than a second";
  }
  return {};
}

}  // namespace

TrainingHistories::TrainingHistories(Device& device)
    : device_(device),
      task_{learn::SmallTask().network(),
            {.optimizer = {.rate = 0.1f, .momentum = 0.9f}},
            learn::SmallTask().source()} {}

Result<uint64_t> TrainingHistories::hash_without_faults(SimulatedTrainingOptions options) {
  std::string key;
  for (const int64_t part : {static_cast<int64_t>(options.exchange.codec.kind),
                             static_cast<int64_t>(options.exchange.levels), options.hub.steps,
                             static_cast<int64_t>(options.workers), std::ssize(options.hub.planned),
                             options.exchange.local_steps}) {
    key += std::to_string(part) + " ";
  }
  const auto found = calm_.find(key);
  if (found != calm_.end()) return found->second;
  options.faults = {};
  options.save_every = 0;
  SimulatedTraining calm(device_, task_, options);
  SHOAL_TRY(calm.run());
  return calm_[key] = calm.hash();
}

TrainingHistory TrainingHistories::live_through(uint64_t seed) {
  const SimulatedTrainingOptions options = options_of(seed);
  SimulatedTraining run(device_, task_, options);
  const Status status = run.run();
  TrainingHistory history{.violation = std::string(status.message()), .figures = run.figures()};
  if (!status.ok()) return history;
  history.violation = excess_of(options, run.figures());
  if (!history.violation.empty() || !is_comparable(options)) return history;
  const Result<uint64_t> calm = hash_without_faults(options);
  ++compared_;
  if (!calm.ok())
    history.violation = calm.status().message();
  else if (*calm != run.hash())
    history.violation = "other weights than without faults";
  return history;
}

Facts facts_of(const TrainingCampaign& campaign) {
  const std::chrono::duration<double, std::milli> longest = campaign.longest_recovery;
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
          {"next_step_ms_max", longest.count()}};
}

TrainingCampaign TrainingHistories::live_through(uint64_t seed, uint64_t count,
                                                 const std::function<void(uint64_t)>& at) {
  TrainingCampaign campaign;
  compared_ = 0;
  for (uint64_t one = seed; one < seed + count; ++one) {
    if (at) at(campaign.histories);
    const auto [violation, figures] = live_through(one);
    ++campaign.histories;
    campaign.steps += figures.steps;
    campaign.kills += figures.kills;
    campaign.hub_kills += figures.hub_kills;
    campaign.damages += figures.damages;
    campaign.stalls += figures.stalls;
    campaign.hub_steps_lost += figures.hub_steps_lost;
    campaign.longest_recovery = std::max(campaign.longest_recovery, figures.longest_recovery);
    if (violation.empty()) continue;
    ++campaign.violations;
    if (campaign.first_bad_seed >= 0) continue;
    campaign.first_bad_seed = static_cast<int64_t>(one);
    campaign.first_violation = violation;
  }
  campaign.compared = compared_;
  return campaign;
}

}  // namespace shoal::chaos
