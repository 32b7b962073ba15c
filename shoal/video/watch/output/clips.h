// Clips: videos of the frames around events; close events share one. A frame is in one clip at
// most.
//
// The last seconds are kept in memory, up to a limit in bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/watch/run/watch.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// Frame writer: frames as a video, by a process of its own, or as pictures in a folder.
//
// The encoder (shoal-encode, apps/decode) reads frames from a pipe: FFmpeg's libraries, whose
// Debian build is under the GPL, stay out of this process. A slow encoder blocks writers, and one
// that dies or stalls is a failure.

// One thread at a time.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;  // what was not finished may not be readable
  // Appends an image, u8 [h, w, 3]; resized to the first one's size. Times are made to grow. Fails
  // as the disk and the encoder do; nothing can be written after that.
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

// Whether the extension is .mp4, .mkv or .mov.
bool is_video_file(const std::filesystem::path& path);

// A video, or for another name a folder, which is made, of JPEG files 000000.jpg and so on.
// kUnsupported for a video without an encoder.
Result<std::unique_ptr<FrameWriter>> open_writer(const std::filesystem::path& target,
                                                 const WriterOptions& options = {});

// The time to show a frame, from the beginning: its own, or ten frames a second if its source has
// none.
int64_t shown_at_us(const FrameAnswer& answer);

// How much around an event. A value.
struct ClipOptions {
  double before = 3, after = 5;  // seconds
  double longest = 60;  // seconds after the first event; the next event begins another clip
  size_t most_bytes = size_t{64} << 20;  // of frames before an event
};

// Of one stream. Thread-compatible.
class ClipRecorder {
 public:
  // Makes a writer for a file.
  using Open =
      std::function<Result<std::unique_ptr<FrameWriter>>(const std::filesystem::path& target)>;

  // Clips are FOLDER/NAME-FRAME.mp4, with the number of the frame of the first event.
  ClipRecorder(
      std::filesystem::path folder, std::string name, const ClipOptions& options = {},
      Open open = [](const auto& target) { return open_writer(target); });

  // The next frame, and whether something happened in it. Fails as writers do.
  Status add(const Tensor& image, int64_t time_us, size_t frame, bool event);
  // The stream has ended.
  Status finish();

  // How many clips were begun.
  size_t clips() const { return clips_; }

 private:
  struct Kept {
    Tensor image;
    int64_t time_us = 0;
  };

  Status begin(size_t frame, int64_t time_us);
  void forget(int64_t now_us);

  std::filesystem::path folder_;
  std::string name_;
  ClipOptions options_;
  Open open_;
  std::deque<Kept> kept_;
  size_t bytes_ = 0;                     // of those
  std::unique_ptr<FrameWriter> writer_;  // of the present clip
  int64_t end_us_ = 0, longest_us_ = 0;  // of that
  size_t clips_ = 0;
};

}  // namespace shoal::watch

#pragma GCC visibility pop
