#include "shoal/cluster/coordinator/runtime/task_run.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>

#include "shoal/base/threads/task_thread.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = TaskEvent::Kind;

constexpr std::chrono::milliseconds kLongestWait{200};  // to see that it is cancelled

// Looks for workers that a task has lost, on its own thread: connecting takes time, and others
// compute meanwhile.
class Reviver {
 public:
  Reviver(Coordinator& coordinator, std::chrono::milliseconds interval)
      : coordinator_(coordinator), interval_(interval) {}

  // Not looked for: other workers of the coordinator, and those that break the protocol.
  void leave_out(int worker) { except_.insert(worker); }

  // When to look next; nullopt if none is missing, or it looks now.
  std::optional<Clock::time_point> next() const {
    const auto is_missing = [&](int worker) { return !except_.contains(worker); };
    if (interval_.count() == 0 || is_looking_) return std::nullopt;
    if (!std::ranges::any_of(coordinator_.lost(), is_missing)) return std::nullopt;
    return last_ + interval_;
  }

  // Looks if it is time to.
  void look() {
    const auto due = next();
    if (!due || *due > Clock::now() || is_looking_.exchange(true)) return;
    last_ = Clock::now();
    thread_.post([this, except = except_] {
      coordinator_.revive_lost(except);
      is_looking_ = false;
    });
  }

 private:
  Coordinator& coordinator_;
  const std::chrono::milliseconds interval_;
  Workers except_;
  Clock::time_point last_ = {};
  std::atomic<bool> is_looking_ = false;
  TaskThread thread_;
};

class TaskRun {
 public:
  TaskRun(Coordinator& coordinator, TaskHub& hub, const TaskRunOptions& options)
      : coordinator_(coordinator),
        channel_(coordinator.tasks()),
        hub_(hub),
        options_(options),
        workers_(options.workers.begin(), options.workers.end()),
        reviver_(coordinator, options.retry_interval) {
    for (size_t i = 0; i < coordinator.worker_count(); ++i) {
      const auto worker = static_cast<int>(i);
      if (!workers_.contains(worker)) reviver_.leave_out(worker);
    }
  }
  ~TaskRun() { channel_.close(); }
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  Status run() {
    for (const int worker : workers_) SHOAL_TRY(begin(worker));
    while (!hub_.is_over()) {
      SHOAL_TRY(send());
      const Clock::time_point soon = Clock::now() + kLongestWait;
      const Clock::time_point look = reviver_.next().value_or(soon);
      for (const TaskEvent& event : channel_.wait(std::min({hub_.next_tick(), look, soon}))) {
        if (workers_.contains(event.worker)) SHOAL_TRY(take(event));
      }
      // Before the hub goes on: one that is lost meanwhile is not back before the hub knows.
      reviver_.look();
      hub_.tick(Clock::now());
      if (options_.cancelled()) hub_.stop();
      // Waiting for others is in vain.
      const bool is_alone = !workers_.empty() && gave_up_.size() == workers_.size();
      if (!hub_.is_over() && is_alone) return first_loss_;
    }
    const Status sent = send();
    channel_.flush();
    return hub_.status().ok() ? sent : hub_.status();
  }

 private:
  Status begin(int worker) {
    SHOAL_ASSIGN(TaskOutput setup, hub_.setup_of(worker));
    channel_.begin(worker, std::move(setup));
    return {};
  }

  Status send() {
    for (const int worker : hub_.take_dropped()) {
      reviver_.leave_out(worker);
      coordinator_.leave_out(worker, Status(Code::kUnavailable, "it does not work as it should"));
    }
    return hub_.send(channel_);
  }

  Status take(const TaskEvent& event) {
    switch (event.kind) {
      case Kind::kReady:
        hub_.ready(event.worker, Clock::now());
        return {};
      case Kind::kMessage:
        hub_.handle(event.worker, event.payload.bytes, Clock::now());
        return {};
      case Kind::kBack:
        gave_up_.erase(event.worker);
        return begin(event.worker);
      case Kind::kGaveUp:
        gave_up_.insert(event.worker);
        break;
      case Kind::kLost:
        break;
    }
    const auto worker = static_cast<size_t>(event.worker);
    const Status why = event.why.at("worker " + coordinator_.workers()[worker].name);
    if (first_loss_.ok()) first_loss_ = why;
    hub_.lose(event.worker, why, event.kind == Kind::kLost, Clock::now());
    return {};
  }

  Coordinator& coordinator_;
  TaskChannel& channel_;
  TaskHub& hub_;
  const TaskRunOptions& options_;
  const std::set<int> workers_;
  std::set<int> gave_up_;  // workers that are there and have no part
  Status first_loss_;
  Reviver reviver_;  // last: its thread uses the rest
};

}  // namespace

Status run_task(Coordinator& coordinator, TaskHub& hub, const TaskRunOptions& options) {
  SHOAL_TRY(coordinator.tasks().open(options.name, options.most_message_bytes));
  return TaskRun(coordinator, hub, options).run();
}

}  // namespace shoal::cluster
