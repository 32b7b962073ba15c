// Training runs on workers in this process.
#include <gtest/gtest.h>

#include "here.h"
#include "messages.pb.h"
#include "shoal/cluster/data_parallel/training_run.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/train/distributed/run/small_task.h"
#include "tests/learn/replica_group.h"
#include "training.pb.h"
#include "visitor.h"

namespace shoal::cluster {
namespace {

constexpr learn::SmallTask kTask{.hidden = 64};  // more than fits into a message
constexpr int64_t kSteps = 5;

TrainingSetup make_setup(learn::CodecKind codec = learn::CodecKind::kF32) {
  return {.network = kTask.network(),
          .trainer = {.optimizer = {.rate = 0.1f, .momentum = 0.9f}},
          .exchange = {.codec = {.kind = codec}, .levels = 3}};
}

// The weights that one replica learns without a cluster.
uint64_t hash_alone(const TrainingSetup& setup, int64_t steps = kSteps) {
  const auto device = make_reference_device();
  auto replica = learn::Replica::create(*device, setup.network, setup.trainer, setup.exchange);
  EXPECT_TRUE(replica.ok());
  auto merger = learn::Merger::create(setup.exchange, learn::step_types_of(replica->trainer()));
  uint64_t hash = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t number = 0; number < setup.exchange.micro_batches(); ++number) {
      const auto batch = kTask.examples(step, number);
      EXPECT_TRUE(replica->compute(number, batch->inputs, batch->targets).ok());
    }
    EXPECT_TRUE(merger->add(*replica->push()).ok());
    hash = *replica->pull(merger->finish()->message);
  }
  return hash;
}

TrainingRunOptions options_for(int workers) {
  TrainingRunOptions options{.hub = {.steps = kSteps}};
  for (int i = 0; i < workers; ++i) options.workers.push_back(i);
  return options;
}

Result<TrainingRun> trained(Cluster& cluster, const TrainingSetup& setup,
                            const TrainingRunOptions& options) {
  const auto device = make_reference_device();
  return run_training(cluster.coordinator(), *device, setup, kTask.source(), options);
}

// B1: what N workers learn is what one device learns, bit by bit.
TEST(Training, GivesTheWeightsOfOneDevice) {
  const uint64_t alone = hash_alone(make_setup());
  for (const int workers : {1, 2, 3, 4}) {
    Cluster cluster(workers);
    TrainingRunOptions options = options_for(workers);
    options.ahead = workers == 2 ? kSteps : 0;
    const auto run = trained(cluster, make_setup(), options);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ(run->hash, alone) << workers;
    EXPECT_LE(run->workers, static_cast<size_t>(workers));  // one that is slow may have no share
    EXPECT_EQ(run->losses.size(), static_cast<size_t>(kSteps));
    EXPECT_EQ(run->differing, 0);
    EXPECT_TRUE(run->lost.empty());
  }
}

// B10: a worker that leaves in the middle costs no step, and no bit.
TEST(Training, GoesOnWithoutAWorkerThatLeaves) {
  const uint64_t alone = hash_alone(make_setup());
  Cluster cluster(3);
  TrainingRunOptions options = options_for(3);
  options.on_step = [&](int64_t step, double) {
    if (step != 1) return;
    cluster.worker(1).stop();
    EXPECT_TRUE(eventually([&] { return !cluster.coordinator().lost().empty(); }));
  };
  const auto run = trained(cluster, make_setup(), options);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->hash, alone);
  EXPECT_LE(run->workers, 2u);
  ASSERT_EQ(run->lost.size(), 1u);
  EXPECT_NE(run->lost[0].message().find("worker-1"), std::string_view::npos);
}

// It has a part again, and no bit is lost by it either.
TEST(Training, TakesAWorkerBack) {
  Cluster cluster(3);
  TrainingRunOptions options = options_for(3);
  options.hub.steps = 1'000'000;
  options.retry_interval = std::chrono::milliseconds(1);
  int64_t after = -1;  // steps since it is back
  options.on_step = [&](int64_t step, double) {
    if (step == 1) cluster.start(1);  // in the place of the one that was there
    if (after >= 0) ++after;
  };
  options.on_return = [&](int worker) {
    EXPECT_EQ(worker, 1);
    after = 0;
  };
  options.cancelled = [&] { return after >= 3; };
  learn::RunRecorder recorder({.micro_batches = 8});
  int changes = 0;
  options.on_moment = [&](const TrainingMoment& moment) {
    const auto now = std::chrono::steady_clock::now();
    changes += moment.is_step ? 0 : 1;
    if (!moment.is_step) return recorder.update(moment.step.step, moment.hub.devices(), now);
    recorder.end_step(moment.step, moment.hub.devices(), now);
    EXPECT_GT(moment.step.seconds, 0);
    EXPECT_TRUE(moment.hub.has_statistics());  // there are none
  };
  const auto run = trained(cluster, make_setup(), options);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->lost.size(), 1u);
  EXPECT_EQ(run->joined_again, 1);
  const learn::RunRecord record = recorder.record();
  EXPECT_EQ(changes, 2);
  ASSERT_EQ(record.events.size(), 2u);
  EXPECT_EQ(record.events[0].kind, learn::RunRecord::Event::Kind::kLost);
  EXPECT_EQ(record.events[1].kind, learn::RunRecord::Event::Kind::kJoined);
  EXPECT_EQ(record.events[0].worker, 1);
  EXPECT_EQ(record.events[1].worker, 1);
  EXPECT_EQ(record.moments.back().step, std::ssize(run->losses));
  EXPECT_GT(record.moments[0].bytes, 64 * 3 * sizeof(float));  // the last layer's gradients
  EXPECT_EQ(run->differing, 0);
  EXPECT_EQ(run->hash, hash_alone(make_setup(), std::ssize(run->losses)));
}

// Statistics of norms are the mean of the last 64 steps here, and not those of the weights before.
TEST(Training, KnowsWhenStatisticsAreMeasured) {
  constexpr learn::SmallTask kNormed{.has_norm = true};
  TrainingSetup setup = make_setup();
  setup.network = kNormed.network();
  Cluster cluster(1);
  TrainingRunOptions options = options_for(1);
  options.hub.steps = 70;
  std::vector<int64_t> measured;
  options.on_moment = [&](const TrainingMoment& moment) {
    if (moment.hub.has_statistics()) measured.push_back(moment.step.step);
  };
  const auto device = make_reference_device();
  const auto run = run_training(cluster.coordinator(), *device, setup, kNormed.source(), options);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(measured, std::vector<int64_t>{69});
}

// The checkpoint that a run makes before `step`, at which it ends.
learn::HubSession::State checkpoint_before(int64_t step, Cluster& cluster,
                                           const TrainingSetup& setup, TrainingRunOptions options) {
  learn::HubSession::State found;
  options.save_every = step > 0 ? step : kSteps;
  options.on_checkpoint = [&](const learn::HubSession::State& state) {
    if (state.at("hub.steps").data<int64_t>()[0] == step) found = state;
    return Status();
  };
  options.cancelled = [&] { return !found.empty(); };
  const auto run = trained(cluster, setup, options);
  EXPECT_TRUE(run.ok()) << run.status().message();
  EXPECT_FALSE(found.empty());
  return found;
}

// B11: what another hub learns from the checkpoint on is what the first would have learned, also
// with codecs that carry errors from step to step, and with local steps.
TEST(Training, GoesOnFromACheckpoint) {
  Cluster cluster(3);
  for (const auto& [kind, local_steps] : {std::pair{learn::CodecKind::kOneBit, 1},
                                          {learn::CodecKind::kPowerSgd, 1},
                                          {learn::CodecKind::kOneBit, 3}}) {
    TrainingSetup setup = make_setup(kind);
    setup.exchange.local_steps = local_steps;
    setup.exchange.outer = {.rate = 0.7f, .momentum = 0.9f};
    TrainingRunOptions options = options_for(3);
    options.hub.fixed_shares = true;
    const auto whole = trained(cluster, setup, options);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    options.resume = checkpoint_before(2, cluster, setup, options);
    auto rest = trained(cluster, setup, options);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(rest->first_step, 2);
    EXPECT_EQ(std::ssize(rest->losses), kSteps - 2);
    EXPECT_EQ(rest->hash, whole->hash) << name_of(kind);
    std::erase_if(options.resume, [](const auto& one) { return one.first.starts_with("worker/"); });
    rest = trained(cluster, setup, options);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_NE(rest->hash, whole->hash) << "the errors of workers matter";
  }
}

// B11: a hub that goes on waits for the workers of its checkpoint: without one of them shares and
// carried errors would be others. So it is with the plan of shares, which is the checkpoint's, also
// where the hub was killed in the first step.
TEST(Training, WaitsForTheWorkersOfItsCheckpoint) {
  Cluster cluster(3);
  const TrainingSetup setup = make_setup(learn::CodecKind::kOneBit);
  TrainingRunOptions planned = options_for(3);
  planned.hub.fixed_shares = true;
  planned.hub.planned = {{0, 1000}, {1, 2000}, {2, 1000}};
  const auto whole = trained(cluster, setup, planned);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  for (const int64_t step : {2, 0}) {
    TrainingRunOptions options = planned;
    options.resume = checkpoint_before(step, cluster, setup, planned);
    options.hub.planned = {{0, 3000}, {1, 1000}, {2, 1000}};
    options.return_timeout = std::chrono::minutes(1);
    EXPECT_EQ(learn::HubSession::workers_in(options.resume), options.workers);
    cluster.start(1);  // in the place of the one that was there
    ASSERT_TRUE(eventually([&] { return !cluster.coordinator().lost().empty(); }));
    const auto rest = trained(cluster, setup, options);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(rest->workers, 3u);
    EXPECT_EQ(rest->hash, whole->hash) << step;
  }
}

// And a worker that is lost costs the steps since the last checkpoint, and no bit, with any codec.
TEST(Training, RepeatsWhatALostWorkerHadCarriedAlong) {
  const TrainingSetup setup = make_setup(learn::CodecKind::kOneBit);
  Cluster cluster(3);
  TrainingRunOptions options = options_for(3);
  options.hub.fixed_shares = true;
  const auto whole = trained(cluster, setup, options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  options.save_every = 2;
  options.return_timeout = std::chrono::minutes(1);
  bool is_lost = false;
  options.on_step = [&](int64_t step, double) {
    if (step != 2 || std::exchange(is_lost, true)) return;
    cluster.start(1);  // in the place of the one that was there
    EXPECT_TRUE(eventually([&] { return !cluster.coordinator().lost().empty(); }));
  };
  for (const bool repeats : {true, false}) {
    is_lost = false;
    options.repeats = repeats;
    const auto run = trained(cluster, setup, options);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_EQ(run->lost.size(), 1u);
    EXPECT_EQ(run->first_step + std::ssize(run->losses), kSteps);
    if (repeats) {
      EXPECT_EQ(run->hash, whole->hash);
    } else {
      EXPECT_NE(run->hash, whole->hash);
    }
  }
}

TEST(Training, RefusesACheckpointOfAnotherRun) {
  Cluster cluster(1);
  TrainingRunOptions options = options_for(1);
  options.resume = {{"hub.steps", Tensor::of<int64_t>({}, {2})}};
  EXPECT_EQ(trained(cluster, make_setup(), options).status().code(), Code::kCorrupt);
  TrainingRunOptions saving = options_for(1);
  saving.save_every = 1;
  saving.on_checkpoint = [&](const learn::HubSession::State& state) {
    options.resume = state;
    return Status();
  };
  ASSERT_TRUE(trained(cluster, make_setup(), saving).ok());
  for (const Tensor& plan :
       {Tensor::of<int64_t>({1}, {5}), Tensor::of<int64_t>({1, 2}, {0, 0}),
        Tensor::of<int64_t>({1, 2}, {-1, 5}), Tensor::of<float>({1, 2}, {0, 5})}) {
    options.resume["hub.plan"] = plan;
    EXPECT_EQ(trained(cluster, make_setup(), options).status().code(), Code::kCorrupt);
  }
}

// B19: a step is limited, kept as bfloat16 and frozen on workers as on one device.
TEST(Training, LearnsWithinMemoryAndWithFrozenWeights) {
  TrainingSetup plain = make_setup(), setup = make_setup();
  setup.trainer.bf16 = true;
  setup.trainer.memory_bytes = 1 << 20;
  setup.trainer.step.frozen = [](std::string_view name) { return name == "fc1.weight"; };
  Cluster cluster(2);
  const auto run = trained(cluster, setup, options_for(2));
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->hash, hash_alone(setup));
  EXPECT_NE(run->hash, hash_alone(plain));
  EXPECT_FALSE(run->learned.contains("fc1.weight"));
  setup.trainer.memory_bytes = 100;
  EXPECT_FALSE(trained(cluster, setup, options_for(2)).ok());
}

TEST(Training, FailsWhereNobodyCanLearn) {
  Cluster cluster(2);
  TrainingSetup setup = make_setup();
  setup.exchange.codec.kind = learn::CodecKind::kQsgd;
  setup.exchange.codec.qsgd_bits = 99;
  EXPECT_EQ(trained(cluster, setup, options_for(2)).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(trained(cluster, make_setup(), options_for(2)).ok()) << "the workers are there";
}

TEST(Training, LearnsByEveryCodec) {
  Cluster cluster(2);
  for (const learn::CodecKind kind : learn::all_codecs()) {
    const auto run = trained(cluster, make_setup(kind), options_for(2));
    ASSERT_TRUE(run.ok()) << name_of(kind) << ": " << run.status().message();
    EXPECT_EQ(run->differing, 0) << name_of(kind);
  }
}

class TrainingWorker : public testing::Test {
 protected:
  static message::Message train(uint64_t run, const EncodedSetup& setup) {
    message::Message message;
    message.mutable_begin_task()->set_task(run);
    message.mutable_begin_task()->set_name(kTrainingTask);
    message.mutable_begin_task()->set_header(setup.header());
    return message;
  }
  static message::Message examples_of(uint64_t run) {
    message::TrainingHeader header;
    header.mutable_examples();
    message::Message message = order_of(run);
    message.mutable_task_message()->set_header(header.SerializeAsString());
    return message;
  }
  static std::string payload_of(const EncodedSetup& setup) {
    std::string payload;
    for (const net::Bytes piece : setup.pieces()) {
      payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    return payload;
  }
  static std::string text_of(const learn::ToWorker& order) {
    const std::vector<std::byte> bytes = encode(order);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static message::Message order_of(uint64_t run) {
    message::Message message;
    message.mutable_task_message()->set_task(run);
    return message;
  }

  Cluster cluster_{1};
  EncodedSetup setup_ = *encode_setup(make_setup());
};

TEST_F(TrainingWorker, TakesRunsOfCoordinatorsOnly) {
  Visitor worker(cluster_.network(), address_of(0), "other", net::Role::kWorker);
  Visitor client(cluster_.network(), address_of(0), "phone", net::Role::kClient);
  for (Visitor* visitor : {&worker, &client}) {
    EXPECT_TRUE(visitor->ask(train(1, setup_), payload_of(setup_)).has_failed());
    EXPECT_TRUE(visitor->ask(order_of(1), text_of(learn::GoodbyeMessage{})).has_failed());
    EXPECT_TRUE(visitor->ask(examples_of(1), "x").has_failed());
  }
}

TEST_F(TrainingWorker, RefusesSetupsThatAreNone) {
  Visitor visitor(cluster_.network(), address_of(0), "bad", net::Role::kCoordinator);
  const std::string payload = payload_of(setup_);
  const auto expect_refused = [&](const message::Message& message, const std::string& bytes) {
    const message::Message reply = visitor.ask(message, bytes);
    ASSERT_TRUE(reply.has_failed());
    EXPECT_EQ(reply.failed().task(), 3u);
  };
  expect_refused(train(3, setup_), payload.substr(0, payload.size() - 1));
  expect_refused(train(3, setup_), payload + "x");
  expect_refused(train(3, setup_), "");
  message::Message longer = train(3, setup_);
  message::TrainingHeader header;
  header.mutable_begin()->set_setup_bytes(uint64_t{1} << 40);
  longer.mutable_begin_task()->set_header(header.SerializeAsString());
  expect_refused(longer, payload);
  longer.mutable_begin_task()->set_header("");
  expect_refused(longer, payload);
  longer.mutable_begin_task()->set_name("learn");
  expect_refused(longer, payload);
  message::TrainingSetup message;
  ASSERT_TRUE(message.ParseFromString(setup_.message));
  EncodedSetup other = setup_;
  message.mutable_codec()->set_kind(77);
  other.message = message.SerializeAsString();
  expect_refused(train(3, other), payload_of(other));
  EXPECT_TRUE(visitor.ask(train(4, setup_), payload).has_task_ready());
}

TEST_F(TrainingWorker, EndsARunWhoseHubBreaksTheProtocol) {
  const std::vector<std::pair<std::string, std::string>> hostile = {
      {"no message", "nonsense"},
      {"an assignment before the state", text_of(learn::AssignMessage{0, 0, 4})},
      {"a state of another network", text_of(learn::StateMessage{0, {}})}};
  Visitor visitor(cluster_.network(), address_of(0), "bad", net::Role::kCoordinator);
  uint64_t run = 0;
  for (const auto& [what, payload] : hostile) {
    ASSERT_TRUE(visitor.ask(train(++run, setup_), payload_of(setup_)).has_task_ready()) << what;
    const message::Message reply = visitor.ask(order_of(run), payload);
    EXPECT_TRUE(reply.has_failed() && reply.failed().task() == run) << what;
  }
  EXPECT_TRUE(visitor.ask(order_of(99), text_of(learn::GoodbyeMessage{})).has_failed());
  const auto honest = trained(cluster_, make_setup(), options_for(1));
  EXPECT_TRUE(honest.ok()) << honest.status().message();
}

// They would wait in memory that is not counted.
TEST_F(TrainingWorker, CutsOffWhoSendsLongHeaders) {
  const std::string header(kMostHeaderBytes + 1, 'x');
  for (const bool begins : {true, false}) {
    Visitor visitor(cluster_.network(), address_of(0), "bad", net::Role::kCoordinator);
    message::Message message = train(1, setup_);
    if (begins) {
      message.mutable_begin_task()->set_header(header);
    } else {
      ASSERT_TRUE(visitor.ask(message, payload_of(setup_)).has_task_ready());
      message.mutable_task_message()->set_task(1);
      message.mutable_task_message()->set_header(header);
    }
    EXPECT_TRUE(visitor.ask(message, "x").has_failed());
    EXPECT_EQ(visitor.hear().kind_case(), message::Message::KIND_NOT_SET) << "disconnected";
  }
}

// Examples that never came, or are too short, are found out when they are needed.
TEST_F(TrainingWorker, EndsARunWithoutItsExamples) {
  const auto device = make_reference_device();
  const TrainingSetup setup = make_setup();
  auto trainer = train::Trainer::create(*device, setup.network, setup.trainer);
  ASSERT_TRUE(trainer.ok());
  Visitor visitor(cluster_.network(), address_of(0), "bad", net::Role::kCoordinator);
  for (const bool sends_some : {false, true}) {
    const uint64_t run = sends_some ? 2 : 1;
    ASSERT_TRUE(visitor.ask(train(run, setup_), payload_of(setup_)).has_task_ready());
    const std::string state = text_of(learn::StateMessage{0, trainer->state()});
    ASSERT_TRUE(visitor.ask(order_of(run), state).has_task_message());
    if (sends_some) visitor.say(examples_of(run), "short");
    EXPECT_TRUE(visitor.ask(order_of(run), text_of(learn::AssignMessage{0, 0, 1})).has_failed());
  }
}

}  // namespace
}  // namespace shoal::cluster
