// Watcher: the gate, a detector and the tracker, frame by frame.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/track/tracker.h"
#include "shoal/video/watch/run/gate.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::watch {

// What is in an image: detect::Detector::find, or what stands for it.
using Find = std::function<Result<std::vector<detect::Detection>>(
    const Tensor& image, const detect::Suppression& suppression)>;

// Thread-compatible.
class Watcher {
 public:
  Watcher(const WatchOptions& options, Find find);

  // What is in the next frame. Fails as `find` does.
  Result<FrameAnswer> answer(const Frame& frame);

 private:
  std::vector<Seen> shown(const std::vector<track::Track>& tracks) const;

  void follow(const Frame& frame);

  WatchOptions options_;
  Find find_;
  Gate gate_;
  track::Tracker tracker_;
  Tensor previous_;      // the last frame, where tracks are followed
  size_t after_ = 0;     // the frame after it
  size_t next_ = 0;      // the frame after the last that was looked at
  size_t still_ = 0;     // frames since then in which nothing had changed
  bool missed_ = false;  // the last look failed
};

}  // namespace shoal::watch
