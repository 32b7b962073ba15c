// SharedNetworkFaults: the present faults of the links between machines. Processes share it through
// a file: one sets the faults, all obey (faulty_transport.h). Thread-safe: all of it is atomic.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::emulate {

// Machines are workers by their number, and plan::kCoordinator.
class SharedNetworkFaults {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMostWorkers = 64;

  // A network without faults, for workers of these names.
  static Result<std::shared_ptr<SharedNetworkFaults>> make(const std::filesystem::path& file,
                                                           const std::vector<std::string>& workers);
  static Result<std::shared_ptr<SharedNetworkFaults>> open(const std::filesystem::path& file);

  int number_of(std::string_view name) const;  // kCoordinator if it is no worker

  // While on, nothing that is sent this way arrives; afterwards all of it does.
  void cut(int from, int to, bool on);
  bool is_cut(int from, int to) const;
  // Messages this way arrive later by this much.
  void delay(int from, int to, std::chrono::milliseconds by);
  std::chrono::milliseconds delay_of(int from, int to) const;
  // Damages the next bytes this way, once; the receiver does it.
  void damage(int from, int to);
  bool is_damaged(int from, int to) const;  // the damage has not been taken yet
  bool take_damage(int from, int to);
  // Breaks the existing connections between the two. Machines compare the count with the last one.
  void break_off(int one, int other);
  uint32_t breaks(int one, int other) const;

  uint32_t version() const;                                 // of all of it
  void wait(uint32_t seen, Clock::time_point until) const;  // for another version
  void wake() const;
  // Waits until both ways are open. False: one was still cut at the deadline.
  bool until_open_both_ways(int one, int other, Clock::time_point deadline) const;

 private:
  static constexpr size_t kNameBytes = 128;
  struct Way {
    std::atomic<uint32_t> is_cut, delay_ms, is_damaged, breaks;
  };
  struct Shared {
    std::atomic<uint32_t> version;
    std::array<std::array<char, kNameBytes>, kMostWorkers> names;          // empty: no more
    std::array<std::array<Way, kMostWorkers + 1>, kMostWorkers + 1> ways;  // [from][to], from -1
  };

  explicit SharedNetworkFaults(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  Way& way(int from, int to) const;
  void change() const;

  const std::shared_ptr<Shared> shared_;
};

}  // namespace shoal::emulate
