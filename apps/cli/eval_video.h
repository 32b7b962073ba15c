// What `shoal eval` measures on videos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli.h"
#include "model.h"

namespace shoal::cli {

struct VideoEvalFlags {
  ModelFlags model;
  std::string head, data;
  std::string truth;  // of --task track
  int64_t label = 0;
  size_t limit = 0;
  bool json = false;
};

// Tracks, and the gate.
Outcome evaluate_tracks(const VideoEvalFlags& flags);
Outcome evaluate_gate(const VideoEvalFlags& flags);

}  // namespace shoal::cli
