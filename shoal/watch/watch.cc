#include "shoal/watch/watch.h"

#include <chrono>
#include <optional>
#include <utility>

#include "shoal/base/latency_recorder.h"
#include "shoal/watch/watcher.h"

namespace shoal::watch {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

Result<WatchResult> watch(detect::Detector& detector, FrameSource& source,
                          const WatchOptions& options, const WatchCallbacks& callbacks) {
  Watcher watcher(options, [&detector](const Tensor& image, const detect::Suppression& how) {
    return detector.find(image, how);
  });
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
    SHOAL_ASSIGN(FrameAnswer answer, watcher.answer(**frame));
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
