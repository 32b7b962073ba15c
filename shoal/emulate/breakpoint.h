// Breakpoint: holds one machine of a trial where it has got to a certain point, in whatever process
// that is, until something has been done to it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "shoal/base/status.h"

namespace shoal::emulate {

// One sets it, and one at a time is caught. Machines and points are numbers, the first machine is
// -1 and the first point 0.
class Breakpoint {
 public:
  using Clock = std::chrono::steady_clock;

  static Result<std::shared_ptr<Breakpoint>> open(const std::filesystem::path& file);

  void set(int machine, int point);
  // False: nobody came, and nobody will be caught any more.
  bool await(Clock::time_point deadline);
  void release();

  // By whoever gets to a point: returns at once, unless the breakpoint is set for that.
  void pass(int machine, int point);

 private:
  // Whom it is for, and whether it has caught him, in one word; zero: for nobody.
  using Word = std::atomic<uint32_t>;

  explicit Breakpoint(std::shared_ptr<Word> word) : word_(std::move(word)) {}

  const std::shared_ptr<Word> word_;
};

}  // namespace shoal::emulate
