// Checks: the requests of a coordinator that are checked for lies, from the answer to the last
// report. Draws which requests these are, and collects the workers' reports. No threads, no clock
// and no network: RequestRunner carries its decisions out.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "shoal/cluster/coordinator/policy/requests.h"
#include "shoal/cluster/tasks/witness.h"

namespace shoal::cluster {

// A dispute and its reporter: a worker, or plan::kCoordinator.
struct ReportedDispute {
  int reporter = 0;
  Dispute dispute;
};

// A checked request about which workers contradict each other.
struct DisputedRequest {
  Attempt attempt;
  std::vector<Tensor> inputs;
  double tolerance = 0;
  std::vector<ReportedDispute> disputes;
};

// The pieces that a machine of a plan has in the end: those sent to it and those that it makes.
size_t pieces_of(const plan::ScheduledPlan& scheduled, int machine);

// Not thread-safe.
class Checks {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Counts of requests that were checked.
  struct Tally {
    uint64_t checked = 0;   // all of their workers have reported
    uint64_t dropped = 0;   // a worker was lost or late, or too many were being checked
    uint64_t disputed = 0;  // of either
  };

  // Checks one request of every `interval`; 0: none. It is drawn after they have been answered, so
  // that no worker knows it before.
  void set_interval(uint64_t interval);
  bool is_on() const { return interval_ > 0; }

  // An attempt begins that may be checked once it is over. Pieces of its answer are kept until
  // then, and while it is checked.
  void watch(const Attempt& attempt);
  // A piece of an answer came, before or after the answer was complete. True if a disputed request
  // is ready to be taken.
  bool arrive(uint64_t attempt, const std::string& worker, const plan::Piece& piece,
              const Tensor& elements);
  // The type of a piece of a watched attempt; nullopt if the attempt is not watched, or if this
  // worker does not send such a piece.
  std::optional<TensorType> expect(int worker, uint64_t attempt, const plan::Piece& piece) const;

  // A request was answered. Returns true, and copies the inputs, if it is to be checked: its
  // workers continue, and are sent a Check.
  bool begin(const Attempt& attempt, std::span<const Tensor> inputs, Time now);
  // An attempt is over and not checked.
  void drop(uint64_t attempt);

  // Takes a worker's report. True if a disputed request is ready to be taken.
  bool report(int worker, uint64_t attempt, const std::vector<Dispute>& disputes);
  // A worker is lost: checks that need it cannot be completed.
  void lose(int worker);
  // Ends the checks that have waited too long, with the reports so far, and returns them. The
  // caller tells their workers to forget them.
  std::vector<Attempt> expire(Time now);

  std::vector<DisputedRequest> take_disputed();
  const Tally& tally() const { return tally_; }

 private:
  struct Open {
    DisputedRequest request;
    std::set<int> awaited;  // machines that have not reported
    Time since;
  };

  bool draw();
  bool close(std::map<uint64_t, Open>::iterator open);

  uint64_t interval_ = 0;
  uint64_t drawn_ = 0, chosen_ = 0;  // place in the current interval; the place that is checked
  std::mt19937_64 random_{std::random_device{}()};
  Witness witness_;                              // of the coordinator
  std::map<uint64_t, DeployedPlanPtr> watched_;  // by attempt
  std::map<uint64_t, Open> open_;
  std::vector<DisputedRequest> disputed_;
  Tally tally_;
};

}  // namespace shoal::cluster
