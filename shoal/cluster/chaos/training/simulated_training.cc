// A process that dies closes its end of all channels: messages in flight are lost, which the number
// of its life tells.
#include "shoal/cluster/chaos/training/simulated_training.h"

#include <algorithm>
#include <cstring>

namespace shoal::chaos {
namespace {

using learn::HubSession;
using std::chrono::milliseconds;

constexpr milliseconds kLeastCompute{5}, kMostCompute{40};  // of a micro-batch
constexpr milliseconds kMostDelay{10};                      // of a message
constexpr milliseconds kMostStall{200};                     // of one that is late
constexpr milliseconds kMostDetection{500};                 // of a loss: the heartbeat's timeout
constexpr milliseconds kMostAbsence{300};                   // of a process that is started again
constexpr int kMostEvents = 1'000'000;

}  // namespace

SimulatedTraining::SimulatedTraining(Device& device, const TrainingTask& task,
                                     const SimulatedTrainingOptions& options)
    : device_(device),
      task_(task),
      options_(options),
      random_(options.seed),
      workers_(static_cast<size_t>(options.workers)) {
  for (size_t i = 0; i < workers_.size(); ++i) start(i);
  start_hub(Time(0));
  const TrainingFaults& faults = options_.faults;
  const auto plan = [&](int count, auto&& fault) {
    for (int k = 0; k < count; ++k) {
      clock_.after(random_.between(Time(0), expected_time()), fault);
    }
  };
  plan(faults.kills,
       [this] { kill(static_cast<size_t>(random_.between(0, std::ssize(workers_) - 1))); });
  plan(faults.hub_kills, [this] { kill_hub(); });
  plan(faults.damages, [this] { ++damages_left_; });
  plan(faults.stalls, [this] { ++stalls_left_; });
}

SimulatedTraining::~SimulatedTraining() = default;

// Of the run without faults, or somewhat more.
Time SimulatedTraining::expected_time() const {
  const int64_t each =
      (options_.exchange.micro_batches() / options_.workers + 1) * options_.exchange.local_steps;
  return options_.hub.steps * (each * kMostCompute + 4 * kMostDelay);
}

Time SimulatedTraining::delay(Time& last) {
  Time most = kMostDelay;
  if (stalls_left_ > 0) {
    --stalls_left_;
    ++figures_.stalls;
    most = kMostStall;
  }
  last = std::max(last, clock_.now() + random_.between(Time(0), most));
  return last - clock_.now();
}

// Like a coordinator, it lets all workers that are there join together, and where it repeats steps,
// it waits for all.
void SimulatedTraining::start_hub(Time delay) {
  const int life = ++hub_life_;
  clock_.after(delay, [this, life] {
    if (hub_life_ != life) return;
    const auto is_away = [](const Worker& worker) { return worker.session == nullptr; };
    if (options_.repeats && std::ranges::any_of(workers_, is_away)) return start_hub(kMostDelay);
    learn::HubOptions how = options_.hub;
    // Its measurements would give other shares than the checkpoint has.
    if (disk_) {
      for (auto& [worker, planned] : how.planned) planned = random_.between(500, 5000);
    }
    auto hub = HubSession::create(device_, task_.network, task_.trainer, options_.exchange, how);
    note(hub.status());
    if (!hub.ok()) return;
    hub_ = std::make_unique<HubSession>(*std::move(hub));
    hub_->save_every(options_.save_every, options_.repeats);
    if (disk_) note(hub_->restore(*disk_));
    merges_seen_ = 0;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i].session) continue;
      workers_[i].is_member = true;
      hub_->join(static_cast<int>(i), hub_now());
    }
    settle_hub();
  });
}

void SimulatedTraining::kill_hub() {
  if (!hub_ || is_over_) return;
  const int64_t reached = hub_->step();
  int64_t kept = 0;
  if (disk_) kept = disk_->at("hub.steps").data<int64_t>()[0];
  figures_.hub_kills += 1;
  figures_.hub_steps_lost += reached - kept;
  figures_.most_hub_steps_lost = std::max(figures_.most_hub_steps_lost, reached - kept);
  begin_again();
}

// Workers notice that their channels are closed, and wait for a hub with a new session.
void SimulatedTraining::begin_again() {
  hub_.reset();
  lost_since_.reset();
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].session) start(i);
  }
  start_hub(random_.between(Time(1), Time(kMostAbsence)));
}

void SimulatedTraining::start(size_t i) {
  Worker& worker = workers_[i];
  learn::ExchangeOptions exchange = options_.exchange;
  exchange.codec.seed += i;
  auto replica = learn::Replica::create(device_, task_.network, task_.trainer, exchange);
  note(replica.status());
  if (!replica.ok()) return;
  worker.session = std::make_unique<learn::WorkerSession>(*std::move(replica), task_.source);
  worker.is_member = worker.is_working = false;
  worker.damage = worker.found = 0;
  ++worker.life;
}

void SimulatedTraining::join(size_t i) {
  if (!hub_ || is_over_) return;
  workers_[i].is_member = true;
  hub_->join(static_cast<int>(i), hub_now());
  settle_hub();
}

void SimulatedTraining::kill(size_t i) {
  Worker& worker = workers_[i];
  if (!worker.session || is_over_) return;
  ++figures_.kills;
  worker.session.reset();
  const int life = ++worker.life;
  clock_.after(random_.between(Time(0), Time(kMostDetection)), [this, i, hub = hub_life_] {
    if (hub_life_ != hub || !hub_ || is_over_) return;
    lost_since_ = clock_.now();
    hub_->lose(static_cast<int>(i), hub_now());
    settle_hub();
    if (options_.repeats && !is_over_) begin_again();
  });
  clock_.after(Time(kMostDetection) + random_.between(Time(1), Time(kMostAbsence)),
               [this, i, life] {
                 if (workers_[i].life != life) return;
                 start(i);
                 join(i);
               });
}

// What follows from whatever the hub was told.
void SimulatedTraining::settle_hub() {
  note_merges();
  if (auto made = hub_->take_checkpoint()) disk_ = std::move(*made);
  if (!hub_->take_dropped().empty()) fail("a worker was dropped");
  send_letters();
  if (hub_->is_over()) {
    is_over_ = true;
    note(hub_->status());
    hash_ = hub_->hash();
    losses_ = hub_->losses();
    return;
  }
  const auto next = hub_->next_tick();
  if (!next) return;
  const Time wait = std::max(Time(0), next->time_since_epoch() - clock_.now());
  clock_.after(wait, [this, next, life = hub_life_] {
    if (hub_life_ != life || !hub_ || is_over_ || hub_->next_tick() != next) return;
    hub_->tick(hub_now());
    settle_hub();
  });
}

void SimulatedTraining::note_merges() {
  figures_.differing = std::max(figures_.differing, hub_->differing());
  const size_t merges = hub_->losses().size();
  if (merges == merges_seen_) return;
  figures_.steps += static_cast<int64_t>(merges - merges_seen_);
  merges_.resize(merges_.size() + merges - merges_seen_, clock_.now());
  merges_seen_ = merges;
  change_straggler();
  if (!lost_since_) return;
  figures_.longest_recovery = std::max(figures_.longest_recovery, clock_.now() - *lost_since_);
  lost_since_.reset();
}

void SimulatedTraining::send_letters() {
  for (const HubSession::Letter& letter : hub_->take_letters()) {
    const auto i = static_cast<size_t>(letter.worker);
    clock_.after(delay(workers_[i].last_in), [this, i, letter, life = workers_[i].life] {
      if (workers_[i].life == life && workers_[i].session) deliver(i, *letter.message);
    });
  }
}

// A damage is done to the merged gradients that a worker applies: bits of its weights are then
// wrong, as if its memory were.
void SimulatedTraining::deliver(size_t i, std::vector<std::byte> bytes) {
  auto message = learn::decode_for_worker(bytes);
  note(message.status());
  if (!message.ok()) return;
  learn::WorkerSession& session = *workers_[i].session;
  auto* const pull = std::get_if<learn::PullMessage>(&*message);
  if (pull != nullptr && damages_left_ > 0) {
    --damages_left_;
    ++figures_.damages;
    pull->rate_factor += 0.5;
    workers_[i].damage = figures_.damages;
  }
  if (std::holds_alternative<learn::StateMessage>(*message)) workers_[i].damage = 0;
  if (std::holds_alternative<learn::AssignMessage>(*message)) workers_[i].seconds = 0;
  note(session.handle(*message));
  answer(i);
  work(i);
}

// One micro-batch; the next follows when messages that came meanwhile have been handled.
void SimulatedTraining::work(size_t i) {
  Worker& worker = workers_[i];
  if (!worker.session->has_work() || worker.is_working) return;
  worker.is_working = true;
  worker.left = 1;
  worker.began = clock_.now();
  worker.computing = options_.computing.empty()
                         ? random_.between(Time(kLeastCompute), Time(kMostCompute))
                         : options_.computing[i];
  go_on_working(i);
}

Time SimulatedTraining::pace_of(size_t i) const {
  const double times = i == slow_ ? options_.straggler : 1;
  return Time(static_cast<int64_t>(times * static_cast<double>(workers_[i].computing.count())));
}

void SimulatedTraining::go_on_working(size_t i) {
  Worker& worker = workers_[i];
  worker.since = clock_.now();
  const Time takes(static_cast<int64_t>(worker.left * static_cast<double>(pace_of(i).count())));
  clock_.after(takes, [this, i, life = worker.life, ticket = ++worker.ticket] {
    Worker& same = workers_[i];
    if (same.life != life || same.ticket != ticket) return;
    same.is_working = false;
    if (!same.session->has_work()) return;
    same.seconds += std::chrono::duration<double>(clock_.now() - same.began).count();
    ++figures_.micro_batches;
    note(same.session->work());
    answer(i);
    work(i);
  });
}

// The one that was slow computes the rest of its micro-batch as fast as it should, and another one
// is slow from now on.
void SimulatedTraining::change_straggler() {
  if (options_.straggler == 1) return;
  for (Worker& worker : workers_) {
    const auto i = static_cast<size_t>(&worker - workers_.data());
    const std::chrono::duration<double> passed = clock_.now() - worker.since;
    const std::chrono::duration<double> whole = pace_of(i);
    if (worker.is_working) worker.left = std::max(0.0, worker.left - passed / whole);
  }
  slow_ = slow_ ? (*slow_ + 1) % workers_.size() : 0;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].is_working) go_on_working(i);
  }
}

std::map<std::string, Tensor> SimulatedTraining::learned() const {
  return hub_->replica().trainer().learned();
}

Graph SimulatedTraining::network() const { return *hub_->replica().trainer().network(); }

void SimulatedTraining::answer(size_t i) {
  Worker& worker = workers_[i];
  for (learn::ToHub& message : worker.session->take_messages()) {
    if (auto* const push = std::get_if<learn::PushMessage>(&message)) {
      push->seconds = worker.seconds;
    }
    clock_.after(delay(worker.last_out), [this, i, bytes = encode(message), life = worker.life,
                                          hub = hub_life_, damage = worker.damage] {
      if (workers_[i].life != life || hub_life_ != hub || !hub_ || is_over_) return;
      workers_[i].found = damage;
      hub_->handle(static_cast<int>(i), bytes, hub_now());
      settle_hub();
    });
  }
}

void SimulatedTraining::note(const Status& status) {
  if (problem_.ok()) problem_ = status;
}

Status SimulatedTraining::run() {
  for (int events = 0; problem_.ok() && clock_.step(); ++events) {
    if (events > kMostEvents) fail("the run does not end");
  }
  SHOAL_TRY(problem_);
  return check_end();
}

Status SimulatedTraining::check_end() const {
  const auto broken = [](const std::string& what) { return Status(Code::kInternal, what); };
  if (!is_over_) return broken("nothing happens, and the run is not over");
  if (hub_->step() != options_.hub.steps) return broken("steps are missing");
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = workers_[i];
    if (!worker.session || !worker.is_member) continue;
    if (!worker.session->is_over()) return broken("a worker does not know that the run is over");
    // Damage that was not reported to the hub before the end loses nothing.
    if (worker.damage > 0 && worker.found != worker.damage) continue;
    if (learn::hash_of_learned(worker.session->replica().trainer()) != hash_) {
      return broken("worker " + std::to_string(i) + " has learned other weights");
    }
  }
  return {};
}

}  // namespace shoal::chaos
