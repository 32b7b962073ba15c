// StepView: the display of a training run in progress: the completed steps, their loss, and the
// devices. It produces text; the caller draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/cluster/training/train_cluster.h"

namespace shoal::train_cluster {

// The devices of a run as lines of a table.
std::vector<std::string> device_lines(const learn::RunRecord& record);

// Not thread-safe.
class StepView {
 public:
  struct Picture {
    size_t done = 0, steps = 1;  // of steps, which are at least 1
    std::string note = {};
    std::vector<std::string> table = {};  // empty: devices are not shown
  };
  using Show = std::function<void(const Picture&)>;

  // Sets options.on_step and, with a table, options.on_devices. From the first step on, `show` is
  // called whenever there is something new. REQUIRES: it outlives the run.
  StepView(Options& options, bool has_table, Show show);
  StepView(const StepView&) = delete;
  StepView& operator=(const StepView&) = delete;

 private:
  void end_step(int64_t step, double loss);
  void see(const learn::RunRecord& record);

  Picture picture_;
  const Show show_;
};

}  // namespace shoal::train_cluster
