#include "shoal/video/watch/run/watch.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/video/watch/run/watcher.h"

namespace shoal::watch {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Watched {
  Watcher watcher;
  WatchResult result = {};
  LatencyRecorder latencies = {};
  bool ended = false;
  std::optional<Clock::time_point> failing_since = {};  // its detector
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
// nullopt if all have ended or it is over.
std::optional<size_t> next_turn(std::span<const Stream> streams, const std::vector<Watched>& all,
                                size_t first, const std::atomic<bool>* cancel) {
  using std::chrono::milliseconds;
  const auto ready = [&](size_t i) { return streams[i].source->ready(milliseconds(0)); };
  const auto ended = [](const Watched& watched) { return watched.ended; };
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
  for (Watched& watched : all) {
    results.all.frames += watched.result.frames;
    results.all.skipped += watched.result.skipped;
    results.all.changed += watched.result.changed;
    latencies += watched.latencies;
    finish(watched.result, watched.latencies, seconds);
    results.each.push_back(watched.result);
  }
  finish(results.all, latencies, seconds);
  return results;
}

class Watching {
 public:
  Watching(std::span<const Stream> streams, const WatchOptions& options,
           const WatchCallbacks& callbacks)
      : streams_(streams), options_(options), callbacks_(callbacks) {
    for (const Stream& one : streams) {
      const auto find = [detector = one.detector](const Tensor& image,
                                                  const detect::Suppression& suppression) {
        return detector->find(image, suppression);
      };
      all_.push_back({Watcher(options, find)});
    }
  }

  Result<StreamResults> run() {
    const Clock::time_point begin = Clock::now();
    SHOAL_TRY(options_.at_once ? at_once() : in_turn());
    StreamResults results = results_of(all_, ms_since(begin) / 1e3);
    if (results.all.frames == 0 && last_failure_) return *last_failure_;
    return results;
  }

 private:
  Status in_turn() {
    for (size_t first = 0;;) {
      const auto turn = next_turn(streams_, all_, first, callbacks_.cancel);
      if (!turn) return {};
      first = *turn + 1;
      SHOAL_TRY(step(*turn));
    }
  }

  Status at_once() {
    std::vector<Status> ends(streams_.size());
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < streams_.size(); ++i) {
        try {
          threads.emplace_back([this, i, &end = ends[i]] { end = watch_one(i); });
        } catch (const std::system_error&) {
          has_failed_ = true;
          ends[i] = Status(Code::kExhausted, "no thread is to be had");
        }
      }
    }
    const auto failed = std::ranges::find_if(ends, [](const Status& end) { return !end.ok(); });
    return failed != ends.end() ? *failed : Status();
  }

  Status watch_one(size_t stream) {
    Status end;
    try {
      while (end.ok() && !all_[stream].ended && !is_over()) end = step(stream);
    } catch (const std::bad_alloc&) {
      end = Status(Code::kExhausted, "out of memory");
    }
    if (!end.ok()) has_failed_ = true;
    return end;
  }

  bool is_over() const {
    return has_failed_ || (callbacks_.cancel != nullptr && *callbacks_.cancel);
  }

  void note(const Status& why) {
    const std::lock_guard lock(mutex_);
    if (callbacks_.on_note) callbacks_.on_note(std::string(why.message()));
  }

  Status step(size_t stream) {
    Watched& watched = all_[stream];
    auto frame = streams_[stream].source->next();
    if (!frame.ok()) {
      note(frame.status());
      const std::lock_guard lock(mutex_);
      last_failure_ = frame.status();
      return {};
    }
    watched.ended = !frame->has_value();
    if (watched.ended) return {};
    const Clock::time_point arrived = (*frame)->arrived.value_or(Clock::now());
    if (streams_[stream].see) streams_[stream].see(**frame);
    auto answer = watched.watcher.answer(**frame);
    if (!answer.ok()) return wait_for_detector(watched, answer.status());
    watched.failing_since.reset();
    answer->source = stream;
    answer->latency_ms = ms_since(arrived);
    SHOAL_TRY(take(*answer, watched));
    watched.ended = watched.result.frames == options_.frames;
    return {};
  }

  Status take(const FrameAnswer& answer, Watched& watched) {
    watched.latencies.add(answer.latency_ms);
    ++watched.result.frames;
    watched.result.skipped += answer.looked ? 0 : 1;
    watched.result.changed += answer.changed;
    const std::lock_guard lock(mutex_);
    return callbacks_.on_frame ? callbacks_.on_frame(answer) : Status();
  }

  Status wait_for_detector(Watched& watched, const Status& why) {
    constexpr std::array kPassing = {Code::kUnavailable, Code::kDeadline, Code::kExhausted};
    if (std::ranges::find(kPassing, why.code()) == kPassing.end()) return why;
    const Clock::time_point now = Clock::now();
    if (!watched.failing_since) watched.failing_since = now;
    if (now - *watched.failing_since >= options_.detector_timeout) return why;
    note(why);
    std::this_thread::sleep_for(kPause);
    return {};
  }

  static constexpr std::chrono::milliseconds kPause{20};  // so that files do not run through

  const std::span<const Stream> streams_;
  const WatchOptions& options_;
  const WatchCallbacks& callbacks_;
  std::vector<Watched> all_;  // each used by the thread of its stream
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::optional<Status> last_failure_;
};

}  // namespace

Result<StreamResults> watch_all(std::span<const Stream> streams, const WatchOptions& options,
                                const WatchCallbacks& callbacks) {
  return Watching(streams, options, callbacks).run();
}

Result<WatchResult> watch(detect::Detector& detector, FrameSource& source,
                          const WatchOptions& options, const WatchCallbacks& callbacks) {
  const Stream stream{&source, &detector};
  SHOAL_ASSIGN(StreamResults results, watch_all(std::span(&stream, 1), options, callbacks));
  return results.all;
}

}  // namespace shoal::watch
