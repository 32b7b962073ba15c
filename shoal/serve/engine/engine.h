// Engine: carries out the Scheduler's decisions, in real time, on the threads of its callers.
//
// A thread that submits a request runs batches until none is due. If the request can run at once,
// no other thread takes part: that saves two hand-overs, about 20 us. A server therefore has one
// thread more than the engine has slots, so that one is always left for sockets.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/engine/served_model.h"
#include "shoal/serve/protocol/documents.h"
#include "shoal/serve/queue/queue_scheduler.h"

namespace shoal::serve {

struct EngineOptions {
  size_t slots = 1;                              // batches that run at a time
  size_t max_waiting = 1024;                     // requests of a model
  Duration max_wait = std::chrono::seconds(1);   // for a request that others wait before
  Duration max_delay{0};                         // that a request waits for others to share a batch
  Duration max_time = std::chrono::seconds(60);  // for a request that sets no limit
};

// The limit for work on a thread that others wait for: a few times the cost of waking another.
inline constexpr Duration kQuick = std::chrono::microseconds(300);

// How a request ended.
struct Outcome {
  Status status;
  std::optional<Duration> retry_after;  // it was refused for now
  std::vector<Tensor> outputs;          // in the order of the model's
  std::vector<size_t> exits = {};       // that gave each item of the first output, the only one
};

struct Job {
  Inputs inputs;
  uint64_t client = 0;
  uint32_t priority = kUsualPriority;
  Time arrived{};
  std::optional<Duration> timeout;
  Wish wish = {};  // heeded by models with exits
  std::stop_token cancel;
  bool is_passing = false;  // the thread that submits it runs one batch at most
  // Called once, on any thread that calls the engine.
  std::function<void(Outcome)> done;
};

// Thread-safe.
class Engine {
 public:
  // `wake` is called with the latest time of the next pump(); on any thread, under a lock.
  Engine(Device& device, const EngineOptions& options, std::function<void(Time)> wake);

  // Names that may be loaded. REQUIRES: names are different.
  void add(ModelSource source);
  // Replaces the source of a name, from the next load on. REQUIRES: it was added.
  void replace(ModelSource source);
  ModelSource source_of(const std::string& name) const;  // REQUIRES: it was added
  // Loads the model anew. Until the new one is warm, and if it fails, the old one answers. Waiting
  // requests are answered by the model they came for. kNotFound if the name was not added.
  Status load(const std::string& name);
  // Refuses further requests; those that wait are answered.
  Status unload(const std::string& name);

  std::shared_ptr<ServedModel> find(const std::string& name) const;  // null if it is not loaded
  bool is_known(const std::string& name) const;                      // it was added
  std::vector<IndexEntry> index(bool ready_only) const;
  std::vector<NamedStatistics> statistics(const std::string& name) const;  // empty: of all

  // How a request would be refused now, if that follows from its client and priority alone: the
  // caller need not read the rest. It is counted as a request then. nullopt if it may be submitted,
  // or if the model is not loaded.
  std::optional<Outcome> refusal(const std::string& name, uint64_t client, uint32_t priority);
  // Whether a request of one item would run at once and take no longer than kQuick.
  bool is_quick(const std::string& name) const;
  // Answers the request now or later. False, with `job` unchanged, if the name has another model
  // since find() returned `model`.
  bool submit(const std::shared_ptr<ServedModel>& model, Job& job);
  // Requests whose `cancel` was stopped are given up soon.
  void cancel_stopped();
  // Runs what is due.
  void pump();

 private:
  struct Entry {
    ModelSource source;
    std::shared_ptr<ServedModel> model;  // null: not loaded
    uint64_t number = 0;                 // of the model's queue
    std::string state = "UNAVAILABLE", reason = "not loaded";
    ModelStatistics statistics;
  };
  struct Waiting {
    std::shared_ptr<ServedModel> model;
    Entry* entry = nullptr;
    uint64_t queue = 0;
    Job job;
    Time deadline;
  };
  struct Finished {
    std::function<void(Outcome)> done;
    Outcome outcome;
  };
  using Lock = std::unique_lock<std::mutex>;

  Entry* find_entry(const std::string& name);
  Waiting take(uint64_t id);
  void refuse(Waiting waiting, Status status, uint64_t ModelStatistics::*reason,
              std::vector<Finished>& finished);
  void pump(Lock& lock, std::vector<Finished>& finished, bool one_batch = false);
  void run_batch(Lock& lock, const SchedulerDecision& decision);
  // The statistics of a batch that ran. REQUIRES: the mutex is locked.
  static void count(const std::vector<Waiting>& batch, const Status& status, int64_t items,
                    Time begin, Time end);
  void forget_idle();

  Device& device_;
  const EngineOptions options_;
  const std::function<void(Time)> wake_;
  std::mutex loading_;  // one model at a time
  mutable std::mutex mutex_;
  std::map<std::string, Entry> models_;
  Scheduler scheduler_;
  std::unordered_map<uint64_t, Waiting> waiting_;  // by request
  std::vector<uint64_t> draining_;                 // queues of models that were replaced
  uint64_t last_request_ = 0, last_queue_ = 0;
  Time told_ = kNever;  // wake_
};

}  // namespace shoal::serve
