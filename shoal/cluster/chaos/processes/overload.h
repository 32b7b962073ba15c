// Overload: clients send many times as many requests as the workers can answer.
//
// The clients share this machine with the workers, and their cost must not count as the cluster's.
// They therefore run in all phases, at the same rate; in the calm phases they skip requests:
//
//   calm      one request at a time
//   capacity  as many at a time as keep the workers busy
//   overload  all
//
// The phases take turns, so that the machine is in the same state for all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/timing/latency_recorder.h"
#include "shoal/cluster/chaos/verdict.h"

namespace shoal::chaos {

struct OverloadOptions {
  double times = 10;  // the capacity that is offered
  size_t clients = 200;
  double seconds = 10;  // of overload, in all
  // Timeout of a request, as a multiple of the p99 of calm requests.
  double timeout_factor = 2.5;
  double calm_seconds = 1, capacity_seconds = 2;  // for every five of overload
  double longest_recovery = 30;                   // seconds after which it is not waited for
};

struct OverloadReport {
  double capacity_per_s = 0;         // answers, without overload
  double faulty_capacity_per_s = 0;  // with faults; 0: there are none
  double offered_per_s = 0;          // requests that were sent in overload
  double answered_per_s = 0;         // right answers in overload
  double timeout_ms = 0;             // of a request in overload
  double recovery_s = 0;  // from the end of overload until all is as before it; the longest
  uint64_t answered = 0;
  uint64_t refused = 0;  // at once, with kExhausted
  uint64_t late = 0;     // accepted, but not answered before the timeout
  uint64_t failed = 0;   // for other reasons
  uint64_t wrong = 0;
  LatencyRecorder calm;      // one request at a time
  LatencyRecorder accepted;  // in overload: answered or late
  LatencyRecorder refusals;  // how long a refusal took
  std::string first_failure;

  Verdict verdict() const;
  double goodput() const { return capacity_per_s > 0 ? answered_per_s / capacity_per_s : 0; }
};

struct OverloadReply {
  Status status;
  bool is_right = false;  // where the status is OK
};

// Sends a request, and waits for its end. Called on many threads at once.
using OverloadAsk =
    std::function<OverloadReply(uint64_t client, std::chrono::milliseconds timeout)>;

// `set_faults`, if given, is called with true before every phase of overload and with false after
// it, to inject faults meanwhile. The capacity is then measured with faults, too. REQUIRES: times >
// 0, clients > 0, timeout_factor > 0
OverloadReport run_overload(const OverloadOptions& options, const OverloadAsk& ask,
                            const std::function<void(bool)>& set_faults = nullptr);

}  // namespace shoal::chaos
