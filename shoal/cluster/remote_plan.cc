#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/talk.h"

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
  const std::pair key{id_, request};
  {
    const std::lock_guard lock(coordinator_.mutex_);
    for (int worker : workers_) SHOAL_TRY(coordinator_.lost_[static_cast<size_t>(worker)]);
    Coordinator::Answer& answer = coordinator_.answers_[key];
    if (measured != nullptr) {
      answer.measurement.emplace(plan_, schedule_, static_cast<int>(coordinator_.infos_.size()));
    }
    for (ValueId id : graph_.outputs()) {
      const Value& value = graph_[id];
      answer.outputs.push_back(value.constant ? *value.constant : Tensor(value.type));
    }
    for (const plan::Transfer& transfer : schedule_.transfers) {
      if (transfer.to == plan::kCoordinator) {
        answer.missing += transfer.piece.region.shape().count();
      }
    }
  }
  if (coordinator_.waker_) coordinator_.waker_->begin();
  const Status sent = send_inputs(request, inputs);
  std::unique_lock lock(coordinator_.mutex_);
  Coordinator::Answer& answer = coordinator_.answers_[key];
  const bool over = sent.ok() && coordinator_.changed_.wait_for(lock, patience, [&] {
    const bool all = !answer.measurement || answer.measurement->complete();
    return (answer.missing <= 0 && all) || !answer.status.ok();
  });
  Status status = !sent.ok() ? sent
                  : over     ? answer.status
                             : Status(Code::kDeadline, "the workers take too long");
  if (status.ok()) std::ranges::move(answer.outputs, outputs.begin());
  if (status.ok() && measured != nullptr) *measured = answer.measurement->timeline();
  coordinator_.answers_.erase(key);
  if (coordinator_.waker_) coordinator_.waker_->end();
  return status;
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

// Called with the coordinator's lock held.
Status RemotePlan::collect(int worker, const message::Data& data, const net::Frame& frame,
                           Coordinator::Answer& answer) const {
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const auto outputs = graph_.outputs();
  bool wanted = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != piece.value) continue;
    Tensor& whole = answer.outputs[i];
    if (piece.region.begin.rank() != whole.shape().rank() ||
        plan::intersection(piece.region, Region::whole(whole.shape())) != piece.region) {
      return Status(Code::kCorrupt, "an answer lies outside its value");
    }
    SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, whole.dtype(), piece.region.shape()));
    paste(elements, piece.region, whole);
    wanted = true;
  }
  if (!wanted) return Status(Code::kCorrupt, "an answer that nobody asked for");
  answer.missing -= piece.region.shape().count();
  if (answer.measurement) {
    answer.measurement->received(piece, worker);
    if (answer.missing <= 0) answer.measurement->answered();
  }
  return {};
}

}  // namespace shoal::cluster
