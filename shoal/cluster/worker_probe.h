// WorkerProbe: what a worker can tell of itself and of the way to it, over a channel of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/folder.h"
#include "shoal/cluster/wire.h"
#include "shoal/graph/graph.h"
#include "shoal/net/transport.h"
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
};

// One question at a time. Errors name the worker.
class WorkerProbe {
 public:
  // Refuses whoever answers there by another name.
  static Result<WorkerProbe> open(const ListedWorker& worker, net::Transport& transport);

  // The channel, for whoever goes on with the worker; nothing can be asked any more.
  std::shared_ptr<net::Channel> release() && { return std::move(channel_); }

  Result<WorkerState> state();

  // Latency, the slower direction's bandwidth, and what the first message after a pause takes more.
  Result<plan::LinkProfile> measure_link();

  // Seconds that each graph takes there, tried for about `timeout` seconds. Graphs that differ in
  // names and weights only are tried once.
  Result<std::vector<double>> time(std::span<const Graph> graphs, double timeout);

 private:
  WorkerProbe(ListedWorker worker, std::shared_ptr<net::Channel> channel)
      : worker_(std::move(worker)), channel_(std::move(channel)) {}

  Status greet();
  Status exchange(const message::Message& question, net::Bytes payload, net::Deadline deadline,
                  message::Message& answer);
  Result<double> round_trip(size_t bytes_there, size_t bytes_back);
  Result<double> usual_round_trip();
  Result<double> bandwidth(double round_trip);
  Result<double> wake_up(double round_trip);
  Status named(const Status& status) const { return status.at("worker " + worker_.name); }

  const ListedWorker worker_;
  std::shared_ptr<net::Channel> channel_;
  int threads_ = 0;
};

}  // namespace shoal::cluster
