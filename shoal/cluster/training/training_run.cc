#include "shoal/cluster/training/training_run.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "messages.pb.h"
#include "shoal/base/timing/seconds_since.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/training/reviver.h"
#include "shoal/train/distributed/schedule/training_scheduler.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = TrainingEvent::Kind;

// The longest that a worker has to say: its gradients, one message for each subtree.
size_t most_report_bytes(const learn::HubSession& hub, const learn::ExchangeOptions& exchange) {
  constexpr size_t kRest = 1024;
  size_t bytes = 0;
  for (const auto& [name, tensor] : hub.replica().trainer().learned()) {
    bytes += tensor.bytes().size() + kRest;
  }
  return 2 * static_cast<size_t>(exchange.levels + 2) * bytes + kRest;
}

class Runner {
 public:
  Runner(Coordinator& coordinator, const Lesson& lesson, const learn::WorkerSession::Source& source,
         const TrainingRunOptions& options, learn::HubSession hub)
      : coordinator_(coordinator),
        post_(coordinator.training()),
        lesson_(lesson),
        source_(source),
        options_(options),
        hub_(std::move(hub)),
        reviver_(coordinator, options.retry_interval) {
    result_.first_step = hub_.step();
    hub_.save_every(options.save_every, options.repeats);
    for (size_t i = 0; i < coordinator.worker_count(); ++i) {
      const auto worker = static_cast<int>(i);
      if (std::ranges::count(options.workers, worker) == 0) reviver_.leave_out(worker);
    }
  }
  ~Runner() { post_.close(); }

  Status run() {
    SHOAL_ASSIGN(run_, post_.open(most_report_bytes(hub_, lesson_.exchange)));
    for (const int worker : options_.workers) SHOAL_TRY(teach(worker));
    SHOAL_TRY(gather());
    while (!hub_.is_over() && !is_disturbed_) {
      SHOAL_TRY(send_letters());
      for (const TrainingEvent& event : post_.wait(next_moment())) SHOAL_TRY(take(event));
      hub_.tick(Clock::now());
      reviver_.look();
      note_steps();
      if (const auto made = hub_.take_checkpoint()) SHOAL_TRY(options_.on_checkpoint(*made));
      if (options_.cancelled()) hub_.stop();
    }
    if (is_disturbed_) return {};
    SHOAL_TRY(hub_.status());
    SHOAL_TRY(send_letters());
    post_.flush();
    return {};
  }

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
  Clock::time_point next_moment() const {
    const Clock::time_point tick = hub_.next_tick().value_or(net::after(kMessageTimeout));
    return std::min(tick, reviver_.next().value_or(tick));
  }

  // Workers round independently of each other: each has a seed of its own.
  Status teach(int worker) {
    Lesson lesson = lesson_;
    lesson.exchange.codec.seed += static_cast<uint64_t>(worker);
    return post_.teach(worker, lesson);
  }

  // Until every worker has its lesson or cannot take part. They join together.
  Status gather() {
    Gathering now{.awaited = {options_.workers.begin(), options_.workers.end()},
                  .until = net::after(options_.start_timeout),
                  .until_back = net::after(options_.return_timeout)};
    while (true) {
      const bool waits_for_lost = Clock::now() < now.until_back;
      if (!waits_for_lost) {
        for (const int worker : coordinator_.lost()) now.awaited.erase(worker);
      }
      if (now.awaited.empty() || Clock::now() >= now.until) break;
      if (waits_for_lost) reviver_.look();
      const Clock::time_point end = waits_for_lost ? now.until_back : now.until;
      const Clock::time_point next = waits_for_lost ? reviver_.next().value_or(end) : end;
      for (const TrainingEvent& event : post_.wait(std::min(end, next))) {
        SHOAL_TRY(take(event, now));
      }
    }
    if (now.ready.empty()) {
      return result_.lost.empty() ? Status(Code::kDeadline, "no worker is ready to train")
                                  : result_.lost.front();
    }
    const std::vector<int> ready(now.ready.begin(), now.ready.end());
    SHOAL_TRY(send_ahead(ready));
    for (const int worker : ready) hub_.join(worker, Clock::now());
    return {};
  }

  // Before the first step.
  struct Gathering {
    std::set<int> awaited = {}, ready = {};
    Clock::time_point until, until_back;
  };
  // A worker that is there and has given the run up does not come back by itself.
  Status take(const TrainingEvent& event, Gathering& now) {
    if (event.kind == Kind::kBack) return teach(event.worker);
    if (event.kind == Kind::kReady) {
      now.awaited.erase(event.worker);
      now.ready.insert(event.worker);
    }
    if (event.kind != Kind::kLost) return {};
    result_.lost.push_back(named(event));
    now.ready.erase(event.worker);
    const bool may_return =
        Clock::now() < now.until_back && !coordinator_.present().contains(event.worker);
    if (may_return) {
      now.awaited.insert(event.worker);
    } else {
      now.awaited.erase(event.worker);
    }
    return {};
  }

  Status named(const TrainingEvent& event) const {
    return event.why.at("worker " + coordinator_.workers()[static_cast<size_t>(event.worker)].name);
  }

  // Shares are equal as long as nobody knows the speeds.
  Status send_ahead(const std::vector<int>& workers) {
    const std::vector<double> equal(workers.size(), 1.0);
    const std::vector<int64_t> shares = learn::shares_of(equal, lesson_.exchange.micro_batches());
    std::vector<size_t> sent(workers.size());
    const int64_t end = std::min(result_.first_step + options_.ahead, options_.hub.steps);
    for (int64_t step = result_.first_step; step < end; ++step) {
      int64_t first = 0;
      for (size_t i = 0; i < workers.size(); first += shares[i++]) {
        if (sent[i] > options_.most_ahead_bytes) continue;
        const double before = example_bytes_;
        const int64_t end_of_share = first + shares[i];
        SHOAL_TRY(
            send_examples(workers[i], {step, first, end_of_share, lesson_.exchange.local_steps}));
        sent[i] += static_cast<size_t>(example_bytes_ - before);
      }
      post_.flush();
    }
    return {};
  }

  // Those of the first local step come first.
  Status send_examples(int worker, const learn::AssignMessage& range) {
    const int64_t begin = range.step * range.local_steps;
    for (int64_t step = begin; step < begin + range.local_steps; ++step) {
      SHOAL_TRY(send_examples(worker, step, range.first, range.end));
    }
    return {};
  }

  Status send_examples(int worker, int64_t step, int64_t first, int64_t end) {
    for (int64_t number = first; number < end; ++number) {
      if (!has_[worker].insert({step, number}).second) continue;
      SHOAL_ASSIGN(learn::MicroBatch batch, source_(step, number));
      std::vector<Tensor> tensors{batch.inputs};
      for (const Tensor& target : batch.targets) tensors.push_back(target);
      message::Message message;
      message.mutable_examples()->set_run(run_);
      message.mutable_examples()->set_step(step);
      message.mutable_examples()->set_number(number);
      for (const Tensor& tensor : tensors) {
        example_bytes_ += static_cast<double>(tensor.bytes().size());
      }
      post_.post(worker, message, [tensors = std::move(tensors)] {
        std::vector<net::Bytes> pieces;
        for (const Tensor& tensor : tensors) pieces.push_back(tensor.bytes());
        return pieces;
      });
    }
    return {};
  }

  // All that a worker is sent at once, and then the next worker's: the first can compute while the
  // merged step is still on its way to the last.
  Status send_letters() {
    for (const int worker : hub_.take_dropped()) {
      reviver_.leave_out(worker);
      coordinator_.leave_out(worker, Status(Code::kUnavailable, "it does not train as it should"));
    }
    std::vector<learn::HubSession::Letter> letters = hub_.take_letters();
    std::ranges::stable_sort(letters, {}, &learn::HubSession::Letter::worker);
    for (const learn::HubSession::Letter& letter : letters) {
      if (letter.assigned) {
        note_assignment(letter);
        SHOAL_TRY(send_examples(letter.worker, *letter.assigned));
      }
      post_.order(letter.worker, letter.message);
    }
    return {};
  }

  void note_assignment(const learn::HubSession::Letter& letter) {
    if (!begun_) {
      post_.flush();
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

  Status take(const TrainingEvent& event) {
    switch (event.kind) {
      case Kind::kReady:
        ++result_.joined_again;
        hub_.join(event.worker, Clock::now());
        note_devices();
        options_.on_return(event.worker);
        return {};
      case Kind::kReport:
        hub_.handle(event.worker, event.payload.bytes, Clock::now());
        return {};
      case Kind::kLost:
        result_.lost.push_back(named(event));
        is_disturbed_ = options_.repeats;
        has_.erase(event.worker);
        hub_.lose(event.worker, Clock::now());
        note_devices();
        return {};
      case Kind::kBack:
        return teach(event.worker);
    }
    return {};
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
      const int64_t next = (number + 1) * lesson_.exchange.local_steps;
      for (auto& [worker, places] : has_) {
        places.erase(places.begin(), places.lower_bound({next, 0}));
      }
    }
  }

  Coordinator& coordinator_;
  TrainingPost& post_;
  const Lesson& lesson_;
  const learn::WorkerSession::Source& source_;
  const TrainingRunOptions& options_;
  learn::HubSession hub_;
  uint64_t run_ = 0;
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
  Reviver reviver_;  // last: its thread uses the rest
};

}  // namespace

Result<TrainingRun> run_training(Coordinator& coordinator, Device& device, const Lesson& lesson,
                                 const learn::WorkerSession::Source& source,
                                 const TrainingRunOptions& options) {
  constexpr int kMostRepeats = 1000;  // then it goes on with those that stay
  TrainingRunOptions how = options;
  how.on_checkpoint = [&](const learn::HubSession::State& state) {
    if (options.repeats) how.resume = state;
    return options.on_checkpoint(state);
  };
  std::vector<Status> lost;
  for (int repeats = 0;; ++repeats) {
    how.repeats = options.repeats && repeats < kMostRepeats;
    SHOAL_ASSIGN(learn::HubSession hub,
                 learn::HubSession::create(device, lesson.network, lesson.trainer, lesson.exchange,
                                           how.hub, how.rate));
    if (!how.resume.empty()) SHOAL_TRY(hub.restore(how.resume));
    Runner runner(coordinator, lesson, source, how, std::move(hub));
    SHOAL_TRY(runner.run());
    for (const Status& why : runner.lost()) lost.push_back(why);
    if (runner.is_disturbed()) continue;
    SHOAL_ASSIGN(TrainingRun run, runner.result());
    run.lost = std::move(lost);
    return run;
  }
}

}  // namespace shoal::cluster
