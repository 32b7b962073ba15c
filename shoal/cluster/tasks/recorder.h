// Recorder: the times at which a worker receives, computes and sends for the requests of a plan.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "shoal/cluster/messages/wire.h"

namespace shoal::cluster {

int64_t nanoseconds(std::chrono::steady_clock::time_point time);

// Thread-safe. The call that completes the record of a request returns it.
class Recorder {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // For a worker whose `tasks` tasks send `sends` pieces in total.
  Recorder(uint64_t plan, size_t tasks, size_t sends);
  ~Recorder();

  void received(uint64_t request, const plan::Piece& piece);
  std::optional<message::Message> ran(uint64_t request, Time begin, Time end);
  std::optional<message::Message> sending(uint64_t request, const plan::Piece& piece, int to);
  void forget(uint64_t request);

 private:
  message::Traced& record_of(uint64_t request);
  std::optional<message::Message> take_if_complete(uint64_t request);

  const uint64_t plan_;
  const size_t tasks_, sends_;
  std::mutex mutex_;
  std::map<uint64_t, message::Traced> records_;
};

}  // namespace shoal::cluster
