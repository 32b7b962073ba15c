// TaskRunner: runs one task of a coordinator on a worker. Messages wait in a queue; a thread
// handles them in order, and lets the task compute in between. TaskRunners: those of all
// coordinators, at most one for each.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/worker/task.h"

namespace shoal::cluster {

namespace message {
class BeginTask;
class TaskMessage;
}  // namespace message

// Thread-safe.
class TaskRunner {
 public:
  // The resources that the worker gives it.
  struct Machine {
    Device& device;
    std::mutex& computing;  // held while the device computes
    size_t most_bytes = 0;  // of the memory of a step
  };

  TaskRunner(uint64_t task, std::shared_ptr<net::Channel> coordinator)
      : task_(task), coordinator_(std::move(coordinator)) {}

  uint64_t task() const { return task_; }
  // Queues a message for run(). kExhausted if too many wait.
  Status take(TaskInput input);
  void stop();  // run() returns soon

  // Begins the task, reports that to the coordinator, and runs it until it is over or stopped. Once
  // only. Fails as `begin` and the task do.
  Status run(const BeginTask& begin, TaskInput input, const Machine& machine);

 private:
  std::optional<TaskInput> next_input(bool has_work);
  bool is_stopped();
  Status say_ready();
  Status say(net::Bytes payload);

  const uint64_t task_;
  const std::shared_ptr<net::Channel> coordinator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TaskInput> inputs_;
  bool stopped_ = false;
};

// Thread-safe.
class TaskRunners {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  TaskRunners(TasksByName tasks, const TaskRunner::Machine& machine)
      : tasks_(std::move(tasks)), machine_(machine) {}

  // Returns a function that runs the task, once, and blocks until it is over. A coordinator's
  // previous task is given up. kUnsupported if there is none of this name, and kCorrupt for an
  // invalid header.
  Result<std::function<Status()>> begin(const ChannelPtr& channel, const message::BeginTask& begin,
                                        const net::Frame& frame);
  // Takes a coordinator's message to its task. kUnavailable if it has none, and kCorrupt for an
  // invalid header.
  Status take(const ChannelPtr& channel, const message::TaskMessage& message,
              const net::Frame& frame);
  void forget(const ChannelPtr& channel);  // it is gone

 private:
  const TasksByName tasks_;
  const TaskRunner::Machine machine_;
  std::mutex mutex_;
  std::map<ChannelPtr, std::shared_ptr<TaskRunner>> runners_;
};

}  // namespace shoal::cluster
