#include <algorithm>
#include <set>

#include "messages.pb.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/talk.h"
#include "shoal/plan/boxes.h"

namespace shoal::cluster {

RemotePlan::~RemotePlan() {
  {
    const std::lock_guard lock(coordinator_.mutex_);
    coordinator_.plans_.erase(id_);
  }
  message::Message release;
  release.mutable_release()->set_plan(id_);
  for (Coordinator::Link& link : coordinator_.links_) {
    static_cast<void>(send(*link.channel, release));  // who is gone has released it already
  }
}

Status RemotePlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                       std::chrono::milliseconds patience, plan::Timeline* measured) {
  const uint64_t request = next_request_++;
  SHOAL_TRY(expect_answer(request, inputs, measured != nullptr));
  if (coordinator_.waker_) coordinator_.waker_->begin();
  const Status sent = send_inputs(request, inputs);
  std::unique_lock lock(coordinator_.mutex_);
  Coordinator::Answer& answer = coordinator_.answers_[{id_, request}];
  const bool over = sent.ok() && coordinator_.changed_.wait_for(lock, patience, [&] {
    const bool all = !answer.measurement || answer.measurement->complete();
    return (answer.is_complete() && all) || !answer.status.ok();
  });
  Status status = !sent.ok() ? sent : over ? answer.status : too_late(answer);
  if (status.ok()) std::ranges::move(answer.outputs, outputs.begin());
  if (status.ok() && measured != nullptr) *measured = answer.measurement->timeline();
  coordinator_.answers_.erase({id_, request});
  if (coordinator_.waker_) coordinator_.waker_->end();
  return status;
}

Status RemotePlan::expect_answer(uint64_t request, std::span<const Tensor> inputs, bool measured) {
  const std::lock_guard lock(coordinator_.mutex_);
  for (int worker : workers_) SHOAL_TRY(coordinator_.lost_[static_cast<size_t>(worker)]);
  Coordinator::Answer& answer = coordinator_.answers_[{id_, request}];
  if (measured) {
    answer.measurement.emplace(plan_, schedule_, static_cast<int>(coordinator_.infos_.size()));
  }
  for (ValueId id : graph_.outputs()) {
    const Value& value = graph_[id];
    const auto input = std::ranges::find(graph_.inputs(), id) - graph_.inputs().begin();
    answer.outputs.push_back(value.constant ? *value.constant
                             : input < std::ssize(graph_.inputs())
                                 ? inputs[static_cast<size_t>(input)]
                                 : Tensor(value.type));
    const Region whole = Region::whole(value.type.shape);
    const bool comes =
        !value.constant && input == std::ssize(graph_.inputs()) && !plan::is_empty(whole);
    answer.missing.push_back(comes ? std::vector{whole} : std::vector<Region>());
  }
  for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
    const plan::Transfer& transfer = schedule_.transfers[i];
    if (transfer.to == plan::kCoordinator && transfer.from != plan::kCoordinator) {
      answer.awaited.insert(i);
    }
  }
  return {};
}

Status RemotePlan::too_late(const Coordinator::Answer& answer) const {
  std::set<std::string> names;
  for (size_t i : answer.awaited) {
    names.insert(coordinator_.infos_[static_cast<size_t>(schedule_.transfers[i].from)].name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return Status(Code::kDeadline, "no answer in time from " + (text.empty() ? "workers" : text));
}

Status RemotePlan::send_inputs(uint64_t request, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
    const plan::Transfer& transfer = schedule_.transfers[i];
    if (transfer.from != plan::kCoordinator) continue;
    const auto& [value, region] = transfer.piece;
    const auto at = std::ranges::find(graph_.inputs(), value) - graph_.inputs().begin();
    const Tensor& whole = inputs[static_cast<size_t>(at)];
    const bool all = region == Region::whole(whole.shape());
    if (transfer.to == plan::kCoordinator) continue;
    note_sending(request, i);
    const auto worker = static_cast<size_t>(transfer.to);
    const Status sent = send_piece(*coordinator_.links_[worker].channel, id_, request,
                                   transfer.piece, all ? whole : crop(whole, region))
                            .at("worker " + coordinator_.infos_[worker].name);
    // Who listens to the worker would notice too, but perhaps not before the next request.
    if (sent.code() == Code::kUnavailable) coordinator_.lose(worker, sent);
    SHOAL_TRY(sent);
  }
  return {};
}

void RemotePlan::note_sending(uint64_t request, size_t transfer) {
  const std::lock_guard lock(coordinator_.mutex_);
  auto& measurement = coordinator_.answers_[{id_, request}].measurement;
  if (measurement) measurement->sending(transfer);
}

// Called with the coordinator's lock held. Only what the plan says, from each worker once; where
// several send the same, the first counts.
Status RemotePlan::collect(int worker, const message::Data& data, const net::Frame& frame,
                           Coordinator::Answer& answer) const {
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const auto awaited = std::ranges::find_if(answer.awaited, [&](size_t i) {
    return schedule_.transfers[i].from == worker && schedule_.transfers[i].piece == piece;
  });
  if (awaited == answer.awaited.end()) {
    return Status(Code::kCorrupt, "an answer that nobody asked for");
  }
  const bool was_complete = answer.is_complete();
  const auto outputs = graph_.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != piece.value || answer.missing[i].empty()) continue;
    Tensor& whole = answer.outputs[i];
    SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, whole.dtype(), piece.region.shape()));
    paste(elements, piece.region, whole);
    answer.missing[i] = plan::subtract(std::move(answer.missing[i]), piece.region);
  }
  answer.awaited.erase(awaited);
  if (answer.measurement) {
    answer.measurement->received(piece, worker);
    if (!was_complete && answer.is_complete()) answer.measurement->answered();
  }
  return {};
}

}  // namespace shoal::cluster
