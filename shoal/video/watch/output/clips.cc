#include "shoal/video/watch/output/clips.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/processes/process.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/inputs/jpeg.h"
#include "shoal/video/watch/frames/video_source.h"
#include "shoal/video/watch/frames/video_wire.h"

namespace shoal::watch {
namespace {

class PictureWriter : public FrameWriter {
 public:
  explicit PictureWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Status write(const Tensor& image, int64_t) override {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "%06zu.jpg", next_++);
    SHOAL_ASSIGN(const std::string bytes, to_jpeg(image));
    return write_file(folder_ / name.data(), bytes, {.durable = false});
  }
  Status finish() override { return {}; }

 private:
  std::filesystem::path folder_;
  size_t next_ = 0;
};

class VideoWriter : public FrameWriter {
 public:
  VideoWriter(std::string target, Process process, std::chrono::milliseconds timeout)
      : target_(std::move(target)), process_(std::move(process)), timeout_(timeout) {}

  Status write(const Tensor& image, int64_t time_us) override {
    if (height_ == 0) {
      height_ = image.shape()[0];
      width_ = image.shape()[1];
    }
    const bool fits = image.shape()[0] == height_ && image.shape()[1] == width_;
    const Tensor sized = fits ? image : resize_image(image, height_, width_);
    constexpr int64_t kLeast = 1000;  // a millisecond, which every format can tell apart
    last_us_ = std::max(time_us, last_us_ < 0 ? 0 : last_us_ + kLeast);
    const VideoHeader header{.kind = VideoMessage::kFrame,
                             .width = static_cast<uint32_t>(width_),
                             .height = static_cast<uint32_t>(height_),
                             .bytes = static_cast<uint32_t>(sized.bytes().size()),
                             .time_us = last_us_};
    SHOAL_TRY(send(encode(header)));
    return send(sized.data<uint8_t>());
  }

  Status finish() override {
    SHOAL_TRY(send(encode({.kind = VideoMessage::kEnd})));
    process_.close_input();
    return result();
  }

 private:
  Status send(std::span<const uint8_t> bytes) {
    const Status sent = process_.write_all(bytes, timeout_);
    if (sent.ok()) return sent;
    // It may have said why before it ended.
    const Status why = sent.code() == Code::kUnavailable ? result() : Status();
    return why.ok() ? sent.at(target_) : why;
  }

  Status result() {
    VideoHeaderBytes bytes{};
    SHOAL_TRY(read(bytes));
    const auto header = decode_header(bytes);
    if (header.ok() && header->kind == VideoMessage::kEnd) return {};
    if (!header.ok() || header->kind != VideoMessage::kFailed) {
      return Status(Code::kInternal, target_ + ": its encoder says what is no answer");
    }
    std::vector<uint8_t> text(header->bytes);
    SHOAL_TRY(read(text));
    return Status(
        Code::kExhausted,
        target_ + ": " + printable({reinterpret_cast<const char*>(text.data()), text.size()}));
  }

  Status read(std::span<uint8_t> bytes) {
    while (!bytes.empty()) {
      const auto read = process_.read_some(bytes, timeout_);
      if (!read.ok()) {
        return Status(Code::kUnavailable, target_ + ": its encoder ended without a word");
      }
      bytes = bytes.subspan(*read);
    }
    return {};
  }

  std::string target_;
  Process process_;
  std::chrono::milliseconds timeout_;
  int64_t height_ = 0, width_ = 0;
  int64_t last_us_ = -1;
};

int64_t in_us(double seconds) { return static_cast<int64_t>(seconds * 1e6); }

}  // namespace

bool is_video_file(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return std::ranges::any_of(std::to_array({".mp4", ".mkv", ".mov"}),
                             [&](const char* one) { return extension == one; });
}

Result<std::unique_ptr<FrameWriter>> open_writer(const std::filesystem::path& target,
                                                 const WriterOptions& options) {
  if (!is_video_file(target)) {
    SHOAL_TRY(make_folder(target));
    return std::unique_ptr<FrameWriter>(std::make_unique<PictureWriter>(target));
  }
  const auto encoder = options.encoder.empty() ? find_program("shoal-encode") : options.encoder;
  if (encoder.empty()) {
    return part_missing(Part::kVideo, target.string() +
                                          ": videos need shoal-encode, which is not here; a folder "
                                          "of pictures does not");
  }
  std::vector<std::string> call = {encoder.string()};
  if (options.even) call.emplace_back("--even");
  call.push_back(target.string());
  SHOAL_ASSIGN(Process process, Process::start(call, {.inherit_environment = false,
                                                      .pipe_output = true,
                                                      .pipe_input = true,
                                                      .grace = std::chrono::milliseconds(500)}));
  return std::unique_ptr<FrameWriter>(
      std::make_unique<VideoWriter>(target.string(), std::move(process), options.timeout));
}

int64_t shown_at_us(const FrameAnswer& answer) {
  return answer.time_us != 0 ? answer.time_us : static_cast<int64_t>(answer.frame) * 100000;
}

ClipRecorder::ClipRecorder(std::filesystem::path folder, std::string name,
                           const ClipOptions& options, Open open)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      options_(options),
      open_(std::move(open)) {}

void ClipRecorder::forget(int64_t now_us) {
  const int64_t oldest = now_us - in_us(options_.before);
  while (!kept_.empty() && (kept_.front().time_us < oldest || bytes_ > options_.most_bytes)) {
    bytes_ -= kept_.front().image.bytes().size();
    kept_.pop_front();
  }
}

Status ClipRecorder::begin(size_t frame, int64_t time_us) {
  SHOAL_TRY(make_folder(folder_));
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "-%06zu.mp4", frame);
  SHOAL_ASSIGN(writer_, open_(folder_ / (name_ + number.data())));
  ++clips_;
  longest_us_ = time_us + in_us(options_.longest);
  for (const Kept& kept : kept_) SHOAL_TRY(writer_->write(kept.image, kept.time_us));
  kept_.clear();
  bytes_ = 0;
  return {};
}

Status ClipRecorder::add(const Tensor& image, int64_t time_us, size_t frame, bool event) {
  if (writer_ != nullptr && (time_us > end_us_ || time_us > longest_us_) && !event) {
    SHOAL_TRY(finish());
  }
  if (event && writer_ != nullptr && time_us > longest_us_) SHOAL_TRY(finish());
  if (event && writer_ == nullptr) {
    forget(time_us);
    SHOAL_TRY(begin(frame, time_us));
  }
  if (event) end_us_ = time_us + in_us(options_.after);
  if (writer_ != nullptr) return writer_->write(image, time_us);
  kept_.push_back({image, time_us});
  bytes_ += image.bytes().size();
  forget(time_us);
  return {};
}

Status ClipRecorder::finish() {
  if (writer_ == nullptr) return {};
  const std::unique_ptr<FrameWriter> writer = std::exchange(writer_, nullptr);
  return writer->finish();
}

}  // namespace shoal::watch
