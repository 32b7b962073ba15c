// Election: which of several servers answers, decided by one record in a shared store.
//
// The record names its holder, and the store counts its changes. A server that swaps it for its
// own, on condition that it has not changed since it was read, leads. It swaps it again in time.
// The others read it regularly; one that has seen the same record for a time T swaps it:
//
//   the holder leads until   asked + 0.9 T,   asked: when it sent the last swap that was done
//   another may swap from    seen + T,        seen: when it was told of that record
//
// The record changed between `asked` and `seen`. So no two lead at once as long as no clock runs
// more than a ninth faster than another; absolute times do not matter. A leader that cannot reach
// the store stops by its own clock. After a leader's death another one leads within T, the time
// between two reads and a few round trips. This is the algorithm of Kubernetes (client-go,
// leaderelection), which waits for a change of the record as well, and trusts no clock.
//
// Leases of etcd would need no writes. But they are whole seconds, at least two unless etcd was
// told to elect faster, and end up to half a second late.
//
// No I/O: times and answers of the store in, requests out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/timing/boot_clock.h"

namespace shoal::serve {

using Moment = BootClock::time_point;

struct Record {
  std::string holder;    // empty: the last one gave it up
  int64_t revision = 0;  // of its last change, above 0; 0: there is no record
  bool operator==(const Record&) const = default;
};

// Reads the record. With a holder, first swaps it if its revision is the expected one.
struct StoreRequest {
  std::optional<std::string> holder;
  int64_t expected = 0;
};

struct StoreAnswer {
  bool swapped = false;
  Record record;  // as it is now
};

struct ElectionOptions {
  std::string id;  // that no other server has, nor had an earlier process of this one
  std::chrono::nanoseconds ttl = std::chrono::milliseconds(1500);  // T
};

// Times of calls ascend.
class Election {
 public:
  explicit Election(ElectionOptions options) : options_(std::move(options)) {}

  // The next request to the store; nullopt before wake(). REQUIRES: the last request was answered.
  std::optional<StoreRequest> next(Moment now);
  // nullopt: the store did not answer in time. It may have executed the request, or do so later.
  void answered(const std::optional<StoreAnswer>& answer, Moment now);
  // When to call next() again.
  Moment wake() const { return wake_; }

  // This server leads until then, if that is later than now.
  Moment leads_until() const { return leads_until_; }
  // Stops leading at once; next() gives the record up, if it was this server's.
  void resign();

  // How long to wait for an answer: a leader asks again before it has to stop.
  static std::chrono::nanoseconds answer_timeout(std::chrono::nanoseconds ttl) { return ttl / 3; }

 private:
  bool may_swap(Moment now) const;

  const ElectionOptions options_;
  std::optional<Record> seen_;
  Moment seen_at_{};  // for the first time
  Moment asked_{};
  bool asked_to_swap_ = false;
  bool asked_to_lead_ = false;  // by that swap
  bool resigned_ = false;
  Moment wake_ = Moment::min();
  Moment leads_until_ = Moment::min();
};

}  // namespace shoal::serve
