// Evaluates watching: tracks against ground truth, and the gate against a detector on every frame.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/track/mot_metrics.h"
#include "shoal/video/watch/frames/frame_source.h"
#include "shoal/video/watch/run/gate.h"
#include "shoal/video/watch/run/watch.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// Which frames.
struct EvaluationOptions {
  size_t limit = 0;                                // only the first n frames; 0: all
  std::function<void(size_t done)> progress = {};  // after each frame
  const std::atomic<bool>* cancel = nullptr;       // set to end early: the result is that so far

  // The number of frames of a source, if known or limited; else 0.
  size_t frames_of(const FrameSource& source) const;
};

// The true objects of a source: of the synthetic scene ("zoo:scene") its own, of others those of a
// file in MOT's format. Fails as track::read_identities() does.
Result<track::Identities> truth_of(const std::string& source, const std::filesystem::path& file);

// Both ways of association, on the same detections.
struct TrackEvaluation {
  track::MotMetrics two_scores, plain;
};

// Tracks of objects of one class. Fails as the source and the detector do.
Result<TrackEvaluation> evaluate_tracking(detect::Detector& detector, FrameSource& source,
                                          const track::Identities& truth, int64_t label,
                                          const EvaluationOptions& options = {});

// What the gate saves, and what it costs.
struct GateEvaluation {
  size_t frames = 0, skipped = 0;
  Agreement agreement = {};                 // with the detector on every frame
  double frames_alike = 0;                  // share of frames in which all boxes agree
  double gate_ms_p50 = 0, gate_ms_p99 = 0;  // of a decision

  // Of all frames, those that were not looked at.
  double skipped_share() const {
    return frames == 0 ? 0 : static_cast<double>(skipped) / static_cast<double>(frames);
  }
};

// Watches with the gate, and compares each answer with what the detector finds in that frame.
Result<GateEvaluation> evaluate_gate(detect::Detector& detector, FrameSource& source,
                                     const WatchOptions& watch_options,
                                     const EvaluationOptions& options = {});

}  // namespace shoal::watch

#pragma GCC visibility pop
