// Deployments over links that are slow or break, with real coordinators and workers.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "here.h"
#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/cluster/benchmarks/deployment_load.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/link/link.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/worker/working_signs.h"
#include "unhurried.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int64_t kColumns = 512;
// Bytes in flight when a connection breaks may be lost.
constexpr double kOneWindow = BulkPacer::kLargestWindow;

// A product with `rows` rows of weights, and another with a few.
Graph layers(int64_t rows) {
  Graph graph;
  plan::Rng rng(static_cast<unsigned>(rows));
  ValueId x = graph.add_input("x", {DType::kF32, {1, rows}});
  x = *graph.add(ops::mat_mul,
                 {x, graph.add_constant("large", plan::random_tensor(rng, {rows, kColumns}))});
  x = *graph.add(ops::mat_mul,
                 {x, graph.add_constant("small", plan::random_tensor(rng, {kColumns, 4}))});
  graph.mark_output(x);
  return graph;
}

size_t weight_bytes(int64_t rows) { return static_cast<size_t>((rows + 4) * kColumns) * 4; }

plan::Plan on_one(const Graph& graph, int worker = 0) {
  const plan::NodeRange all{0, graph.nodes().size()};
  plan::Plan plan;
  plan.segments.push_back({all, "", {{worker, plan::whole_pieces(graph, all)}}});
  return plan;
}

Status ask(RemotePlan& remote, const Graph& graph) {
  plan::Rng rng(1);
  const std::vector<Tensor> inputs = {
      plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
  std::vector<Tensor> outputs(1);
  SHOAL_TRY(remote.run(inputs, outputs, 60s));
  const bool right = net::equal(outputs[0].bytes(), run_whole(graph, inputs)[0].bytes());
  return right ? Status() : Status(Code::kInternal, "a wrong answer");
}

// Counts written bytes, and breaks all connections at once.
class Wires final : public net::Decorator {
 public:
  std::unique_ptr<net::Stream> wrap(std::unique_ptr<net::Stream> stream,
                                    const net::Peer&) const override;
  void cut() const {
    const std::lock_guard lock(mutex_);
    for (net::Stream* stream : streams_) stream->shut_down();
  }
  uint64_t written() const { return written_; }

 private:
  class Wire;
  mutable std::mutex mutex_;
  mutable std::set<net::Stream*> streams_;
  mutable std::atomic<uint64_t> written_ = 0;
};

class Wires::Wire final : public net::Stream {
 public:
  Wire(std::unique_ptr<net::Stream> inner, const Wires& wires)
      : inner_(std::move(inner)), wires_(wires) {
    const std::lock_guard lock(wires_.mutex_);
    wires_.streams_.insert(inner_.get());
  }
  ~Wire() override {
    const std::lock_guard lock(wires_.mutex_);
    wires_.streams_.erase(inner_.get());
  }
  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline) override {
    return inner_->read(into, deadline);
  }
  Status write(std::span<const net::Bytes> pieces, net::Deadline deadline) override {
    const Status status = inner_->write(pieces, deadline);
    if (status.ok()) {
      for (net::Bytes piece : pieces) wires_.written_ += piece.size();
    }
    return status;
  }
  Status flush(net::Deadline deadline) override { return inner_->flush(deadline); }
  bool has_input() override { return inner_->has_input(); }
  void shut_down() override { inner_->shut_down(); }

 private:
  const std::unique_ptr<net::Stream> inner_;
  const Wires& wires_;
};

std::unique_ptr<net::Stream> Wires::wrap(std::unique_ptr<net::Stream> stream,
                                         const net::Peer&) const {
  return std::make_unique<Wire>(std::move(stream), *this);
}

// A coordinator whose sends can be counted and cut, beside the one of the cluster.
class SlowDeployment : public testing::Test {
 protected:
  std::unique_ptr<Coordinator> connect(
      DeployOptions deploy = {}, const std::shared_ptr<const net::Decorator>& link = nullptr) {
    net::ChannelOptions channel = unhurried();
    channel.decorators = {wires_};
    if (link != nullptr) channel.decorators.push_back(link);
    transports_.push_back(cluster_.network().transport("another coordinator", channel));
    CoordinatorOptions options;
    options.deploy = std::move(deploy);
    const std::vector<ListedWorker> workers = {{address_of(0), address_of(0)},
                                               {address_of(1), address_of(1)}};
    auto made = Coordinator::connect(workers, *transports_.back(), std::move(options));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  // Deploys until half of the bytes are there, and is cut off then. Returns the bytes that the
  // worker has acknowledged.
  uint64_t deploy_half(const Graph& graph) {
    uint64_t done = 0;
    const auto coordinator = connect({.progress = [&](const WeightsProgress& progress) {
      done = progress.at(0).done;
      if (2 * done > progress.at(0).total) wires_->cut();
      return Status();
    }});
    const Status status = coordinator->deploy(graph, on_one(graph)).status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.message();
    return done;
  }

  // Deploys all, and asks. Returns the bytes of weights that the worker lacked.
  uint64_t deploy(const Graph& graph) {
    uint64_t lacked = 0;
    const auto coordinator = connect({.progress = [&](const WeightsProgress& progress) {
      lacked = std::max(lacked, progress.at(0).total - progress.at(0).done);
      return Status();
    }});
    auto remote = coordinator->deploy(graph, on_one(graph));
    EXPECT_TRUE(remote.ok()) << remote.status().message();
    if (!remote.ok()) return 0;
    const Status answered = ask(**remote, graph);
    EXPECT_TRUE(answered.ok()) << answered.message();
    return lacked;
  }

  void start_with_cache(const fs::path& folder) {
    cluster_.worker(0).stop();  // one process at a time uses the folder
    WorkerOptions options;
    options.cache = *WeightCache::open(folder, size_t{1} << 30);
    cluster_.start(0, std::move(options));
  }

  const std::shared_ptr<Wires> wires_ = std::make_shared<Wires>();
  std::vector<std::unique_ptr<net::Transport>> transports_;
  Cluster cluster_{2};
};

// Not a byte that was acknowledged is sent again.
TEST_F(SlowDeployment, GoesOnWhereACoordinatorWasKilled) {
  constexpr int64_t kRows = 2048;
  const Graph graph = layers(kRows);
  const uint64_t first = deploy_half(graph);
  EXPECT_GT(first, weight_bytes(kRows) / 2);
  EXPECT_LE(deploy(graph), weight_bytes(kRows) - first);
  EXPECT_LE(wires_->written(), 1.05 * static_cast<double>(weight_bytes(kRows)) + kOneWindow);
}

TEST_F(SlowDeployment, GoesOnWhereAWorkerWasKilled) {
  constexpr int64_t kRows = 2048;
  const net::TestFolder folder;
  start_with_cache(folder.path());
  const Graph graph = layers(kRows);
  const uint64_t first = deploy_half(graph);
  start_with_cache(folder.path());
  EXPECT_LE(deploy(graph), weight_bytes(kRows) - first);
}

TEST_F(SlowDeployment, SendsWeightsAgainThatWereDamagedOnDisk) {
  constexpr int64_t kRows = 512;
  const net::TestFolder folder;
  start_with_cache(folder.path());
  const Graph graph = layers(kRows);
  EXPECT_EQ(deploy(graph), weight_bytes(kRows));
  EXPECT_EQ(deploy(graph), 0u) << "it has them";
  for (const auto& file : fs::directory_iterator(folder.path())) {
    std::ofstream(file.path(), std::ios::in | std::ios::out) << "damaged";
  }
  start_with_cache(folder.path());
  EXPECT_EQ(deploy(graph), weight_bytes(kRows));
}

// A worker that was killed before the last bytes of a weight got their name has all of it and
// misses it all the same.
TEST_F(SlowDeployment, SendsWeightsAgainThatWereNeverFinished) {
  constexpr int64_t kRows = 512;
  const net::TestFolder folder;
  start_with_cache(folder.path());
  const Graph graph = layers(kRows);
  EXPECT_EQ(deploy(graph), weight_bytes(kRows));
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(folder.path())) files.push_back(file.path());
  for (const fs::path& file : files) fs::rename(file, file.string() + ".partial");
  start_with_cache(folder.path());
  EXPECT_EQ(deploy(graph), weight_bytes(kRows));
}

// Requests are answered while a weight is half-way.
TEST_F(SlowDeployment, LetsRequestsPass) {
  constexpr int64_t kRows = 2048;  // two seconds
  net::LinkOptions slow;
  slow.spec.bits_per_second = 16e6;
  slow.spec.latency = 1ms;
  std::atomic<bool> halfway = false, over = false;
  const auto watch = [&](const WeightsProgress& progress) {
    const auto [done, total, sent] = progress.at(0);
    halfway = total > weight_bytes(kRows) / 2 && 10 * done > total && 10 * done < 9 * total;
    return Status();
  };
  const auto coordinator = connect({.progress = watch}, net::make_link(slow));
  const Graph small = layers(4), large = layers(kRows);
  auto remote = coordinator->deploy(small, on_one(small));
  ASSERT_TRUE(remote.ok()) << remote.status().message();
  int answered = 0;
  std::thread asking([&] {
    while (!over) {
      const bool before = halfway;
      const Status status = ask(**remote, small);
      EXPECT_TRUE(status.ok()) << status.message();
      if (before && halfway) ++answered;
    }
  });
  auto other = coordinator->deploy(large, on_one(large));
  over = true;
  asking.join();
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_GE(answered, 5);
  EXPECT_TRUE(ask(**other, large).ok());
}

TEST_F(SlowDeployment, TellsHowFarItIs) {
  constexpr int64_t kRows = 256;
  uint64_t last = 0;
  std::vector<uint64_t> totals;
  const auto coordinator = connect({.progress = [&](const WeightsProgress& progress) {
    EXPECT_EQ(progress.size(), 2u);
    uint64_t done = 0, total = 0;
    for (const auto& [worker, one] : progress) {
      done += one.done;
      total += one.total;
    }
    EXPECT_GE(done, last);
    last = done;
    totals.push_back(total);
    return Status();
  }});
  const Graph graph = layers(kRows);
  plan::Plan plan;
  plan.segments.push_back({{0, 1}, "", {{0, plan::whole_pieces(graph, {0, 1})}}});
  plan.segments.push_back({{1, 2}, "", {{1, plan::whole_pieces(graph, {1, 2})}}});
  ASSERT_TRUE(coordinator->deploy(graph, plan).ok());
  EXPECT_EQ(last, weight_bytes(kRows));
  for (uint64_t total : totals) EXPECT_EQ(total, weight_bytes(kRows));
}

TEST_F(SlowDeployment, EndsWhenItIsToldTo) {
  const auto coordinator = connect(
      {.progress = [&](const WeightsProgress&) { return Status(Code::kCancelled, "enough"); }});
  const Graph graph = layers(64);
  EXPECT_EQ(coordinator->deploy(graph, on_one(graph)).status().code(), Code::kCancelled);
}

TEST_F(SlowDeployment, IsMeasured) {
  constexpr int64_t kRows = 1024;
  const Graph small = layers(4), large = layers(kRows);
  DeploymentLoad load;
  const auto coordinator = connect({.progress = load.observer()});
  const auto scheduled = [](const Graph& graph) {
    return *plan::ScheduledPlan::make(graph, on_one(graph));
  };
  const auto deploy_half = [&](const plan::ScheduledPlan& plan) {
    return connect({.progress = load.interrupter()})->deploy(plan).status();
  };
  const auto figures = load.run(*coordinator, {.small = scheduled(small),
                                               .large = scheduled(large),
                                               .deploy_half = deploy_half,
                                               .seconds = 0.01});
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  EXPECT_EQ(figures->needed, weight_bytes(kRows));
  EXPECT_GE(figures->sent, weight_bytes(kRows));
  EXPECT_GT(figures->seconds, 0);
  EXPECT_GT(figures->calm.count(), 0u);
  const size_t request_bytes =
      small[small.inputs()[0]].type.bytes() + small[small.outputs()[0]].type.bytes();
  EXPECT_EQ(figures->asked, figures->busy.count() * request_bytes);
}

// A worker that is as the test says.
class FakeWorker {
 public:
  using Answer = std::function<void(net::Channel&, const message::Message&)>;

  FakeWorker(net::LoopbackNetwork& network, Answer answer)
      : transport_(network.transport("fake", unhurried())),
        listener_(*transport_->listen("fake")),
        answer_(std::move(answer)),
        thread_([this] { serve(); }) {}
  ~FakeWorker() {
    listener_->close();
    thread_.join();
  }

 private:
  void serve() {
    const auto channel = listener_->accept(net::Deadline::max());
    if (!channel.ok()) return;
    for (;;) {
      const auto frame = (*channel)->receive(net::Deadline::max());
      message::Message message, reply;
      if (!frame.ok() || !parse(*frame, message).ok()) return;
      if (message.has_hello()) {
        reply.mutable_welcome()->set_version(kProtocolVersion);
        EXPECT_TRUE(send(**channel, reply).ok());
      } else {
        answer_(**channel, message);
      }
    }
  }

  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Listener> listener_;
  const Answer answer_;
  std::thread thread_;
};

Status deploy_to_fake(const FakeWorker::Answer& answer, std::chrono::milliseconds timeout) {
  net::LoopbackNetwork network;
  const auto transport = network.transport("coordinator", unhurried());
  const FakeWorker worker(network, answer);
  const std::vector<ListedWorker> workers = {{"fake", "fake"}};
  CoordinatorOptions options;
  options.deploy.progress_timeout = timeout;
  const auto coordinator = Coordinator::connect(workers, *transport, options);
  EXPECT_TRUE(coordinator.ok());
  const Graph graph = layers(64);
  return (*coordinator)->deploy(graph, on_one(graph)).status();
}

// Reports all weights of the graph as missing, with `have` bytes of each.
void miss(net::Channel& channel, uint64_t plan, const Graph& graph, uint64_t have) {
  message::Message reply;
  reply.mutable_missing()->set_plan(plan);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const auto& weight = graph[static_cast<ValueId>(i)].constant;
    if (!weight) continue;
    reply.mutable_missing()->add_hashes(hash_of(weight->bytes()));
    reply.mutable_missing()->add_have(have);
  }
  EXPECT_TRUE(send(channel, reply).ok());
}

TEST(FakeWorkers, ThatTakeNoWeightsAreGivenUp) {
  const Graph graph = layers(64);
  const Status status = deploy_to_fake(
      [&](net::Channel& channel, const message::Message& message) {
        if (message.has_deploy()) miss(channel, message.deploy().plan(), graph, 0);
      },
      50ms);
  EXPECT_EQ(status.code(), Code::kDeadline) << status.message();
  EXPECT_NE(status.message().find("worker fake"), std::string_view::npos) << status.message();
}

TEST(FakeWorkers, ThatAcknowledgeNonsenseAreGivenUp) {
  const Graph graph = layers(64);
  const Status status = deploy_to_fake(
      [&](net::Channel& channel, const message::Message& message) {
        if (message.has_deploy()) miss(channel, message.deploy().plan(), graph, 0);
        if (!message.has_blob()) return;
        message::Message reply;
        reply.mutable_stored()->set_hash(message.blob().hash());
        reply.mutable_stored()->set_bytes(~uint64_t{0});
        EXPECT_TRUE(send(channel, reply).ok());
      },
      30s);
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
}

// Another coordinator may have begun a larger weight under the same hash.
TEST(FakeWorkers, ThatHaveMoreThanThereIsAreSentAllOfIt) {
  const Graph graph = layers(64);
  std::optional<uint64_t> offset;
  const Status status = deploy_to_fake(
      [&](net::Channel& channel, const message::Message& message) {
        if (message.has_deploy()) miss(channel, message.deploy().plan(), graph, uint64_t{1} << 40);
        if (!message.has_blob()) return;
        if (!offset) offset = message.blob().offset();
        message::Message reply;
        reply.mutable_stored()->set_hash(message.blob().hash());
        reply.mutable_stored()->set_bytes(~uint64_t{0});  // to end it
        EXPECT_TRUE(send(channel, reply).ok());
      },
      30s);
  EXPECT_EQ(offset, 0u) << status.message();
}

// A worker that compiles for five times as long as a silent one would be waited for.
TEST(FakeWorkers, ThatAreStillCompilingAreWaitedFor) {
  constexpr auto kTimeout = 200ms;
  const Status status = deploy_to_fake(
      [&](net::Channel& channel, const message::Message& message) {
        message::Message reply;
        if (message.has_deploy()) {
          reply.mutable_missing()->set_plan(message.deploy().plan());
          EXPECT_TRUE(send(channel, reply).ok());
        }
        if (!message.has_start()) return;
        std::atomic<int> said = 0;
        std::mutex mutex;
        std::condition_variable changed;
        const WorkingSigns signs(
            [&] {
              message::Message sign;
              sign.mutable_working()->set_plan(message.start().plan());
              EXPECT_TRUE(send(channel, sign, {}, true).ok());
              const std::lock_guard lock(mutex);
              ++said;
              changed.notify_all();
            },
            {.interval = kTimeout / 10});
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return said == 50; });
        reply.mutable_ready()->set_plan(message.start().plan());
        EXPECT_TRUE(send(channel, reply).ok());
      },
      kTimeout);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(FakeWorkers, ThatHangWhileCompilingAreGivenUp) {
  const Status status = deploy_to_fake(
      [&](net::Channel& channel, const message::Message& message) {
        message::Message reply;
        reply.mutable_missing()->set_plan(message.deploy().plan());
        if (message.has_deploy()) {
          EXPECT_TRUE(send(channel, reply).ok());
        }
      },
      50ms);
  EXPECT_EQ(status.code(), Code::kDeadline) << status.message();
}

TEST(WorkingSigns, EndWhenTheWorkHangs) {
  std::atomic<int> said = 0;
  WorkingSigns signs([&] { ++said; }, {.interval = 1ms, .longest_step = 0ms});
  WorkingSigns others([&] { ++said; }, {.interval = 1ms, .longest_step = 1h});
  EXPECT_TRUE(eventually([&] { return said > 10; }));
}

}  // namespace
}  // namespace shoal::cluster
