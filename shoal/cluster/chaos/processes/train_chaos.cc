// This thread starts, kills and restarts processes (base/processes/process.h); another is the hub.
#include "shoal/cluster/chaos/processes/train_chaos.h"

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/math/random.h"
#include "shoal/cluster/chaos/sim_clock.h"
#include "shoal/cluster/data_parallel/training_run.h"
#include "shoal/cluster/emulate/machines/emulation.h"
#include "shoal/cluster/emulate/workers/local_workers.h"

namespace shoal::chaos {
namespace {

using SteadyClock = std::chrono::steady_clock;
using cluster::TrainingRun;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The steps of a run, as one thread does them and another sees them.
class Steps {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  int64_t done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  // Whether this many steps are done in time.
  bool wait_for(int64_t steps, std::chrono::duration<double> longest) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest, [&] { return is_over_ || done_ >= steps; });
    return done_ >= steps;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t done_ = 0;
  bool is_over_ = false;
};

class TrainChaos {
 public:
  TrainChaos(const TrainChaosOptions& options, Device& device, const cluster::TrainingSetup& setup,
             const learn::WorkerSession::Source& source, TemporaryFolder folder)
      : options_(options),
        device_(device),
        setup_(setup),
        source_(source),
        folder_(std::move(folder)),
        random_(options.seed),
        workers_({.program = options.program,
                  .folder = folder_.path(),
                  .flags = {"--threads", "1"},
                  .keep_weights = false}) {}

  Status open() {
    std::vector<std::string> names;
    for (size_t i = 0; i < options_.workers; ++i) names.push_back("worker-" + std::to_string(i));
    SHOAL_TRY(workers_.start(names));
    SHOAL_ASSIGN(const net::Identity identity, workers_.owner().coordinator());
    SHOAL_ASSIGN(transport_, emulate::Emulation().transport(identity, ""));
    SHOAL_ASSIGN(const auto listed, workers_.owner().workers());
    SHOAL_ASSIGN(coordinator_, cluster::Coordinator::connect(listed, *transport_, {}));
    return {};
  }

  Result<TrainChaosReport> run() {
    constexpr int64_t kWithoutEnd = int64_t{1} << 40;
    Steps steps;
    std::atomic<bool> is_done = false;
    std::optional<Result<TrainingRun>> disturbed;
    std::thread hub([&] {
      disturbed = train(kWithoutEnd, steps, [&] { return is_done.load(); });
      steps.end();
    });
    const Status killed = kill_all(steps);
    is_done = true;
    hub.join();
    SHOAL_TRY(disturbed->status());
    SHOAL_TRY(killed);
    const TrainingRun& run = **disturbed;
    report_.steps = std::ssize(run.losses);
    report_.micro_batches = setup_.exchange.micro_batches();
    report_.redone = run.reassigned;
    report_.differing = run.differing;
    report_.joined_again = run.joined_again;
    report_.loss = run.losses.back();
    for (const double norm : run.lost_norms) report_.lost_norm = std::max(report_.lost_norm, norm);
    SHOAL_TRY(compare(run));
    return report_;
  }

 private:
  Result<TrainingRun> train(int64_t count, Steps& steps, std::function<bool()> cancelled) {
    cluster::TrainingRunOptions options{.hub = {.steps = count}};
    for (size_t i = 0; i < options_.workers; ++i) options.workers.push_back(static_cast<int>(i));
    options.retry_interval = std::chrono::milliseconds(50);
    options.on_step = [&](int64_t, double) { steps.add(); };
    options.cancelled = std::move(cancelled);
    return cluster::run_training(*coordinator_, device_, setup_, source_, options);
  }

  // Each at a moment within two steps; the next when the one before is back.
  Status kill_all(Steps& steps) {
    constexpr int64_t kFirst = 3;  // steps, until the time of one is known
    const std::chrono::duration<double> longest(options_.hang_seconds);
    const SteadyClock::time_point began = SteadyClock::now();
    if (!steps.wait_for(kFirst, longest)) return hung();
    const auto step = (SteadyClock::now() - began) / kFirst;
    while (report_.kills < options_.kills) {
      std::this_thread::sleep_for(Time(random_.between(Time(0), Time(2 * step))));
      const auto victim =
          static_cast<size_t>(random_.between(0, static_cast<int64_t>(options_.workers) - 1));
      const int64_t before = steps.done();
      const SteadyClock::time_point kill = SteadyClock::now();
      workers_.send_signal(victim, SIGKILL);
      ++report_.kills;
      if (!steps.wait_for(before + 1, longest)) return hung();
      report_.next_step.add(
          std::chrono::duration<double, std::milli>(SteadyClock::now() - kill).count());
      SHOAL_TRY(workers_.restart(victim));
      options_.on_kill(report_.kills, steps.done());
      if (!steps.wait_for(steps.done() + 1, longest)) return hung();
    }
    return {};
  }
  Status hung() {
    ++report_.hangs;
    return Status(
        Code::kDeadline,
        "no step was done for " + std::to_string(static_cast<int>(options_.hang_seconds)) + " s");
  }

  // Trains as many steps without kills.
  Status compare(const TrainingRun& disturbed) {
    coordinator_->revive_lost();
    Steps steps;
    SHOAL_ASSIGN(const TrainingRun calm, train(report_.steps, steps, [] { return false; }));
    report_.calm_step_ms = 1e3 * median(calm.step_seconds);
    report_.calm_loss = calm.losses.back();
    report_.is_equal = calm.hash == disturbed.hash;
    return {};
  }

  const TrainChaosOptions& options_;
  Device& device_;
  const cluster::TrainingSetup& setup_;
  const learn::WorkerSession::Source& source_;
  const TemporaryFolder folder_;
  Random random_;
  cluster::LocalWorkers workers_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  TrainChaosReport report_;
};

}  // namespace

Verdict TrainChaosReport::verdict(bool exact) const {
  if (differing > 0) return Verdict::wrong("the weights of workers differed");
  if (exact && !is_equal) return Verdict::wrong("kills changed what was learned");
  return {};
}

Facts facts_of(const TrainChaosReport& report) {
  return {{"kills", report.kills, "kills"},
          {"hangs", report.hangs},
          {"steps", report.steps, "steps"},
          {"steps_lost", report.steps_lost(), "computed again", 2, " steps"},
          {"joined_again", report.joined_again},
          {"next_step_ms_p50", report.next_step.quantile(0.5), "next step ms", 1},
          {"next_step_ms_max", report.next_step.max(), "longest ms", 1},
          {"calm_step_ms", report.calm_step_ms, "calm step ms", 1},
          {"replicas_differed", report.differing},
          {"lost_norm_max", report.lost_norm},
          {"loss", report.loss, "loss", 4},
          {"calm_loss", report.calm_loss, "calm loss", 4},
          {"weights_equal", report.is_equal, "weights",
           report.is_equal ? "as without kills" : "others"}};
}

double TrainChaosReport::steps_lost() const {
  return micro_batches > 0 ? static_cast<double>(redone) / static_cast<double>(micro_batches) : 0;
}

cluster::TrainingSetup chaos_setup(Graph network, learn::CodecKind codec, uint64_t seed) {
  return {.network = std::move(network),
          .trainer = {.optimizer = {.rate = 0.02f, .momentum = 0.9f}},
          .exchange = {.codec = {.kind = codec, .seed = seed}}};
}

Result<learn::WorkerSession::Source> synthetic_examples(const cluster::TrainingSetup& setup) {
  SHOAL_ASSIGN(const std::vector<TensorType> types, cluster::types_of_examples(setup));
  const TensorType& scores = setup.network[train::scores_of(setup.network)].type;
  const auto classes = static_cast<uint64_t>(scores.shape[scores.shape.rank() - 1]);
  const auto samples = static_cast<uint64_t>(types[0].shape[0]);
  const auto size = static_cast<uint64_t>(types[0].shape.count()) / samples;
  const bool is_known = types.size() == 2 && types[1].dtype == DType::kI64 &&
                        types[0].dtype == DType::kF32 && size >= classes;
  if (!is_known) return Status(Code::kUnsupported, "no classifier of images");
  return learn::WorkerSession::Source([=](int64_t step, int64_t number) {
    const RandomStream random(static_cast<uint64_t>(step), static_cast<uint64_t>(number));
    learn::MicroBatch batch{Tensor(types[0]), {Tensor(types[1])}};
    const std::span<float> values = batch.inputs.data<float>();
    fill_uniform(values, random, 0, 0.5f);
    const uint64_t band = size / classes;
    for (uint64_t i = 0; i < samples; ++i) {
      const uint64_t label = random.child(1).below(classes, i);
      batch.targets[0].data<int64_t>()[i] = static_cast<int64_t>(label);
      for (float& x : values.subspan(i * size + label * band, band)) x += 0.5f;
    }
    return Result<learn::MicroBatch>(std::move(batch));
  });
}

Result<TrainChaosReport> run_train_chaos(const TrainChaosOptions& options, Device& device,
                                         const cluster::TrainingSetup& setup,
                                         const learn::WorkerSession::Source& source) {
  SHOAL_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  TrainChaos chaos(options, device, setup, source, std::move(folder));
  SHOAL_TRY(chaos.open());
  return chaos.run();
}

}  // namespace shoal::chaos
