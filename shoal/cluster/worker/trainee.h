// Trainee: a worker's part of a training run. Messages of the hub wait in a queue; a thread handles
// them in order, and between them computes one micro-batch after the other (learn::WorkerSession).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/worker/lesson.h"
#include "shoal/cluster/worker/own_learning.h"
#include "shoal/train/distributed/run/worker_session.h"

namespace shoal::cluster {

// Thread-safe.
class Trainee {
 public:
  // What the worker lends to it.
  struct Machine {
    Device& device;
    std::mutex& computing;                 // held while the device computes
    size_t most_bytes = 0;                 // of the memory of a step
    const BeginOwnLearning& own_learning;  // null: it has no data
  };
  // What it is to learn, as a Train announces it.
  struct Order {
    net::Frame frame;
    uint64_t lesson_bytes = 0;
    bool own_data = false;
  };

  Trainee(uint64_t run, std::shared_ptr<net::Channel> hub) : run_(run), hub_(std::move(hub)) {}

  uint64_t run() const { return run_; }
  // A message of the hub, or the examples of a micro-batch. What is in it is looked at by work().
  // kExhausted where too many wait.
  Status take_order(const net::Frame& frame);
  Status take_examples(int64_t step, int64_t number, const net::Frame& frame);
  void stop();  // work() returns soon

  // Compiles the lesson, says so to the hub, and learns until the run is over or the trainee is
  // stopped. Once only. Fails as decode_lesson(), learn::Replica and learn::WorkerSession do, and
  // with kExhausted where a step takes too much memory. kUnsupported for a run that needs data of
  // the worker's own where it has none.
  Status work(Order order, const Machine& machine);

 private:
  using Place = std::pair<int64_t, int64_t>;  // step and number of a micro-batch
  struct Letter {
    std::optional<Place> examples;  // nothing: an order
    net::Buffer payload;
  };

  Status post(Letter letter);
  std::optional<Letter> next_letter(bool has_work);
  bool is_stopped();
  Status handle(const Letter& letter, learn::WorkerSession& session);
  Status learn(const Lesson& lesson, const Machine& machine);
  Status learn_from_own(const Lesson& lesson, const Machine& machine);
  template <class Session, class Handle, class Report>
  Status loop(Session& session, const Machine& machine, const Handle& handle, const Report& report);
  Status say_taught();
  Status say(net::Bytes payload);
  Result<learn::MicroBatch> find_examples(int64_t step, int64_t number);
  Status report(std::vector<learn::ToHub> messages);

  const uint64_t run_;
  const std::shared_ptr<net::Channel> hub_;

  // Of the thread that works.
  std::vector<TensorType> types_;  // of examples
  std::map<Place, net::Buffer> examples_;
  double computed_ = 0;      // seconds, for the assignment that it has
  int64_t local_steps_ = 1;  // of the last assignment

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Letter> letters_;
  bool stopped_ = false;
};

}  // namespace shoal::cluster
