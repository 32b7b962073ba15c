#include "shoal/cluster/cluster_connection.h"

#include <algorithm>

#include "shoal/cluster/member_upkeep.h"
#include "shoal/cluster/plan_store.h"
#include "shoal/cluster/profile_store.h"
#include "shoal/cluster/profiling.h"
#include "shoal/cluster/waker.h"
#include "shoal/net/tls/membership.h"
#include "shoal/net/tls/tls.h"

namespace shoal::cluster {

Result<std::unique_ptr<ClusterConnection>> ClusterConnection::open(
    std::vector<ListedWorker> workers, std::unique_ptr<net::Transport> transport,
    ConnectionOptions options) {
  if (workers.empty()) {
    return Status(Code::kNotFound, "the cluster has no workers: see 'shoal cluster invite'");
  }
  std::unique_ptr<ClusterConnection> self(
      new ClusterConnection(std::move(transport), std::move(options)));
  CoordinatorOptions how{.partial = true, .deploy = self->options_.deploy};
  how.deploy.progress_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      how.deploy.progress_timeout * std::max(1.0, self->options_.dilation));
  SHOAL_ASSIGN(self->coordinator_,
               Coordinator::connect(workers, *self->transport_, std::move(how)));
  // Only workers that answered, in the coordinator's numbering: plans and profiles use the same
  // numbers.
  for (const WorkerInfo& info : self->coordinator_->workers()) {
    self->workers_.push_back({info.name, info.address});
  }
  return self;
}

Result<std::unique_ptr<ClusterConnection>> ClusterConnection::open(const ClusterFolder& folder,
                                                                   ConnectionOptions options) {
  net::TlsOptions tls;
  SHOAL_ASSIGN(tls.membership, folder.membership());
  SHOAL_ASSIGN(auto transport, net::make_tls_transport(tls.membership->identity(), tls));
  renew_due_workers(folder, *transport);
  SHOAL_ASSIGN(std::vector<ListedWorker> workers, folder.workers());
  return open(std::move(workers), std::move(transport), std::move(options));
}

Result<plan::ClusterProfile> ClusterConnection::profile(const Graph& graph) {
  SHOAL_ASSIGN(plan::ClusterProfile profile,
               options_.profile ? given_profile() : measured_profile(graph));
  keep_awake(profile);
  return profile;
}

Result<plan::ClusterProfile> ClusterConnection::given_profile() const {
  plan::ClusterProfile there = *options_.profile;
  there.workers.clear();
  there.links.clear();
  const auto& all = options_.profile->workers;
  for (const ListedWorker& worker : workers_) {
    // By name, because workers that did not answer are left out and numbers shift.
    const auto it = std::ranges::find(all, worker.name, &plan::WorkerProfile::name);
    if (it == all.end()) return invalid("no emulated device is called " + worker.name);
    there.workers.push_back(*it);
    there.links.push_back(options_.profile->links[static_cast<size_t>(it - all.begin())]);
  }
  return there;
}

Result<plan::ClusterProfile> ClusterConnection::measured_profile(const Graph& graph) const {
  if (options_.cache.empty()) return measure_cluster(graph, workers_, *transport_);
  const ProfileStore store(options_.cache, graph, workers_);
  const auto now = std::chrono::system_clock::now();
  if (auto known = store.load(now)) return *std::move(known);
  SHOAL_ASSIGN(plan::ClusterProfile profile, measure_cluster(graph, workers_, *transport_));
  store.save(profile, now);
  return profile;
}

// Sends as often as the first radio to fall asleep needs it. A wake-up that is measurable costs
// more than the small message that prevents it (worker_probe.cc).
void ClusterConnection::keep_awake(const plan::ClusterProfile& profile) {
  if (!profile.keep_awake) return;
  std::vector<int> sleepers;
  double first = 0;
  for (size_t w = 0; w < profile.links.size(); ++w) {
    const plan::LinkProfile& link = profile.links[w];
    if (link.wakeup_seconds <= 0) continue;
    first = sleepers.empty() ? link.sleep_after_seconds : std::min(first, link.sleep_after_seconds);
    sleepers.push_back(static_cast<int>(w));
  }
  coordinator_->keep_awake(std::move(sleepers), wake_interval(first * dilation_));
}

void ClusterConnection::set_dilation(double dilation) {
  dilation_ = dilation;
  if (!options_.profile) return;
  if (const auto profile = given_profile(); profile.ok()) keep_awake(*profile);
}

void ClusterConnection::compare(const Graph& graph, double predicted_seconds,
                                double measured_seconds) const {
  // A quarter off means that machines or network have changed since they were measured.
  constexpr double kDeparted = 1.25;
  if (options_.profile || options_.cache.empty()) return;
  const double ratio = measured_seconds / predicted_seconds;
  if (ratio < kDeparted && ratio > 1 / kDeparted) return;
  ProfileStore(options_.cache, graph, workers_).remove();
}

Result<std::vector<plan::Prediction>> ClusterConnection::make_plans(
    const Graph& graph, const plan::ClusterProfile& profile,
    const plan::PlanOptions& options) const {
  if (options_.cache.empty()) return plan::make_plans(graph, profile, options);
  return load_or_make_plans(options_.cache, graph, profile, options);
}

}  // namespace shoal::cluster
