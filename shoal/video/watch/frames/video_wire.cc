#include "shoal/video/watch/frames/video_wire.h"

namespace shoal::watch {
namespace {

template <class T>
void put(VideoHeaderBytes& bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes[at + i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

template <class T>
T get(const VideoHeaderBytes& bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return static_cast<T>(value);
}

bool fits(const VideoHeader& header) {
  const uint64_t pixels = uint64_t{header.width} * header.height;
  const bool is_image = header.width > 0 && header.height > 0 && header.width <= kMostSide &&
                        header.height <= kMostSide && pixels <= kMostPixels;
  switch (header.kind) {
    case VideoMessage::kFrame:
      return is_image && header.bytes == 3 * pixels;
    case VideoMessage::kMotion:
      return is_image && header.bytes == motion_bytes(header.width, header.height);
    case VideoMessage::kFailed:
      return header.bytes <= kMostText;
    case VideoMessage::kOpened:
    case VideoMessage::kEnd:
      return header.bytes == 0;
  }
  return false;
}

}  // namespace

VideoHeaderBytes encode(const VideoHeader& header) {
  VideoHeaderBytes bytes{};
  put(bytes, 0, kVideoMagic);
  put(bytes, 4, static_cast<uint32_t>(header.kind));
  put(bytes, 8, header.width);
  put(bytes, 12, header.height);
  put(bytes, 16, header.flags);
  put(bytes, 20, header.bytes);
  put(bytes, 24, header.time_us);
  put(bytes, 32, header.count);
  return bytes;
}

Result<VideoHeader> decode_header(const VideoHeaderBytes& bytes) {
  const VideoHeader header{.kind = VideoMessage{get<uint32_t>(bytes, 4)},
                           .width = get<uint32_t>(bytes, 8),
                           .height = get<uint32_t>(bytes, 12),
                           .flags = get<uint32_t>(bytes, 16),
                           .bytes = get<uint32_t>(bytes, 20),
                           .time_us = get<int64_t>(bytes, 24),
                           .count = get<uint64_t>(bytes, 32)};
  if (get<uint32_t>(bytes, 0) == kVideoMagic && fits(header)) return header;
  return Status(Code::kCorrupt, "the decoder sends what is no frame");
}

}  // namespace shoal::watch
