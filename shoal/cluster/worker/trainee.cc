// Payloads stay in the memory in which they came until they are handled: the worker's budget for
// the frames of a peer (byte_budget.h) bounds what waits here, and examples that came ahead.
#include "shoal/cluster/worker/trainee.h"

#include <algorithm>
#include <chrono>

#include "messages.pb.h"
#include "shoal/base/overloaded.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostLetters = size_t{1} << 16;  // of those that hold no memory of the budget

}  // namespace

Status Trainee::post(Letter letter) {
  const std::lock_guard lock(mutex_);
  if (letters_.size() >= kMostLetters) {
    return Status(Code::kExhausted, "too many messages of a training run wait");
  }
  letters_.push_back(std::move(letter));
  changed_.notify_one();
  return {};
}

Status Trainee::take_order(const net::Frame& frame) { return post({std::nullopt, frame.payload}); }

Status Trainee::take_examples(int64_t step, int64_t number, const net::Frame& frame) {
  return post({Place{step, number}, frame.payload});
}

void Trainee::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_one();
}

bool Trainee::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

// Nothing if it is stopped, or there is work and no letter.
std::optional<Trainee::Letter> Trainee::next_letter(bool has_work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || has_work || !letters_.empty(); });
  if (stopped_ || letters_.empty()) return std::nullopt;
  Letter letter = std::move(letters_.front());
  letters_.pop_front();
  return letter;
}

Status Trainee::handle(const Letter& letter, learn::WorkerSession& session) {
  if (letter.examples) {
    if (examples_.size() >= kMostLetters) {
      return Status(Code::kExhausted, "too many examples of a training run");
    }
    examples_[*letter.examples] = letter.payload;
    return {};
  }
  SHOAL_ASSIGN(const learn::ToWorker message, learn::decode_for_worker(letter.payload.bytes));
  std::optional<int64_t> pulled, assigned;
  const auto forget_before = [&](int64_t step) {
    examples_.erase(examples_.begin(), examples_.lower_bound({step, 0}));
  };
  std::visit(Overloaded{[&](const learn::StateMessage& m) { forget_before(m.step); },
                        [&](const learn::PullMessage& m) { pulled = m.step + 1; },
                        [&](const learn::AssignMessage& m) { assigned = m.local_steps; },
                        [](const auto&) {}},
             message);
  SHOAL_TRY(session.handle(message));
  if (assigned) {
    local_steps_ = *assigned;
    computed_ = 0;
  }
  if (pulled) forget_before(*pulled * local_steps_);
  return {};
}

// The inputs are a view, for which the memory of a payload is aligned. Targets are few.
Result<learn::MicroBatch> Trainee::find_examples(int64_t step, int64_t number) {
  const auto found = examples_.find({step, number});
  if (found == examples_.end()) return Status(Code::kCorrupt, "the examples did not come");
  size_t bytes = 0;
  for (const TensorType& type : types_) bytes += type.bytes();
  net::Bytes left = found->second.bytes;
  if (left.size() != bytes) return Status(Code::kCorrupt, "examples have the wrong size");
  learn::MicroBatch batch{Tensor::view(types_[0], left.data(), found->second.keep), {}};
  left = left.subspan(types_[0].bytes());
  for (size_t i = 1; i < types_.size(); ++i) {
    Tensor target = Tensor::uninitialized(types_[i]);
    std::ranges::copy(left.first(types_[i].bytes()), target.bytes().begin());
    left = left.subspan(types_[i].bytes());
    batch.targets.push_back(std::move(target));
  }
  return batch;
}

Status Trainee::report(std::vector<learn::ToHub> messages) {
  for (learn::ToHub& one : messages) {
    if (auto* push = std::get_if<learn::PushMessage>(&one)) push->seconds = computed_;
    const std::vector<std::byte> bytes = encode(one);
    SHOAL_TRY(say(bytes));
  }
  return {};
}

Status Trainee::say(net::Bytes payload) {
  message::Message message;
  message.mutable_train_report()->set_run(run_);
  return send(*hub_, message, std::span(&payload, 1), false, net::after(kTrainTimeout));
}

Status Trainee::say_taught() {
  message::Message taught;
  taught.mutable_taught()->set_run(run_);
  return send(*hub_, taught);
}

// Handles what comes, and computes in between, until the session is over or the trainee is stopped.
template <class Session, class Handle, class Report>
Status Trainee::loop(Session& session, const Machine& machine, const Handle& handle,
                     const Report& report) {
  while (!session.is_over()) {
    if (const std::optional<Letter> letter = next_letter(session.has_work())) {
      SHOAL_TRY(handle(*letter));
    } else {
      if (is_stopped()) return {};
      const std::lock_guard alone(machine.computing);
      const auto begin = Clock::now();
      SHOAL_TRY(session.work());
      computed_ += std::chrono::duration<double>(Clock::now() - begin).count();
    }
    SHOAL_TRY(report());
  }
  return {};
}

Status Trainee::work(Order order, const Machine& machine) {
  SHOAL_ASSIGN(const Lesson lesson, decode_lesson(order.frame.payload.bytes, order.lesson_bytes));
  order.frame = {};
  return order.own_data ? learn_from_own(lesson, machine) : learn(lesson, machine);
}

Status Trainee::learn(const Lesson& lesson, const Machine& machine) {
  SHOAL_ASSIGN(types_, types_of_examples(lesson));
  SHOAL_ASSIGN(learn::Replica replica, learn::Replica::create(machine.device, lesson.network,
                                                              lesson.trainer, lesson.exchange));
  if (replica.trainer().memory().planned > static_cast<int64_t>(machine.most_bytes)) {
    return Status(Code::kExhausted, "no room for what a training step needs");
  }
  SHOAL_TRY(say_taught());
  learn::WorkerSession session(std::move(replica), [this](int64_t step, int64_t number) {
    return find_examples(step, number);
  });
  SHOAL_TRY(loop(
      session, machine, [&](const Letter& letter) { return handle(letter, session); },
      [&] { return report(session.take_messages()); }));
  examples_.clear();
  return {};
}

Status Trainee::learn_from_own(const Lesson& lesson, const Machine& machine) {
  if (!machine.own_learning) {
    return Status(Code::kUnsupported,
                  "it has no data of its own to learn from: it was started without data");
  }
  SHOAL_ASSIGN(const std::unique_ptr<OwnLearning> session,
               machine.own_learning(machine.device, lesson, machine.most_bytes));
  SHOAL_TRY(say_taught());
  const auto take = [&](const Letter& letter) {
    if (letter.examples) return Status(Code::kCorrupt, "examples for who has its own");
    return session->handle(letter.payload.bytes);
  };
  return loop(*session, machine, take, [&]() -> Status {
    for (const std::vector<std::byte>& message : session->take_messages()) SHOAL_TRY(say(message));
    return {};
  });
}

}  // namespace shoal::cluster
