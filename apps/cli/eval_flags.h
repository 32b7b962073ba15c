// The flags of shoal eval, and what it measures on videos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli.h"
#include "model.h"
#include "preprocess_flags.h"

namespace shoal::cli {

struct EvalFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::string data;
  std::string format;
  size_t limit = 0;
  size_t batch = 0;
  double min_top1 = 0;
  bool json = false;
  std::string task = "classify";
  std::string head;   // of a detector; empty: as its outputs look
  std::string truth;  // of --task track
  int64_t label = 0;
  std::string exits;  // thresholds of a multi-exit network; empty: its last classifier answers
  std::string precision = "fp32";
  double budget = 0.1;  // percentage points of accuracy
};

// --task track and --task gate.
Outcome evaluate_tracks(const EvalFlags& flags);
Outcome evaluate_gate(const EvalFlags& flags);

}  // namespace shoal::cli
