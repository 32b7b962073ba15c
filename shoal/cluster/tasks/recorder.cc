#include "shoal/cluster/tasks/recorder.h"

#include "messages.pb.h"

namespace shoal::cluster {
namespace {

void add(google::protobuf::RepeatedPtrField<message::Traced::PieceTime>& to,
         const plan::Piece& piece, int peer) {
  message::Traced::PieceTime& time = *to.Add();
  encode(piece, *time.mutable_piece());
  time.set_peer(peer);
  time.set_at(nanoseconds(std::chrono::steady_clock::now()));
}

}  // namespace

int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

Recorder::Recorder(uint64_t plan, size_t tasks, size_t sends)
    : plan_(plan), tasks_(tasks), sends_(sends) {}
Recorder::~Recorder() = default;

// Drops the oldest record when there are too many: requests that lost a peer never complete theirs.
message::Traced& Recorder::record_of(uint64_t request) {
  constexpr size_t kMost = 256;
  const auto [it, is_new] = records_.try_emplace(request);
  if (is_new) {
    it->second.set_plan(plan_);
    it->second.set_request(request);
    if (records_.size() > kMost)
      records_.erase(it == records_.begin() ? std::next(it) : records_.begin());
  }
  return it->second;
}

std::optional<message::Message> Recorder::take_if_complete(uint64_t request) {
  const auto it = records_.find(request);
  // Sends happen on other threads than tasks, so either may come last.
  if (static_cast<size_t>(it->second.tasks_size()) < tasks_ ||
      static_cast<size_t>(it->second.sent_size()) < sends_) {
    return std::nullopt;
  }
  message::Message message;
  *message.mutable_traced() = std::move(it->second);
  records_.erase(it);
  return message;
}

// Also of pieces that come twice, which a hostile sender may send for ever.
void Recorder::received(uint64_t request, const plan::Piece& piece) {
  constexpr int kMostReceived = 4096;
  const std::lock_guard lock(mutex_);
  message::Traced& record = record_of(request);
  if (record.received_size() < kMostReceived) add(*record.mutable_received(), piece, 0);
}

// Returns the record if this event was its last one; the caller sends it without the lock.
std::optional<message::Message> Recorder::ran(uint64_t request, Time begin, Time end) {
  const std::lock_guard lock(mutex_);
  message::Traced::TaskTime& time = *record_of(request).add_tasks();
  time.set_begin(nanoseconds(begin));
  time.set_end(nanoseconds(end));
  return take_if_complete(request);
}

std::optional<message::Message> Recorder::sending(uint64_t request, const plan::Piece& piece,
                                                  int to) {
  const std::lock_guard lock(mutex_);
  add(*record_of(request).mutable_sent(), piece, to);
  return take_if_complete(request);
}

void Recorder::forget(uint64_t request) {
  const std::lock_guard lock(mutex_);
  records_.erase(request);
}

}  // namespace shoal::cluster
