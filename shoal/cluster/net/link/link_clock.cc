// Times of a transfer of n bytes on an emulated link:
//
//   start   = max(now, link free, receiver awake, media free)
//   left    = start + 8 (n + lost packets) / bandwidth
//   arrives = max(last arrival, left + latency + jitter + retransmission)
//
// Arrivals never overtake each other: a channel is a byte stream. Lost packets cost bandwidth each,
// but a delay once, because they are retransmitted together.
#include "shoal/cluster/net/link/link_clock.h"

#include <algorithm>

#include "shoal/cluster/net/channel/chunk.h"

namespace shoal::net {
namespace {

using Duration = Medium::Clock::duration;

Duration seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

}  // namespace

LinkClock::LinkClock(const LinkOptions& options, uint64_t seed) : options_(options), random_(seed) {
  SHOAL_CHECK(options.sender != nullptr && options.receiver != nullptr);
}

LinkClock::Transfer LinkClock::transfer(size_t bytes, Time now) {
  if (is_sign_of_life(bytes) || (options_.shaped && !options_.shaped()))
    return {now, last_arrival_ = std::max(last_arrival_, now)};
  const LinkSpec spec = dilated(options_.spec, options_.dilation ? options_.dilation() : 1);
  const size_t lost = count_lost(bytes);
  const size_t sent = bytes + lost * spec.packet_bytes;
  const Duration duration = spec.bits_per_second > 0
                                ? seconds(8.0 * static_cast<double>(sent) / spec.bits_per_second)
                                : Duration(0);
  Time start = std::max(now, free_at_);
  if (spec.wake_up.count() > 0) {
    start = options_.receiver->wake(start, spec.asleep_after, spec.wake_up);
  }
  // Each medium is reserved in turn. If the second is busy, time on the first is reserved too early
  // and stays unused: a small pessimism that needs no lock over several processes.
  for (const auto& medium : options_.media) start = medium->reserve(start, duration) - duration;
  const Time left = start + duration;
  free_at_ = left;
  options_.sender->used_until(left);
  options_.receiver->used_until(left);
  const Duration late = lost > 0 ? Duration(spec.retransmit_after) : Duration(0);
  last_arrival_ = std::max(last_arrival_, left + spec.latency + jitter(spec.jitter) + late);
  return {left, last_arrival_};
}

// No other write is as short. An emulated world must not see how its processes watch each other:
// that would keep its radios awake.
bool LinkClock::is_sign_of_life(size_t bytes) { return bytes == kChunkHeaderBytes; }

size_t LinkClock::count_lost(size_t bytes) {
  const LinkSpec& spec = options_.spec;
  if (spec.loss <= 0) return 0;
  const size_t packets = (bytes + spec.packet_bytes - 1) / spec.packet_bytes;
  return std::binomial_distribution<size_t>(packets, std::min(spec.loss, 1.0))(random_);
}

Duration LinkClock::jitter(std::chrono::nanoseconds most) {
  return Duration(
      std::uniform_int_distribution<int64_t>(0, std::max<int64_t>(most.count(), 0))(random_));
}

LinkSpec dilated(LinkSpec spec, double dilation) {
  constexpr double kForever = 1e18;  // nanoseconds; more would overflow soon
  spec.bits_per_second /= dilation;
  for (auto* time :
       {&spec.latency, &spec.jitter, &spec.retransmit_after, &spec.wake_up, &spec.asleep_after})
    *time = std::chrono::nanoseconds(
        static_cast<int64_t>(std::min(kForever, dilation * static_cast<double>(time->count()))));
  return spec;
}

}  // namespace shoal::net
