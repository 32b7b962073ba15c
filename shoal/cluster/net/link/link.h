// Link: emulates a slower link on real channels, in user space: bandwidth, latency, losses, and a
// radio that falls asleep. Each peer shapes what it sends. Bytes in flight when a channel is closed
// are lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

// In emulated time. Zero: a link without that property.
struct LinkSpec {
  double bits_per_second = 0;
  std::chrono::nanoseconds latency{0};           // one way
  std::chrono::nanoseconds jitter{0};            // largest additional latency; order is kept
  double loss = 0;                               // the share of packets that have to be sent again
  std::chrono::nanoseconds retransmit_after{0};  // delay of such a packet
  std::chrono::nanoseconds wake_up{0};       // time that a sleeping radio takes for its first byte
  std::chrono::nanoseconds asleep_after{0};  // time without traffic after which it sleeps
  size_t packet_bytes = 1448;
  size_t buffer_bytes = size_t{128} << 10;  // the emulated send buffer
  uint64_t seed = 1;                        // of jitter and losses
};

// A medium that links share because only one of them can use it at a time: the air, or the one
// cable of a device. Shared by processes that open the same file. Thread-safe.
class Medium {
 public:
  using Clock = std::chrono::steady_clock;

  static std::shared_ptr<Medium> create();
  static Result<std::shared_ptr<Medium>> open(const std::filesystem::path& file);
  virtual ~Medium() = default;

  // Reserves the next free `duration`, not before `earliest`, and returns its end.
  virtual Clock::time_point reserve(Clock::time_point earliest, Clock::duration duration) = 0;
};

// A radio that falls asleep when unused. Shared by processes that open the same file.
class Radio {
 public:
  using Clock = Medium::Clock;

  static std::shared_ptr<Radio> create();  // has never been used
  static Result<std::shared_ptr<Radio>> open(const std::filesystem::path& file);
  virtual ~Radio() = default;

  virtual void used_until(Clock::time_point time) = 0;
  // The time when it will be awake, if it falls asleep `after` its last use and then `takes` this
  // long to wake up.
  virtual Clock::time_point wake(Clock::time_point now, Clock::duration after,
                                 Clock::duration takes) = 0;
};

struct LinkOptions {
  LinkSpec spec;
  // Called for every transfer: real seconds per emulated second. nullptr: one.
  std::function<double()> dilation;
  // The radios of both ends: sending keeps the sender's awake and must wake the receiver's. Null:
  // all channels of the link share one radio.
  std::shared_ptr<Radio> sender, receiver;
  // Called for every write. False: bytes pass as if there were no link.
  std::function<bool()> shaped;
  // A transfer needs all of them, in this order: {the sender's cable, the receiver's}, {the air}.
  // Empty: each channel has the bandwidth to itself, in either direction.
  std::vector<std::shared_ptr<Medium>> media;
};

// For links that differ by peer, a custom Decorator can choose among several.
std::shared_ptr<const Decorator> make_link(LinkOptions options);

}  // namespace shoal::net
