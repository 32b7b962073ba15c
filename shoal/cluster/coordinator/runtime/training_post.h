// TrainingPost: the messages between a coordinator and its workers in a training run. Those of
// workers become events in a queue; those to workers are sent by one thread, in order: where they
// share a medium, the first worker has all of its message while the last waits, and computes
// meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/coordinator/runtime/worker_links.h"
#include "shoal/cluster/worker/lesson.h"

namespace shoal::cluster {

namespace message {
class TrainReport;
}

struct TrainingEvent {
  enum class Kind : uint8_t {
    kReady,   // the worker has compiled its lesson
    kReport,  // it says something to the hub: `payload`
    kLost,    // it is gone, or has given the run up: `why`
    kBack     // it is there again, without a lesson
  };
  Kind kind = Kind::kReport;
  int worker = 0;
  net::Buffer payload = {};
  Status why = {};
};

// Thread-safe.
class TrainingPost {
 public:
  explicit TrainingPost(WorkerLinks& links) : links_(links) {}

  // Begins a run and returns its number: events are collected. A report of a worker has at most so
  // many bytes. Fails with kExhausted while another run is open.
  Result<uint64_t> open(size_t most_report_bytes);
  void close();

  // Waits for the first event, until `deadline`, and takes all that there are.
  std::vector<TrainingEvent> wait(net::Deadline deadline);

  // Sends when what was posted before is sent. `payload` is asked for its pieces then, and what it
  // holds is freed behind it. Never blocks.
  using Payload = std::function<std::vector<net::Bytes>()>;
  void post(int worker, const message::Message& message, Payload payload);
  // The lesson of the open run, and what the hub says in it. `own_data`: the worker learns from its
  // own. Fails as encode_lesson().
  Status teach(int worker, const Lesson& lesson, bool own_data = false);
  void order(int worker, std::shared_ptr<const std::vector<std::byte>> message);
  void flush();  // waits until all is sent, or cannot be

  // What the coordinator gets. A status that is not OK loses the worker.
  Result<net::Buffer> place(const message::TrainReport& report, size_t bytes);
  Status take_ready(int worker, uint64_t run);
  Status take_report(int worker, uint64_t run, const net::Buffer& payload);
  void take_failure(int worker, uint64_t run, const Status& why);
  void lose(int worker, const Status& why);
  void revive(int worker);

 private:
  Status add(uint64_t run, TrainingEvent event);
  uint64_t open_run();

  WorkerLinks& links_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t run_ = 0;      // the last one
  bool is_open_ = false;  // whether it goes on
  size_t most_report_bytes_ = 0;
  std::vector<TrainingEvent> events_;
  std::map<int, int> waiting_;  // events of each worker
  TaskThread sender_{size_t{1} << 40};
};

}  // namespace shoal::cluster
