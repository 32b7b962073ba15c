// What is known of the workers of a training run. The hub fills it, people read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace shoal::learn {

struct DeviceRow {
  enum class State : uint8_t { kJoining, kWorking, kLost };
  State state = State::kJoining;
  // The step in which it was lost, or from which on it works again; nothing: it was never lost.
  std::optional<int64_t> changed = {};
  int64_t share = 0;       // micro-batches of the last step that ended
  double seconds = 0;      // per micro-batch, the median of the last ones; 0: not known
  double lag_seconds = 0;  // of its last gradients, behind the first ones of that step
  int64_t steps = 0;       // ended, in which it was asked for something
  int64_t late = 0;        // of these: ended without it

  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

// By worker, with those that were lost.
using DeviceTable = std::map<int, DeviceRow>;

}  // namespace shoal::learn
