// Framing, priorities and heartbeats. Two locks order senders: frame_turn_ for a whole frame,
// ordinary ones before bulk, then wire_turn_ for one chunk; urgent frames take only the latter, in
// the express lane, and so wait for one chunk at most. Lock order: frame_turn_, wire_turn_. A
// sender that times out in the middle of a frame leaves it open; the next sender first tells the
// peer to abandon it.
//
// Failure detector: each side sends something in every beat, and gives a peer up after missed_beats
// silent ones. Beats are counted by this machine's timer, not by the clock, so a machine that slept
// does not blame its peers.
#include "shoal/cluster/net/channel/framed_channel.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/limits.h"
#include "shoal/cluster/net/channel/chunk.h"

namespace shoal::net {

HeartbeatTimer::HeartbeatTimer(std::chrono::milliseconds interval)
    : thread_([this, interval] { run(interval); }) {}

HeartbeatTimer::~HeartbeatTimer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void HeartbeatTimer::add(Heartbeat& one) {
  const std::lock_guard lock(mutex_);
  beating_.push_back(&one);
}

void HeartbeatTimer::remove(Heartbeat& one) {
  const std::lock_guard lock(mutex_);
  std::erase(beating_, &one);
}

void HeartbeatTimer::run(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  // Relative to now, not to the last beat: beats that were missed while this machine slept are not
  // made up for, because no peer could have answered them.
  while (!stopped_.wait_for(lock, interval, [this] { return stop_; }))
    for (Heartbeat* one : beating_) one->beat();
}

namespace {

// Outgoing: frames on their way out: headers, and payloads cut into chunks without a copy.
inline size_t total(std::span<const Bytes> pieces) {
  size_t sum = 0;
  for (Bytes piece : pieces) sum += piece.size();
  return sum;
}

// A chunk's header and, for a frame, the size of its payload.
class Head {
 public:
  explicit Head(const ChunkHeader& chunk) {
    encode(chunk, std::span(bytes_).first<kChunkHeaderBytes>());
  }
  Head(const ChunkHeader& chunk, uint64_t payload_bytes) : Head(chunk) {
    encode_u64(payload_bytes, std::span(bytes_).last<kFramePrefixBytes>());
    size_ = bytes_.size();
  }
  operator Bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kChunkHeaderBytes + kFramePrefixBytes> bytes_{};
  size_t size_ = kChunkHeaderBytes;
};

inline Head head(ChunkType type, size_t length) {
  return Head(ChunkHeader{type, static_cast<uint32_t>(length)});
}

// Walks through pieces as if they were one.
class Cutter {
 public:
  explicit Cutter(std::span<const Bytes> pieces) : pieces_(pieces) {}

  // Appends views of the next `bytes` bytes, which there must be.
  void take(size_t bytes, std::vector<Bytes>& into) {
    while (bytes > 0) {
      const Bytes piece = pieces_.front().subspan(done_);
      const size_t n = std::min(bytes, piece.size());
      if (n > 0) into.push_back(piece.first(n));
      bytes -= n;
      done_ += n;
      if (done_ == pieces_.front().size()) {
        pieces_ = pieces_.subspan(1);
        done_ = 0;
      }
    }
  }

 private:
  std::span<const Bytes> pieces_;
  size_t done_ = 0;  // of the first
};

std::unique_ptr<Stream> decorated(std::unique_ptr<Stream> stream, const Peer& peer,
                                  std::span<const std::shared_ptr<const Decorator>> decorators) {
  // Wrapped from the last to the first, so that bytes on their way out meet the first one first.
  for (size_t i = decorators.size(); i-- > 0;)
    stream = decorators[i]->wrap(std::move(stream), peer);
  return stream;
}

Status too_long(std::string_view what, size_t size, size_t limit) {
  return invalid(std::string(what) + " of " + std::to_string(size) + " bytes; at most " +
                 std::to_string(limit) + " can be sent");
}

}  // namespace

std::string to_string(const Peer& peer) {
  return peer.address.empty() ? peer.name : peer.name + " (" + peer.address + ")";
}

FramedChannel::FramedChannel(std::unique_ptr<Stream> stream, Peer peer,
                             const ChannelOptions& options,
                             std::shared_ptr<HeartbeatTimer> heartbeats, std::shared_ptr<void> held)
    : peer_(std::move(peer)),
      options_(options),
      stream_(decorated(std::move(stream), peer_, options.decorators)),
      held_(std::move(held)),
      assembler_(options.max_payload_bytes),
      heartbeats_(std::move(heartbeats)) {
  if (heartbeats_) heartbeats_->add(*this);
}

FramedChannel::~FramedChannel() {
  if (heartbeats_) heartbeats_->remove(*this);
  close();
}

Status FramedChannel::send(const FrameView& frame, Deadline deadline) {
  return frame.urgent ? send_urgent(frame, deadline) : send_ordinary(frame, deadline);
}

Status FramedChannel::send_urgent(const FrameView& frame, Deadline deadline) {
  if (!frame.payload.empty()) return named(invalid("an urgent frame cannot have a payload"));
  if (frame.control.size() > kMaxUrgentBytes)
    return named(too_long("urgent frame", frame.control.size(), kMaxUrgentBytes));
  const Head header = head(ChunkType::kUrgent, frame.control.size());
  return write(PriorityTicketLock::Lane::kExpress, std::array<Bytes, 2>{header, frame.control},
               deadline);
}

Status FramedChannel::send_ordinary(const FrameView& frame, Deadline deadline) {
  if (frame.control.size() > kLimits.max_control_bytes)
    return named(too_long("control part", frame.control.size(), kLimits.max_control_bytes));
  const size_t payload = total(frame.payload);
  const auto lane =
      frame.bulk ? PriorityTicketLock::Lane::kBulk : PriorityTicketLock::Lane::kOrdinary;
  switch (frame_turn_.take(lane, deadline)) {
    case PriorityTicketLock::Got::kStopped:
      return failure();
    case PriorityTicketLock::Got::kDeadline:
      return named(Status(Code::kDeadline, "frames before this one are not sent yet"));
    case PriorityTicketLock::Got::kTurn:
      break;
  }
  const Head last_words = head(ChunkType::kAbandon, 0);
  const Head opening(ChunkHeader{ChunkType::kFrame,
                                 static_cast<uint32_t>(kFramePrefixBytes + frame.control.size())},
                     payload);
  std::vector<Bytes> pieces;
  if (abandoned_) pieces.push_back(last_words);
  pieces.insert(pieces.end(), {opening, frame.control});
  // Most frames are small: header, control part and payload go out in one write.
  const bool whole = payload <= chunk_size_.bytes();
  const Head data = head(ChunkType::kData, payload);
  if (whole && payload > 0) {
    pieces.push_back(data);
    pieces.insert(pieces.end(), frame.payload.begin(), frame.payload.end());
  }
  Status status = write(PriorityTicketLock::Lane::kOrdinary, pieces, deadline);
  if (status.ok()) abandoned_ = false;
  if (status.ok() && !whole) status = send_payload(frame.payload, deadline);
  frame_turn_.give();
  return status;
}

Status FramedChannel::send_payload(std::span<const Bytes> payload, Deadline deadline) {
  Cutter cutter(payload);
  std::vector<Bytes> pieces;
  for (size_t left = total(payload); left > 0;) {
    const size_t n = std::min(left, chunk_size_.bytes());
    const Head header = head(ChunkType::kData, n);
    pieces.assign({header});
    cutter.take(n, pieces);
    const auto began = std::chrono::steady_clock::now();
    if (Status status = write(PriorityTicketLock::Lane::kOrdinary, pieces, deadline);
        !status.ok()) {
      // The peer has the opening of a frame and waits for the rest.
      abandoned_ = true;
      return status;
    }
    chunk_size_.went_out_in(std::chrono::steady_clock::now() - began);
    left -= n;
  }
  return {};
}

Status FramedChannel::write(PriorityTicketLock::Lane lane, std::span<const Bytes> pieces,
                            Deadline deadline) {
  switch (wire_turn_.take(lane, deadline)) {
    case PriorityTicketLock::Got::kStopped:
      return failure();
    case PriorityTicketLock::Got::kDeadline:
      return named(Status(Code::kDeadline, "does not take what is sent"));
    case PriorityTicketLock::Got::kTurn:
      break;
  }
  Status status = write_now(pieces, deadline);
  wire_turn_.give();
  return named(status);
}

// Bytes that the stream has taken will arrive, even if the deadline passes before they are on their
// way. The frame therefore counts as sent, and the next write waits for them.
Status FramedChannel::write_now(std::span<const Bytes> pieces, Deadline deadline) {
  SHOAL_TRY(stream_->write(pieces, deadline));
  sent_ += total(pieces);
  spoke_ = true;
  Status flushed = stream_->flush(deadline);
  return flushed.code() == Code::kDeadline ? Status() : flushed;
}

Result<Frame> FramedChannel::receive(Deadline deadline, const Place& place) {
  const std::lock_guard lock(reading_);
  // A frame that beat() read between two receives.
  if (ready_) return *std::exchange(ready_, std::nullopt);
  for (;;) {
    auto frame = read_some(deadline, place);
    if (!frame.ok()) return frame.status();
    if (*frame) return **std::move(frame);
  }
}

Result<std::optional<Frame>> FramedChannel::read_some(Deadline deadline, const Place& place) {
  SHOAL_TRY(failure());
  auto n = stream_->read(assembler_.want(), deadline);
  if (!n.ok()) {
    // The first failure is kept: after close(), a read error is its consequence and not the cause.
    if (n.status().code() != Code::kDeadline) fail(named(n.status()));
    SHOAL_TRY(failure());
    return named(n.status());
  }
  heard_ = true;
  received_ += *n;
  auto frame = assembler_.got(*n, place);
  if (frame.ok()) return frame;
  if (frame.status().code() == Code::kCorrupt) fail(named(frame.status()));
  return named(frame.status());
}

void FramedChannel::close() { fail(named(Status(Code::kUnavailable, "closed on this side"))); }

void FramedChannel::fail(Status why) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.ok()) failure_ = std::move(why);
  }
  stream_->shut_down();
  frame_turn_.stop();
  wire_turn_.stop();
}

Status FramedChannel::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Traffic FramedChannel::traffic() const { return {sent_, received_}; }

void FramedChannel::beat() {
  if (!failure().ok()) return;
  const bool waiting_for_us = listen_between_receives();
  // Bytes that arrived and were not read, because this machine is busy, are a sign of life as well.
  if (heard_.exchange(false) || waiting_for_us || stream_->has_input()) {
    ever_heard_ = true;
    missed_ = 0;
  } else if (ever_heard_ && ++missed_ >= options_.missed_beats) {
    // Only after the first heartbeat: a peer that has not accepted the connection yet sends none.
    const auto silence = options_.beat * options_.missed_beats;
    fail(named(Status(Code::kUnavailable,
                      "no sign of life for " + std::to_string(silence.count()) + " ms")));
    return;
  }
  say_we_live();
}

// Reads heartbeats between receives. Returns true if a frame waits for a receiver: heartbeats
// behind it cannot be seen.
bool FramedChannel::listen_between_receives() {
  const std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  while (!ready_ && assembler_.between_chunks()) {
    auto frame = read_some(kNoWait, {});
    if (!frame.ok()) return false;
    ready_ = *std::move(frame);
  }
  return true;
}

void FramedChannel::say_we_live() {
  // Any frame is a sign of life, so a busy channel sends no pings. Never waits: one blocked channel
  // would hold up the beats of all others.
  const bool spoke = spoke_.exchange(false);
  if (wire_turn_.take(PriorityTicketLock::Lane::kOrdinary, kNoWait) !=
      PriorityTicketLock::Got::kTurn)
    return;
  const Head ping = head(ChunkType::kPing, 0);
  // Bytes that a sender left behind at its deadline are flushed here only.
  Status status =
      spoke ? stream_->flush(kNoWait) : stream_->write(std::array<Bytes, 1>{ping}, kNoWait);
  if (status.ok() && !spoke) status = stream_->flush(kNoWait);
  wire_turn_.give();
}

}  // namespace shoal::net
