#include "shoal/cluster/device/cluster_connection.h"

#include <algorithm>
#include <future>
#include <set>

#include "shoal/cluster/coordinator/runtime/waker.h"
#include "shoal/cluster/device/plan_store.h"
#include "shoal/cluster/members/member_upkeep.h"
#include "shoal/cluster/profiling/profile_store.h"
#include "shoal/cluster/profiling/profiling.h"
#include "shoal/cluster/profiling/worker_probe.h"
#include "shoal/plan/whole_time.h"

namespace shoal::cluster {

Result<std::unique_ptr<ClusterConnection>> ClusterConnection::open(
    std::vector<ListedWorker> workers, std::unique_ptr<net::Transport> transport,
    ConnectionOptions options) {
  if (workers.empty()) {
    return Status(Code::kNotFound, "the cluster has no workers: see 'shoal cluster invite'");
  }
  std::unique_ptr<ClusterConnection> self(
      new ClusterConnection(std::move(transport), std::move(options)));
  self->workers_ = std::move(workers);
  SHOAL_TRY(self->connect());
  for (const Status& why : self->coordinator_->missing()) self->leave_out(why);
  return self;
}

// A worker that follows a later epoch, because this folder is an old copy, or the same epoch of
// another copy, says which. The owner counts on from there.
Status ClusterConnection::connect() {
  constexpr int kTries = 3;
  const auto latest = std::make_shared<std::atomic<uint64_t>>(0);
  CoordinatorOptions options{.partial = true, .deploy = options_.deploy};
  options.deploy.progress_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
      options.deploy.progress_timeout * std::max(1.0, options_.dilation));
  options.outranked = [latest](uint64_t epoch) {
    uint64_t known = *latest;
    while (known < epoch && !latest->compare_exchange_weak(known, epoch)) {
    }
  };
  Status last;
  for (int i = 0; i < kTries; ++i) {
    if (options_.next_epoch) {
      const Result<uint64_t> epoch = options_.next_epoch(*latest);
      // A worker that names an impossible epoch is left out; the others are connected.
      if (!epoch.ok() && coordinator_ != nullptr) return {};
      if (!epoch.ok()) return epoch.status();
      options.epoch = *epoch;
    }
    coordinator_.reset();
    auto connected = Coordinator::connect(workers_, *transport_, options);
    last = connected.status();
    if (connected.ok()) coordinator_ = *std::move(connected);
    if (*latest < options.epoch || options.epoch == 0) break;
  }
  return last;
}

Result<std::unique_ptr<ClusterConnection>> ClusterConnection::open(const ClusterFolder& folder,
                                                                   ConnectionOptions options) {
  SHOAL_ASSIGN(auto transport, folder.transport());
  renew_due_workers(folder, *transport);
  SHOAL_ASSIGN(std::vector<ListedWorker> workers, folder.workers());
  return open(std::move(workers), std::move(transport), std::move(options));
}

void ClusterConnection::leave_out(const Status& why) const {
  if (options_.left_out) options_.left_out(why);
}

Result<plan::ClusterProfile> ClusterConnection::profile(const Graph& graph, const Workers& which) {
  SHOAL_ASSIGN(plan::ClusterProfile profile,
               options_.profile ? given_profile(which) : measured_profile(graph, which));
  keep_awake(profile);
  const std::lock_guard lock(mutex_);
  for (size_t w = 0; w < profile.links.size(); ++w) {
    if (profile.workers[w].present) links_[static_cast<int>(w)] = profile.links[w];
  }
  return profile;
}

std::vector<std::optional<WorkerReport>> ClusterConnection::ask_workers() {
  const std::lock_guard alone(asking_);
  std::vector<std::optional<WorkerReport>> reports(workers_.size());
  const Workers present = coordinator_->present();
  std::erase_if(probes_, [&](const auto& probe) { return !present.contains(probe.first); });
  std::vector<std::pair<int, std::future<Result<WorkerReport>>>> asking;
  for (int worker : present) {
    if (!probes_.contains(worker)) {
      auto opened = WorkerProbe::open(workers_[static_cast<size_t>(worker)], *transport_);
      if (!opened.ok()) continue;
      probes_.emplace(worker, *std::move(opened));
    }
    WorkerProbe& probe = probes_.at(worker);
    asking.emplace_back(worker, std::async(std::launch::async, [&]() -> Result<WorkerReport> {
                          const auto begin = std::chrono::steady_clock::now();
                          SHOAL_ASSIGN(const WorkerState state, probe.state());
                          const std::chrono::duration<double> took =
                              std::chrono::steady_clock::now() - begin;
                          return WorkerReport{state, took.count()};
                        }));
  }
  for (auto& [worker, one] : asking) {
    auto report = one.get();
    if (report.ok()) {
      reports[static_cast<size_t>(worker)] = *std::move(report);
    } else {
      probes_.erase(worker);
    }
  }
  return reports;
}

std::vector<std::optional<plan::LinkProfile>> ClusterConnection::known_links() const {
  std::vector<std::optional<plan::LinkProfile>> all(workers_.size());
  const std::lock_guard lock(mutex_);
  for (const auto& [worker, link] : links_) all[static_cast<size_t>(worker)] = link;
  return all;
}

Result<plan::ClusterProfile> ClusterConnection::given_profile(const Workers& which) const {
  plan::ClusterProfile there = *options_.profile;
  there.workers.clear();
  there.links.clear();
  const auto& all = options_.profile->workers;
  for (size_t w = 0; w < workers_.size(); ++w) {
    const std::string& name = workers_[w].name;
    const auto it = std::ranges::find(all, name, &plan::WorkerProfile::name);
    const bool is_wanted = which.contains(static_cast<int>(w));
    if (is_wanted && it == all.end()) return invalid("no emulated device is called " + name);
    there.workers.push_back(is_wanted ? *it : plan::absent_worker(name));
    there.links.push_back(it == all.end()
                              ? plan::LinkProfile()
                              : options_.profile->links[static_cast<size_t>(it - all.begin())]);
  }
  return there;
}

Result<plan::ClusterProfile> ClusterConnection::measured_profile(const Graph& graph,
                                                                 const Workers& which) const {
  const auto now = std::chrono::system_clock::now();
  std::vector<std::optional<MeasuredWorker>> known(workers_.size());
  std::vector<size_t> numbers;
  std::vector<ListedWorker> unknown;
  for (int worker : which) {
    const auto w = static_cast<size_t>(worker);
    if (!options_.cache.empty()) {
      known[w] = ProfileStore(options_.cache, graph, workers_[w]).load(now);
    }
    if (known[w]) continue;
    numbers.push_back(w);
    unknown.push_back(workers_[w]);
  }
  SHOAL_ASSIGN(auto measured, measure_workers(graph, unknown, *transport_));
  Status first =
      which.empty() ? Status(Code::kUnavailable, "there are no workers to measure") : Status();
  for (size_t i = 0; i < measured.size(); ++i) {
    const size_t w = numbers[i];
    if (measured[i].ok()) {
      known[w] = *std::move(measured[i]);
      if (!options_.cache.empty()) {
        ProfileStore(options_.cache, graph, workers_[w]).save(*known[w], now);
      }
      continue;
    }
    if (first.ok()) first = measured[i].status();
    leave_out(measured[i].status());
  }
  const bool any = std::ranges::any_of(known, [](const auto& one) { return one.has_value(); });
  if (!any) return first;
  return assemble(workers_, known);
}

std::optional<std::vector<double>> ClusterConnection::time_on(int worker,
                                                              std::span<const Graph> graphs) const {
  constexpr double kSeconds = 0.3;  // for each graph
  const ListedWorker& listed = workers_[static_cast<size_t>(worker)];
  std::vector<double> times;
  if (options_.profile) {
    const auto& all = options_.profile->workers;
    const auto it = std::ranges::find(all, listed.name, &plan::WorkerProfile::name);
    if (it == all.end()) return std::nullopt;
    for (const Graph& graph : graphs) times.push_back(plan::seconds_of_whole(graph, *it));
    return times;
  }
  auto probe = WorkerProbe::open(listed, *transport_);
  if (!probe.ok()) return std::nullopt;
  const auto measured = probe->time(graphs, kSeconds);
  if (!measured.ok()) return std::nullopt;
  for (const std::optional<double>& one : *measured) {
    if (!one) return std::nullopt;
    times.push_back(*one);
  }
  return times;
}

std::vector<std::optional<std::vector<double>>> ClusterConnection::time(
    std::span<const Graph> graphs) const {
  std::vector<std::optional<std::vector<double>>> times(workers_.size());
  std::vector<std::pair<int, std::future<std::optional<std::vector<double>>>>> asking;
  for (int worker : coordinator_->present()) {
    asking.emplace_back(worker, std::async(std::launch::async, [this, worker, graphs] {
                          return time_on(worker, graphs);
                        }));
  }
  for (auto& [worker, one] : asking) times[static_cast<size_t>(worker)] = one.get();
  return times;
}

double ClusterConnection::slowdown() const {
  double largest = 1;
  if (options_.profile) return largest;
  std::vector<std::future<double>> asking;
  for (int worker : coordinator_->present()) {
    asking.push_back(std::async(std::launch::async, [this, worker] {
      auto probe = WorkerProbe::open(workers_[static_cast<size_t>(worker)], *transport_);
      if (!probe.ok()) return 1.0;
      const auto state = probe->state();
      return state.ok() ? state->slowdown : 1.0;
    }));
  }
  for (std::future<double>& one : asking) largest = std::max(largest, one.get());
  return largest;
}

bool ClusterConnection::shares_machine() const {
  if (options_.profile) return false;
  std::set<std::string> hosts;
  for (int worker : coordinator_->present()) {
    const std::string& address = workers_[static_cast<size_t>(worker)].address;
    if (!hosts.insert(address.substr(0, address.rfind(':'))).second) return true;
  }
  return false;
}

// Sends as often as the first radio to fall asleep needs it. A wake-up that is measurable costs
// more than the small message that prevents it (worker_probe.cc).
void ClusterConnection::keep_awake(const plan::ClusterProfile& profile) {
  if (!profile.keep_awake) return;
  std::vector<int> sleepers;
  double first = 0;
  const std::lock_guard lock(mutex_);
  for (size_t w = 0; w < profile.links.size(); ++w) {
    const bool sleeps = profile.workers[w].present && profile.links[w].wakeup_seconds > 0;
    if (sleeps) sleepers_[static_cast<int>(w)] = profile.links[w];
  }
  for (const auto& [worker, link] : sleepers_) {
    first = sleepers.empty() ? link.sleep_after_seconds : std::min(first, link.sleep_after_seconds);
    sleepers.push_back(worker);
  }
  coordinator_->keep_awake(std::move(sleepers), wake_interval(first * dilation_));
}

void ClusterConnection::set_dilation(double dilation) {
  dilation_ = dilation;
  if (!options_.profile) return;
  const auto profile = given_profile(coordinator_->present());
  if (profile.ok()) keep_awake(*profile);
}

void ClusterConnection::compare(const Graph& graph, double predicted_seconds,
                                double measured_seconds) const {
  // A quarter off means that machines or network have changed since they were measured.
  constexpr double kDeparted = 1.25;
  if (options_.profile || options_.cache.empty()) return;
  const double ratio = measured_seconds / predicted_seconds;
  if (ratio < kDeparted && ratio > 1 / kDeparted) return;
  forget_profiles(graph);
}

void ClusterConnection::forget_profiles(const Graph& graph) const {
  if (options_.cache.empty()) return;
  for (const ListedWorker& worker : workers_) {
    ProfileStore(options_.cache, graph, worker).remove();
  }
}

Result<std::vector<plan::Prediction>> ClusterConnection::make_plans(
    const Graph& graph, const plan::ClusterProfile& profile,
    const plan::PlanOptions& options) const {
  if (options_.cache.empty()) return plan::make_plans(graph, profile, options);
  return load_or_make_plans(options_.cache, graph, profile, options);
}

}  // namespace shoal::cluster
