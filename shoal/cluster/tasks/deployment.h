// Deployment: the tasks of one worker in a plan, ready to run. It tracks which pieces each task
// still waits for, for any number of requests at once, and decodes missing pieces by an erasure
// code. No network, no threads and no clock.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "shoal/cluster/tasks/task_code.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/plan.h"

namespace shoal::cluster {

struct SendOrder {
  plan::Piece piece;
  int to = 0;
};

// The sends of a worker when it has computed a part.
std::vector<SendOrder> sends_of(const plan::Schedule& schedule, const plan::Part& part, int worker);

// A task as it was deployed.
struct WorkerTask {
  std::shared_ptr<Executable> executable;
  std::vector<plan::Piece> inputs, outputs;  // of its graph, in its order
  std::vector<SendOrder> sends;
  std::vector<TaskCode> codes;  // the box of an input that is data lies in that of its code
};

// A task whose inputs are all here.
struct ReadyTask {
  uint64_t request = 0;
  size_t task = 0;
  std::vector<Tensor> inputs;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Status status = {};  // not OK: no memory for the inputs, and the request is over
};

// OK iff all tasks that read or make a value agree on its element type. Deployment relies on it.
Status check_dtypes(const std::vector<WorkerTask>& tasks);

// Thread-safe.
class Deployment {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `wait`: how long a task waits for inputs that it could decode already. `most_bytes` bounds the
  // memory of inputs that come in parts, of all requests. REQUIRES: check_dtypes(tasks).
  explicit Deployment(std::vector<WorkerTask> tasks, std::chrono::milliseconds wait = {},
                      size_t most_bytes = std::numeric_limits<size_t>::max());

  const std::vector<WorkerTask>& tasks() const { return tasks_; }

  // Takes a piece of a value. Drops elements that are already present (several workers may send
  // them) and pieces of requests that have ended. A request ends at the latest deadline of its
  // pieces even without a message. Fails with
  //   kInvalidArgument  no task reads such a piece
  //   kExhausted        too many requests are in progress, or this one comes in too many parts, or
  //                     memory is short; the request is over then, unless it had not begun
  Status put(uint64_t request, const plan::Piece& piece, const Tensor& elements, Time now,
             Time deadline = Time::max());

  // The next task of the oldest request that can run. Each is returned once.
  std::optional<ReadyTask> take(Time now);
  // The time at which a task can run without further pieces, if there is one.
  std::optional<Time> next_time() const;

  // Takes the outputs of a task, for the tasks after it. The request ends with its last task, and
  // with kExhausted if memory is short.
  Status finish(const ReadyTask& task, std::span<const Tensor> outputs, Time now);

  void cancel(uint64_t request);  // later pieces of it are dropped

  // The element type of a value; nullopt if no task reads it.
  std::optional<DType> dtype_of(ValueId value) const;

 private:
  // A box of a value, filled piece by piece.
  struct Filling {
    Tensor tensor;
    std::vector<Region> missing;  // boxes, so that nothing counts twice
    size_t allocated = 0;         // bytes of the tensor, unless it is one that was put

    bool is_full() const { return missing.empty(); }
  };
  struct Inputs {
    std::vector<Filling> inputs;              // of one task
    std::vector<std::vector<Filling>> codes;  // by code and member
  };
  struct Request {
    std::vector<Inputs> tasks;
    size_t next = 0;  // task; they run in order
    bool running = false;
    Time deadline = Time::min();
    std::optional<Time> decodable;  // since when the next task could decode its missing inputs
  };
  enum class Readiness : uint8_t { kNo, kDecodable, kComplete };

  Request& request_at(uint64_t id);
  bool is_over(uint64_t request) const;
  void end(uint64_t request);
  void drop_expired(Time now);
  Readiness readiness(const Request& request) const;
  void note_readiness(Request& request, Time now) const;
  Status put_or_end(uint64_t id, Request& request, const plan::Piece& piece, const Tensor& elements,
                    bool& used);
  bool put_locked(Request& request, const plan::Piece& piece, const Tensor& elements);
  bool fill(Filling& filling, const plan::Piece& wanted, const TensorType& type,
            const plan::Piece& piece, const Tensor& elements);
  Tensor allocate(const TensorType& type);
  void let_go(const Inputs& inputs);
  void decode(ReadyTask& ready, const Inputs& from) const;

  const std::vector<WorkerTask> tasks_;
  const std::chrono::milliseconds wait_;
  const size_t most_bytes_;
  mutable std::mutex mutex_;
  size_t used_bytes_ = 0;  // of most_bytes_
  std::map<uint64_t, Request> requests_;
  std::set<uint64_t> over_;  // requests that ended or were cancelled, lately
  uint64_t all_over_ = 0;    // all requests before this one that are not under way are over
};

}  // namespace shoal::cluster
