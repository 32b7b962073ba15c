// Video source: frames of a file, a camera or a URL, decoded by a process of its own.
//
// The decoder (shoal-decode, apps/decode) writes frames to a pipe, and a thread reads them. For a
// file the decoder waits, and no frame is lost; for a live stream only the newest frame is kept. A
// decoder that dies, stalls or writes garbage is ended: a file ends with that failure, a live
// stream is reconnected.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/video/watch/frames/frame_source.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// How to read a video. A value.
struct VideoOptions {
  std::filesystem::path decoder = {};        // empty: find_decoder()
  std::chrono::milliseconds timeout{10000};  // without a frame, until a decoder has stalled
  std::chrono::milliseconds first_pause{500}, longest_pause{10000};  // before connecting again
  const std::atomic<bool>* cancel = nullptr;  // set: next() says at once that it is over
  bool motion = false;  // frames have the motion that the codec has found, where it has any
};

// Where find_program() finds shoal-decode.
std::filesystem::path find_decoder();

// Opens a video; next() reports its failures. kUnsupported without a decoder. A live stream that
// never had a frame ends with its failure; one that had goes on, with a failure from next() for
// each loss.
Result<std::unique_ptr<FrameSource>> open_video(const std::string& source,
                                                const VideoOptions& options = {});

}  // namespace shoal::watch

#pragma GCC visibility pop
