// The output of the process that decodes a video (apps/decode): messages of a 40-byte header,
// little-endian, and a payload.
//
//   0 magic  4 kind  8 width  12 height  16 flags  20 bytes of the payload  24 time  32 count
//
// The stream begins with kOpened; then come frames, each after its motion if requested and known;
// it ends with kEnd or kFailed. Otherwise the decoder was killed. The decoder is untrusted: the
// file that it reads may have taken it over.
//
// A process that encodes a video (shoal-encode) reads the same from its parent: frames, and kEnd.
// It answers kEnd, when all of the video is in its file, or kFailed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shoal/base/status.h"

namespace shoal::watch {

enum class VideoMessage : uint32_t {
  kOpened = 1,  // flags, count
  kFrame = 2,   // width, height, time; payload: RGB, three bytes a pixel, row by row
  kEnd = 3,
  kFailed = 4,  // payload: why, as text
  // width, height; payload: for each block of 16 x 16 pixels of the next frame, by rows, where it
  // was in the frame before, relative to where it is: x and y, 16 bits each, in quarters of a
  // pixel, or kNoVector
  kMotion = 5,
};

inline constexpr uint32_t kVideoMagic = 0x46565348;  // "HSVF"
inline constexpr uint32_t kLiveVideo = 1;            // flag: it comes when it comes
inline constexpr uint32_t kMostSide = 16384;
inline constexpr uint32_t kMostPixels = 1u << 25;  // 8K: 7680 x 4320
inline constexpr uint32_t kMostText = 512;
inline constexpr uint32_t kMotionBlock = 16;
inline constexpr int16_t kNoVector = -32768;

// Bytes of the motion in a frame of this size.
constexpr uint64_t motion_bytes(uint64_t width, uint64_t height) {
  return 4 * ((width + kMotionBlock - 1) / kMotionBlock) *
         ((height + kMotionBlock - 1) / kMotionBlock);
}

// A header, as numbers.
struct VideoHeader {
  VideoMessage kind = VideoMessage::kEnd;
  uint32_t width = 0, height = 0;
  uint32_t flags = 0;
  uint32_t bytes = 0;   // of the payload
  int64_t time_us = 0;  // of a frame, from the beginning of the video
  uint64_t count = 0;   // of frames, if the file says it, which may be wrong; 0: unknown

  friend bool operator==(const VideoHeader&, const VideoHeader&) = default;
};

inline constexpr size_t kVideoHeaderBytes = 40;
using VideoHeaderBytes = std::array<uint8_t, kVideoHeaderBytes>;

// The header as bytes.
VideoHeaderBytes encode(const VideoHeader& header);
// kCorrupt for what no decoder of ours writes. On success `bytes` is right for the kind and small
// enough to allocate.
Result<VideoHeader> decode_header(const VideoHeaderBytes& bytes);

}  // namespace shoal::watch
