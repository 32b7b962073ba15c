#include "shoal/cluster/data_parallel/training_run.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/cluster/coordinator/runtime/task_run.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/train/distributed/schedule/training_scheduler.h"
#include "training.pb.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

// The longest that a worker has to say: its gradients, one message for each subtree.
size_t most_report_bytes(const learn::HubSession& hub, const learn::ExchangeOptions& exchange) {
  constexpr size_t kRest = 1024;
  size_t bytes = 0;
  for (const auto& [name, tensor] : hub.replica().trainer().learned()) {
    bytes += tensor.bytes().size() + kRest;
  }
  return 2 * static_cast<size_t>(exchange.levels + 2) * bytes + kRest;
}

// learn::HubSession as the hub of a task: first it waits until every worker is ready or cannot take
// part; these join together, with the examples of the first steps. From then on it computes.
class TrainingHub : public TaskHub {
 public:
  TrainingHub(Coordinator& coordinator, const TrainingSetup& setup,
              const learn::WorkerSession::Source& source, const TrainingRunOptions& options,
              learn::HubSession hub)
      : coordinator_(coordinator),
        setup_(setup),
        source_(source),
        options_(options),
        hub_(std::move(hub)),
        gathering_({.awaited = {options.workers.begin(), options.workers.end()},
                    .until = net::after(options.start_timeout),
                    .until_back = net::after(options.return_timeout)}) {
    result_.first_step = hub_.step();
    hub_.save_every(options.save_every, options.repeats);
  }

  // Workers round independently of each other: each has its own seed.
  Result<TaskOutput> setup_of(int worker) override {
    TrainingSetup setup = setup_;
    setup.exchange.codec.seed += static_cast<uint64_t>(worker);
    return output_of(setup);
  }

  void ready(int worker, Time now) override {
    if (gathering_) {
      gathering_->awaited.erase(worker);
      gathering_->ready.insert(worker);
      return;
    }
    ++result_.joined_again;
    hub_.join(worker, now);
    note_devices();
    options_.on_return(worker);
  }

  void handle(int worker, net::Bytes message, Time now) override {
    if (!gathering_) hub_.handle(worker, message, now);
  }

  void lose(int worker, const Status& why, bool may_return, Time now) override {
    result_.lost.push_back(why);
    if (gathering_) {
      gathering_->ready.erase(worker);
      if (may_return && now < gathering_->until_back) {
        gathering_->awaited.insert(worker);
      } else {
        gathering_->awaited.erase(worker);
      }
      return;
    }
    is_disturbed_ = options_.repeats;
    has_.erase(worker);
    hub_.lose(worker, now);
    note_devices();
  }

  void tick(Time now) override {
    if (gathering_) return gather(now);
    hub_.tick(now);
    note_steps();
    if (const auto made = hub_.take_checkpoint()) status_ = options_.on_checkpoint(*made);
  }

  Time next_tick() const override {
    if (!gathering_) return hub_.next_tick().value_or(Time::max());
    return Clock::now() < gathering_->until_back ? gathering_->until_back : gathering_->until;
  }

  // Who gathers is asked again.
  void stop() override {
    if (!gathering_ && joining_.empty()) hub_.stop();
  }

  Status send(TaskChannel& channel) override {
    if (is_disturbed_ || !status().ok()) return {};
    if (!joining_.empty()) {
      SHOAL_TRY(send_ahead(channel));
      for (const int worker : std::exchange(joining_, {})) hub_.join(worker, Clock::now());
    }
    return send_letters(channel);
  }

  std::vector<int> take_dropped() override { return hub_.take_dropped(); }
  bool is_over() const override {
    if (!status_.ok() || is_disturbed_) return true;
    return !gathering_ && joining_.empty() && hub_.is_over();
  }
  Status status() const override { return status_.ok() ? hub_.status() : status_; }

  size_t most_message_bytes() const { return most_report_bytes(hub_, setup_.exchange); }
  // The run ended because a worker was lost, and is to be repeated from the last checkpoint on.
  bool is_disturbed() const { return is_disturbed_; }
  std::vector<Status> lost() const { return result_.lost; }

  Result<TrainingRun> result() {
    TrainingRun run = std::move(result_);
    SHOAL_ASSIGN(run.network, hub_.replica().trainer().network());
    run.computed_seconds = hub_.computed_seconds();
    for (const auto& [name, tensor] : hub_.replica().trainer().learned()) {
      run.learned[name] = tensor.clone();
    }
    run.hash = hub_.hash();
    run.losses = hub_.losses();
    run.differing = hub_.differing();
    run.lost_norms = hub_.lost_norms();
    run.workers = assigned_.size();
    // Counted from the first merge on, when no worker has the merged step yet: as many steps go
    // down as there are, and one less comes up.
    const auto steps = static_cast<double>(run.step_seconds.size());
    const Workers present = coordinator_.present();
    const auto workers = static_cast<double>(std::ranges::count_if(
        options_.workers, [&](int worker) { return present.contains(worker); }));
    if (steps < 2 || workers < 1) return run;
    const net::Traffic now = coordinator_.traffic();
    run.example_bytes = (example_bytes_ - examples_before_) / (steps * workers);
    run.sent_bytes = static_cast<double>(now.sent - traffic_before_.sent) / (steps * workers) -
                     run.example_bytes;
    run.received_bytes =
        static_cast<double>(now.received - traffic_before_.received) / ((steps - 1) * workers);
    return run;
  }

 private:
  // Before the first step.
  struct Gathering {
    std::set<int> awaited = {}, ready = {};
    Time until, until_back;  // the latter: workers that are lost may be back
  };

  void gather(Time now) {
    Gathering& all = *gathering_;
    if (now >= all.until_back) {
      for (const int worker : coordinator_.lost()) all.awaited.erase(worker);
    }
    if (!all.awaited.empty() && now < all.until) return;
    joining_.assign(all.ready.begin(), all.ready.end());
    gathering_.reset();
    if (!joining_.empty()) return;
    status_ = result_.lost.empty() ? Status(Code::kDeadline, "no worker is ready to train")
                                   : result_.lost.front();
  }

  // Shares are equal until speeds are known.
  Status send_ahead(TaskChannel& channel) {
    const std::vector<int>& workers = joining_;
    const std::vector<double> equal(workers.size(), 1.0);
    const std::vector<int64_t> shares = learn::shares_of(equal, setup_.exchange.micro_batches());
    std::vector<size_t> sent(workers.size());
    const int64_t end = std::min(result_.first_step + options_.ahead, options_.hub.steps);
    for (int64_t step = result_.first_step; step < end; ++step) {
      int64_t first = 0;
      for (size_t i = 0; i < workers.size(); first += shares[i++]) {
        if (sent[i] > options_.most_ahead_bytes) continue;
        const double before = example_bytes_;
        const int64_t end_of_share = first + shares[i];
        SHOAL_TRY(send_examples(channel, workers[i],
                                {step, first, end_of_share, setup_.exchange.local_steps}));
        sent[i] += static_cast<size_t>(example_bytes_ - before);
      }
      channel.flush();
    }
    return {};
  }

  // Those of the first local step come first.
  Status send_examples(TaskChannel& channel, int worker, const learn::AssignMessage& range) {
    const int64_t begin = range.step * range.local_steps;
    for (int64_t step = begin; step < begin + range.local_steps; ++step) {
      SHOAL_TRY(send_examples(channel, worker, step, range.first, range.end));
    }
    return {};
  }

  Status send_examples(TaskChannel& channel, int worker, int64_t step, int64_t first, int64_t end) {
    for (int64_t number = first; number < end; ++number) {
      if (!has_[worker].insert({step, number}).second) continue;
      SHOAL_ASSIGN(learn::MicroBatch batch, source_(step, number));
      std::vector<Tensor> tensors{batch.inputs};
      for (const Tensor& target : batch.targets) tensors.push_back(target);
      message::TrainingHeader header;
      header.mutable_examples()->set_step(step);
      header.mutable_examples()->set_number(number);
      for (const Tensor& tensor : tensors) {
        example_bytes_ += static_cast<double>(tensor.bytes().size());
      }
      channel.send(worker, {header.SerializeAsString(), [tensors = std::move(tensors)] {
                              std::vector<net::Bytes> pieces;
                              for (const Tensor& one : tensors) pieces.push_back(one.bytes());
                              return pieces;
                            }});
    }
    return {};
  }

  // All that a worker is sent at once, and then the next worker's: the first can compute while the
  // merged step is still on its way to the last.
  Status send_letters(TaskChannel& channel) {
    std::vector<learn::HubSession::Letter> letters = hub_.take_letters();
    std::ranges::stable_sort(letters, {}, &learn::HubSession::Letter::worker);
    for (const learn::HubSession::Letter& letter : letters) {
      if (letter.assigned) {
        note_assignment(channel, letter);
        SHOAL_TRY(send_examples(channel, letter.worker, *letter.assigned));
      }
      channel.send(letter.worker, task_output(letter.message));
    }
    return {};
  }

  void note_assignment(TaskChannel& channel, const learn::HubSession::Letter& letter) {
    if (!begun_) {
      channel.flush();
      options_.begins();
      merged_ = Clock::now();
      step_traffic_ = {coordinator_.traffic(), example_bytes_};
      begun_ = true;
    }
    const learn::AssignMessage& task = *letter.assigned;
    if (task.step != step_of_assigned_) {
      assigned_.clear();
      numbers_.clear();
    }
    step_of_assigned_ = task.step;
    assigned_.insert(letter.worker);
    for (int64_t number = task.first; number < task.end; ++number) {
      if (!numbers_.insert(number).second) ++result_.reassigned;
    }
  }

  void note_devices() const { options_.on_moment({.step = {.step = hub_.step()}, .hub = hub_}); }

  // What has travelled since the step before: not known where a connection was lost meanwhile,
  // which takes its count with it.
  void count_traffic(learn::StepFacts& facts) {
    const net::Traffic now = coordinator_.traffic();
    const auto [before, examples_before] = std::exchange(step_traffic_, {now, example_bytes_});
    const bool is_known = now.sent >= before.sent && now.received >= before.received;
    const double examples = example_bytes_ - examples_before;
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    const auto sent = static_cast<double>(now.sent - before.sent);
    facts.sent_bytes = is_known ? std::max(sent - examples, 0.0) : kUnknown;
    facts.received_bytes =
        is_known ? static_cast<double>(now.received - before.received) : kUnknown;
  }

  // After the first step, what was deployed before it is out of the figures.
  void note_steps() {
    while (result_.step_seconds.size() < hub_.losses().size()) {
      const size_t step = result_.step_seconds.size();
      result_.step_seconds.push_back(seconds_since(merged_));
      merged_ = Clock::now();
      if (step == 0) {
        traffic_before_ = coordinator_.traffic();
        examples_before_ = example_bytes_;
      }
      const int64_t number = result_.first_step + static_cast<int64_t>(step);
      learn::StepFacts facts{
          .step = number, .loss = hub_.losses()[step], .seconds = result_.step_seconds.back()};
      count_traffic(facts);
      options_.on_moment({.is_step = true, .step = facts, .hub = hub_});
      options_.on_step(number, hub_.losses()[step]);
      const int64_t next = (number + 1) * setup_.exchange.local_steps;
      for (auto& [worker, places] : has_) {
        places.erase(places.begin(), places.lower_bound({next, 0}));
      }
    }
  }

  Coordinator& coordinator_;
  const TrainingSetup& setup_;
  const learn::WorkerSession::Source& source_;
  const TrainingRunOptions& options_;
  learn::HubSession hub_;
  std::optional<Gathering> gathering_;
  std::vector<int> joining_;  // the gathered workers
  Status status_;             // of what the session does not know
  bool begun_ = false, is_disturbed_ = false;
  Clock::time_point merged_;   // the last step
  std::set<int> assigned_;     // workers that have a part in this step
  std::set<int64_t> numbers_;  // its micro-batches that were assigned
  int64_t step_of_assigned_ = -1;
  std::map<int, std::set<std::pair<int64_t, int64_t>>> has_;  // examples that workers were sent
  double example_bytes_ = 0, examples_before_ = 0;
  net::Traffic traffic_before_;
  std::pair<net::Traffic, double> step_traffic_;  // and bytes of examples, before this step
  TrainingRun result_;
};

}  // namespace

Result<TaskOutput> output_of(const TrainingSetup& setup) {
  SHOAL_ASSIGN(EncodedSetup encoded, encode_setup(setup));
  const auto kept = std::make_shared<EncodedSetup>(std::move(encoded));
  return TaskOutput{kept->header(), [kept] { return kept->pieces(); }};
}

Result<TrainingRun> run_training(Coordinator& coordinator, Device& device,
                                 const TrainingSetup& setup,
                                 const learn::WorkerSession::Source& source,
                                 const TrainingRunOptions& options) {
  constexpr int kMostRepeats = 1000;  // then it goes on with the remaining workers
  TrainingRunOptions how = options;
  how.on_checkpoint = [&](const learn::HubSession::State& state) {
    if (options.repeats) how.resume = state;
    return options.on_checkpoint(state);
  };
  std::vector<Status> lost;
  for (int repeats = 0;; ++repeats) {
    how.repeats = options.repeats && repeats < kMostRepeats;
    SHOAL_ASSIGN(learn::HubSession session,
                 learn::HubSession::create(device, setup.network, setup.trainer, setup.exchange,
                                           how.hub, how.rate));
    if (!how.resume.empty()) SHOAL_TRY(session.restore(how.resume));
    TrainingHub hub(coordinator, setup, source, how, std::move(session));
    SHOAL_TRY(run_task(coordinator, hub,
                       {.name = kTrainingTask,
                        .most_message_bytes = hub.most_message_bytes(),
                        .workers = how.workers,
                        .retry_interval = how.retry_interval,
                        .cancelled = how.cancelled}));
    for (const Status& why : hub.lost()) lost.push_back(why);
    if (hub.is_disturbed()) continue;
    SHOAL_ASSIGN(TrainingRun run, hub.result());
    run.lost = std::move(lost);
    return run;
  }
}

}  // namespace shoal::cluster
