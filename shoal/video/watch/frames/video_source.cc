#include "shoal/video/watch/frames/video_source.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "shoal/base/processes/parts.h"
#include "shoal/base/processes/process.h"
#include "shoal/base/text/printable.h"
#include "shoal/video/watch/frames/video_wire.h"

namespace shoal::watch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStep{50};  // between two looks at whether it is over
constexpr size_t kRoom = 2;        // frames of a file that wait to be taken

// What a decoder says about motion, which may be anything: vectors lead out of the image by less
// than its sides. Blocks that the codec did not find elsewhere are taken to stand still.
keyframe::Flow motion_of(const VideoHeader& header, std::span<const uint8_t> bytes) {
  static_assert(kMotionBlock == keyframe::kBlock);
  keyframe::Flow flow = keyframe::no_flow(header.height, header.width);
  const auto number = [&](size_t at) {
    return static_cast<int16_t>(static_cast<uint16_t>(bytes[at] | bytes[at + 1] << 8));
  };
  const auto pixels = [](int16_t quarters, uint32_t side) {
    const auto most = static_cast<float>(side);
    return std::clamp(static_cast<float>(quarters) / 4, -most, most);
  };
  size_t unknown = 0;
  for (size_t i = 0; i < flow.vectors.size(); ++i) {
    const int16_t x = number(4 * i), y = number(4 * i + 2);
    const bool is_known = x != kNoVector && y != kNoVector;
    unknown += is_known ? 0 : 1;
    if (is_known) flow.vectors[i] = {pixels(x, header.width), pixels(y, header.height)};
  }
  // What an encoder finds nowhere in the frame before is new, as after a cut.
  flow.residual = 255 * static_cast<double>(unknown) / static_cast<double>(flow.vectors.size());
  return flow;
}

class Decoder {
 public:
  Decoder(Process process, milliseconds timeout, const std::atomic<bool>& stop)
      : process_(std::move(process)), timeout_(timeout), stop_(stop) {}

  // The next message: its header, and its payload. From here on the clock runs anew.
  Result<VideoHeader> header() {
    deadline_ = Clock::now() + timeout_;
    VideoHeaderBytes bytes{};
    SHOAL_TRY(read(bytes));
    return decode_header(bytes);
  }

  Status read(std::span<uint8_t> bytes) {
    while (!bytes.empty()) {
      if (stop_) return Status(Code::kCancelled, "it is over");
      auto read = process_.read_some(bytes, kStep);
      if (read.ok()) {
        bytes = bytes.subspan(*read);
      } else if (read.status().code() != Code::kDeadline) {
        return Status(Code::kUnavailable,
                      "its decoder ended with code " + std::to_string(process_.wait()));
      } else if (Clock::now() > deadline_) {
        return Status(Code::kDeadline, "no frame for " + std::to_string(timeout_.count()) + " ms");
      }
    }
    return {};
  }

 private:
  Process process_;
  milliseconds timeout_;
  const std::atomic<bool>& stop_;
  Clock::time_point deadline_;
};

class VideoSource : public FrameSource {
 public:
  VideoSource(std::string source, VideoOptions options)
      : source_(std::move(source)), options_(std::move(options)) {
    reader_ = std::thread([this] { read_all(); });
  }

  ~VideoSource() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    reader_.join();
  }

  Result<std::optional<Frame>> next() override {
    std::unique_lock lock(mutex_);
    wait_for(lock, [&] { return !waiting_.empty(); });
    if (waiting_.empty()) return std::optional<Frame>();
    Result<Frame> first = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    if (!first.ok()) return first.status();
    return std::optional<Frame>(*std::move(first));
  }

  bool ready(milliseconds most) override {
    std::unique_lock lock(mutex_);
    const auto end = Clock::now() + most;
    while (waiting_.empty() && !over() && Clock::now() < end) {
      changed_.wait_until(lock, std::min(end, Clock::now() + kStep));
    }
    return !waiting_.empty() || over();
  }

  // As the file says, once it is open.
  std::optional<size_t> size() const override {
    std::unique_lock lock(mutex_);
    wait_for(lock, [&] { return opened_; });
    return count_;
  }

 private:
  // Until it is so, or it is over.
  template <class Condition>
  void wait_for(std::unique_lock<std::mutex>& lock, Condition is_so) const {
    while (!is_so() && !over()) changed_.wait_for(lock, kStep);
  }
  bool over() const { return ended_ || (options_.cancel != nullptr && *options_.cancel); }

  // The thread's function.
  void read_all() {
    milliseconds pause = options_.first_pause;
    for (;;) {
      const size_t before = number_;
      const Status status = read_safely();
      if (number_ > before) pause = options_.first_pause;
      const bool again = live_ && number_ > 0 && !stop_;
      const bool lost = !status.ok() || again;
      std::unique_lock lock(mutex_);
      if (lost && !stop_) {
        std::erase_if(waiting_, [](const Result<Frame>& one) { return !one.ok(); });
        waiting_.push_back(status.ok() ? Status(Code::kUnavailable, source_ + ": it ended")
                                       : status.at(source_));
      }
      ended_ = !again;
      changed_.notify_all();
      if (!again || changed_.wait_for(lock, pause, [&] { return stop_.load(); })) return;
      pause = std::min(2 * pause, options_.longest_pause);
    }
  }

  Status read_safely() {
    try {
      return read_once();
    } catch (const std::bad_alloc&) {
      return Status(Code::kExhausted, "no memory for a frame");
    }
  }

  Status read_once() {
    std::vector<std::string> call = {options_.decoder.string(), source_};
    if (options_.motion) call.push_back("--motion");
    SHOAL_ASSIGN(Process process, Process::start(call, {.inherit_environment = false,
                                                        .pipe_output = true,
                                                        .grace = milliseconds(500)}));
    std::optional<keyframe::Flow> motion;  // of the next frame
    Decoder decoder(std::move(process), options_.timeout, stop_);
    for (;;) {
      SHOAL_ASSIGN(const VideoHeader header, decoder.header());
      switch (header.kind) {
        case VideoMessage::kOpened:
          opened(header);
          break;
        case VideoMessage::kFrame: {
          Tensor image = Tensor::uninitialized(
              {DType::kU8, {int64_t{header.height}, int64_t{header.width}, 3}});
          SHOAL_TRY(decoder.read(image.data<uint8_t>()));
          Frame frame{.number = number_,
                      .name = std::to_string(number_),
                      .time_us = time_of(header),
                      .image = std::move(image)};
          const bool fits =
              motion && motion->height == header.height && motion->width == header.width;
          if (fits && options_.motion) frame.motion = std::move(motion);
          motion.reset();
          if (live_) frame.arrived = Clock::now();
          put(std::move(frame));
          ++number_;
          break;
        }
        case VideoMessage::kMotion: {
          std::vector<uint8_t> bytes(header.bytes);
          SHOAL_TRY(decoder.read(bytes));
          motion = motion_of(header, bytes);
          break;
        }
        case VideoMessage::kFailed: {
          std::vector<uint8_t> text(header.bytes);
          SHOAL_TRY(decoder.read(text));
          return Status(Code::kCorrupt,
                        printable({reinterpret_cast<const char*>(text.data()), text.size()}));
        }
        case VideoMessage::kEnd:
          return {};
      }
    }
  }

  void opened(const VideoHeader& header) {
    const std::lock_guard lock(mutex_);
    opened_ = true;
    live_ = (header.flags & kLiveVideo) != 0;
    if (number_ == 0) {
      begin_ = Clock::now();
    } else {
      before_us_ = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_);
    }
    if (header.count > 0 && !live_) count_ = header.count;
    changed_.notify_all();
  }

  // A stream that is connected to again begins anew, but time goes on. A decoder may say anything.
  int64_t time_of(const VideoHeader& header) const {
    constexpr int64_t kMost = int64_t{1} << 60;
    return std::clamp(header.time_us, -kMost, kMost) + before_us_.count();
  }

  // Of a live stream, in place of a frame that waits; of a file, when there is room.
  void put(Frame frame) {
    std::unique_lock lock(mutex_);
    if (live_) {
      const auto dropped =
          std::erase_if(waiting_, [](const Result<Frame>& one) { return one.ok(); });
      if (dropped > 0) frame.motion.reset();  // it is from a frame that was dropped
    } else {
      changed_.wait(lock, [&] { return waiting_.size() < kRoom || stop_; });
    }
    waiting_.push_back(std::move(frame));
    changed_.notify_all();
  }

  const std::string source_;
  const VideoOptions options_;
  size_t number_ = 0;                       // of the next frame; the thread's
  bool live_ = false;                       // the thread's
  Clock::time_point begin_;                 // the thread's: of the first connection
  std::chrono::microseconds before_us_{0};  // the thread's: from then to the present one

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Result<Frame>> waiting_;
  std::optional<size_t> count_;
  bool opened_ = false, ended_ = false;
  std::atomic<bool> stop_ = false;
  std::thread reader_;
};

}  // namespace

std::filesystem::path find_decoder() { return find_program("shoal-decode"); }

Result<std::unique_ptr<FrameSource>> open_video(const std::string& source,
                                                const VideoOptions& options) {
  VideoOptions with_decoder = options;
  if (with_decoder.decoder.empty()) with_decoder.decoder = find_decoder();
  if (with_decoder.decoder.empty()) {
    return part_missing(Part::kVideo, source + ": videos need shoal-decode, which is not here");
  }
  return std::unique_ptr<FrameSource>(
      std::make_unique<VideoSource>(source, std::move(with_decoder)));
}

}  // namespace shoal::watch
