// TaskChannel: the messages between a coordinator and its workers in a task (worker/task.h).
// Messages of workers become events in a queue. Messages to workers are sent by one thread, in
// order: on a shared medium, the first worker has all of its message while the last one waits, and
// computes meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/coordinator/runtime/worker_links.h"

namespace shoal::cluster {

namespace message {
class TaskMessage;
}

struct TaskEvent {
  enum class Kind : uint8_t {
    kReady,    // the worker has begun the task
    kMessage,  // it says something: `payload`
    kGaveUp,   // it is there, but has no part in the task any more: `why`
    kLost,     // it is gone: `why`
    kBack      // connected again, without the task
  };
  Kind kind = Kind::kMessage;
  int worker = 0;
  net::Buffer payload = {};
  Status why = {};
};

// Output to a worker. `pieces` of the payload are asked for when everything before is sent, and
// their memory is freed behind them.
struct TaskOutput {
  std::string header = {};
  std::function<std::vector<net::Bytes>()> pieces;
};
TaskOutput task_output(std::shared_ptr<const std::vector<std::byte>> payload);

// Thread-safe.
class TaskChannel {
 public:
  explicit TaskChannel(WorkerLinks& links) : links_(links) {}

  // Begins a task of this name: events are collected. `most_message_bytes` bounds a worker's
  // messages. Fails with kExhausted while another task is open.
  Status open(std::string name, size_t most_message_bytes);
  void close();

  // Waits for the first event, until `deadline`, and takes all events.
  std::vector<TaskEvent> wait(net::Deadline deadline);

  // Never block. begin() asks a worker to begin the open task, send() sends it a message.
  void begin(int worker, TaskOutput setup);
  void send(int worker, TaskOutput output);
  void flush();  // waits until all is sent, or cannot be

  // Messages to the coordinator. A status that is not OK loses the worker.
  Result<net::Buffer> place(const message::TaskMessage& message, size_t bytes);
  Status take_ready(int worker, uint64_t task);
  Status take_message(int worker, uint64_t task, const net::Buffer& payload);
  void take_failure(int worker, uint64_t task, const Status& why);
  void lose(int worker, const Status& why);
  void revive(int worker);

 private:
  Status add(uint64_t task, TaskEvent event);
  void add_always(TaskEvent event);
  void post(int worker, const message::Message& message, TaskOutput output);
  uint64_t open_task();

  WorkerLinks& links_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t task_ = 0;     // the last one
  std::string name_;      // of it
  bool is_open_ = false;  // whether it goes on
  size_t most_message_bytes_ = 0;
  std::vector<TaskEvent> events_;
  std::map<int, int> waiting_;  // events of each worker
  TaskThread sender_{size_t{1} << 40};
};

}  // namespace shoal::cluster
