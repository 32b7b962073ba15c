#include "cluster_access.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "../folders.h"
#include "mpi_access.h"
#include "places.h"
#include "profile_store.h"
#include "shoal/cluster/profiling.h"
#include "shoal/cluster/worker_probe.h"

namespace shoal::cli {
namespace {

// Workers whose radios sleep, and how long the first and the last of them take to.
struct Sleepers {
  std::vector<int> workers;
  std::chrono::milliseconds first{0}, last{0};
};

Sleepers sleepers_of(const plan::ClusterProfile& profile, double dilation) {
  Sleepers sleepers;
  for (size_t w = 0; w < profile.links.size(); ++w) {
    const plan::LinkProfile& link = profile.links[w];
    if (link.wakeup_seconds <= 0) continue;
    const auto after = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(link.sleep_after_seconds * dilation));
    sleepers.first = sleepers.workers.empty() ? after : std::min(sleepers.first, after);
    sleepers.last = std::max(sleepers.last, after);
    sleepers.workers.push_back(static_cast<int>(w));
  }
  return sleepers;
}

}  // namespace

Result<std::unique_ptr<ClusterAccess>> ClusterAccess::open(const PlanFlags& flags) {
  std::unique_ptr<ClusterAccess> access(new ClusterAccess);
  SHOAL_TRY(flags.network == "mpi" ? access->open_ranks() : access->open_folder());
  std::vector<std::string> addresses;
  for (const cluster::ListedWorker& worker : access->workers_) {
    addresses.push_back(worker.address);
  }
  SHOAL_ASSIGN(access->coordinator_, cluster::Coordinator::connect(addresses, *access->found_));
  if (access->emulated()) {
    SHOAL_ASSIGN(const emulate::EmulatedLinks links, access->emulation_.as(""));
    access->lull_ = sleepers_of(links.cluster, links.dilation).last * 3 / 2;
    SHOAL_ASSIGN(access->shaping_, emulate::open_shaping(links));
  }
  return access;
}

// Twice as often as the first of them would fall asleep. A wake-up that is measured at all costs
// more than the small message that prevents it (cluster/worker_probe.cc).
void ClusterAccess::keep_awake(const plan::ClusterProfile& profile) const {
  if (!profile.keep_awake) return;
  Sleepers sleepers = sleepers_of(profile, dilation());
  coordinator_->keep_awake(std::move(sleepers.workers), sleepers.first / 2);
}

Status ClusterAccess::open_ranks() {
  SHOAL_ASSIGN(RankedCluster cluster, join_ranks());
  ranks_ = std::move(cluster.ranks);
  transport_ = std::move(cluster.transport);
  return find_workers(cluster.workers);
}

Status ClusterAccess::open_folder() {
  emulation_ = Emulation::of_environment();
  const cluster::ClusterFolder folder(default_cluster_folder());
  SHOAL_ASSIGN(const net::Identity identity, folder.coordinator());
  SHOAL_ASSIGN(transport_, make_transport(identity, emulation_, ""));
  SHOAL_ASSIGN(const std::vector<cluster::ListedWorker> listed, folder.workers());
  if (listed.empty()) {
    return Status(Code::kNotFound, "the cluster has no workers: see 'shoal cluster invite'");
  }
  return find_workers(listed);
}

Status ClusterAccess::find_workers(const std::vector<cluster::ListedWorker>& listed) {
  Status first;
  found_ = std::make_unique<KeptChannels>(*transport_);
  for (const cluster::ListedWorker& worker : listed) {
    auto found = cluster::WorkerProbe::open(worker, *transport_);
    if (found.ok()) {
      workers_.push_back(worker);
      found_->keep(worker.address, std::move(*found).release());
      continue;
    }
    if (first.ok()) first = found.status();
    std::fprintf(stderr, "left out: %s\n", std::string(found.status().message()).c_str());
  }
  return workers_.empty() ? first : Status();
}

Result<plan::ClusterProfile> ClusterAccess::measured_profile(const Graph& graph) const {
  const ProfileStore store(cache_folder(), graph, workers_);
  const auto now = std::chrono::system_clock::now();
  if (auto known = store.load(now)) return *std::move(known);
  SHOAL_ASSIGN(plan::ClusterProfile profile,
               cluster::measure_cluster(graph, workers_, *transport_));
  store.save(profile, now);
  return profile;
}

void ClusterAccess::compare(const Graph& graph, double predicted_seconds,
                            double measured_seconds) const {
  constexpr double kDeparted = 1.25;
  const double ratio = measured_seconds / predicted_seconds;
  if (emulated() || (ratio < kDeparted && ratio > 1 / kDeparted)) return;
  ProfileStore(cache_folder(), graph, workers_).forget();
}

Result<plan::ClusterProfile> ClusterAccess::profile(const Graph& graph) const {
  SHOAL_ASSIGN(plan::ClusterProfile profile,
               emulated() ? emulated_profile() : measured_profile(graph));
  keep_awake(profile);
  return profile;
}

Result<plan::ClusterProfile> ClusterAccess::emulated_profile() const {
  SHOAL_ASSIGN(const emulate::EmulatedLinks links, emulation_.as(""));
  plan::ClusterProfile there = links.cluster;
  there.workers.clear();
  there.links.clear();
  for (const cluster::ListedWorker& worker : workers_) {
    const auto& all = links.cluster.workers;
    const auto it = std::ranges::find(all, worker.name, &plan::WorkerProfile::name);
    if (it == all.end()) return invalid("no emulated device is called " + worker.name);
    there.workers.push_back(*it);
    there.links.push_back(links.cluster.links[static_cast<size_t>(it - all.begin())]);
  }
  return there;
}

void ClusterAccess::shape(bool on) const {
  if (shaping_ != nullptr) shaping_->store(on);
}

}  // namespace shoal::cli
