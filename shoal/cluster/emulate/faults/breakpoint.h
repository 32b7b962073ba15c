// Breakpoint: holds one machine at a given point, in any process, until a fault was injected.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "shoal/base/status.h"

namespace shoal::emulate {

// One process sets it, and one machine at a time is held. Machines and points are numbers; the
// first machine is -1 and the first point 0.
class Breakpoint {
 public:
  using Clock = std::chrono::steady_clock;

  static Result<std::shared_ptr<Breakpoint>> open(const std::filesystem::path& file);

  void arm(int machine, int point);
  // Waits until the machine is held. False: it was not, and will not be any more.
  bool wait_hit(Clock::time_point deadline);
  void release();

  // Called by every machine at every point. Returns at once unless the breakpoint is set for it.
  void hit(int machine, int point);

 private:
  // The machine, the point and whether it was reached, in one word, so that one compare-exchange
  // decides; zero: not set.
  using Word = std::atomic<uint32_t>;

  explicit Breakpoint(std::shared_ptr<Word> word) : word_(std::move(word)) {}

  const std::shared_ptr<Word> word_;
};

}  // namespace shoal::emulate
