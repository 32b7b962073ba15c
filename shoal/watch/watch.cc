#include "shoal/watch/watch.h"

#include <chrono>
#include <optional>
#include <utility>

#include "shoal/base/latency_recorder.h"

namespace shoal::watch {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Watch {
 public:
  Watch(detect::Detector& detector, const WatchOptions& options)
      : detector_(detector),
        options_(options),
        gate_(options.gate_options),
        tracker_(options.tracker) {}

  Result<FrameAnswer> answer(const Frame& frame) {
    FrameAnswer answer{.frame = frame.number, .name = frame.name};
    if (options_.gate) {
      const GateDecision decision = gate_.decide(frame.image);
      answer.looked = decision.look;
      answer.changed = decision.changed;
    }
    if (answer.looked) {
      SHOAL_ASSIGN(const auto found, detector_.find(frame.image, options_.suppression));
      if (options_.track) {
        follow(tracker_.update(found, frame.number + 1 - next_));
      } else {
        last_.clear();
        for (const detect::Detection& one : found) last_.push_back({.detection = one});
      }
      next_ = frame.number + 1;
    }
    // Nothing changed in a frame that was not looked at: objects are where they were.
    answer.seen = last_;
    return answer;
  }

 private:
  void follow(const std::vector<track::Track>& tracks) {
    last_.clear();
    for (const track::Track& track : tracks) {
      last_.push_back({.detection = track.detection, .id = track.id});
    }
  }

  detect::Detector& detector_;
  const WatchOptions& options_;
  Gate gate_;
  track::Tracker tracker_;
  std::vector<Seen> last_;
  size_t next_ = 0;  // the frame after the last that was looked at
};

}  // namespace

Result<WatchResult> watch(detect::Detector& detector, FrameSource& source,
                          const WatchOptions& options, const WatchCallbacks& callbacks) {
  Watch watching(detector, options);
  WatchResult result;
  LatencyRecorder latencies;
  std::optional<Status> last_failure;
  const Clock::time_point begin = Clock::now();
  while (options.frames == 0 || result.frames < options.frames) {
    if (callbacks.cancel != nullptr && *callbacks.cancel) break;
    auto frame = source.next();
    if (!frame.ok()) {
      if (callbacks.on_note) callbacks.on_note(std::string(frame.status().message()));
      last_failure = frame.status();
      continue;
    }
    if (!frame->has_value()) break;
    const Clock::time_point arrived = Clock::now();
    SHOAL_ASSIGN(FrameAnswer answer, watching.answer(**frame));
    answer.latency_ms = ms_since(arrived);
    latencies.add(answer.latency_ms);
    ++result.frames;
    result.skipped += answer.looked ? 0 : 1;
    result.changed += answer.changed;
    if (callbacks.on_frame) SHOAL_TRY(callbacks.on_frame(answer));
  }
  if (result.frames == 0 && last_failure) return *last_failure;
  result.seconds = ms_since(begin) / 1e3;
  if (result.frames > 0) {
    result.changed /= static_cast<double>(result.frames);
    result.latency_ms_p50 = latencies.quantile(0.5);
    result.latency_ms_p99 = latencies.quantile(0.99);
  }
  return result;
}

}  // namespace shoal::watch
