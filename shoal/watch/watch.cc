#include "shoal/watch/watch.h"

#include <algorithm>
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

// What is watched of one stream.
struct Watched {
  Watcher watcher;
  WatchResult result = {};
  LatencyRecorder latencies = {};
  bool ended = false;
};

// Those in order from `first` on, and then the ones before.
template <class Use>
std::optional<size_t> first_in_turn(const std::vector<Watched>& all, size_t first, Use is_so) {
  for (size_t k = 0; k < all.size(); ++k) {
    const size_t i = (first + k) % all.size();
    if (!all[i].ended && is_so(i)) return i;
  }
  return {};
}

// Whose turn it is: the next that has a frame, or the one that is left, which may take its time.
// Nothing if all have ended or it is over.
std::optional<size_t> next_turn(std::span<const Stream> streams, const std::vector<Watched>& all,
                                size_t first, const std::atomic<bool>* cancel) {
  using std::chrono::milliseconds;
  const auto ready = [&](size_t i) { return streams[i].source->ready(milliseconds(0)); };
  const auto ended = [](const Watched& one) { return one.ended; };
  for (;;) {
    if (cancel != nullptr && *cancel) return {};
    if (std::ranges::count_if(all, ended) + 1 >= std::ssize(all)) {
      return first_in_turn(all, first, [](size_t) { return true; });
    }
    if (const auto turn = first_in_turn(all, first, ready)) return turn;
    const auto waiting = first_in_turn(all, first, [](size_t) { return true; });
    streams[*waiting].source->ready(milliseconds(2));  // then the others are asked again
  }
}

void finish(WatchResult& result, const LatencyRecorder& latencies, double seconds) {
  result.seconds = seconds;
  if (result.frames == 0) return;
  result.changed /= static_cast<double>(result.frames);
  result.latency_ms_p50 = latencies.quantile(0.5);
  result.latency_ms_p99 = latencies.quantile(0.99);
}

StreamResults results_of(std::vector<Watched>& all, double seconds) {
  StreamResults results;
  LatencyRecorder latencies;
  for (Watched& one : all) {
    results.all.frames += one.result.frames;
    results.all.skipped += one.result.skipped;
    results.all.changed += one.result.changed;
    latencies += one.latencies;
    finish(one.result, one.latencies, seconds);
    results.each.push_back(one.result);
  }
  finish(results.all, latencies, seconds);
  return results;
}

// Answers one frame.
Status answer_frame(const Frame& frame, size_t stream, Watched& watched,
                    const WatchCallbacks& callbacks) {
  const Clock::time_point arrived = frame.arrived.value_or(Clock::now());
  SHOAL_ASSIGN(FrameAnswer answer, watched.watcher.answer(frame));
  answer.source = stream;
  answer.latency_ms = ms_since(arrived);
  watched.latencies.add(answer.latency_ms);
  ++watched.result.frames;
  watched.result.skipped += answer.looked ? 0 : 1;
  watched.result.changed += answer.changed;
  return callbacks.on_frame ? callbacks.on_frame(answer) : Status();
}

}  // namespace

Result<StreamResults> watch_all(std::span<const Stream> streams, const WatchOptions& options,
                                const WatchCallbacks& callbacks) {
  std::vector<Watched> all;
  for (const Stream& one : streams) {
    const auto find = [detector = one.detector](const Tensor& image,
                                                const detect::Suppression& how) {
      return detector->find(image, how);
    };
    all.push_back({Watcher(options, find)});
  }
  std::optional<Status> last_failure;
  const Clock::time_point begin = Clock::now();
  for (size_t first = 0;;) {
    const auto turn = next_turn(streams, all, first, callbacks.cancel);
    if (!turn) break;
    first = *turn + 1;
    Watched& watched = all[*turn];
    auto frame = streams[*turn].source->next();
    if (!frame.ok()) {
      if (callbacks.on_note) callbacks.on_note(std::string(frame.status().message()));
      last_failure = frame.status();
      continue;
    }
    watched.ended = !frame->has_value();
    if (watched.ended) continue;
    SHOAL_TRY(answer_frame(**frame, *turn, watched, callbacks));
    watched.ended = watched.result.frames == options.frames;
  }
  StreamResults results = results_of(all, ms_since(begin) / 1e3);
  if (results.all.frames == 0 && last_failure) return *last_failure;
  return results;
}

Result<WatchResult> watch(detect::Detector& detector, FrameSource& source,
                          const WatchOptions& options, const WatchCallbacks& callbacks) {
  const Stream one{&source, &detector};
  SHOAL_ASSIGN(StreamResults results, watch_all(std::span(&one, 1), options, callbacks));
  return results.all;
}

}  // namespace shoal::watch
