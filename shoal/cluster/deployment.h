// Deployment: what one worker does of a plan, ready to run. Knows which pieces each of its tasks
// still waits for, for any number of requests at once; knows nothing of the network.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "shoal/device/device.h"
#include "shoal/plan/plan.h"

namespace shoal::cluster {

struct SendOrder {
  plan::Piece piece;
  int to = 0;
};

// A task as it was deployed.
struct WorkerTask {
  std::unique_ptr<Executable> executable;
  std::vector<plan::Piece> inputs, outputs;  // of its graph, in its order
  std::vector<SendOrder> sends;
};

// A task whose inputs are all here.
struct ReadyTask {
  uint64_t request = 0;
  size_t task = 0;
  std::vector<Tensor> inputs;
};

class Deployment {
 public:
  explicit Deployment(std::vector<WorkerTask> tasks);

  const std::vector<WorkerTask>& tasks() const { return tasks_; }

  // A piece of a value is here. What is here already, as where several workers send the same, and
  // what comes after a request has ended are dropped. kInvalidArgument where no task reads such a
  // piece; kExhausted where more requests would be on their way than there may be.
  Status put(uint64_t request, const plan::Piece& piece, const Tensor& elements);

  // The next task of the oldest request that can run; it is handed out once.
  std::optional<ReadyTask> take();

  // What the task gave is here for the tasks after it. The request ends with its last task.
  void finish(const ReadyTask& task, std::span<const Tensor> outputs);

  void cancel(uint64_t request);

  // The type that a piece must have; nothing where no task reads such a value.
  std::optional<DType> dtype_of(ValueId value) const;

 private:
  // One input of one task: a box of a value, filled piece by piece.
  struct Filling {
    Tensor tensor;
    std::vector<Region> missing;  // boxes, so that nothing counts twice
  };
  struct Request {
    std::vector<std::vector<Filling>> inputs;  // by task and input
    size_t next = 0;                           // task; they run in order
    bool running = false;
  };

  Request& request_at(uint64_t id);
  bool is_over(uint64_t request) const;
  void end(uint64_t request);
  static bool is_ready(const Request& request);
  bool put_locked(Request& request, const plan::Piece& piece, const Tensor& elements);

  const std::vector<WorkerTask> tasks_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Request> requests_;
  std::set<uint64_t> over_;  // requests that ended or were cancelled, lately
  uint64_t all_over_ = 0;    // all requests before this one that are not under way are over
};

}  // namespace shoal::cluster
