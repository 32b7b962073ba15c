// Losses come under the lock of the links, so this never calls the links under its own.
#include "shoal/cluster/coordinator/runtime/task_channel.h"

#include <latch>

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

// Of one worker. It says one thing at a time: more than a few are an attack.
constexpr int kMostEvents = 64;

}  // namespace

TaskOutput task_output(std::shared_ptr<const std::vector<std::byte>> payload) {
  return {.pieces = [payload = std::move(payload)] {
    return std::vector<net::Bytes>{net::Bytes(*payload)};
  }};
}

Status TaskChannel::open(std::string name, size_t most_message_bytes) {
  const std::lock_guard lock(mutex_);
  if (is_open_) return Status(Code::kExhausted, "these workers are busy with another task");
  is_open_ = true;
  name_ = std::move(name);
  most_message_bytes_ = most_message_bytes;
  ++task_;
  return {};
}

void TaskChannel::close() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  events_.clear();
  waiting_.clear();
}

std::vector<TaskEvent> TaskChannel::wait(net::Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return !events_.empty(); });
  waiting_.clear();
  return std::exchange(events_, {});
}

// By the link of now: one that is back when the message is sent would not understand it.
void TaskChannel::post(int worker, const message::Message& message, TaskOutput output) {
  const WorkerLinkPtr to = links_.link(worker);
  if (to == nullptr) return;
  sender_.post([to, message, pieces_of = std::move(output.pieces)] {
    const std::vector<net::Bytes> pieces = pieces_of();
    const Status sent =
        cluster::send(to->channel(), message, pieces, false, net::after(kTaskTimeout));
    if (!sent.ok()) to->channel().close();  // its reader notices the loss
  });
}

uint64_t TaskChannel::open_task() {
  const std::lock_guard lock(mutex_);
  return task_;
}

void TaskChannel::begin(int worker, TaskOutput setup) {
  message::Message message;
  message::BeginTask& begin = *message.mutable_begin_task();
  {
    const std::lock_guard lock(mutex_);
    begin.set_task(task_);
    begin.set_name(name_);
  }
  begin.set_header(setup.header);
  post(worker, message, std::move(setup));
}

void TaskChannel::send(int worker, TaskOutput output) {
  message::Message message;
  message.mutable_task_message()->set_task(open_task());
  message.mutable_task_message()->set_header(output.header);
  post(worker, message, std::move(output));
}

void TaskChannel::flush() {
  std::latch sent(1);
  sender_.post([&] { sent.count_down(); });
  sent.wait();
}

Result<net::Buffer> TaskChannel::place(const message::TaskMessage& message, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    // One of a task that is over crossed its end.
    if (!is_open_ || message.task() != task_) return Status(Code::kCancelled, "the task is over");
    if (bytes > most_message_bytes_) {
      return Status(Code::kCorrupt, "a task's message that is too long");
    }
  }
  return net::Buffer::allocate(bytes);
}

Status TaskChannel::add(uint64_t task, TaskEvent event) {
  const std::lock_guard lock(mutex_);
  if (!is_open_ || task != task_) return {};
  if (++waiting_[event.worker] > kMostEvents) {
    return Status(Code::kCorrupt, "more messages of a task than anybody asks for");
  }
  events_.push_back(std::move(event));
  changed_.notify_one();
  return {};
}

Status TaskChannel::take_ready(int worker, uint64_t task) {
  return add(task, {TaskEvent::Kind::kReady, worker});
}

Status TaskChannel::take_message(int worker, uint64_t task, const net::Buffer& payload) {
  return add(task, {TaskEvent::Kind::kMessage, worker, payload});
}

void TaskChannel::take_failure(int worker, uint64_t task, const Status& why) {
  // One too many loses the worker anyway.
  static_cast<void>(add(task, {TaskEvent::Kind::kGaveUp, worker, {}, why}));
}

// Never refused: it is the last event of a worker for now.
void TaskChannel::lose(int worker, const Status& why) {
  add_always({TaskEvent::Kind::kLost, worker, {}, why});
}

void TaskChannel::revive(int worker) { add_always({TaskEvent::Kind::kBack, worker}); }

void TaskChannel::add_always(TaskEvent event) {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return;
  events_.push_back(std::move(event));
  changed_.notify_one();
}

}  // namespace shoal::cluster
