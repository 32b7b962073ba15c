#include "shoal/cluster/chaos/processes/overload.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <vector>

#include "shoal/base/timing/closed_loop.h"
#include "shoal/base/timing/open_loop.h"

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

// What became of the requests of a phase, or of several.
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

  Phase& operator+=(const Phase& other) {
    sent += other.sent;
    answered += other.answered;
    refused += other.refused;
    late += other.late;
    failed += other.failed;
    wrong += other.wrong;
    accepted += other.accepted;
    refusals += other.refusals;
    seconds += other.seconds;
    if (first_failure.empty()) first_failure = other.first_failure;
    return *this;
  }
  double per_second(uint64_t count) const {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

class OverloadRun {
 public:
  OverloadRun(const OverloadOptions& options, const OverloadAsk& ask,
              const std::function<void(bool)>& set_faults)
      : options_(options), ask_(ask), set_faults_(set_faults) {}

  OverloadReport run() {
    find_rate();
    // More than in later rounds: the timeout depends on its p99.
    calm_ += phase(2 * Seconds(options_.calm_seconds), 1, kPatient);
    const int rounds = std::max(1, static_cast<int>(std::ceil(options_.seconds / kRound.count())));
    for (int i = 0; i < rounds; ++i) {
      calm_ += phase(Seconds(options_.calm_seconds), 1, kPatient);
      busy_ += phase(Seconds(options_.capacity_seconds), kBusy, kPatient);
      if (set_faults_) {
        faulty_ += with_faults(Seconds(options_.capacity_seconds), kBusy, kPatient);
      }
      overload_ += with_faults(std::min(kRound, Seconds(options_.seconds)), 0, timeout());
    }
    return report();
  }

 private:
  // The rate is a multiple of the capacity, and the capacity falls as the clients' own cost grows
  // with their rate. A guess without clients is corrected twice with them, half of the way, so that
  // it does not swing. Requests that fail are seen in what follows.
  void find_rate() {
    constexpr Seconds kTime{1};
    const auto loop = run_closed_loop(kBusy, kTime, [&] { return ask_(0, kPatient).status; });
    rate_ = options_.times * (loop.ok() ? std::max(1.0, loop->requests_per_s()) : 1.0);
    for (int i = 0; i < 2; ++i) {
      const Phase busy = phase(kTime, kBusy, kPatient);
      rate_ = std::sqrt(rate_ * options_.times * std::max(1.0, busy.per_second(busy.answered)));
    }
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
    for (const Phase& part : parts) all += part;
    return all;
  }

  // Of a request in overload.
  std::chrono::milliseconds timeout() const {
    const double ms = options_.timeout_factor * calm_.accepted.quantile(0.99);
    return std::chrono::milliseconds(std::max(1L, std::lround(ms)));
  }

  Phase with_faults(Seconds time, size_t most_at_once, std::chrono::milliseconds timeout) {
    if (set_faults_) set_faults_(true);
    Phase all = phase(time, most_at_once, timeout);
    ended_ = Clock::now();
    // Meanwhile the latest fault comes to its end, which takes longer than requests notice it.
    auto recovered = std::async(std::launch::async, [this] { return recovery(); });
    if (set_faults_) set_faults_(false);
    recovery_s_ = std::max(recovery_s_, recovered.get());
    return all;
  }

  // As before: a number of requests in a row are answered, half of them as quickly as calm ones.
  double recovery() const {
    constexpr size_t kRow = 10;
    const double usual = calm_.accepted.quantile(0.99);
    while (ms_since(ended_) < 1e3 * options_.longest_recovery) {
      const double begin = ms_since(ended_);
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

  OverloadReport report() const {
    OverloadReport report;
    report.capacity_per_s = busy_.per_second(busy_.answered);
    report.faulty_capacity_per_s = faulty_.per_second(faulty_.answered);
    report.offered_per_s = overload_.per_second(overload_.sent);
    report.answered_per_s = overload_.per_second(overload_.answered);
    report.timeout_ms = static_cast<double>(timeout().count());
    report.recovery_s = recovery_s_;
    report.answered = overload_.answered;
    report.refused = overload_.refused;
    report.late = overload_.late;
    report.calm = calm_.accepted;
    report.accepted = overload_.accepted;
    report.refusals = overload_.refusals;
    for (const Phase* phase : {&calm_, &busy_, &faulty_, &overload_}) {
      report.failed += phase->failed;
      report.wrong += phase->wrong;
      if (report.first_failure.empty()) report.first_failure = phase->first_failure;
    }
    return report;
  }

  const OverloadOptions options_;
  const OverloadAsk& ask_;
  const std::function<void(bool)>& set_faults_;
  double rate_ = 1;
  Phase calm_, busy_, faulty_, overload_;
  Clock::time_point ended_;  // the phase before
  double recovery_s_ = 0;
};

}  // namespace

Verdict OverloadReport::verdict() const {
  if (wrong > 0) return Verdict::wrong("answers are wrong");
  return failed > 0 ? Verdict::failed(first_failure) : Verdict();
}

OverloadReport run_overload(const OverloadOptions& options, const OverloadAsk& ask,
                            const std::function<void(bool)>& set_faults) {
  return OverloadRun(options, ask, set_faults).run();
}

}  // namespace shoal::chaos
