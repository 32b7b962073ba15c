// ChaosView: shows a run of chaos as it goes on: a table that changes on a terminal, lines
// elsewhere.
#pragma once

#include <chrono>

#include "shoal/chaos/processes/chaos_run.h"

namespace shoal::cli {

class ChaosView {
 public:
  // `says_lines`: also where there is no terminal, a line for every fault.
  explicit ChaosView(bool says_lines);
  ChaosView(const ChaosView&) = delete;
  ChaosView& operator=(const ChaosView&) = delete;

  void show(const chaos::ChaosProgress& progress);

 private:
  void redraw(const chaos::ChaosProgress& progress);
  void say_what_happened(const chaos::ChaosProgress& progress);

  const bool is_terminal_, says_lines_;
  std::chrono::steady_clock::time_point last_{};
  uint64_t faults_ = 0;
  int lines_ = 0;  // that are on the terminal
};

}  // namespace shoal::cli
