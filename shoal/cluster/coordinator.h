// Coordinator: knows the workers, gives each its part of a plan, sends requests in and collects the
// answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shoal/cluster/measurement.h"
#include "shoal/cluster/requests.h"
#include "shoal/cluster/waker.h"
#include "shoal/cluster/wire.h"
#include "shoal/net/transport.h"
#include "shoal/plan/figures.h"

namespace shoal::cluster {

namespace message {
class Data;
class Failed;
}  // namespace message

struct WorkerInfo {
  std::string name;
  std::string address;
  int threads = 0;
  int64_t clock_ahead = 0;  // of the coordinator's, in nanoseconds
};

struct CoordinatorOptions {
  // How often workers hear something while a request is on its way, so that their radios do not
  // fall asleep. Zero: they may.
  std::chrono::milliseconds keep_awake{0};
};

class RemotePlan;

class Coordinator {
 public:
  // The transport outlives the coordinator. Fails, with the worker's address, if one cannot be
  // reached or speaks another version.
  static Result<std::unique_ptr<Coordinator>> connect(const std::vector<std::string>& addresses,
                                                      net::Transport& transport,
                                                      CoordinatorOptions options = {});
  ~Coordinator();  // no plan of it may be left

  const std::vector<WorkerInfo>& workers() const { return infos_; }
  net::Traffic traffic() const;   // of all channels to workers
  std::vector<int> lost() const;  // workers that are gone, by number

  // Weights that a worker does not have travel now. Ready to run when it returns. Only a traced
  // plan can be measured.
  Result<std::unique_ptr<RemotePlan>> deploy(const Graph& graph, const plan::Plan& plan,
                                             bool traced = false);

 private:
  friend class RemotePlan;

  struct Link {
    std::shared_ptr<net::Channel> channel;
    std::thread reader;
  };
  // What a worker has said to a deployment.
  struct Reply {
    bool came = false;
    Status status;
    std::vector<Hash> missing;
  };
  Coordinator() = default;
  void read(size_t worker);
  void wake_all();
  Status handle(size_t worker, const net::Frame& frame);
  Status collect(size_t worker, const message::Data& data, const net::Frame& frame);
  void hear_of_failure(size_t worker, const message::Failed& failed);
  void lose(size_t worker, const Status& why);
  Status assign(size_t worker, uint64_t plan, bool traced, const std::string& assignment,
                const std::map<Hash, Tensor>& weights);
  Result<Reply> exchange(size_t worker, const message::Message& message, const std::string& payload,
                         std::chrono::seconds patience);

  // Carries a request out, on the caller's thread.
  Status run(uint64_t service, std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds patience, plan::Timeline* measured);
  void begin(const Attempt& attempt, const std::vector<size_t>& sends,
             std::span<const Tensor> inputs);
  bool may_send(uint64_t attempt, size_t transfer);
  void forget(const Attempt& attempt);
  Status await_times(std::unique_lock<std::mutex>& lock, const Attempt& attempt,
                     net::Deadline deadline, plan::Timeline& measured);
  Status described(const Outcome& outcome) const;

  std::vector<WorkerInfo> infos_;
  std::vector<Link> links_;
  std::mutex deploying_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Status> lost_;    // by worker; why it is gone
  std::vector<Reply> replies_;  // by worker; one exchange at a time
  Requests requests_;
  std::map<uint64_t, Measurement> measurements_;  // by attempt
  uint64_t next_plan_ = 0;
  std::optional<Waker> waker_;  // first to go: it uses the rest
};

// A plan on its workers. Any number of requests may be on their way at once.
class RemotePlan {
 public:
  ~RemotePlan();  // releases it

  // Sends the request and waits for the answer, and for all times if they are wanted. kUnavailable
  // and kDeadline name the worker; both are worth another try.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds patience, plan::Timeline* measured = nullptr);

  const std::vector<int>& workers() const { return workers_; }  // that it needs, in order

 private:
  friend class Coordinator;
  RemotePlan(Coordinator& coordinator, CoursePtr course)
      : coordinator_(coordinator),
        course_(std::move(course)),
        workers_(plan::workers_of(course_->plan)) {}

  Coordinator& coordinator_;
  const CoursePtr course_;
  const std::vector<int> workers_;
};

}  // namespace shoal::cluster
