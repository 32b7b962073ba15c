#include "shoal/serve/devices/cluster_view.h"

#include <algorithm>

#include "shoal/base/machine/machine.h"
#include "shoal/base/text/number_text.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/report/pages/plan_page.h"

namespace shoal::serve {
namespace {

constexpr std::chrono::milliseconds kAskedLately{300};
constexpr size_t kMostPlans = 256;
constexpr const char* kCoordinatorName = "this server";

// Names and types of the inputs, by which networks and batches are told apart.
std::string inputs_of(const Graph& graph) {
  std::string text;
  for (ValueId id : graph.inputs()) {
    text += (text.empty() ? "" : ", ") + graph[id].name + " " + to_string(graph[id].type);
  }
  return text;
}

std::vector<int> needed_by(const plan::Plan& plan) {
  std::vector<int> workers = plan::workers_of(plan);
  std::erase(workers, plan::kCoordinator);
  return workers;
}

DeviceEntry coordinator_entry() {
  const Machine machine = describe_machine();
  return {.name = kCoordinatorName,
          .role = "coordinator",
          .kind = machine.processor,
          .load = machine.load,
          .memory_bytes = machine.memory_bytes,
          .free_bytes = machine.free_bytes};
}

DeviceEntry worker_entry(const cluster::WorkerInfo& info, bool present,
                         const std::optional<cluster::WorkerReport>& report) {
  DeviceEntry entry{.name = info.name, .role = "worker", .kind = "", .threads = info.threads};
  if (!present) entry.lost = "the coordinator has lost it";
  if (report) {
    entry.kind = report->state.processor;
    entry.load = report->state.load;
    entry.memory_bytes = report->state.memory_bytes;
    entry.free_bytes = report->state.free_bytes;
    entry.tasks = report->state.tasks;
  }
  return entry;
}

}  // namespace

std::vector<std::string> ClusterView::names() const {
  std::vector<std::string> all;
  for (const cluster::ListedWorker& worker : connection_->workers()) all.push_back(worker.name);
  return all;
}

void ClusterView::add(const Graph& graph, const plan::Prediction& made) {
  Known known{.entry = {.id = 0,
                        .model = inputs_of(graph),
                        .split = made.name,
                        .ms = 1e3 * made.timeline.seconds},
              .workers = needed_by(made.plan())};
  known.entry.picture = std::make_shared<const std::string>(report::plan_picture_in_page(
      made.name + ", " + fixed(known.entry.ms, 2) + " ms as predicted", names(), made));
  const std::lock_guard lock(mutex_);
  known.entry.id = ++last_id_;
  std::erase_if(plans_, [&](const Known& other) {
    return other.entry.model == known.entry.model && other.workers == known.workers;
  });
  plans_.push_back(std::move(known));
  if (plans_.size() > kMostPlans) plans_.erase(plans_.begin());
}

void ClusterView::ask() {
  auto reports = connection_->ask_workers();
  const std::lock_guard lock(mutex_);
  reports_ = std::move(reports);
  asked_ = std::chrono::steady_clock::now();
  asks_ = false;
}

DeviceList ClusterView::list() {
  cluster::Coordinator& coordinator = connection_->coordinator();
  const auto infos = coordinator.workers();
  const auto links = connection_->known_links();
  const cluster::Workers present = coordinator.present();
  DeviceList list{.devices = {coordinator_entry()}, .links = {}, .plans = {}};
  const std::lock_guard lock(mutex_);
  reports_.resize(infos.size());
  for (size_t w = 0; w < infos.size(); ++w) {
    const bool is_there = present.contains(static_cast<int>(w));
    list.devices.push_back(worker_entry(infos[w], is_there, reports_[w]));
    LinkEntry& link =
        list.links.emplace_back(LinkEntry{.from = kCoordinatorName, .to = infos[w].name});
    if (links[w]) link.bytes_per_second = links[w]->bytes_per_second;
    if (reports_[w] && is_there) link.round_trip_ms = 1e3 * reports_[w]->round_trip_seconds;
  }
  // Of the plans for one network, the fastest whose workers are all present is in use.
  for (const Known& known : plans_) {
    if (!std::ranges::includes(present, known.workers)) continue;
    const auto same = std::ranges::find(list.plans, known.entry.model, &PlanEntry::model);
    if (same == list.plans.end()) {
      list.plans.push_back(known.entry);
    } else if (known.entry.ms < same->ms) {
      *same = known.entry;
    }
  }
  if (!asks_ && std::chrono::steady_clock::now() - asked_ >= kAskedLately) {
    asks_ = true;
    asker_.post([this] { ask(); });
  }
  return list;
}

}  // namespace shoal::serve
