// Watches a stream: detects objects, tracks them, and looks only at frames that are worth it.
//
//   SHOAL_ASSIGN(detect::Detector detector, detect::Detector::open(model, *device));
//   SHOAL_ASSIGN(const auto source, watch::open_source("frames"));
//   SHOAL_ASSIGN(const watch::WatchResult result,
//                watch::watch(detector, *source, {.gate = true, .track = true}, {}));
//
// Several streams share a detector in turns. A new frame replaces a waiting one, so that nothing
// grows if a device is too slow. With detectors on several machines, streams are watched at once,
// each on its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/track/tracker.h"
#include "shoal/video/watch/frames/frame_source.h"
#include "shoal/video/watch/run/gate.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// How to watch. A value.
struct WatchOptions {
  bool gate = false;     // frames in which little changed are not looked at
  bool track = false;    // objects have identities; boxes are those of their filters
  size_t frames = 0;     // only the first n; 0: all
  bool at_once = false;  // streams not in turn, but each on a thread of its own
  // How long a stream's detector may fail because machines are lost, slow or full (kUnavailable,
  // kDeadline, kExhausted) before watching fails. Frames of that time are left out.
  std::chrono::milliseconds detector_timeout{0};
  detect::Suppression suppression = {};
  GateOptions gate_options = {};
  track::TrackerOptions tracker = {};
};

// An object in a frame.
struct Seen {
  detect::Detection detection = {};
  int64_t id = 0;  // 0: no identity
};

// What is in a frame.
struct FrameAnswer {
  size_t source = 0;  // which of the streams
  size_t frame = 0;
  std::string name = {};
  int64_t time_us = 0;  // of the frame in its video
  std::vector<Seen> seen = {};
  bool looked = true;     // false: where what was seen last should be now
  double changed = 1;     // share of the image, as the gate saw it
  double latency_ms = 0;  // from the frame to its answer; of a live stream, since it came
  Tensor image = {};      // the frame itself
};

// The whole stream in numbers.
struct WatchResult {
  size_t frames = 0, skipped = 0;   // skipped: not looked at
  double seconds = 0, changed = 0;  // changed: the mean
  double latency_ms_p50 = 0, latency_ms_p99 = 0;

  // Frames in a second.
  double fps() const { return seconds > 0 ? static_cast<double>(frames) / seconds : 0; }
  // What the network computed, as a share of what it computes for all frames.
  double macs_share() const {
    return frames == 0 ? 1 : 1 - static_cast<double>(skipped) / static_cast<double>(frames);
  }
};

// All are optional, and called one at a time: on the thread that watches, or on those of streams.
struct WatchCallbacks {
  // After each frame; a failure ends watching with it.
  std::function<Status(const FrameAnswer&)> on_frame = {};
  std::function<void(const std::string&)> on_note = {};  // a line for the user
  const std::atomic<bool>* cancel = nullptr;             // set to end after the present frame
};

// A source, and what looks at its frames. REQUIRES: both outlive the watching.
struct Stream {
  FrameSource* source = nullptr;
  detect::Detector* detector = nullptr;
  std::function<void(const Frame&)> see = {};  // called with every frame before it is looked at
};

// Of all streams together, and of each.
struct StreamResults {
  WatchResult all;
  std::vector<WatchResult> each;
};

// Unreadable frames are noted and left out, and a stream's end does not end the others.
// `options.frames` is per stream. Fails as a detector does, and if no frame of any stream could be
// read.
Result<StreamResults> watch_all(std::span<const Stream> streams, const WatchOptions& options,
                                const WatchCallbacks& callbacks);

// The same for one stream.
Result<WatchResult> watch(detect::Detector& detector, FrameSource& source,
                          const WatchOptions& options, const WatchCallbacks& callbacks);

}  // namespace shoal::watch

#pragma GCC visibility pop
