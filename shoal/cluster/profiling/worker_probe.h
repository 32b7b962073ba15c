// WorkerProbe: asks a worker about itself, and measures it and its link, over its own connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/messages/greeting.h"
#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

struct WorkerState {
  std::string processor;
  int threads = 0;
  uint64_t memory_bytes = 0, free_bytes = 0;
  double load = 0;            // of its machine
  uint32_t plans = 0;         // deployed there
  uint64_t tasks = 0;         // computed since it started
  uint64_t weight_bytes = 0;  // kept there
  uint64_t plan_bytes = 0;    // of weights and activations that plans may have there
  double slowdown = 1;        // of its machine by other programs: see plan::slowdown()
};

// Not thread-safe: one question at a time. Errors name the worker.
class WorkerProbe {
 public:
  // Connects, within two seconds, and greets: see connect_to(). REQUIRES: the transport outlives
  // the probe.
  static Result<WorkerProbe> open(const ListedWorker& worker, net::Transport& transport);
  // Connects to all of them at the same time, so that any number of absent workers cost two seconds
  // together. Results are in the order of the workers.
  static std::vector<Result<WorkerProbe>> open_all(std::span<const ListedWorker> workers,
                                                   net::Transport& transport);

  Result<WorkerState> state();

  // Measures the latency, the bandwidth of the slower direction, and the additional time of the
  // first message after a pause.
  Result<plan::LinkProfile> measure_link();

  // Seconds that each graph takes there, measured for about `seconds` each; nullopt if the worker
  // lacks the memory. Graphs that differ only in names and weights are measured once.
  Result<std::vector<std::optional<double>>> time(std::span<const Graph> graphs, double seconds);

 private:
  explicit WorkerProbe(GreetedWorker worker)
      : name_(std::move(worker.info.name)),
        threads_(worker.info.threads),
        channel_(std::move(worker.channel)) {}

  Status exchange(const message::Message& question, net::Bytes payload, net::Deadline deadline,
                  message::Message& answer);
  Result<double> round_trip(size_t bytes_there, size_t bytes_back);
  Result<double> usual_round_trip();
  Result<double> bandwidth(double round_trip);
  Result<double> wake_up(double round_trip);
  Status named(const Status& status) const { return status.at("worker " + name_); }

  const std::string name_;
  const int threads_;
  const std::shared_ptr<net::Channel> channel_;
};

}  // namespace shoal::cluster
