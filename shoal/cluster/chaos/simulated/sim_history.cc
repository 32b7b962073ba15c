// One history: up to 8 requests within two virtual seconds, up to 4 faults, perhaps an upgrade of
// the model, then quiet until every timeout is over. The oracle is small: every request ends
// exactly once, its answer is that of one version of the model as a whole, and errors are only
// those that invite another try.
#include "shoal/cluster/chaos/simulated/sim_history.h"

#include <map>
#include <memory>

#include "shoal/cluster/chaos/simulated/fault_injector.h"
#include "shoal/cluster/chaos/simulated/sim_coordinator.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr size_t kScenes = 18;
constexpr int kMostRequests = 8, kMostFaults = 4;
constexpr Time kTimeout = 3s;
// Each of the ten kinds is equally likely; four of them are partitions.
constexpr FaultCounts kAllFaults{
    .kills = 1, .stops = 1, .slows = 1, .partitions = 4, .delays = 1, .drops = 1, .corruptions = 1};

// Scenes are made when they are first played.
Scene& scene_of(uint64_t seed) {
  // Not locked: the histories of one process run on one thread.
  static std::map<uint64_t, std::unique_ptr<Scene>> scenes;
  std::unique_ptr<Scene>& scene = scenes[seed % kScenes];
  if (scene == nullptr) {
    auto made = Scene::make(seed % kScenes);
    SHOAL_CHECK(made.ok());
    scene = *std::move(made);
  }
  return *scene;
}

class Life {
 public:
  explicit Life(uint64_t seed)
      : seed_(seed),
        world_(scene_of(seed), seed),
        coordinator_(world_, workers_, [this](uint64_t r, const auto& o) { end(r, o); }) {
    for (int w = 0; w < world_.scene.workers(); ++w) {
      workers_.push_back(std::make_unique<SimWorker>(world_, w, workers_, coordinator_.ear()));
    }
  }

  History live() {
    constexpr Time kBusy = 2s;
    coordinator_.start();
    const auto requests = static_cast<int>(world_.random.between(1, kMostRequests));
    for (int i = 0; i < requests; ++i) {
      world_.clock.after(world_.random.between(0ms, kBusy), [this] { submit(); });
    }
    if (world_.random.between(0, 3) == 0) {
      world_.clock.after(world_.random.between(0ms, kBusy), [this] { coordinator_.upgrade(); });
    }
    const auto count = static_cast<int>(world_.random.between(0, kMostFaults));
    FaultPlan plan(
        {.counts = kAllFaults, .endless = true, .workers = world_.scene.workers(), .seed = seed_});
    const FaultInjector faults(world_, workers_, plan, count, kBusy);
    // Ends the periodic search for lost workers, with which the clock would never run dry. All
    // timeouts are over by then.
    world_.clock.after(kBusy + 2 * kTimeout, [this] { coordinator_.stop(); });
    while (world_.clock.step()) {
    }
    for (const auto& [request, sent] : sent_) {
      if (sent.ends == 0) violate("request " + std::to_string(request) + " never ended");
    }
    history_.hash = world_.journal.hash();
    return history_;
  }

 private:
  struct Sent {
    size_t input = 0;
    int ends = 0;
  };

  void submit() {
    const auto input = static_cast<size_t>(world_.random.between(0, Scene::kInputs - 1));
    ++history_.requests;
    submitting_ = input;
    const uint64_t request = coordinator_.submit(input, kTimeout);
    sent_[request].input = input;
    world_.reached(FaultPoint::kSubmitted,
                   static_cast<int>(world_.random.between(0, world_.scene.workers() - 1)));
  }

  void end(uint64_t request, const cluster::RequestOutcome& outcome) {
    // It may end while it is being submitted.
    Sent& sent = sent_.try_emplace(request, Sent{submitting_, 0}).first->second;
    if (++sent.ends > 1) violate("request " + std::to_string(request) + " ended twice");
    if (outcome.replayed) ++history_.replayed;
    const Code code = outcome.status.code();
    if (code == Code::kOk) {
      ++history_.answered;
      // An answer that mixes two versions matches neither.
      if (!world_.scene.version_of(sent.input, outcome.outputs)) {
        violate("the answer to request " + std::to_string(request) + " is of no version");
      }
      return;
    }
    ++history_.failed;
    if (code != Code::kUnavailable && code != Code::kDeadline) {
      violate("request " + std::to_string(request) + ": " + std::string(outcome.status.message()));
    }
  }

  void violate(const std::string& how) {
    if (history_.violation.empty()) history_.violation = how;
  }

  const uint64_t seed_;
  World world_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  SimCoordinator coordinator_;
  size_t submitting_ = 0;
  std::map<uint64_t, Sent> sent_;
  History history_;
};

}  // namespace

Campaign& Campaign::operator+=(const Campaign& later) {
  if (first_bad_seed < 0) {
    first_bad_seed = later.first_bad_seed;
    first_violation = later.first_violation;
  }
  histories += later.histories;
  violations += later.violations;
  requests += later.requests;
  answered += later.answered;
  failed += later.failed;
  replayed += later.replayed;
  return *this;
}

History live_through(uint64_t seed) { return Life(seed).live(); }

Facts facts_of(const Campaign& campaign) {
  return {counted("histories", campaign.histories, "histories"),
          counted("requests", campaign.requests, "requests"),
          counted("answered", campaign.answered, "answered"),
          counted("failed", campaign.failed, "failed"),
          counted("replayed", campaign.replayed, "replayed"),
          counted("violations", campaign.violations, "violations"),
          {"first_bad_seed", campaign.first_bad_seed}};
}

Campaign live_through(uint64_t seed, uint64_t histories, const std::function<void(uint64_t)>& at) {
  Campaign campaign;
  for (; campaign.histories < histories; ++campaign.histories) {
    if (at) at(campaign.histories);
    const uint64_t one = seed + campaign.histories;
    const History history = live_through(one);
    campaign.requests += static_cast<uint64_t>(history.requests);
    campaign.answered += static_cast<uint64_t>(history.answered);
    campaign.failed += static_cast<uint64_t>(history.failed);
    campaign.replayed += static_cast<uint64_t>(history.replayed);
    if (history.violation.empty()) continue;
    ++campaign.violations;
    if (campaign.first_bad_seed >= 0) continue;
    campaign.first_bad_seed = static_cast<int64_t>(one);
    campaign.first_violation = history.violation;
  }
  return campaign;
}

}  // namespace shoal::chaos
