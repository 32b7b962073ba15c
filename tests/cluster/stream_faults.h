// StreamFaultInjector: injects faults between machines, by a seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

// Chances are per write, which is a small frame or a chunk of a large one.
struct Faults {
  uint64_t seed = 1;
  double cut = 0;    // the connection breaks
  double mute = 0;   // nothing comes or goes any more, without an error: the power is off
  double delay = 0;  // the write waits
  std::chrono::nanoseconds delay_time{0};  // for this long, or until the channel is closed
};

class StreamFaultInjector final : public Decorator {
 public:
  explicit StreamFaultInjector(const Faults& faults);
  ~StreamFaultInjector() override;
  std::unique_ptr<Stream> wrap(std::unique_ptr<Stream> stream, const Peer& peer) const override;

  // For all channels that exist now.
  void cut_all() const;
  void mute_all() const;

 private:
  class Registry;
  class FaultyStream;
  const Faults faults_;
  const std::shared_ptr<Registry> registry_;
};

}  // namespace shoal::net
