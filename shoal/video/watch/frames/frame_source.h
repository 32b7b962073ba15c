// Frames in order, from wherever they come.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/keyframe/flow.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// An image of a stream.
struct Frame {
  size_t number = 0;  // from 0; gaps are frames that were dropped
  std::string name = {};
  int64_t time_us = 0;  // from the beginning of a video, as it says; 0 for images
  Tensor image;         // u8 [h, w, 3]
  // From the frame with the number before, as the codec has it, where a video was asked for it.
  std::optional<keyframe::Flow> motion = {};
  // When it came, if it came by itself: of a live stream.
  std::optional<std::chrono::steady_clock::time_point> arrived = {};
};

// One thread at a time calls next(). Anyone may implement it.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // The next frame, or nullopt at the end. After a failure, the frame after it can be asked for.
  virtual Result<std::optional<Frame>> next() = 0;
  // Whether next() would return at once; waits at most this long for it.
  virtual bool ready(std::chrono::milliseconds) { return true; }
  // How many there are, if that is known.
  virtual std::optional<size_t> size() const { return {}; }
};

}  // namespace shoal::watch

#pragma GCC visibility pop
