#include "shoal/video/watch/output/clips.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "shoal/base/files/atomic_file.h"

namespace shoal::watch {
namespace {

int64_t in_us(double seconds) { return static_cast<int64_t>(seconds * 1e6); }

}  // namespace

ClipRecorder::ClipRecorder(std::filesystem::path folder, std::string name,
                           const ClipOptions& options, Open open)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      options_(options),
      open_(std::move(open)) {}

// What is too old, or too much.
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
  for (const Kept& one : kept_) SHOAL_TRY(writer_->write(one.image, one.time_us));
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
