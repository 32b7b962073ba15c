#include "shoal/cluster/benchmarks/verify_race.h"

#include <random>

#include "shoal/cluster/benchmarks/plan_race.h"
#include "shoal/cluster/coordinator/policy/judge.h"
#include "shoal/model/graph/random_inputs.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewestRounds = 3;

// Counts each worker that is accused once for each request.
Status count_accused(Coordinator& coordinator, Device& judge, VerifyRaceResult& result) {
  std::vector<std::string> names;
  for (const WorkerInfo& info : coordinator.workers()) names.push_back(info.name);
  for (const DisputedRequest& request : coordinator.take_disputed()) {
    SHOAL_ASSIGN(const auto accusations, cluster::judge(request, names, judge));
    std::set<int> senders;
    for (const Accusation& one : accusations) senders.insert(one.sender);
    for (int sender : senders) ++result.accused[names[static_cast<size_t>(sender)]];
  }
  return {};
}

}  // namespace

Result<VerifyRaceResult> race_verification(Coordinator& coordinator, const plan::Prediction& plan,
                                           Device& judge, const VerifyRaceOptions& options) {
  if (plan.plan().survives == 0) return invalid("a plan that survives no loss has no copies");
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = random_inputs(plan.graph(), rng);
  // The workers of one keep pieces for checks, those of the other do not: part of the cost.
  SHOAL_ASSIGN(const auto plain, coordinator.deploy(plan.scheduled));
  coordinator.check_every(options.every);
  SHOAL_ASSIGN(const auto verified, coordinator.deploy(plan.scheduled));
  const auto timeout = generous_timeout(plan.timeline.seconds * options.dilation);
  const auto ask = [&](RemotePlan& by, LatencyRecorder* took) -> Status {
    std::vector<Tensor> outputs(plan.graph().outputs().size());
    const auto begin = Clock::now();
    SHOAL_TRY(by.run(inputs, outputs, timeout));
    const std::chrono::duration<double, std::milli> ms = Clock::now() - begin;
    if (took != nullptr) took->add(ms.count() / options.dilation);
    return {};
  };
  VerifyRaceResult result;
  if (options.deployed) options.deployed();
  for (RemotePlan* one : {plain.get(), verified.get()}) SHOAL_TRY(ask(*one, nullptr));  // cold
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  for (size_t round = 0; round < kFewestRounds || Clock::now() < end; ++round) {
    coordinator.check_every(0);
    for (uint64_t i = 0; i < options.every; ++i) SHOAL_TRY(ask(*plain, &result.plain));
    coordinator.check_every(options.every);
    for (uint64_t i = 0; i < options.every; ++i) SHOAL_TRY(ask(*verified, &result.verified));
    SHOAL_TRY(count_accused(coordinator, judge, result));
  }
  coordinator.check_every(0);
  result.checks = coordinator.checks();
  return result;
}

}  // namespace shoal::cluster
