#include "shoal/learn/run/hub_session.h"

#include <algorithm>

#include "shoal/base/overloaded.h"
#include "shoal/train/step_count.h"

namespace shoal::learn {
namespace {

constexpr const char* kSteps = "hub.steps";
constexpr std::string_view kTrainer = "trainer/", kCodec = "hub/";
constexpr size_t kHashes = 64;  // a worker that is further behind is sent the state again

}  // namespace

Result<HubSession> HubSession::create(Device& device, const Graph& network,
                                      const train::TrainerOptions& options,
                                      const ExchangeOptions& exchange, HubOptions hub, Rate rate) {
  hub.levels = exchange.levels;
  SHOAL_ASSIGN(Replica replica, Replica::create(device, network, options, exchange));
  SHOAL_ASSIGN(Merger merger, Merger::create(exchange, step_types_of(replica.trainer())));
  return HubSession(std::move(replica), std::move(merger), hub, std::move(rate));
}

void HubSession::join(int worker, Time now) {
  hub_.join(worker, now);
  carry_out();
}

void HubSession::lose(int worker, Time now) {
  hub_.lose(worker, now);
  carry_out();
}

void HubSession::tick(Time now) {
  hub_.tick(now);
  carry_out();
}

void HubSession::drop(int worker, Time now) {
  dropped_.push_back(worker);
  hub_.lose(worker, now);
}

void HubSession::handle(int worker, std::span<const std::byte> bytes, Time now) {
  const Result<ToHub> message = decode_for_hub(bytes);
  if (!message.ok() || !take(worker, *message, now).ok()) drop(worker, now);
  carry_out();
}

Status HubSession::take(int worker, const ToHub& message, Time now) {
  return std::visit(Overloaded{[&](const SyncedMessage&) {
                                 hub_.synced(worker, now);
                                 return Status();
                               },
                               [&](const PushMessage& m) { return take_push(worker, m, now); },
                               [&](const AppliedMessage& m) {
                                 const auto known = hashes_.find(m.step);
                                 const bool equal =
                                     known != hashes_.end() && known->second == m.hash;
                                 differing_ += equal ? 0 : 1;
                                 hub_.applied(worker, {m.step, equal, m.done}, now);
                                 return Status();
                               }},
                    message);
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

Status HubSession::merge(int64_t step) {
  SHOAL_ASSIGN(Merger::Merged merged, merger_.finish());
  const double rate = rate_(step);
  SHOAL_ASSIGN(hashes_[step], replica_.pull(merged.message, rate));
  if (hashes_.size() > kHashes) hashes_.erase(hashes_.begin());
  losses_.push_back(merged.loss);
  computed_seconds_.push_back(std::exchange(longest_, 0));
  const auto pull = std::make_shared<const std::vector<std::byte>>(
      encode(ToWorker(PullMessage{step, rate, std::move(merged.message)})));
  for (const int worker : hub_.workers()) letters_.push_back({worker, pull, {}});
  return {};
}

void HubSession::carry_out() {
  using Kind = HubAction::Kind;
  for (const HubAction& action : hub_.take_actions()) {
    if (!status_.ok()) return;
    switch (action.kind) {
      case Kind::kSendState:
        send(action.worker, StateMessage{action.step, replica_.trainer().state()});
        break;
      case Kind::kAssign:
        send(action.worker, AssignMessage{action.step, action.first, action.end});
        letters_.back().assigned = {action.step, action.first, action.end};
        break;
      case Kind::kMerge:
        status_ = merge(action.step);
        break;
      case Kind::kDrop:
        dropped_.push_back(action.worker);
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

std::map<std::string, Tensor> HubSession::state() const {
  std::map<std::string, Tensor> state{{kSteps, Tensor::of<int64_t>({}, {hub_.step()})}};
  for (const auto& [name, tensor] : replica_.trainer().state()) {
    state[std::string(kTrainer) + name] = tensor;
  }
  for (const auto& [name, tensor] : merger_.codec().gradients().state()) {
    state[std::string(kCodec) + name] = tensor;
  }
  return state;
}

Status HubSession::restore(const std::map<std::string, Tensor>& state) {
  std::map<std::string, Tensor> trainer, codec;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(kTrainer)) trainer[name.substr(kTrainer.size())] = tensor;
    if (name.starts_with(kCodec)) codec[name.substr(kCodec.size())] = tensor;
  }
  SHOAL_ASSIGN(const int64_t steps, train::steps_from(state, kSteps));
  SHOAL_TRY(merger_.codec().gradients().restore(codec));
  SHOAL_TRY(replica_.trainer().restore(trainer));
  hub_.resume(steps);
  return {};
}

}  // namespace shoal::learn
