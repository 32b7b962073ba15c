// shoal-encode [--even] TARGET: reads frames from standard input, as
// shoal/video/watch/frames/video_wire.h describes, and writes them as a video by FFmpeg's
// libraries. The extension of TARGET gives the format; H.264 if possible. With --even, only the
// first frame is coded as a key frame, which takes many times the bytes of others: instead, H.264
// codes a strip of each frame independently, moving from frame to frame. A link then takes about as
// long for each. Such a video cannot be seeked.
//
// A separate program because a build of FFmpeg under the GPL stays out of the library; confined
// like the decoder (sandbox.h).
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sandbox.h"
#include "shoal/video/watch/frames/video_wire.h"

namespace shoal::decode {
namespace {

using watch::VideoHeader;
using watch::VideoMessage;

constexpr AVRational kTimeBase = {1, 90000};

void answer(const VideoHeader& header, std::span<const char> text = {}) {
  const watch::VideoHeaderBytes bytes = watch::encode(header);
  static_cast<void>(!::write(STDOUT_FILENO, bytes.data(), bytes.size()));
  static_cast<void>(!::write(STDOUT_FILENO, text.data(), text.size()));
}

[[noreturn]] void fail(std::string why) {
  why.resize(std::min<size_t>(why.size(), watch::kMostText));
  answer({.kind = VideoMessage::kFailed, .bytes = static_cast<uint32_t>(why.size())}, why);
  std::_Exit(1);
}

void require(int error) {
  if (error >= 0) return;
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  ::av_strerror(error, text, sizeof text);
  fail(text);
}

// False at the end.
bool read_all(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

int write_file(void* opaque, uint8_t* from, int size) {
  for (int done = 0; done < size;) {
    const ssize_t n =
        ::write(*static_cast<int*>(opaque), from + done, static_cast<size_t>(size - done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return AVERROR(errno);
    done += static_cast<int>(n);
  }
  return size;
}

int64_t seek_file(void* opaque, int64_t offset, int whence) {
  if (whence == AVSEEK_SIZE) return AVERROR(ENOSYS);
  const off_t at = ::lseek(*static_cast<int*>(opaque), offset, whence & ~AVSEEK_FORCE);
  return at < 0 ? AVERROR(errno) : at;
}

// A video in a file. It lives until the process ends.
class Encoding {
 public:
  Encoding(const char* target, int& file, bool even) : even_(even) {
    ::avformat_alloc_output_context2(&context_, nullptr, nullptr, target);
    if (context_ == nullptr) fail("no format has such an extension");
    context_->flags |= AVFMT_FLAG_BITEXACT;  // else some formats want random numbers from a device
    constexpr int kBuffer = 1 << 16;
    context_->pb = ::avio_alloc_context(static_cast<uint8_t*>(::av_malloc(kBuffer)), kBuffer, 1,
                                        &file, nullptr, write_file, seek_file);
    if (context_->pb == nullptr) fail("no memory");
    codec_ = ::avcodec_find_encoder_by_name("libx264");
    const bool h264 = codec_ != nullptr && ::avformat_query_codec(context_->oformat, codec_->id,
                                                                  FF_COMPLIANCE_NORMAL) == 1;
    if (!h264) codec_ = ::avcodec_find_encoder(context_->oformat->video_codec);
    if (codec_ == nullptr) codec_ = ::avcodec_find_encoder(AV_CODEC_ID_MPEG4);
    if (codec_ == nullptr) fail("these libraries have no encoder for it");
  }

  void add(const VideoHeader& header, const std::vector<uint8_t>& pixels) {
    if (encoder_ == nullptr) open(header);
    if (header.width != width_ || header.height != height_) fail("a frame of another size");
    const uint8_t* const planes[] = {pixels.data()};
    const int strides[] = {static_cast<int>(3 * width_)};
    require(::av_frame_make_writable(frame_));
    ::sws_scale(scaler_, planes, strides, 0, encoder_->height, frame_->data, frame_->linesize);
    const int64_t time = ::av_rescale_q(header.time_us, {1, 1000000}, kTimeBase);
    const int64_t before = last_;
    last_ = std::max(time, before + 1);
    if (before >= 0) step_ = last_ - before;
    frame_->pts = last_;
    encode(frame_);
  }

  void end() {
    if (encoder_ == nullptr) fail("no frame");
    encode(nullptr);
    require(::av_write_trailer(context_));
    ::avio_flush(context_->pb);
    require(context_->pb->error);
  }

 private:
  // Sides are even: colours have half the resolution.
  void open(const VideoHeader& first) {
    width_ = first.width;
    height_ = first.height;
    if (width_ < 2 || height_ < 2) fail("a frame that is too small");
    encoder_ = ::avcodec_alloc_context3(codec_);
    stream_ = ::avformat_new_stream(context_, nullptr);
    frame_ = ::av_frame_alloc();
    if (encoder_ == nullptr || stream_ == nullptr || frame_ == nullptr) fail("no memory");
    encoder_->width = static_cast<int>(width_ & ~1u);
    encoder_->height = static_cast<int>(height_ & ~1u);
    encoder_->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder_->time_base = codec_->id == AV_CODEC_ID_MPEG4 ? AVRational{1, 1000} : kTimeBase;
    encoder_->gop_size = 50;
    encoder_->max_b_frames = 0;
    encoder_->thread_count = 1;  // the sandbox has no threads
    encoder_->bit_rate = codec_->id == AV_CODEC_ID_H264 ? 0 : 4000000;
    if ((context_->oformat->flags & AVFMT_GLOBALHEADER) != 0) {
      encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    }
    AVDictionary* options = nullptr;
    ::av_dict_set(&options, "preset", "veryfast", 0);
    ::av_dict_set(&options, "tune", "zerolatency", 0);
    if (even_) ::av_dict_set(&options, "intra-refresh", "1", 0);
    require(::avcodec_open2(encoder_, codec_, &options));
    ::av_dict_free(&options);
    require(::avcodec_parameters_from_context(stream_->codecpar, encoder_));
    stream_->time_base = encoder_->time_base;
    frame_->format = encoder_->pix_fmt;
    frame_->width = encoder_->width;
    frame_->height = encoder_->height;
    require(::av_frame_get_buffer(frame_, 0));
    scaler_ = ::sws_getContext(encoder_->width, encoder_->height, AV_PIX_FMT_RGB24, encoder_->width,
                               encoder_->height, encoder_->pix_fmt, SWS_BILINEAR, nullptr, nullptr,
                               nullptr);
    if (scaler_ == nullptr) fail("no memory");
    require(::avformat_write_header(context_, nullptr));
  }

  // A frame, or the end.
  void encode(AVFrame* frame) {
    if (frame != nullptr) frame->pts = ::av_rescale_q(frame->pts, kTimeBase, encoder_->time_base);
    require(::avcodec_send_frame(encoder_, frame));
    for (;;) {
      const int error = ::avcodec_receive_packet(encoder_, packet_);
      if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return;
      require(error);
      // Readers drop a last frame that is shown for no time.
      packet_->duration =
          std::max<int64_t>(::av_rescale_q(step_, kTimeBase, encoder_->time_base), 1);
      ::av_packet_rescale_ts(packet_, encoder_->time_base, stream_->time_base);
      packet_->stream_index = stream_->index;
      require(::av_interleaved_write_frame(context_, packet_));
    }
  }

  const bool even_;
  AVFormatContext* context_ = nullptr;
  const AVCodec* codec_ = nullptr;
  AVCodecContext* encoder_ = nullptr;
  AVStream* stream_ = nullptr;
  AVFrame* frame_ = nullptr;
  AVPacket* packet_ = ::av_packet_alloc();
  SwsContext* scaler_ = nullptr;
  uint32_t width_ = 0, height_ = 0;
  int64_t last_ = -1, step_ = kTimeBase.den / 10;  // of the frames so far, in kTimeBase
};

void run(const char* target, int file, bool even) {
  Encoding encoding(target, file, even);
  std::vector<uint8_t> pixels;
  for (;;) {
    watch::VideoHeaderBytes bytes{};
    if (!read_all(bytes)) fail("the frames end in the middle");
    const auto header = watch::decode_header(bytes);
    if (!header.ok()) fail("what comes is no frame");
    if (header->kind == VideoMessage::kEnd) break;
    if (header->kind != VideoMessage::kFrame) fail("what comes is no frame");
    pixels.resize(header->bytes);
    if (!read_all(pixels)) fail("the frames end in the middle");
    encoding.add(*header, pixels);
  }
  encoding.end();
  if (::close(file) != 0) fail(std::strerror(errno));
  answer({.kind = VideoMessage::kEnd});
}

}  // namespace
}  // namespace shoal::decode

int main(int argc, char** argv) {
  using namespace shoal::decode;
  const bool even = argc == 3 && std::strcmp(argv[1], "--even") == 0;
  if (argc != (even ? 3 : 2)) {
    static_cast<void>(!::write(STDERR_FILENO, "usage: shoal-encode [--even] TARGET\n", 36));
    return 2;
  }
  const char* const target = argv[argc - 1];
  ::syscall(SYS_close_range, 3u, ~0u, 0u);  // nothing of the parent's but the two pipes
  ::av_log_set_level(AV_LOG_QUIET);
  const int file = ::open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(std::strerror(errno));
  if (!enter_sandbox(Needs::kWriteFile)) fail("this system has no filters of system calls");
  run(target, file, even);
  std::_Exit(0);
}
