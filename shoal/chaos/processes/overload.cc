#include "shoal/chaos/processes/overload.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "shoal/base/closed_loop.h"
#include "shoal/base/open_loop.h"

namespace shoal::chaos {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kPatient{20};
constexpr size_t kBusy = 16;  // requests at a time that keep all workers of a plan busy
constexpr Seconds kRound{5};  // of overload, before the other phases have their turn

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// What became of the requests of one phase.
struct Phase {
  uint64_t sent = 0, answered = 0, refused = 0, late = 0, failed = 0, wrong = 0;
  LatencyRecorder accepted, refusals;
  std::string first_failure;
  double seconds = 0;

  void add(const OverloadReply& reply, double ms) {
    const Code code = reply.status.code();
    if (code == Code::kExhausted) {
      ++refused;
      return refusals.add(ms);
    }
    accepted.add(ms);
    if (code == Code::kOk) {
      ++(reply.is_right ? answered : wrong);
    } else if (code == Code::kDeadline) {
      ++late;
    } else {
      ++failed;
      if (first_failure.empty()) first_failure = reply.status.message();
    }
  }
};

class OverloadRun {
 public:
  OverloadRun(const OverloadOptions& options, const OverloadAsk& ask,
              const std::function<void(bool)>& is_overloaded)
      : options_(options), ask_(ask), is_overloaded_(is_overloaded) {}

  OverloadReport run() {
    rate_ = options_.times * first_guess();
    const int rounds = std::max(1, static_cast<int>(std::ceil(options_.seconds / kRound.count())));
    double answered = 0, capacity_time = 0, overload_time = 0, sent = 0;
    for (int i = 0; i < rounds; ++i) {
      const Phase calm = phase(Seconds(options_.calm_seconds), 1, kPatient);
      report_.calm += calm.accepted;
      const Phase busy = phase(Seconds(options_.capacity_seconds), kBusy, kPatient);
      answered += static_cast<double>(busy.answered);
      capacity_time += busy.seconds;
      count_failures(calm);
      count_failures(busy);
      const Phase all = overload(std::min(kRound, Seconds(options_.seconds)));
      sent += static_cast<double>(all.sent);
      overload_time += all.seconds;
      count_in(all);
      report_.recovery_s = std::max(report_.recovery_s, recovery());
    }
    report_.capacity_per_s = answered / capacity_time;
    report_.offered_per_s = sent / overload_time;
    report_.answered_per_s = static_cast<double>(report_.answered) / overload_time;
    return std::move(report_);
  }

 private:
  // Answers per second, for the rate of the clients. Requests that fail are seen in what follows.
  double first_guess() const {
    constexpr Seconds kTime{1};
    const auto loop = run_closed_loop(kBusy, kTime, [&] { return ask_(0, kPatient).status; });
    return loop.ok() ? std::max(1.0, loop->requests_per_s()) : 1.0;
  }

  Phase phase(Seconds time, size_t most_at_once, std::chrono::milliseconds timeout) {
    // One part for each client, so that they share nothing while they send.
    std::vector<Phase> parts(options_.clients);
    const auto begin = Clock::now();
    Phase all;
    all.sent = run_open_loop(
        {.clients = options_.clients, .rate = rate_, .time = time, .most_at_once = most_at_once},
        [&](size_t client) {
          const auto sent = Clock::now();
          const OverloadReply reply = ask_(client, timeout);
          parts[client].add(reply, ms_since(sent));
        });
    all.seconds = ms_since(begin) / 1e3;
    for (const Phase& part : parts) {
      all.answered += part.answered;
      all.refused += part.refused;
      all.late += part.late;
      all.failed += part.failed;
      all.wrong += part.wrong;
      all.accepted += part.accepted;
      all.refusals += part.refusals;
      if (all.first_failure.empty()) all.first_failure = part.first_failure;
    }
    return all;
  }

  Phase overload(Seconds time) {
    report_.timeout_ms = std::max(1.0, std::ceil(options_.patience * report_.calm.quantile(0.99)));
    const std::chrono::milliseconds timeout(static_cast<int64_t>(report_.timeout_ms));
    if (is_overloaded_) is_overloaded_(true);
    Phase all = phase(time, 0, timeout);
    overload_ended_ = Clock::now();
    if (is_overloaded_) is_overloaded_(false);
    return all;
  }

  // As before: a number of requests in a row are answered, half of them as quickly as calm ones.
  double recovery() const {
    constexpr size_t kRow = 10;
    const double usual = report_.calm.quantile(0.99);
    while (ms_since(overload_ended_) < 1e3 * options_.longest_recovery) {
      const double begin = ms_since(overload_ended_);
      size_t answered = 0, quick = 0;
      for (; answered < kRow; ++answered) {
        const auto sent = Clock::now();
        if (!ask_(0, kPatient).status.ok()) break;
        quick += ms_since(sent) <= usual ? 1 : 0;
      }
      if (answered == kRow && quick >= kRow / 2) return begin / 1e3;
    }
    return options_.longest_recovery;
  }

  void count_in(const Phase& all) {
    report_.answered += all.answered;
    report_.refused += all.refused;
    report_.late += all.late;
    report_.accepted += all.accepted;
    report_.refusals += all.refusals;
    count_failures(all);
  }

  void count_failures(const Phase& phase) {
    report_.failed += phase.failed;
    report_.wrong += phase.wrong;
    if (report_.first_failure.empty()) report_.first_failure = phase.first_failure;
  }

  const OverloadOptions options_;
  const OverloadAsk& ask_;
  const std::function<void(bool)>& is_overloaded_;
  double rate_ = 1;
  Clock::time_point overload_ended_;
  OverloadReport report_;
};

}  // namespace

OverloadReport run_overload(const OverloadOptions& options, const OverloadAsk& ask,
                            const std::function<void(bool)>& is_overloaded) {
  return OverloadRun(options, ask, is_overloaded).run();
}

}  // namespace shoal::chaos
