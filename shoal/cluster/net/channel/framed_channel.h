// FramedChannel: the one implementation of Channel, on any stream.
//
// No threads: the sender writes the bytes, and the receiver reads them. A thread in between would
// cost every small message two wake-ups.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "shoal/cluster/net/channel/assembler.h"
#include "shoal/cluster/net/channel/chunk.h"
#include "shoal/cluster/net/channel/priority_ticket_lock.h"
#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

class Heartbeat {
 public:
  virtual void beat() = 0;  // never blocks

 protected:
  ~Heartbeat() = default;
};

// One thread that drives the heartbeats of all channels of a transport.
// Thread-safe.
class HeartbeatTimer {
 public:
  explicit HeartbeatTimer(std::chrono::milliseconds interval);
  ~HeartbeatTimer();
  HeartbeatTimer(const HeartbeatTimer&) = delete;
  HeartbeatTimer& operator=(const HeartbeatTimer&) = delete;

  void add(Heartbeat& one);
  void remove(Heartbeat& one);  // returns when it does not beat any more

 private:
  void run(std::chrono::milliseconds interval);

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::vector<Heartbeat*> beating_;
  std::thread thread_;
};

// Adapts the size of chunks to the speed of the link: chunks take a millisecond or a few, which
// bounds the wait of an urgent frame, and on a fast link there are few of them.
class ChunkSize {
 public:
  size_t bytes() const { return bytes_; }
  void went_out_in(std::chrono::steady_clock::duration time) {
    if (time < std::chrono::milliseconds(1)) bytes_ = std::min(2 * bytes_, kMaxDataBytes);
    if (time > std::chrono::milliseconds(4)) bytes_ = std::max(bytes_ / 2, kLeast);
  }

 private:
  static constexpr size_t kLeast = size_t{16} << 10;
  size_t bytes_ = size_t{64} << 10;
};

class FramedChannel final : public Channel, private Heartbeat {
 public:
  // `held` is released with the channel, e.g. a place in a quota.
  FramedChannel(std::unique_ptr<Stream> stream, Peer peer, const ChannelOptions& options,
                std::shared_ptr<HeartbeatTimer> heartbeats, std::shared_ptr<void> held = nullptr);
  ~FramedChannel() override;

  const Peer& peer() const override { return peer_; }
  Status send(const FrameView& frame, Deadline deadline) override;
  Result<Frame> receive(Deadline deadline, const Place& place) override;
  void close() override;
  Traffic traffic() const override;

  // Called once per interval: sends a heartbeat, and checks that the peer has sent one.
  void beat() override;

 private:
  Status send_urgent(const FrameView& frame, Deadline deadline);
  Status send_ordinary(const FrameView& frame, Deadline deadline);
  Status send_payload(std::span<const Bytes> payload, Deadline deadline);
  Status write(PriorityTicketLock::Lane lane, std::span<const Bytes> pieces, Deadline deadline);
  Status write_now(std::span<const Bytes> pieces, Deadline deadline);
  Result<std::optional<Frame>> read_some(Deadline deadline, const Place& place);
  bool listen_between_receives();
  void say_we_live();
  Status named(const Status& status) const { return status.at(to_string(peer_)); }
  void fail(Status why);
  Status failure() const;

  const Peer peer_;
  const ChannelOptions options_;
  const std::unique_ptr<Stream> stream_;
  const std::shared_ptr<void> held_;

  PriorityTicketLock frame_turn_;  // for the whole of an ordinary frame
  PriorityTicketLock wire_turn_;   // for one chunk
  // Guarded by frame_turn_.
  ChunkSize chunk_size_;
  bool abandoned_ = false;  // the peer has not been told that the rest of a frame will not come

  std::mutex reading_;
  Assembler assembler_;
  std::optional<Frame> ready_;  // received between calls of receive()

  mutable std::mutex failure_mutex_;
  Status failure_;

  std::atomic<bool> heard_{false};  // since the last beat
  std::atomic<bool> spoke_{false};
  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> received_{0};
  bool ever_heard_ = false;  // only in beat()
  int missed_ = 0;

  const std::shared_ptr<HeartbeatTimer> heartbeats_;
};

}  // namespace shoal::net
