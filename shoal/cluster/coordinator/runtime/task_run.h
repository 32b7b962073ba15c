// Runs a task (worker/task.h) on the workers of a cluster: the hub decides, this connects. A lost
// worker is looked for, and begins the task anew when it is back.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "shoal/cluster/coordinator/runtime/coordinator.h"

namespace shoal::cluster {

// The coordinator's end of a task: takes events and sends through the channel. Needs no lock.
class TaskHub {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~TaskHub() = default;
  // The setup with which a worker begins.
  virtual Result<TaskOutput> setup_of(int worker) = 0;
  virtual void ready(int worker, Time now) = 0;  // it has begun
  virtual void handle(int worker, net::Bytes message, Time now) = 0;
  // The worker is gone or, if `may_return` is false, has given the task up. `why` has its name.
  virtual void lose(int worker, const Status& why, bool may_return, Time now) = 0;
  virtual void tick(Time now) = 0;
  virtual Time next_tick() const = 0;  // when to call tick() if nothing else happens
  virtual void stop() = 0;             // it was cancelled: the task is over soon
  // Sends all messages that are due. A failure ends the task.
  virtual Status send(TaskChannel& channel) = 0;
  virtual std::vector<int> take_dropped() = 0;  // workers that break the protocol
  virtual bool is_over() const = 0;
  virtual Status status() const = 0;  // why it is
};

struct TaskRunOptions {
  std::string name;               // by which workers know the task
  size_t most_message_bytes = 0;  // that a worker says at once
  std::vector<int> workers = {};  // that take part
  // Between two attempts to reach lost workers; 0: they are not looked for.
  std::chrono::milliseconds retry_interval{200};
  std::function<bool()> cancelled = [] { return false; };  // asked now and then: hub.stop()
};

// Blocks until the hub's task is over. Fails as the hub does, with kExhausted while another task
// runs, and with the first worker's error if all have given up.
Status run_task(Coordinator& coordinator, TaskHub& hub, const TaskRunOptions& options);

}  // namespace shoal::cluster
