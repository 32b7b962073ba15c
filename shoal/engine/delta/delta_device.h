// Delta inference: a device that computes only what has changed since the last run.
//
//   DeltaDevice device(make_cpu_device(), {.threshold = 0.25F});
//   SHOAL_ASSIGN(Session session, model.session(device));
//   for (const Tensor& frame : frames) { ... session.run(...) ... }
//   std::printf("%.2f of the MACs\n", device.statistics().macs_share());
//
// Every value of the network is kept from run to run. Where pixels of an input differ from what was
// kept, they are replaced, and the pixels of later values that read them are computed again. They
// are computed in full from kept values, not as differences, so rounding errors do not accumulate,
// and with a threshold of 0 the answer is that of the wrapped device.
//
// With a threshold e > 0, pixels are replaced only if an element of them differs by more than e * s
// from what was kept, or one to both sides of them does in the same tile, s being the root mean
// square of its value when the network first ran (DeltaCNN, arXiv 2203.03996). The comparison is
// with the value that later layers have seen, never with the last frame: slow changes add up until
// they are taken, so each value stays within e * s of what its inputs give, however long the stream
// is. Inputs have a fifth of that threshold: no layer can make up for a missed change of the input,
// while layers tolerate coarse steps (of 200 frames of vtest.avi, yolov8n changes 3.3 % of its
// answers at 0.4 for both, in 0.37 of the multiply-accumulates, and 2.2 % at 0.1 and 0.5, in 0.34).
//
// If tiles would cost more than they save, for example after a scene cut, the whole frame is
// computed. Another size of input, or another model, is another executable, with nothing kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// DeepMon's criterion for inputs, instead of differences (engine/delta/block_histograms.h). A
// value.
struct HistogramOptions {
  int64_t side = 8;             // blocks along each side of the image
  int64_t bins = 16;            // of a histogram, 256 at most
  float low = 0, high = 0;      // range of the bins; empty: that of the first image
  double most = 0.005;          // distance of histograms at which a block has changed
  double ttl_ms = 0;            // a block is taken again when it is older; 0: never
  bool since_taken = false;     // compares with the image that a block was taken from, not the last
  bool compares_means = false;  // of 4 x 4 parts of each block, too
  float most_of_means = 0.02F;  // difference of means that does not count, relative to the range
};

// How to find and compute what changed. A value.
struct DeltaOptions {
  float threshold = 0;         // of a difference, relative to its layer; 0: exact
  float of_inputs = 0.2F;      // the same for inputs, as a share of it
  int64_t tile = 8;            // rows and columns of a tile, in which one rectangle is computed
  double most_changed = 0.85;  // share of the inputs above which a frame is computed whole
  // Whole frames are also computed while tiles save nothing. For tests: false.
  bool adapts = true;
  // Inputs of rank 4 and type f32 have changed where their histograms say so.
  std::optional<HistogramOptions> histograms = {};
  // Milliseconds, for histograms. Empty: the steady clock.
  std::function<double()> now_ms = {};
};

// The threshold "auto"; docs/measurements/library.md has its effect.
inline constexpr float kAutoDelta = 0.25F;
// Parses a threshold: "off" is none, "auto" the one above, or a number from 0 on. Fails with
// kInvalidArgument.
Result<std::optional<float>> parse_delta(std::string_view text);

// Counters since construction.
struct DeltaStatistics {
  size_t runs = 0;
  size_t whole_runs = 0;               // in which everything was computed
  double macs = 0, macs_of_whole = 0;  // computed, and those of whole runs
  double kept = 0, compared = 0;       // pixels found close enough after computing them

  // Share of the multiply-accumulates that was computed; 1 before the first run.
  double macs_share() const { return macs_of_whole > 0 ? macs / macs_of_whole : 1; }
};

struct DeltaCounters;

// Executables of a CPU keep values and run once at a time; those of other devices are passed
// through. Thread-safe. Outlives what it compiled.
class DeltaDevice final : public Device {
 public:
  // Takes ownership of the device that computes.
  explicit DeltaDevice(std::unique_ptr<Device> device, const DeltaOptions& options = {});
  ~DeltaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override;
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override;
  Result<DeviceValue> upload(const Tensor& tensor) override;

  // Of all executables together.
  DeltaStatistics statistics() const;
  // Forgets all values: the next run of each executable computes everything.
  void reset();

 private:
  const std::unique_ptr<Device> device_;
  const DeltaOptions options_;
  DeviceInfo info_;
  const std::shared_ptr<DeltaCounters> counters_;
};

}  // namespace shoal

#pragma GCC visibility pop
