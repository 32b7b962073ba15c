// Wish: a request's demands on its answer besides the deadline, for models that can answer in
// several ways. Parameters of a request, by these names.
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/base/status.h"

namespace shoal::serve {

struct Wish {
  std::optional<double> latency_ms = {};  // that computing it took at most when it was measured
  std::optional<double> accuracy = {};    // the least share of answers that are right
  std::optional<double> confidence = {};  // the least probability of its best class, at an exit
  std::optional<int64_t> exit = {};       // the last exit to run, from 1

  friend bool operator==(const Wish&, const Wish&) = default;

  bool is_empty() const { return !latency_ms && !accuracy && !confidence && !exit; }
};

// kInvalidArgument for a number out of range.
inline Status check(const Wish& wish) {
  const auto is_share = [](const std::optional<double>& x) { return !x || (*x >= 0 && *x <= 1); };
  if (wish.latency_ms && !(*wish.latency_ms > 0)) return invalid("latency_ms is above 0");
  if (!is_share(wish.accuracy)) return invalid("accuracy is 0 to 1");
  if (!is_share(wish.confidence)) return invalid("confidence is 0 to 1");
  if (wish.exit && *wish.exit < 1) return invalid("exit is a number from 1 on");
  return {};
}

}  // namespace shoal::serve
