// A cluster in one process, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/worker/worker.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/profile.h"
#include "unhurried.h"

namespace shoal::cluster {

// Waits until `condition` holds; false if it does not within a minute, which is longer than any
// working machine needs.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // leaves the core to others
  }
  return true;
}

inline std::string address_of(int worker) { return "worker-" + std::to_string(worker); }

class Cluster {
 public:
  using MakeDevice = std::function<std::unique_ptr<Device>(int worker)>;

  // By default no peer is given up for silence.
  explicit Cluster(int workers, const std::shared_ptr<const net::Decorator>& of_last = nullptr,
                   CoordinatorOptions options = {}, const MakeDevice& make_device = reference,
                   const net::ChannelOptions& channels = unhurried())
      : workers_(static_cast<size_t>(workers)) {
    for (int i = 0; i < workers; ++i) {
      devices_.push_back(make_device(i));
      net::ChannelOptions channel = channels;
      if (of_last != nullptr && i == workers - 1) channel.decorators = {of_last};
      transports_.push_back(network_.transport(address_of(i), channel, net::Role::kWorker));
      start(static_cast<size_t>(i));
    }
    transports_.push_back(network_.transport("coordinator", channels));
    auto connected = connect(options);
    EXPECT_TRUE(connected.ok()) << connected.status().message();
    coordinator_ = *std::move(connected);
  }
  ~Cluster() {
    coordinator_.reset();
    workers_.clear();
  }

  static std::unique_ptr<Device> reference(int) { return make_reference_device(); }

  Coordinator& coordinator() { return *coordinator_; }
  net::LoopbackNetwork& network() { return network_; }
  Worker& worker(size_t i) { return *workers_[i]; }

  // Replaces the previous one.
  void start(size_t i, WorkerOptions options = {}) {
    options.tasks.merge(training_tasks());
    const std::string address = address_of(static_cast<int>(i));
    workers_[i].reset();
    options.name = address;
    workers_[i] = std::make_unique<Worker>(std::move(options), *devices_[i], *transports_[i]);
    auto listener = transports_[i]->listen(address);
    EXPECT_TRUE(listener.ok());
    workers_[i]->serve(*std::move(listener));
  }

  Result<std::unique_ptr<Coordinator>> connect(CoordinatorOptions options) {
    std::vector<ListedWorker> workers;
    for (size_t i = 0; i < workers_.size(); ++i) {
      const std::string address = address_of(static_cast<int>(i));
      workers.push_back({address, address});
    }
    return Coordinator::connect(workers, *transports_.back(), std::move(options));
  }

 private:
  net::LoopbackNetwork network_;
  std::vector<std::unique_ptr<net::Transport>> transports_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Coordinator> coordinator_;
};

inline std::vector<Tensor> run_whole(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto device = make_reference_device();
  auto executable = device->compile(graph);
  EXPECT_TRUE(executable.ok());
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE((*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

inline plan::ClusterProfile slow_workers(size_t count) {
  plan::ClusterProfile profile;
  for (size_t i = 0; i < count; ++i) {
    // So slow that every plan uses all of them.
    profile.workers.push_back(plan::uniform_worker(address_of(static_cast<int>(i)), 1, 1));
    profile.links.emplace_back();
  }
  return profile;
}

inline Graph wide_layers() {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 48, 48}});
  for (int i = 0; i < 3; ++i) x = *graph.add(ops::relu, {x});
  graph.mark_output(x);
  return graph;
}

}  // namespace shoal::cluster
