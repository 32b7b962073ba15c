// shoal-decode SOURCE [--motion]: reads a video by FFmpeg's libraries and writes its frames to
// standard output, as shoal/video/watch/frames/video_wire.h describes. SOURCE is a file, a V4L2
// device or a URL. With
// --motion, frames come with the vectors of their codec, where these lead to the frame before: in
// frames that are predicted from the past, of codecs that show frames in the order of decoding.
//
// A separate program for two reasons: parsers of video formats are large, and a file that takes
// them over owns only this process, which has dropped its privileges (sandbox.h); and a build of
// FFmpeg under the GPL stays out of the library.
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/motion_vector.h>
#include <libswscale/swscale.h>
}

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sandbox.h"
#include "shoal/video/watch/frames/video_wire.h"

namespace shoal::decode {
namespace {

using watch::VideoHeader;
using watch::VideoMessage;

constexpr char kNoSandbox[] = "this system has no filters of system calls to confine a decoder";

// A parent that has gone is no failure.
void write_all(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::_Exit(0);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void send(const VideoHeader& header, std::span<const uint8_t> payload = {}) {
  write_all(watch::encode(header));
  write_all(payload);
}

[[noreturn]] void fail(std::string why) {
  why.resize(std::min<size_t>(why.size(), watch::kMostText));
  send({.kind = VideoMessage::kFailed, .bytes = static_cast<uint32_t>(why.size())},
       {reinterpret_cast<const uint8_t*>(why.data()), why.size()});
  std::_Exit(1);
}

std::string text_of(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  ::av_strerror(error, text, sizeof text);
  return text;
}

int read_file(void* opaque, uint8_t* to, int size) {
  for (;;) {
    const ssize_t n = ::read(*static_cast<int*>(opaque), to, static_cast<size_t>(size));
    if (n < 0 && errno == EINTR) continue;
    return n > 0 ? static_cast<int>(n) : n == 0 ? AVERROR_EOF : AVERROR(errno);
  }
}

int64_t seek_file(void* opaque, int64_t offset, int whence) {
  const int file = *static_cast<int*>(opaque);
  if (whence == AVSEEK_SIZE) {
    struct stat about {};
    return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : AVERROR(ENOSYS);
  }
  const off_t at = ::lseek(file, offset, whence & ~AVSEEK_FORCE);
  return at < 0 ? AVERROR(errno) : at;
}

// A source whose demuxer runs in the sandbox. It lives until the process ends.
struct Input {
  AVFormatContext* context = ::avformat_alloc_context();
  bool live = false;
};

// The file is opened here, and nothing that it says can open another one.
Input open_file(const char* path) {
  static int file = -1;
  file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::strerror(errno));
  if (!enter_sandbox(Needs::kOpenFile)) fail(kNoSandbox);
  constexpr int kBuffer = 1 << 16;
  const bool seekable = ::lseek(file, 0, SEEK_CUR) >= 0;
  Input input;
  input.context->pb =
      ::avio_alloc_context(static_cast<uint8_t*>(::av_malloc(kBuffer)), kBuffer, 0, &file,
                           read_file, nullptr, seekable ? seek_file : nullptr);
  if (input.context->pb == nullptr) fail("no memory");
  if (const int error = ::avformat_open_input(&input.context, "", nullptr, nullptr); error < 0) {
    fail(text_of(error));
  }
  return input;
}

// V4L2 is a part of libavdevice, which brings half a desktop: it is loaded where it is installed.
const AVInputFormat* camera_format() {
  const std::string name = "libavdevice.so." + std::to_string(LIBAVFORMAT_VERSION_MAJOR);
  if (void* library = ::dlopen(name.c_str(), RTLD_NOW); library != nullptr) {
    if (void* call = ::dlsym(library, "avdevice_register_all"); call != nullptr) {
      reinterpret_cast<void (*)()>(call)();
    }
  }
  const AVInputFormat* format = ::av_find_input_format("video4linux2,v4l2");
  if (format == nullptr) fail("cameras need " + name);
  return format;
}

Input open_stream(const char* url, bool camera) {
  const AVInputFormat* const format = camera ? camera_format() : nullptr;
  ::avformat_network_init();
  if (!enter_sandbox(Needs::kNetwork)) fail(kNoSandbox);
  Input input;
  AVDictionary* options = nullptr;
  ::av_dict_set(&options, "rtsp_transport", "tcp", 0);
  if (!camera) {
    // A playlist from the network names no file of this machine.
    ::av_dict_set(&options, "protocol_whitelist",
                  "http,https,httpproxy,tls,tcp,udp,rtp,srtp,rtmp,rtmps,crypto", 0);
  }
  if (const int error = ::avformat_open_input(&input.context, url, format, &options); error < 0) {
    fail(text_of(error));
  }
  ::av_dict_free(&options);
  const AVIOContext* const io = input.context->pb;
  input.live = io == nullptr || (io->seekable & AVIO_SEEKABLE_NORMAL) == 0;
  return input;
}

// Frames as RGB, of whatever size they are.
class Converter {
 public:
  void send_frame(const AVFrame& frame, int64_t time_us) {
    const auto width = static_cast<uint32_t>(frame.width);
    const auto height = static_cast<uint32_t>(frame.height);
    if (width == 0 || height == 0 || uint64_t{width} * height > watch::kMostPixels) {
      fail("a frame of " + std::to_string(width) + " x " + std::to_string(height));
    }
    scaler_ = ::sws_getCachedContext(
        scaler_, frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
        frame.height, AV_PIX_FMT_RGB24, kConversion, nullptr, nullptr, nullptr);
    if (scaler_ == nullptr) fail("a format of pixels that cannot be converted");
    const int* const table = ::sws_getCoefficients(frame.colorspace);
    const bool full_range = frame.color_range == AVCOL_RANGE_JPEG;
    ::sws_setColorspaceDetails(scaler_, table, full_range ? 1 : 0, table, 1, 0, 1 << 16, 1 << 16);
    // Rows are a multiple of what vector instructions write; then they are packed.
    const size_t line = 3 * size_t{width}, stride = (line + 63) / 64 * 64;
    pixels_.resize(stride * height + 64);
    uint8_t* const planes[] = {pixels_.data()};
    const int strides[] = {static_cast<int>(stride)};
    ::sws_scale(scaler_, frame.data, frame.linesize, 0, frame.height, planes, strides);
    for (size_t y = 1; y < height && stride != line; ++y) {
      std::memmove(pixels_.data() + y * line, pixels_.data() + y * stride, line);
    }
    const size_t bytes = line * height;
    send({.kind = VideoMessage::kFrame,
          .width = width,
          .height = height,
          .bytes = static_cast<uint32_t>(bytes),
          .time_us = time_us},
         std::span(pixels_).first(bytes));
  }

 private:
  // Without SWS_ACCURATE_RND it has vector instructions, takes an eighth of the time, and is two
  // levels of 255 off at most.
  static constexpr int kConversion = SWS_POINT;

  SwsContext* scaler_ = nullptr;
  std::vector<uint8_t> pixels_;
};

// The vectors of a frame, brought to blocks: the mean of those that begin in one, by their area.
void send_motion(const AVFrame& frame, std::span<const AVMotionVector> vectors) {
  struct Sum {
    double x = 0, y = 0, area = 0;
  };
  const auto width = static_cast<uint32_t>(frame.width),
             height = static_cast<uint32_t>(frame.height);
  const uint64_t bytes = watch::motion_bytes(width, height);
  constexpr int kSide = watch::kMotionBlock;
  const int columns = (frame.width + kSide - 1) / kSide;
  std::vector<Sum> sums(bytes / 4);
  for (const AVMotionVector& one : vectors) {
    const int x = one.dst_x, y = one.dst_y;
    if (one.source >= 0 || one.motion_scale == 0 || x < 0 || y < 0 || x >= frame.width ||
        y >= frame.height) {
      continue;
    }
    Sum& sum = sums[static_cast<size_t>(y / kSide * columns + x / kSide)];
    const auto area = static_cast<double>(one.w * one.h);
    sum.x += area * one.motion_x / one.motion_scale;
    sum.y += area * one.motion_y / one.motion_scale;
    sum.area += area;
  }
  std::vector<uint8_t> payload;
  payload.reserve(bytes);
  const auto put = [&](double sum, double area) {
    constexpr double kMost = 32767;
    const auto quarters =
        area > 0 ? static_cast<int16_t>(std::clamp(std::round(4 * sum / area), -kMost, kMost))
                 : watch::kNoVector;
    payload.push_back(static_cast<uint8_t>(quarters & 0xff));
    payload.push_back(static_cast<uint8_t>(quarters >> 8 & 0xff));
  };
  for (const Sum& sum : sums) {
    put(sum.x, sum.area);
    put(sum.y, sum.area);
  }
  send({.kind = VideoMessage::kMotion,
        .width = width,
        .height = height,
        .bytes = static_cast<uint32_t>(bytes)},
       payload);
}

AVCodecContext* open_decoder(const AVStream& stream, const AVCodec* codec, bool motion) {
  AVCodecContext* const decoder = ::avcodec_alloc_context3(codec);
  if (decoder == nullptr) fail("no memory");
  ::avcodec_parameters_to_context(decoder, stream.codecpar);
  decoder->pkt_timebase = stream.time_base;
  decoder->thread_count = 1;  // the sandbox has no threads
  decoder->max_pixels = watch::kMostPixels;
  if (motion) decoder->flags2 |= AV_CODEC_FLAG2_EXPORT_MVS;
  if (const int error = ::avcodec_open2(decoder, codec, nullptr); error < 0) fail(text_of(error));
  return decoder;
}

class Decoding {
 public:
  Decoding(Input input, bool motion) : context_(input.context), motion_(motion) {
    if (const int error = ::avformat_find_stream_info(context_, nullptr); error < 0) {
      fail(text_of(error));
    }
    const AVCodec* codec = nullptr;
    index_ = ::av_find_best_stream(context_, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (index_ < 0 || codec == nullptr) fail("no video in it that can be decoded");
    const AVStream& stream = *context_->streams[index_];
    time_base_ = stream.time_base;
    begin_ = stream.start_time == AV_NOPTS_VALUE ? 0 : stream.start_time;
    decoder_ = open_decoder(stream, codec, motion);
    if (stream.nb_frames > 0) count_ = static_cast<uint64_t>(stream.nb_frames);
    send({.kind = VideoMessage::kOpened,
          .flags = input.live ? watch::kLiveVideo : 0,
          .count = count_});
  }

  // All frames. What cannot be decoded is left out, and counted.
  void run() {
    AVPacket* const packet = ::av_packet_alloc();
    int error = 0;
    while ((error = ::av_read_frame(context_, packet)) >= 0 || error == AVERROR(EAGAIN)) {
      if (error >= 0 && packet->stream_index == index_) decode(packet);
      ::av_packet_unref(packet);
    }
    decode(nullptr);
    if (error != AVERROR_EOF) fail(text_of(error));
    if (frames_ == 0) fail("no frame in it can be decoded");
    if (frames_ < count_ / 100 * 95) {
      fail("it ends after " + std::to_string(frames_) + " of " + std::to_string(count_) +
           " frames");
    }
    if (bad_ > 0) fail(std::to_string(bad_) + " packets could not be decoded");
    send({.kind = VideoMessage::kEnd});
  }

 private:
  // A packet, or the end.
  void decode(const AVPacket* packet) {
    const int sent = ::avcodec_send_packet(decoder_, packet);
    if (sent < 0 && sent != AVERROR_EOF) ++bad_;
    while (::avcodec_receive_frame(decoder_, frame_) >= 0) {
      const int64_t stamp = frame_->best_effort_timestamp;
      if (stamp != AV_NOPTS_VALUE) {
        time_us_ = ::av_rescale_q(stamp - begin_, time_base_, {1, 1000000});
      }
      if (motion_) send_motion_of_frame();
      converter_.send_frame(*frame_, time_us_);
      ++frames_;
    }
  }

  // A frame that others are decoded before, or a codec that does so, has vectors to other frames
  // than the one before.
  void send_motion_of_frame() const {
    const AVFrameSideData* const side =
        ::av_frame_get_side_data(frame_, AV_FRAME_DATA_MOTION_VECTORS);
    if (side == nullptr || frame_->pict_type != AV_PICTURE_TYPE_P || decoder_->has_b_frames != 0 ||
        frame_->width < 1 || frame_->height < 1 ||
        uint64_t(frame_->width) * uint64_t(frame_->height) > watch::kMostPixels) {
      return;
    }
    send_motion(*frame_, {reinterpret_cast<const AVMotionVector*>(side->data),
                          side->size / sizeof(AVMotionVector)});
  }

  AVFormatContext* context_;
  bool motion_;
  AVCodecContext* decoder_ = nullptr;
  AVFrame* frame_ = ::av_frame_alloc();
  Converter converter_;
  AVRational time_base_ = {1, 1};
  int64_t begin_ = 0;
  int64_t time_us_ = 0;  // of the last frame that had one
  int index_ = -1;
  uint64_t count_ = 0;  // of frames, as the file says; 0: unknown
  uint64_t frames_ = 0, bad_ = 0;
};

}  // namespace
}  // namespace shoal::decode

int main(int argc, char** argv) {
  using namespace shoal::decode;
  const bool motion = argc == 3 && std::strcmp(argv[2], "--motion") == 0;
  if (argc != 2 && !motion) {
    static_cast<void>(!::write(STDERR_FILENO, "usage: shoal-decode SOURCE [--motion]\n", 38));
    return 2;
  }
  // Of the parent's descriptors only the pipe stays open.
  ::close(STDIN_FILENO);
  ::syscall(SYS_close_range, 3u, ~0u, 0u);
  ::fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20);
  ::av_log_set_level(AV_LOG_QUIET);
  const std::string source = argv[1];
  const bool camera = source.starts_with("/dev/video");
  const bool stream = camera || source.find("://") != std::string::npos;
  Decoding(stream ? open_stream(argv[1], camera) : open_file(argv[1]), motion).run();
  std::_Exit(0);
}
