// Payloads stay in the memory in which they came until they are handled: the worker's budget for
// the frames of a peer (byte_budget.h) bounds what waits here, and what a task keeps of it.
#include "shoal/cluster/worker/task_runner.h"

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostInputs = size_t{1} << 16;  // of those outside the memory budget

Status check_header(const std::string& header) {
  if (header.size() <= kMostHeaderBytes) return {};
  return Status(Code::kCorrupt, "a task's message with a header that is too long");
}

}  // namespace

Status TaskRunner::take(TaskInput input) {
  const std::lock_guard lock(mutex_);
  if (inputs_.size() >= kMostInputs) {
    return Status(Code::kExhausted, "too many messages of a task wait");
  }
  inputs_.push_back(std::move(input));
  changed_.notify_one();
  return {};
}

void TaskRunner::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_one();
}

bool TaskRunner::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

// nullopt if it is stopped, or there is work and no input.
std::optional<TaskInput> TaskRunner::next_input(bool has_work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || has_work || !inputs_.empty(); });
  if (stopped_ || inputs_.empty()) return std::nullopt;
  TaskInput input = std::move(inputs_.front());
  inputs_.pop_front();
  return input;
}

Status TaskRunner::say(net::Bytes payload) {
  message::Message message;
  message.mutable_task_message()->set_task(task_);
  return send(*coordinator_, message, std::span(&payload, 1), false, net::after(kTaskTimeout));
}

Status TaskRunner::say_ready() {
  message::Message ready;
  ready.mutable_task_ready()->set_task(task_);
  return send(*coordinator_, ready);
}

Status TaskRunner::run(const BeginTask& begin, TaskInput input, const Machine& machine) {
  SHOAL_ASSIGN(const std::unique_ptr<SideTask> task,
               begin(machine.device, std::move(input), machine.most_bytes));
  SHOAL_TRY(say_ready());
  while (!task->is_over()) {
    if (const std::optional<TaskInput> next = next_input(task->has_work())) {
      SHOAL_TRY(task->handle(*next));
    } else {
      if (is_stopped()) return {};
      const std::lock_guard alone(machine.computing);
      SHOAL_TRY(task->work());
    }
    for (const std::vector<std::byte>& message : task->take_messages()) SHOAL_TRY(say(message));
  }
  return {};
}

Result<std::function<Status()>> TaskRunners::begin(const ChannelPtr& channel,
                                                   const message::BeginTask& begin,
                                                   const net::Frame& frame) {
  SHOAL_TRY(check_header(begin.header()));
  const auto found = tasks_.find(begin.name());
  if (found == tasks_.end()) {
    return Status(Code::kUnsupported, "this worker has no task of that name");
  }
  auto runner = std::make_shared<TaskRunner>(begin.task(), channel);
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<TaskRunner>& last = runners_[channel];
    if (last != nullptr) last->stop();
    last = runner;
  }
  return std::function<Status()>([this, runner, &begin_it = found->second,
                                  input = TaskInput{begin.header(), frame.payload}]() mutable {
    return runner->run(begin_it, std::move(input), machine_);
  });
}

Status TaskRunners::take(const ChannelPtr& channel, const message::TaskMessage& message,
                         const net::Frame& frame) {
  SHOAL_TRY(check_header(message.header()));
  std::shared_ptr<TaskRunner> runner;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runners_.find(channel);
    if (found != runners_.end()) runner = found->second;
  }
  if (runner == nullptr || runner->task() != message.task()) {
    return Status(Code::kUnavailable, "the task is not here");
  }
  return runner->take({message.header(), frame.payload});
}

void TaskRunners::forget(const ChannelPtr& channel) {
  const std::lock_guard lock(mutex_);
  const auto found = runners_.find(channel);
  if (found == runners_.end()) return;
  found->second->stop();
  runners_.erase(found);
}

}  // namespace shoal::cluster
