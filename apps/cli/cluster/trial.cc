#include "trial.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <thread>

#include "../model.h"
#include "farm.h"
#include "shoal/cluster/fleet.h"
#include "shoal/cpu/cpu.h"
#include "shoal/net/tls.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20};  // for one request
constexpr std::chrono::milliseconds kStopped{800};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Every worker is as fast as the others: they are processes of one machine.
plan::ClusterProfile equal_workers(size_t count) {
  plan::ClusterProfile profile;
  for (size_t i = 0; i < count; ++i) {
    constexpr double kMacs = 4e9, kBytes = 4e9;
    profile.workers.push_back(plan::uniform_worker("worker-" + std::to_string(i), kMacs, kBytes));
    plan::LinkProfile link;
    link.latency_seconds = 0.1e-3;
    link.bytes_per_second = 500e6;
    profile.links.push_back(link);
  }
  return profile;
}

struct Answered {
  std::vector<Tensor> inputs, outputs;
};

// Several inputs, so that the answer to another request is not taken for right.
Result<std::vector<Answered>> answers_here(const Graph& graph, uint64_t seed) {
  constexpr int kInputs = 4;
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(const auto executable, device->compile(graph));
  std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
  std::vector<Answered> all(kInputs);
  for (Answered& one : all) {
    for (ValueId id : graph.inputs()) one.inputs.push_back(random_tensor(graph[id].type, rng));
    one.outputs.resize(graph.outputs().size());
    SHOAL_TRY(executable->run(one.inputs, one.outputs, nullptr));
  }
  return all;
}

// To 1e-4 of the largest, and with the same first place.
bool is_right(const Tensor& got, const Tensor& want) {
  constexpr float kTolerance = 1e-4F;
  if (got.type() != want.type()) return false;
  if (want.dtype() != DType::kF32) return std::ranges::equal(got.bytes(), want.bytes());
  const auto g = got.data<float>(), w = want.data<float>();
  float largest = 0, error = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    largest = std::max(largest, std::abs(w[i]));
    error = std::max(error, std::abs(g[i] - w[i]));
  }
  return error <= kTolerance * largest &&
         (w.empty() ||
          std::ranges::max_element(g) - g.begin() == std::ranges::max_element(w) - w.begin());
}

class Trial {
 public:
  Trial(const TrialFlags& flags, TemporaryFolder folder)
      : flags_(flags),
        folder_(std::move(folder)),
        farm_(folder_.path(), {"--threads", "1"}, true),
        random_(flags.seed) {}

  ~Trial() {
    if (fault_.joinable()) fault_.join();
  }

  Status start(const Graph& graph) {
    std::vector<std::string> names;
    for (size_t i = 0; i < flags_.workers; ++i) names.push_back("worker-" + std::to_string(i));
    SHOAL_TRY(farm_.start(names, [] { return false; }));
    SHOAL_ASSIGN(answers_, answers_here(graph, flags_.seed));
    SHOAL_ASSIGN(const net::Identity identity, farm_.owner().coordinator());
    SHOAL_ASSIGN(transport_, net::make_tls_transport(identity));
    SHOAL_ASSIGN(const auto workers, farm_.owner().workers());
    std::vector<std::string> addresses;
    for (const cluster::ListedWorker& worker : workers) addresses.push_back(worker.address);
    cluster::CoordinatorOptions options;
    SHOAL_ASSIGN(options.epoch, farm_.owner().next_epoch());
    SHOAL_ASSIGN(coordinator_, cluster::Coordinator::connect(addresses, *transport_, options));
    SHOAL_ASSIGN(fleet_, cluster::Fleet::start(
                             *coordinator_,
                             {.plan = [this, graph](const auto& set) { return plan(graph, set); },
                              .standby = true,
                              .look_again = std::chrono::milliseconds(100)}));
    fleet_->settle();
    return {};
  }

  TrialFigures run(const std::function<void(size_t)>& progress) {
    const size_t calm = std::clamp<size_t>(flags_.requests / 5, 10, 200);
    ask();  // the first finds caches cold
    for (size_t i = 0; i < calm; ++i) figures_.calm_ms.push_back(ask());
    std::ranges::sort(figures_.calm_ms);
    const cluster::Tally before = coordinator_->tally();
    counting_ = true;
    const size_t faults = flags_.kills + flags_.stops;
    for (size_t i = 0; i < flags_.requests; ++i) {
      const bool fault = i * faults / flags_.requests != (i + 1) * faults / flags_.requests;
      if (fault) begin_fault();
      figures_.ms.push_back(ask());
      if (fault) start_again();
      progress(i + 1);
    }
    if (fault_.joinable()) fault_.join();
    const cluster::Tally after = coordinator_->tally();
    figures_.requests = flags_.requests;
    figures_.replayed = after.replayed - before.replayed;
    figures_.resent_to_dead = after.resent_to_dead - before.resent_to_dead;
    std::ranges::sort(figures_.ms);
    return std::move(figures_);
  }

 private:
  Result<plan::Prediction> plan(const Graph& graph, const cluster::Workers& set) const {
    plan::PlanOptions options;
    // Fewer can be lost when fewer are there.
    options.survive = std::min(flags_.survive, static_cast<int>(set.size()) - 1);
    for (int w = 0; w < static_cast<int>(flags_.workers); ++w) {
      if (!set.contains(w)) options.excluded.push_back(w);
    }
    SHOAL_ASSIGN(auto plans, plan::make_plans(graph, equal_workers(flags_.workers), options));
    return std::move(plans.front());
  }

  // Milliseconds that it took.
  double ask() {
    const Answered& expected = answers_[random_() % answers_.size()];
    std::vector<Tensor> outputs(expected.outputs.size());
    const auto begin = Clock::now();
    const Status status = fleet_->run(expected.inputs, outputs, kPatience);
    const double took = ms_since(begin);
    if (counting_) count(status, outputs, expected);
    return took;
  }

  void count(const Status& status, const std::vector<Tensor>& outputs, const Answered& expected) {
    if (!status.ok()) {
      ++figures_.failed;
      if (figures_.first_failure.empty()) figures_.first_failure = status.message();
      return;
    }
    ++figures_.answered;
    if (!std::ranges::equal(outputs, expected.outputs, is_right)) ++figures_.wrong;
    if (const int64_t at = fault_at_.exchange(0); at != 0) {
      const double since = ms_since(Clock::time_point(Clock::duration(at)));
      figures_.recovery_ms_max = std::max(figures_.recovery_ms_max, since);
    }
  }

  // One at a time: who failed before is back first. It happens at any moment of the next request.
  void begin_fault() {
    if (fault_.joinable()) fault_.join();
    for (int i = 0; i < 100 && !coordinator_->lost().empty(); ++i) fleet_->settle();
    const double usual = figures_.calm_ms[figures_.calm_ms.size() / 2];
    const std::chrono::duration<double, std::milli> when(
        usual * std::uniform_real_distribution<double>(0, 1)(random_));
    const size_t worker = random_() % flags_.workers;
    const size_t left = flags_.kills + flags_.stops - done_++;
    const bool kill = random_() % left < flags_.kills - killed_;
    killed_ += kill ? 1 : 0;
    if (kill) dead_ = worker;
    fault_ = std::thread([this, when, worker, kill] {
      std::this_thread::sleep_for(when);
      farm_.signal(worker, kill ? SIGKILL : SIGSTOP);
      fault_at_ = Clock::now().time_since_epoch().count();
      if (kill) return;
      std::this_thread::sleep_for(kStopped);
      farm_.signal(worker, SIGCONT);
    });
  }

  // On this thread: a process ends with the thread that started it.
  void start_again() {
    if (!dead_) return;
    fault_.join();
    const Status back = farm_.restart(*dead_);
    if (!back.ok()) std::fprintf(stderr, "%s\n", std::string(back.message()).c_str());
    dead_.reset();
  }

  const TrialFlags flags_;
  const TemporaryFolder folder_;
  WorkerFarm farm_;
  std::mt19937_64 random_;
  std::vector<Answered> answers_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::unique_ptr<cluster::Fleet> fleet_;
  TrialFigures figures_;
  bool counting_ = false;
  size_t done_ = 0, killed_ = 0;
  std::atomic<int64_t> fault_at_ = 0;  // of steady time; none before the next answer: zero
  std::optional<size_t> dead_;
  std::thread fault_;
};

}  // namespace

Result<TrialFigures> put_on_trial(const TrialFlags& flags, const Graph& graph,
                                  const std::function<void(size_t)>& progress) {
  SHOAL_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  Trial trial(flags, std::move(folder));
  SHOAL_TRY(trial.start(graph));
  return trial.run(progress);
}

}  // namespace shoal::cli
