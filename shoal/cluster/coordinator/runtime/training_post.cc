// Losses come under the lock of the links, so this never calls the links under its own.
#include "shoal/cluster/coordinator/runtime/training_post.h"

#include <latch>

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

// Of one worker. It says one thing at a time: more than a few are an attack.
constexpr int kMostEvents = 64;

}  // namespace

Result<uint64_t> TrainingPost::open(size_t most_report_bytes) {
  const std::lock_guard lock(mutex_);
  if (is_open_) return Status(Code::kExhausted, "these workers train another network");
  is_open_ = true;
  most_report_bytes_ = most_report_bytes;
  return ++run_;
}

void TrainingPost::close() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  events_.clear();
  waiting_.clear();
}

std::vector<TrainingEvent> TrainingPost::wait(net::Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return !events_.empty(); });
  waiting_.clear();
  return std::exchange(events_, {});
}

// By the link of now: one that is back when the message is sent would not understand it.
void TrainingPost::post(int worker, const message::Message& message, Payload payload) {
  const WorkerLinkPtr to = links_.link(worker);
  if (to == nullptr) return;
  sender_.post([to, message, payload = std::move(payload)] {
    const std::vector<net::Bytes> pieces = payload();
    const Status sent = send(to->channel(), message, pieces, false, net::after(kTrainTimeout));
    if (!sent.ok()) to->channel().close();  // its reader notices the loss
  });
}

uint64_t TrainingPost::open_run() {
  const std::lock_guard lock(mutex_);
  return run_;
}

Status TrainingPost::teach(int worker, const Lesson& lesson, bool own_data) {
  SHOAL_ASSIGN(EncodedLesson encoded, encode_lesson(lesson));
  message::Message message;
  message.mutable_train()->set_run(open_run());
  message.mutable_train()->set_lesson_bytes(encoded.message.size());
  message.mutable_train()->set_own_data(own_data);
  post(worker, message,
       [kept = std::make_shared<EncodedLesson>(std::move(encoded))] { return kept->pieces(); });
  return {};
}

void TrainingPost::order(int worker, std::shared_ptr<const std::vector<std::byte>> bytes) {
  message::Message message;
  message.mutable_train_order()->set_run(open_run());
  post(worker, message,
       [bytes = std::move(bytes)] { return std::vector<net::Bytes>{net::Bytes(*bytes)}; });
}

void TrainingPost::flush() {
  std::latch sent(1);
  sender_.post([&] { sent.count_down(); });
  sent.wait();
}

Result<net::Buffer> TrainingPost::place(const message::TrainReport& report, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    // One of a run that is over crossed its end.
    if (!is_open_ || report.run() != run_) return Status(Code::kCancelled, "the run is over");
    if (bytes > most_report_bytes_) return Status(Code::kCorrupt, "a report that is too long");
  }
  return net::Buffer::allocate(bytes);
}

Status TrainingPost::add(uint64_t run, TrainingEvent event) {
  const std::lock_guard lock(mutex_);
  if (!is_open_ || run != run_) return {};
  if (++waiting_[event.worker] > kMostEvents) {
    return Status(Code::kCorrupt, "more reports than anybody asks for");
  }
  events_.push_back(std::move(event));
  changed_.notify_one();
  return {};
}

Status TrainingPost::take_ready(int worker, uint64_t run) {
  return add(run, {TrainingEvent::Kind::kReady, worker});
}

Status TrainingPost::take_report(int worker, uint64_t run, const net::Buffer& payload) {
  return add(run, {TrainingEvent::Kind::kReport, worker, payload});
}

void TrainingPost::take_failure(int worker, uint64_t run, const Status& why) {
  // One too many loses the worker anyway.
  static_cast<void>(add(run, {TrainingEvent::Kind::kLost, worker, {}, why}));
}

// Never refused: it is the last event of a worker for now.
void TrainingPost::lose(int worker, const Status& why) {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return;
  events_.push_back({TrainingEvent::Kind::kLost, worker, {}, why});
  changed_.notify_one();
}

void TrainingPost::revive(int worker) {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return;
  events_.push_back({TrainingEvent::Kind::kBack, worker});
  changed_.notify_one();
}

}  // namespace shoal::cluster
