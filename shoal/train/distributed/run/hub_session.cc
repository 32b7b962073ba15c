#include "shoal/train/distributed/run/hub_session.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "shoal/base/overloaded.h"
#include "shoal/train/step/optimizer/step_count.h"

namespace shoal::learn {
namespace {

constexpr const char *kSteps = "hub.steps", *kPlan = "hub.plan";
constexpr std::string_view kTrainer = "trainer/", kCodec = "hub/", kWorker = "worker/";
constexpr size_t kHashes = 64;  // a worker that is further behind is sent the state again
// Statistics are means of at least this many samples and steps.
constexpr int64_t kMeasuredSamples = 1024, kLeastAveraged = 4;

using State = HubSession::State;

std::string prefix_of(int worker) { return std::string(kWorker) + std::to_string(worker) + "/"; }

void put_copies(const State& from, std::string_view prefix, State& to) {
  for (const auto& [name, tensor] : from) to[std::string(prefix) + name] = tensor.clone();
}

// The tensors whose names begin so, under the rest of their names.
State part_of(const State& state, std::string_view prefix) {
  State part;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = tensor;
  }
  return part;
}

// The worker whose prefix_of() begins this name; nullopt if none.
std::optional<int> worker_of(std::string_view name) {
  if (!name.starts_with(kWorker)) return std::nullopt;
  name.remove_prefix(kWorker.size());
  int worker = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), worker);
  const bool is_number = error == std::errc() && end != name.data() + name.size() && *end == '/';
  return is_number && worker >= 0 ? std::optional(worker) : std::nullopt;
}

// A row for each worker: its number and its nanoseconds.
Tensor encode_plan(const std::map<int, int64_t>& planned) {
  Tensor rows({DType::kI64, {std::ssize(planned), 2}});
  size_t i = 0;
  for (const auto& [worker, time] : planned) {
    rows.data<int64_t>()[i++] = worker;
    rows.data<int64_t>()[i++] = time;
  }
  return rows;
}

Result<std::map<int, int64_t>> decode_plan(const State& state) {
  std::map<int, int64_t> planned;
  const auto position = state.find(kPlan);
  if (position == state.end()) return planned;
  const Tensor& rows = position->second;
  const bool is_table =
      rows.dtype() == DType::kI64 && rows.shape().rank() == 2 && rows.shape()[1] == 2;
  if (!is_table) return Status(Code::kCorrupt, "a plan of shares that cannot be read");
  const auto numbers = rows.data<int64_t>();
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const bool is_possible =
        numbers[i] >= 0 && numbers[i] <= std::numeric_limits<int>::max() && numbers[i + 1] > 0;
    if (!is_possible) return Status(Code::kCorrupt, "a plan of shares that nobody has made");
    planned[static_cast<int>(numbers[i])] = numbers[i + 1];
  }
  return planned;
}

}  // namespace

std::vector<int> HubSession::workers_in(const State& state) {
  std::set<int> workers;
  for (const auto& [name, tensor] : state) {
    if (const std::optional<int> worker = worker_of(name)) workers.insert(*worker);
  }
  return {workers.begin(), workers.end()};
}

Result<HubSession> HubSession::create(Device& device, const Graph& network,
                                      const train::TrainerOptions& options,
                                      const ExchangeOptions& exchange, HubOptions hub, Rate rate) {
  hub.levels = exchange.levels;
  SHOAL_ASSIGN(Replica replica, Replica::create(device, network, options, exchange));
  SHOAL_ASSIGN(Merger merger, Merger::create(exchange, step_types_of(replica.trainer())));
  const int64_t samples = network[network.inputs()[0]].type.shape[0] * exchange.micro_batches();
  const int64_t averaged = std::max(kLeastAveraged, kMeasuredSamples / samples);
  return HubSession(std::move(replica), std::move(merger), hub, std::move(rate), exchange,
                    averaged);
}

// A run that makes checkpoints every few steps measures in every step: statistics follow then, as
// the mean of a few would change with every checkpoint. So they do in rounds of local steps.
StatisticsUse HubSession::statistics_in(int64_t step) const {
  const bool is_frequent = save_every_ > 0 && save_every_ < 2 * averaged_steps_;
  if (is_frequent || exchange_.local_steps > 1 || replica_.trainer().statistics().empty()) {
    return StatisticsUse::follows();
  }
  const int64_t at_end = std::max<int64_t>(hub_.steps() - averaged_steps_, 0);
  const int64_t at_save = saved_.value_or(0) + save_every_ - averaged_steps_;
  const bool is_needed = step >= at_end || (save_every_ > 0 && step >= at_save);
  if (!is_needed) return StatisticsUse::skips();
  // The last mean begins where it would in every run. A checkpoint may be within it.
  if (step == at_end) return StatisticsUse::averages(0);
  if (!statistics_) return StatisticsUse::averages(std::max<int64_t>(step - at_end, 0));
  const std::optional<int64_t> before = statistics_->second.averaged_before();
  return StatisticsUse::averages(before ? *before + 1 : 0);
}

void HubSession::begin_step(int64_t step) {
  if (save_every_ > 0 && !saved_) begin_checkpoint(step);
  if (statistics_ && statistics_->first == step) return;
  statistics_ = {step, statistics_in(step)};
  merger_.begin_step(statistics_->second.is_sent());
}

void HubSession::stop() {
  if (std::exchange(stopped_, true)) return;
  const bool lacks_statistics = statistics_ && !statistics_->second.is_sent();
  hub_.stop(lacks_statistics ? 1 : 0);
}

void HubSession::join(int worker, Time now) {
  forget(worker);
  hub_.join(worker, now);
  carry_out();
}

void HubSession::lose(int worker, Time now) {
  forget(worker);
  hub_.lose(worker, now);
  carry_out();
}

// What it carried is lost with it, and no checkpoint waits for it.
void HubSession::forget(int worker) {
  const auto carried = carried_.find(worker);
  if (carried != carried_.end()) {
    lost_norms_.push_back(carried->second);
    carried_.erase(carried);
  }
  if (saving_ && saving_->awaited.erase(worker) > 0 && needs_all_parts_) saving_.reset();
  finish_checkpoint();
}

void HubSession::tick(Time now) {
  hub_.tick(now);
  carry_out();
}

void HubSession::drop(int worker, Time now) {
  dropped_.push_back(worker);
  forget(worker);
  hub_.lose(worker, now);
}

void HubSession::handle(int worker, std::span<const std::byte> bytes, Time now) {
  const Result<ToHub> message = decode_for_hub(bytes);
  if (!message.ok() || !take(worker, *message, now).ok()) drop(worker, now);
  carry_out();
}

Status HubSession::take(int worker, const ToHub& message, Time now) {
  return std::visit(
      Overloaded{[&](const SyncedMessage&) {
                   codecs_.erase(worker);
                   hub_.synced(worker, now);
                   return Status();
                 },
                 [&](const PushMessage& m) { return take_push(worker, m, now); },
                 [&](const AppliedMessage& m) { return take_applied(worker, m, now); },
                 [&](const SavedMessage& m) { return take_saved(worker, m); }},
      message);
}

Status HubSession::take_applied(int worker, const AppliedMessage& applied, Time now) {
  const auto known = hashes_.find(applied.step);
  const bool equal = known != hashes_.end() && known->second == applied.hash;
  differing_ += equal ? 0 : 1;
  carried_[worker] = applied.carried;
  hub_.applied(worker, {applied.step, equal, applied.done}, now);
  return {};
}

// The codec of the hub's replica, which sends nothing, says whether it is the state of such a
// codec.
Status HubSession::take_saved(int worker, const SavedMessage& saved) {
  if (!saving_ || saving_->step != saved.step || saving_->awaited.erase(worker) == 0) return {};
  SHOAL_TRY(replica_.codec().gradients().restore(saved.codec));
  put_copies(saved.codec, prefix_of(worker), saving_->state);
  finish_checkpoint();
  return {};
}

// Of what is before `step`. There is no other one until it is complete: if it were given up for the
// next, one slow worker that has no share would prevent all.
void HubSession::begin_checkpoint(int64_t step) {
  saving_ = Saving{.step = step};
  saved_ = step;
  State& state = saving_->state;
  state[kSteps] = Tensor::of<int64_t>({}, {step});
  if (!hub_.planned().empty()) state[kPlan] = encode_plan(hub_.planned());
  put_copies(replica_.state(), kTrainer, state);
  put_copies(merger_.codec().gradients().state(), kCodec, state);
  for (const int worker : hub_.workers()) {
    saving_->awaited.insert(worker);
    send(worker, SaveMessage{step});
  }
  finish_checkpoint();
}

void HubSession::finish_checkpoint() {
  if (!saving_ || !saving_->awaited.empty()) return;
  checkpoint_ = std::move(saving_->state);
  saving_.reset();
}

// One that was not asked for is dropped without more: its sender may have been sent the state anew
// while it was on its way.
Status HubSession::take_push(int worker, const PushMessage& push, Time now) {
  const Contribution& c = push.contribution;
  const Verdict verdict = hub_.verdict(worker, push.step, c.first, c.end);
  if (verdict == Verdict::kAccept) {
    SHOAL_TRY(merger_.add(c));
    longest_ = std::max(longest_, push.seconds);
  }
  if (verdict == Verdict::kLate) send(worker, LateMessage{push.step});
  hub_.push(worker, push.step, c.first, c.end, now, push.seconds);
  return {};
}

void HubSession::send(int worker, const ToWorker& message) {
  letters_.push_back({worker, std::make_shared<const std::vector<std::byte>>(encode(message)), {}});
}

void HubSession::send_state(const HubAction& action) {
  StateMessage message{action.step, replica_.state(), {}};
  if (const auto codec = codecs_.find(action.worker); codec != codecs_.end()) {
    message.codec = codec->second;
  }
  send(action.worker, message);
}

Status HubSession::merge(int64_t step) {
  SHOAL_ASSIGN(Merger::Merged merged, merger_.finish());
  const bool is_local = exchange_.local_steps > 1;
  const double rate = is_local ? 1 : rate_(step);
  const OuterRule outer = is_local ? exchange_.outer : OuterRule();
  const StatisticsUse statistics = statistics_->second;
  SHOAL_ASSIGN(hashes_[step], replica_.pull(merged.message, rate, outer, statistics));
  if (hashes_.size() > kHashes) hashes_.erase(hashes_.begin());
  const bool is_mean =
      statistics.averaged_before().value_or(averaged_steps_) + 1 >= averaged_steps_;
  has_statistics_ = replica_.trainer().statistics().empty() || (statistics.is_sent() && is_mean);
  losses_.push_back(merged.loss);
  computed_seconds_.push_back(std::exchange(longest_, 0));
  const auto pull = std::make_shared<const std::vector<std::byte>>(
      encode(ToWorker(PullMessage{step, rate, outer, statistics, std::move(merged.message)})));
  for (const int worker : hub_.workers()) letters_.push_back({worker, pull, {}});
  const int64_t last = saved_.value_or(0);
  if (save_every_ > 0 && !saving_ && step + 1 >= last + save_every_) begin_checkpoint(step + 1);
  return {};
}

AssignMessage HubSession::assignment_of(const HubAction& action) const {
  return {action.step,           action.first,       action.end,
          exchange_.local_steps, rate_(action.step), statistics_->second};
}

void HubSession::carry_out() {
  using Kind = HubAction::Kind;
  for (const HubAction& action : hub_.take_actions()) {
    if (!status_.ok()) return;
    switch (action.kind) {
      case Kind::kSendState:
        send_state(action);
        break;
      case Kind::kAssign:
        begin_step(action.step);
        send(action.worker, assignment_of(action));
        letters_.back().assigned = assignment_of(action);
        break;
      case Kind::kMerge:
        status_ = merge(action.step);
        break;
      case Kind::kDrop:
        dropped_.push_back(action.worker);
        forget(action.worker);
        break;
      case Kind::kGoodbye:
        send(action.worker, GoodbyeMessage{});
        break;
      case Kind::kGiveUp:
        status_ = Status(Code::kUnavailable, "there were no workers for too long");
        break;
    }
  }
}

Status HubSession::restore(const State& state) {
  SHOAL_ASSIGN(const int64_t steps, train::steps_from(state, kSteps));
  SHOAL_ASSIGN(auto planned, decode_plan(state));
  std::map<int, State> codecs;
  for (const int worker : workers_in(state)) codecs[worker] = part_of(state, prefix_of(worker));
  for (const auto& [worker, codec] : codecs) {
    SHOAL_TRY(replica_.codec().gradients().restore(codec));
  }
  SHOAL_TRY(merger_.codec().gradients().restore(part_of(state, kCodec)));
  SHOAL_TRY(replica_.restore(part_of(state, kTrainer)));
  codecs_ = std::move(codecs);
  hub_.resume(steps, std::move(planned));
  saved_ = steps;
  return {};
}

}  // namespace shoal::learn
