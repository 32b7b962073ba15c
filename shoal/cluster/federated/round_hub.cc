#include "shoal/cluster/federated/round_hub.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "shoal/base/overloaded.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/federated/population.h"

namespace shoal::federated_cluster {
namespace {

using federated::RoundReport;
using federated::Weights;
using Phase = SecretRound::Phase;

constexpr size_t kFewestOfSecret = 3;
// Shares of a round's time: partial work is asked for so that it comes before the deadline; the
// phases of a secret round leave most of it to learning.
constexpr double kCall = 0.9, kSecretCall = 0.8;
constexpr double kKeysEnd = 0.1, kSharesEnd = 0.2, kVectorsEnd = 0.9;

double end_of(Phase phase) {
  if (phase == Phase::kKeys) return kKeysEnd;
  if (phase == Phase::kShares) return kSharesEnd;
  return phase == Phase::kVectors ? kVectorsEnd : 1;
}

}  // namespace

HubOptions hub_options(const federated::ScenarioSettings& settings, federated::Options rounds) {
  constexpr double kDeadline = 600;  // seconds
  HubOptions options{.rounds = std::move(rounds),
                     .least = settings.least,
                     .secret = settings.secure_sum,
                     .range = settings.secure_range};
  if (settings.deadline == 0) options.rounds.population.deadline = kDeadline;
  return options;
}

Status check(const HubOptions& options) {
  SHOAL_TRY(federated::check(options.rounds));
  const double deadline = options.rounds.population.deadline;
  constexpr double kLongest = 1e7;  // seconds
  if (!(deadline > 0 && deadline <= kLongest)) {
    return invalid("a round on workers has a deadline of 1e7 seconds at most");
  }
  if (options.least < 1 || options.least > options.rounds.per_round) {
    return invalid("a round needs reports of at least one client, and of no more than it invites");
  }
  if (options.rounds.codec != learn::CodecKind::kF32) {
    return Status(Code::kUnsupported, "clients on workers send their weights as f32");
  }
  if (!options.secret) return {};
  SHOAL_TRY(federated::check_secret(options.rounds.strategy, options.rounds.codec,
                                    options.rounds.per_round));
  return check(SecureCode{.range = options.range, .clients = options.rounds.per_round});
}

RoundHub::RoundHub(const HubOptions& options, federated::Course& course, Time now)
    : options_(options), course_(course), began_(now) {}

RoundHub::Time RoundHub::at(const Round& round, double share) const {
  const double seconds = share * options_.rounds.population.deadline;
  return round.began + std::chrono::nanoseconds(static_cast<int64_t>(1e9 * seconds));
}

void RoundHub::send(int worker, const ToClient& message) {
  letters_.push_back({worker, std::make_shared<const std::vector<std::byte>>(encode(message))});
  if (round_) round_->report.bytes += static_cast<double>(letters_.back().message->size());
}

void RoundHub::join(int worker, Time now) {
  if (over_) return;
  clients_[worker] = {};
  send(worker, RecipeMessage{options_.rounds.fit.preprocess, options_.rounds.fit.augment});
  advance(now);
}

void RoundHub::lose(int worker, Time now) {
  expected_.erase(worker);
  clients_.erase(worker);
  if (round_ && round_->awaited.erase(worker) > 0) ++round_->report.left;
  advance(now);
}

void RoundHub::drop(int worker, Time now) {
  dropped_.push_back(worker);
  lose(worker, now);
}

void RoundHub::handle(int worker, std::span<const std::byte> bytes, Time now) {
  if (over_ || !clients_.contains(worker)) return;  // it was dropped before
  const auto message = decode_for_server(bytes);
  if (!message.ok() || !take(worker, *message, bytes.size(), now).ok()) return drop(worker, now);
  advance(now);
}

// What belongs to a round that is over crossed its end.
Status RoundHub::take(int worker, const ToServer& message, size_t bytes, Time now) {
  const auto is_late = [&](int64_t round) {
    return !round_ || round != round_->report.round - 1 || !round_->awaited.contains(worker);
  };
  if (round_) round_->report.bytes += static_cast<double>(bytes);
  return std::visit(
      Overloaded{
          [&](const JoinedMessage& m) { return take(worker, m, now); },
          [&](const UpdateMessage& m) { return is_late(m.round) ? Status() : take(worker, m); },
          [&](const GaveUpMessage& m) {
            if (is_late(m.round)) return Status();
            round_->awaited.erase(worker);
            ++round_->report.failed;
            return Status();
          },
          [&](const SecretReply& m) { return is_late(m.round) ? Status() : take(worker, m); }},
      message);
}

Status RoundHub::take(int worker, const JoinedMessage& message, Time) {
  Client& client = clients_.at(worker);
  if (client.is_ready || message.magnitude < 1) return Status(Code::kCorrupt, "it joins twice");
  client = {.is_ready = true, .magnitude = message.magnitude};
  expected_.erase(worker);
  return {};
}

Status RoundHub::take(int worker, UpdateMessage message) {
  const bool is_known = message.steps > 0 && message.examples > 0 &&
                        message.examples <= clients_.at(worker).magnitude;
  if (round_->secret || !is_known) return Status(Code::kCorrupt, "an update of nobody");
  round_->awaited.erase(worker);
  round_->updates[worker] = std::move(message);
  return {};
}

Status RoundHub::take(int worker, const SecretReply& message) {
  if (!round_->secret) return Status(Code::kCorrupt, "there is no secure sum");
  const auto seat = std::ranges::find(round_->seats, worker) - round_->seats.begin();
  const bool is_vector = round_->secret->phase() == Phase::kVectors;
  SHOAL_TRY(round_->secret->take(static_cast<uint32_t>(seat), message.bytes, message.seconds));
  if (is_vector && !message.complete) ++round_->report.stragglers;
  round_->awaited.erase(worker);
  return {};
}

void RoundHub::tick(Time now) { advance(now); }

void RoundHub::stop() { end_run({}); }

void RoundHub::advance(Time now) {
  while (!over_) {
    if (!round_) {
      if (!may_begin(now)) return;
      begin_round(now);
      continue;
    }
    if (round_->call && now >= *round_->call) call_for_work();
    if (!round_->awaited.empty() && now < round_->until) return;
    close_phase(now);
    // The next one begins with the next tick: to evaluate took time.
    if (!round_) return;
  }
}

// Waits for the workers that were expected, and then for enough of them.
bool RoundHub::may_begin(Time now) {
  if (course_.is_over()) {
    end_run({});
    return false;
  }
  if (!expected_.empty() && now < began_ + options_.start_timeout) return false;
  expected_.clear();
  const auto ready = static_cast<size_t>(
      std::ranges::count_if(clients_, [](const auto& one) { return one.second.is_ready; }));
  if (ready >= std::max(options_.least, options_.secret ? kFewestOfSecret : 1)) {
    waiting_since_.reset();
    return true;
  }
  if (!waiting_since_) waiting_since_ = now;
  if (now >= *waiting_since_ + options_.wait) {
    end_run(Status(Code::kUnavailable,
                   "there are not enough clients for a round: " + std::to_string(ready)));
  }
  return false;
}

void RoundHub::begin_round(Time now) {
  const federated::Options& how = options_.rounds;
  const auto number = static_cast<uint64_t>(course_.rounds());
  round_.emplace(Round{.report = {.round = course_.rounds() + 1}, .began = now});
  Round& round = *round_;
  for (const uint64_t client :
       federated::invite(how.population, number, how.per_round, [&](uint64_t one) {
         const auto found = clients_.find(static_cast<int>(one));
         return found != clients_.end() && found->second.is_ready;
       })) {
    round.seats.push_back(static_cast<int>(client));
  }
  round.report.invited = round.seats.size();
  round.awaited = {round.seats.begin(), round.seats.end()};
  if (how.strategy.takes_partial) round.call = at(round, options_.secret ? kSecretCall : kCall);
  round.until = at(round, 1);
  if (options_.secret) {
    const Status begun = begin_secret(round);
    if (!begun.ok()) return end_run(begun);
  }
  RoundMessage message{.round = course_.rounds(),
                       .epochs = how.fit.epochs,
                       .local_steps = how.local_steps,
                       .rate_factor = course_.rate_factor(),
                       .mu = how.strategy.mu,
                       .weights = course_.weights()};
  for (size_t seat = 0; seat < round.seats.size(); ++seat) {
    const int worker = round.seats[seat];
    message.seed = federated::client_seed(how.fit.seed, number, static_cast<uint64_t>(worker));
    if (round.secret) message.secret = round.secret->part_of(static_cast<uint32_t>(seat));
    send(worker, message);
  }
}

Status RoundHub::begin_secret(Round& round) {
  SecureCode code{.range = options_.range, .clients = round.seats.size()};
  for (const int worker : round.seats) {
    code.most_examples = std::max(code.most_examples, clients_.at(worker).magnitude);
  }
  SHOAL_ASSIGN(round.secret, SecretRound::create(course_.rounds(), course_.weights(), code));
  round.until = at(round, kKeysEnd);
  return {};
}

void RoundHub::call_for_work() {
  round_->call.reset();
  const bool learns = !round_->secret || round_->secret->phase() == Phase::kVectors;
  if (!learns) return;
  for (const int worker : round_->awaited) send(worker, CallMessage{course_.rounds(), true});
}

void RoundHub::close_phase(Time now) {
  Round& round = *round_;
  // Who has not answered has no further part.
  round.report.stragglers += round.awaited.size();
  for (const int worker : round.awaited) send(worker, CallMessage{course_.rounds(), false});
  round.awaited.clear();
  if (!round.secret || round.secret->phase() == Phase::kOver) return end_round(now);
  const auto messages = round.secret->close();
  if (!messages.ok()) return end_round(now);
  if (round.secret->phase() == Phase::kOver) return end_round(now);
  for (const auto& [seat, bytes] : *messages) {
    const int worker = round.seats[seat];
    if (!clients_.contains(worker)) continue;  // it has dropped out since
    round.awaited.insert(worker);
    send(worker, SecretMessage{course_.rounds(), bytes});
  }
  round.until = at(round, end_of(round.secret->phase()));
}

// In the order in which the simulation adds.
Status RoundHub::merge(Round& round) const {
  RoundReport& report = round.report;
  if (round.secret) {
    if (round.secret->phase() != Phase::kOver) return {};
    SHOAL_ASSIGN(SecureResult result, round.secret->result(course_.weights()));
    if (result.mean.clients < options_.least) return {};
    report.loss = result.loss;
    return course_.merge(std::move(result.mean), report);
  }
  std::vector<std::pair<int, const UpdateMessage*>> order;
  for (const auto& [worker, update] : round.updates) order.emplace_back(worker, &update);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return std::tuple(-a.second->steps, a.first) < std::tuple(-b.second->steps, b.first);
  });
  federated::Merger merger = course_.begin_round();
  double losses = 0;
  for (const auto& [worker, update] : order) {
    report.stragglers += update->complete ? 0 : 1;
    if (!merger.add(update->weights, update->examples).ok()) {
      ++report.failed;
      continue;
    }
    losses += update->loss;
  }
  if (merger.clients() < options_.least) return {};
  report.reported = merger.clients();
  report.loss = losses / static_cast<double>(merger.clients());
  return course_.merge(merger);
}

void RoundHub::end_round(Time now) {
  Round round = *std::move(round_);
  round.report.seconds = std::chrono::duration<double>(now - round.began).count();
  Status ended = merge(round);
  if (ended.ok()) ended = course_.finish(round.report);
  round_.reset();
  if (!ended.ok()) return end_run(ended);
  reports_.push_back(round.report);
  // Those of a secret round that failed in the middle need not wait.
  if (round.secret && round.secret->phase() != Phase::kOver) {
    for (const int worker : round.seats) {
      if (clients_.contains(worker)) send(worker, CallMessage{round.report.round - 1, false});
    }
  }
}

void RoundHub::end_run(const Status& status) {
  round_.reset();
  for (const auto& [worker, client] : clients_) send(worker, GoodbyeMessage{});
  over_ = true;
  status_ = status;
}

RoundHub::Time RoundHub::next_tick() const {
  if (round_) return round_->call ? std::min(*round_->call, round_->until) : round_->until;
  if (waiting_since_) return *waiting_since_ + options_.wait;
  return expected_.empty() ? began_ : began_ + options_.start_timeout;
}

}  // namespace shoal::federated_cluster
