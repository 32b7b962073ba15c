// TrialView: a trial as it goes on: a table that changes on a terminal, lines elsewhere.
#pragma once

#include <chrono>

#include "trial.h"

namespace shoal::cli {

class TrialView {
 public:
  explicit TrialView(const TrialFlags& flags);
  TrialView(const TrialView&) = delete;
  TrialView& operator=(const TrialView&) = delete;

  void show(const TrialState& state);

 private:
  void redraw(const TrialState& state);
  void say_what_happened(const TrialState& state);

  const bool is_terminal_, says_lines_;
  std::chrono::steady_clock::time_point last_{};
  uint64_t faults_ = 0;
  int lines_ = 0;  // that are on the terminal
};

}  // namespace shoal::cli
