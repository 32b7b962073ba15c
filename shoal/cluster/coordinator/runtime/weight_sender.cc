// The shell around WeightSchedule. One thread sends to all workers of a plan, so that they take
// turns whatever their links are; reader threads record what is acknowledged.
#include "shoal/cluster/coordinator/runtime/weight_sender.h"

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {

Status WeightSender::send(uint64_t plan, const MissingWeights& missing,
                          const std::map<Hash, Tensor>& weights) {
  WeightSchedule schedule(options_.progress_timeout);
  SHOAL_TRY(fill(schedule, missing, weights));
  if (schedule.is_done()) return {};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [worker, hashes] : missing) sending_[worker] = {plan, &schedule};
  }
  Status status;
  for (const auto& [worker, hashes] : missing) {
    // After the schedule is known to fail(), so that no loss in between is missed.
    if (status.ok()) status = links_.status(worker);
  }
  if (status.ok()) status = carry_out(schedule, weights);
  const std::lock_guard lock(mutex_);
  for (const auto& [worker, hashes] : missing) sending_.erase(worker);
  return status;
}

// A worker may ask for weights of its plan only, not for any bytes of which it knows the hash.
Status WeightSender::fill(WeightSchedule& schedule, const MissingWeights& missing,
                          const std::map<Hash, Tensor>& weights) const {
  for (const auto& [worker, hashes] : missing) {
    std::vector<WeightSchedule::Weight> lacking;
    for (const auto& [hash, have] : hashes) {
      const auto weight = weights.find(hash);
      if (weight == weights.end()) {
        return Status(Code::kCorrupt, "misses what was not named")
            .at("worker " + links_.name(worker));
      }
      const uint64_t size = weight->second.bytes().size();
      // A worker that has all of it was killed before it could finish the file, or has what
      // somebody else sent under this name. It begins anew.
      lacking.push_back({hash, size, have < size ? have : 0});
    }
    schedule.add(worker, lacking);
  }
  return {};
}

Status WeightSender::carry_out(WeightSchedule& schedule, const std::map<Hash, Tensor>& weights) {
  for (;;) {
    std::optional<WeightChunk> chunk;
    std::optional<WeightSchedule::Failure> failure;
    WeightsProgress progress;
    {
      std::unique_lock lock(mutex_);
      for (;;) {
        failure = schedule.failure(Clock::now());
        if (failure || schedule.is_done()) break;
        chunk = schedule.next(Clock::now());
        if (chunk) break;
        changed_.wait_until(lock, schedule.next_time(Clock::now()));
      }
      progress = schedule.progress();
    }
    // Names are the links', which must not be called under the lock.
    if (failure) return failure->status.at("worker " + links_.name(failure->worker));
    if (options_.progress) SHOAL_TRY(options_.progress(progress));
    if (!chunk) return {};
    SHOAL_TRY(send_chunk(*chunk, weights.at(chunk->hash).bytes()));
  }
}

Status WeightSender::send_chunk(const WeightChunk& chunk, net::Bytes whole) const {
  const WorkerLinkPtr link = links_.link(chunk.worker);
  if (link == nullptr) return Status(Code::kUnavailable, "the coordinator is closing");
  message::Message message;
  message.mutable_blob()->set_hash(chunk.hash);
  message.mutable_blob()->set_offset(chunk.offset);
  message.mutable_blob()->set_total(whole.size());
  const std::string control = message.SerializeAsString();
  const net::Bytes part = whole.subspan(static_cast<size_t>(chunk.offset), chunk.bytes);
  const net::FrameView frame{
      .control = bytes_of(control), .payload = std::span(&part, 1), .urgent = false, .bulk = true};
  return link->channel()
      .send(frame, net::after(options_.progress_timeout))
      .at("worker " + links_.name(chunk.worker));
}

void WeightSender::acknowledge(int worker, const Hash& hash, uint64_t have) {
  const std::lock_guard lock(mutex_);
  const auto sending = sending_.find(worker);
  if (sending == sending_.end()) return;  // that deployment has ended
  sending->second.schedule->acknowledge(worker, hash, have, Clock::now());
  changed_.notify_all();
}

void WeightSender::fail(int worker, uint64_t plan, const Status& why) {
  const std::lock_guard lock(mutex_);
  const auto sending = sending_.find(worker);
  if (sending == sending_.end()) return;
  if (plan != 0 && plan != sending->second.plan) return;
  sending->second.schedule->fail(worker, why);
  changed_.notify_all();
}

}  // namespace shoal::cluster
