// Frames in order, from wherever they come.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// An image of a stream.
struct Frame {
  size_t number = 0;  // from 0; gaps are frames that were dropped
  std::string name = {};
  Tensor image;  // u8 [h, w, 3]
};

// One thread at a time calls next(). Anyone may implement it.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // The next frame, or nothing at the end. After a failure, the frame after it can be asked for.
  virtual Result<std::optional<Frame>> next() = 0;
  // How many there are, if that is known.
  virtual std::optional<size_t> size() const { return {}; }
};

// An image, or the images of a folder by name. kNotFound where there is none; kUnsupported for
// another kind of source.
Result<std::unique_ptr<FrameSource>> open_source(const std::filesystem::path& source);

}  // namespace shoal::watch

#pragma GCC visibility pop
