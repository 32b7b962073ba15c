// Frame writer: frames as a video, by a process of its own, or as pictures in a folder.
//
// The encoder (shoal-encode, apps/decode) reads frames from a pipe and writes the file: FFmpeg's
// libraries, of which Debian's build is under the GPL, stay out of this one. A slow encoder lets
// who writes wait, and one that dies or stalls is a failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/watch/run/watch.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// One thread at a time.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;  // what was not finished may not be readable
  // Appends an image, u8 [h, w, 3]; one of another size than the first is resized. Times that do
  // not grow are moved on. Fails as the disk and the encoder do; nothing can be written after that.
  virtual Status write(const Tensor& image, int64_t time_us) = 0;
  // All of it is in its place.
  virtual Status finish() = 0;
};

// How to write. A value.
struct WriterOptions {
  std::filesystem::path encoder = {};        // empty: shoal-encode, where find_program() finds it
  std::chrono::milliseconds timeout{30000};  // for the encoder to take a frame
  // No frame but the first takes many times the bytes of others: for links, not for seeking.
  bool even = false;
};

// Whether a name is that of a video: .mp4, .mkv, .mov. Other formats have one rate of frames.
bool is_video_file(const std::filesystem::path& path);

// A video, or for another name a folder, which is made, of JPEG files 000000.jpg and so on.
// kUnsupported for a video without an encoder.
Result<std::unique_ptr<FrameWriter>> open_writer(const std::filesystem::path& target,
                                                 const WriterOptions& options = {});

// When a frame is to be shown, from the beginning: as it says, or ten frames a second where its
// source knows no time.
int64_t shown_at_us(const FrameAnswer& answer);

}  // namespace shoal::watch

#pragma GCC visibility pop
