// Whole training runs in virtual time: the hub and its workers compute and exchange the bytes that
// would travel, while workers are killed and come back at seeded moments.
#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/base/random.h"
#include "shoal/chaos/simulated/clock.h"
#include "shoal/cpu/cpu.h"
#include "shoal/learn/run/hub_session.h"
#include "shoal/learn/run/worker_session.h"
#include "shoal/zoo/zoo.h"

namespace shoal::learn {
namespace {

using chaos::Clock;
using chaos::Random;
using std::chrono::milliseconds;

constexpr int64_t kMicro = 2;  // samples

// Digits of noise with a bright band that tells the class.
Result<MicroBatch> make_micro_batch(int64_t step, int64_t number) {
  const RandomStream random =
      RandomStream(static_cast<uint64_t>(step % 4), static_cast<uint64_t>(number));
  MicroBatch batch{Tensor({DType::kF32, {kMicro, 1, 28, 28}}), {Tensor({DType::kI64, {kMicro}})}};
  fill_uniform(batch.inputs.data<float>(), random, 0, 0.5f);
  for (size_t i = 0; i < kMicro; ++i) {
    const uint64_t label = random.child(1).below(10, i);
    batch.targets[0].data<int64_t>()[i] = static_cast<int64_t>(label);
    for (size_t k = 0; k < 78; ++k) batch.inputs.data<float>()[i * 784 + label * 78 + k] += 0.5f;
  }
  return batch;
}

struct RunOptions {
  ExchangeOptions exchange = {};
  int64_t steps = 6;
  double slack = 0;
  int workers = 1;
  int kills = 0;
  uint64_t seed = 1;
};

class SimulatedTraining {
 public:
  SimulatedTraining(Device& device, const RunOptions& options)
      : device_(device),
        options_(options),
        random_(options.seed),
        network_(*zoo::build("lenet5", {.batch = kMicro, .width = 0.2})),
        hub_(make_hub()),
        workers_(static_cast<size_t>(options.workers)) {
    for (size_t i = 0; i < workers_.size(); ++i) start(i);
    for (int k = 0; k < options.kills; ++k) {
      const auto i = static_cast<size_t>(random_.between(0, options.workers - 1));
      clock_.after(milliseconds(random_.between(1, 300)), [this, i] { kill(i); });
    }
  }

  // The hub's process ends and another one goes on from its state; workers come again.
  void kill_hub_after(int64_t step) { hub_dies_after_ = step; }

  Status run() {
    for (int events = 0; !hub_->is_over(); ++events) {
      if (events > 100'000 || !clock_.step()) return Status(Code::kInternal, "it does not end");
      if (hub_dies_after_ == hub_->step()) restart_hub();
    }
    SHOAL_TRY(hub_->status());
    return problem_;
  }

  const HubSession& hub() const { return *hub_; }
  // Whether workers that have done all steps have the hub's weights.
  size_t equal_workers() const {
    return static_cast<size_t>(std::ranges::count_if(workers_, [&](const Worker& worker) {
      return worker.session && hash_of_learned(worker.session->replica().trainer()) == hub_->hash();
    }));
  }
  void deliver_the_rest() {
    while (clock_.step()) {
    }
  }

 private:
  struct Worker {
    std::unique_ptr<WorkerSession> session;
    int life = 0;
    chaos::Time last_in{0}, last_out{0};
  };

  std::unique_ptr<HubSession> make_hub() {
    auto hub = HubSession::create(device_, network_, trainer_, options_.exchange,
                                  {.steps = options_.steps, .slack = options_.slack});
    SHOAL_CHECK(hub.ok());
    return std::make_unique<HubSession>(*std::move(hub));
  }
  Hub::Time now() const { return Hub::Time(clock_.now()); }
  chaos::Time delay(chaos::Time& last) {
    last = std::max(last, clock_.now() + chaos::Time(random_.between(0, 2'000'000)));
    return last - clock_.now();
  }

  void start(size_t i) {
    ExchangeOptions exchange = options_.exchange;
    exchange.codec.seed += i;
    auto replica = Replica::create(device_, network_, trainer_, exchange);
    SHOAL_CHECK(replica.ok());
    workers_[i].session = std::make_unique<WorkerSession>(*std::move(replica), make_micro_batch);
    ++workers_[i].life;
    join(i);
  }
  void join(size_t i) {
    clock_.after(delay(workers_[i].last_out), [this, i, life = workers_[i].life] {
      if (workers_[i].life != life) return;
      hub_->join(static_cast<int>(i), now());
      send_letters();
    });
  }
  void kill(size_t i) {
    if (!workers_[i].session || hub_->is_over()) return;
    workers_[i].session.reset();
    const int life = ++workers_[i].life;
    clock_.after(milliseconds(50), [this, i, life] {
      if (workers_[i].life != life) return;
      hub_->lose(static_cast<int>(i), now());
      send_letters();
      start(i);
    });
  }
  void restart_hub() {
    hub_dies_after_ = -1;
    std::map<std::string, Tensor> state;
    for (const auto& [name, tensor] : hub_->state()) state[name] = tensor.clone();
    hub_ = make_hub();
    SHOAL_CHECK(hub_->restore(state).ok());
    for (size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].session.reset();
      start(i);
    }
  }

  void send_letters() {
    for (const HubSession::Letter& letter : hub_->take_letters()) {
      const auto i = static_cast<size_t>(letter.worker);
      clock_.after(delay(workers_[i].last_in), [this, i, letter, life = workers_[i].life] {
        if (workers_[i].life != life || !workers_[i].session) return;
        const auto message = decode_for_worker(*letter.message);
        note(message.status());
        if (message.ok()) note(workers_[i].session->handle(*message));
        answer(i);
        work(i);
      });
    }
    if (!hub_->take_dropped().empty()) note(Status(Code::kInternal, "a worker was dropped"));
    if (const auto next = hub_->next_tick()) {
      clock_.after(std::max(chaos::Time(0), next->time_since_epoch() - clock_.now()), [this, next] {
        if (hub_->is_over() || hub_->next_tick() != next) return;
        hub_->tick(now());
        send_letters();
      });
    }
  }
  // One micro-batch; the next follows when messages that came meanwhile have been handled.
  void work(size_t i) {
    if (!workers_[i].session->has_work()) return;
    clock_.after(milliseconds(random_.between(1, 6)), [this, i, life = workers_[i].life] {
      if (workers_[i].life != life || !workers_[i].session->has_work()) return;
      note(workers_[i].session->work());
      answer(i);
      work(i);
    });
  }
  void answer(size_t i) {
    for (const ToHub& message : workers_[i].session->take_messages()) {
      clock_.after(delay(workers_[i].last_out),
                   [this, i, bytes = encode(message), life = workers_[i].life] {
                     if (workers_[i].life != life || hub_->is_over()) return;
                     hub_->handle(static_cast<int>(i), bytes, now());
                     send_letters();
                   });
    }
  }
  void note(const Status& status) {
    if (problem_.ok()) problem_ = status;
  }

  Device& device_;
  RunOptions options_;
  Clock clock_;
  Random random_;
  Graph network_;
  train::TrainerOptions trainer_{.optimizer = {.rate = 0.05f, .momentum = 0.9f}};
  std::unique_ptr<HubSession> hub_;
  std::vector<Worker> workers_;
  int64_t hub_dies_after_ = -1;
  Status problem_;
};

class Sessions : public ::testing::Test {
 protected:
  uint64_t trained(const RunOptions& options, int64_t hub_dies_after = -1) {
    SimulatedTraining training(*device_, options);
    training.kill_hub_after(hub_dies_after);
    const Status status = training.run();
    EXPECT_TRUE(status.ok()) << status.message() << ", seed " << options.seed;
    EXPECT_EQ(training.hub().step(), options.steps);
    training.deliver_the_rest();
    EXPECT_GT(training.equal_workers(), 0u);
    return training.hub().hash();
  }
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1});
};

// B10: with an exact codec, what is learned does not depend on how many workers there are, or on
// who of them was killed when.
TEST_F(Sessions, LearnTheSameBitsWhoeverIsKilled) {
  const uint64_t alone = trained({});
  EXPECT_EQ(trained({.workers = 3}), alone);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(trained({.workers = 3, .kills = 4, .seed = seed}), alone) << "seed " << seed;
  }
  EXPECT_NE(trained({.steps = 5}), alone);
}

// B11: and neither on the hub's process.
TEST_F(Sessions, LearnTheSameBitsWhenTheHubIsStartedAgain) {
  const uint64_t alone = trained({});
  for (int64_t step = 1; step < 6; ++step) EXPECT_EQ(trained({.workers = 2}, step), alone) << step;
}

// A worker that is sent the state while it computes begins anew.
TEST_F(Sessions, DropWhatCameFromOtherWeights) {
  const Graph network = *zoo::build("lenet5", {.batch = kMicro, .width = 0.2});
  const auto make = [&] {
    auto replica = Replica::create(*device_, network, {}, {});
    SHOAL_CHECK(replica.ok());
    return WorkerSession(*std::move(replica), make_micro_batch);
  };
  WorkerSession disturbed = make(), calm = make();
  const StateMessage state{0, calm.replica().trainer().state()};
  ASSERT_TRUE(disturbed.handle(state).ok());
  ASSERT_TRUE(disturbed.handle(AssignMessage{0, 0, 4}).ok());
  ASSERT_TRUE(disturbed.work().ok());
  for (WorkerSession* session : {&disturbed, &calm}) {
    ASSERT_TRUE(session->handle(state).ok());
    ASSERT_TRUE(session->handle(AssignMessage{0, 2, 4}).ok());
    while (session->has_work()) ASSERT_TRUE(session->work().ok());
  }
  EXPECT_EQ(encode(disturbed.take_messages().back()), encode(calm.take_messages().back()));
  EXPECT_EQ(calm.handle(AssignMessage{1, 0, 1}).code(), Code::kCorrupt);  // another step
  EXPECT_EQ(calm.handle(AssignMessage{0, 0, 9}).code(), Code::kCorrupt);  // no such micro-batch
  EXPECT_EQ(calm.handle(LateMessage{5}).code(), Code::kCorrupt);
}

// B12: codecs and stragglers change what is learned, but all replicas stay equal and learn.
TEST_F(Sessions, LearnWithACodecAndWithoutStragglers) {
  for (const CodecKind kind : {CodecKind::kF32, CodecKind::kOneBit, CodecKind::kQsgd}) {
    SimulatedTraining training(*device_, {.exchange = {.codec = {.kind = kind}, .levels = 4},
                                          .steps = 40,
                                          .slack = 1.05,
                                          .workers = 4,
                                          .kills = 3});
    const Status status = training.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<double>& losses = training.hub().losses();
    EXPECT_LT(losses.back(), 0.5 * losses.front()) << name_of(kind);
    training.deliver_the_rest();
    EXPECT_EQ(training.equal_workers(), 4u) << name_of(kind);
  }
}

}  // namespace
}  // namespace shoal::learn
