#include "shoal/cluster/emulate/machines/paced_device.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <thread>

#include "shoal/base/timing/timer_slack.h"
#include "shoal/engine/device/wrapped.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/plan/whole_time.h"

namespace shoal::emulate {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

class PacedExecutable final : public WrappedExecutable {
 public:
  // Without a time, the inner device's is taken: the least of all runs. Time that other programs of
  // this machine add to a run is not the device's, and must not be multiplied.
  PacedExecutable(std::unique_ptr<Executable> inner, std::optional<Seconds> time,
                  std::function<double()> dilation)
      : WrappedExecutable(std::move(inner)), time_(time), dilation_(std::move(dilation)) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const double times = dilation_ ? dilation_() : 1;
    const auto begin = Clock::now();
    const Status status = WrappedExecutable::run(inputs, outputs, options);
    // From the beginning of the run: computing on this machine is part of the emulated time.
    const Seconds time = times * (time_ ? *time_ : least(Clock::now() - begin));
    const auto end = begin + std::chrono::duration_cast<Clock::duration>(time);
    // The kernel may delay a sleeper by 50 us of timer slack, which is much beside a short task.
    use_exact_timers();
    std::this_thread::sleep_until(end);
    return status;
  }

 private:
  Seconds least(Seconds took) {
    const std::lock_guard lock(mutex_);
    return least_ = std::min(least_, took);
  }

  const std::optional<Seconds> time_;
  const std::function<double()> dilation_;
  std::mutex mutex_;
  Seconds least_ = Seconds::max();
};

class PacedDevice final : public WrappedDevice {
 public:
  template <class Inner>
  PacedDevice(Inner&& device, DevicePace pace)
      : WrappedDevice(std::forward<Inner>(device)), pace_(std::move(pace)) {}

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto executable, inner().compile(graph));
    std::optional<Seconds> time;
    if (pace_.profile) time = Seconds(plan::seconds_of_whole(graph, *pace_.profile));
    return std::unique_ptr<Executable>(
        std::make_unique<PacedExecutable>(std::move(executable), time, pace_.dilation));
  }

 private:
  const DevicePace pace_;
};

// TIMES:DEVICE
Result<std::unique_ptr<Device>> make_slow(std::string_view argument, const DeviceOptions& options) {
  constexpr double kMost = 1e6;
  const size_t colon = argument.find(':');
  double times = 0;
  const char* const end = argument.data() + std::min(colon, argument.size());
  const auto [last, error] = std::from_chars(argument.data(), end, times);
  if (colon == argument.npos || error != std::errc() || last != end ||
      !(times >= 1 && times <= kMost)) {
    return invalid("a slow device is named slow:TIMES:DEVICE, as slow:20:opencl:0");
  }
  SHOAL_ASSIGN(auto device, make_device(argument.substr(colon + 1), options));
  return std::unique_ptr<Device>(std::make_unique<PacedDevice>(
      std::move(device), DevicePace{std::nullopt, [times] { return times; }}));
}

}  // namespace

std::unique_ptr<Device> make_paced_device(Device& device, DevicePace pace) {
  return std::make_unique<PacedDevice>(device, std::move(pace));
}

void register_slow_device() {
  register_device({.name = "slow",
                   .summary = "a device that waits: slow:20:DEVICE takes 20 times as long",
                   .is_local = false,
                   .make = make_slow});
}

}  // namespace shoal::emulate
