// What a member of the cluster may not do to a worker, whatever it says.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "shoal/cluster/messages/permissions.h"
#include "shoal/cluster/profiling/probe_handlers.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/ops.h"
#include "visitor.h"

namespace shoal::cluster {
namespace {

constexpr uint64_t kPlan = 31;
constexpr int kIn = 7, kOut = 8;

Graph relu_of(DType dtype = DType::kF32) {
  Graph graph;
  const ValueId x = graph.add_input("x", {dtype, {4}});
  graph.mark_output(*graph.add(ops::relu, {x}));
  return graph;
}

message::Assignment one_task() {
  message::Assignment assignment;
  add_task(assignment, relu_of(), kIn, kOut);
  add_send(assignment, piece_of(kOut, 0, 4), plan::kCoordinator);
  return assignment;
}

Code code_of(const message::Message& message) {
  return message.has_failed() ? status_of(message.failed()).code() : Code::kOk;
}

// Calls a hook before it compiles and before it runs anything.
class Hooked final : public Device {
 public:
  using Hook = std::function<void(const RunOptions&)>;

  const DeviceInfo& info() const override { return inner_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    if (on_compile) on_compile();
    SHOAL_ASSIGN(auto executable, inner_->compile(graph));
    return std::unique_ptr<Executable>(new Program(*this, std::move(executable)));
  }

  std::function<void()> on_compile;
  Hook on_run;

 private:
  class Program final : public Executable {
   public:
    Program(Hooked& device, std::unique_ptr<Executable> inner)
        : device_(device), inner_(std::move(inner)) {}
    Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options) override {
      if (device_.on_run) device_.on_run(options);
      return inner_->run(inputs, outputs, options);
    }
    const Graph& graph() const override { return inner_->graph(); }
    MemoryUse memory() const override { return inner_->memory(); }
    const KernelInfo& kernel_of(size_t node) const override { return inner_->kernel_of(node); }

   private:
    Hooked& device_;
    const std::unique_ptr<Executable> inner_;
  };

  const std::unique_ptr<Device> inner_ = make_reference_device();
};

class HostileMembers : public testing::Test {
 protected:
  void serve(Device& device, WorkerOptions options = {}) {
    options.name = "kitchen";
    worker_.reset();
    worker_ = std::make_unique<Worker>(std::move(options), device, *transport_);
    worker_->serve(*transport_->listen("kitchen"));
  }
  void serve(WorkerOptions options = {}) { serve(*reference_, std::move(options)); }

  Visitor visitor(const std::string& name, net::Role role) {
    return Visitor(network_, "kitchen", name, role);
  }
  Visitor coordinator() { return visitor("coordinator", net::Role::kCoordinator); }
  // Whether the worker still answers.
  bool lives() { return visitor("anyone", net::Role::kOwner).greet().has_welcome(); }

  net::LoopbackNetwork network_;
  std::unique_ptr<net::Transport> transport_ =
      network_.transport("kitchen", unhurried(), net::Role::kWorker);
  std::unique_ptr<Device> reference_ = make_reference_device();
  std::unique_ptr<Worker> worker_;
};

std::vector<message::Message> commands() {
  std::vector<message::Message> all(8);
  all[0].mutable_deploy()->set_plan(kPlan);
  all[1].mutable_blob();
  all[2].mutable_start()->set_plan(kPlan);
  all[3].mutable_release()->set_plan(kPlan);
  all[4].mutable_rejoin()->set_plan(kPlan);
  all[5].mutable_forget()->set_plan(kPlan);
  all[6].mutable_measure();
  all[7].mutable_awake();
  return all;
}

TEST_F(HostileMembers, WhoAreNoCoordinatorsCommandNothing) {
  serve();
  for (const net::Role role : {net::Role::kWorker, net::Role::kClient}) {
    Visitor hall = visitor("hall", role);
    for (const message::Message& command : commands()) {
      const message::Message reply = hall.ask(command);
      EXPECT_EQ(code_of(reply), Code::kInvalidArgument) << command.kind_case();
    }
    EXPECT_TRUE(hall.greet().has_welcome()) << "it is told so, and may stay";
  }
}

TEST_F(HostileMembers, WhoAreClientsMayAskAndSendNothing) {
  serve();
  Visitor client = visitor("phone", net::Role::kClient);
  message::Message ask, echo;
  ask.mutable_ask();
  echo.mutable_echo();
  EXPECT_TRUE(client.ask(ask).has_state());
  EXPECT_TRUE(client.ask(echo).has_echo());
  client.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats());
  EXPECT_EQ(code_of(client.hear()), Code::kInvalidArgument);
  Visitor hall = visitor("hall", net::Role::kWorker);
  EXPECT_EQ(code_of(hall.ask(ask)), Code::kInvalidArgument);
}

// A kind that is in no table is refused from every role.
TEST(Permissions, NameEveryMessageThatIsReceived) {
  message::Message traced, nothing;
  traced.mutable_traced();
  EXPECT_EQ(check_for_worker(traced, net::Role::kOwner).code(), Code::kCorrupt);
  EXPECT_EQ(check_for_worker(nothing, net::Role::kOwner).code(), Code::kCorrupt);
  EXPECT_TRUE(check_for_coordinator(traced, net::Role::kWorker).ok());
  EXPECT_EQ(check_for_coordinator(traced, net::Role::kClient).code(), Code::kInvalidArgument);
  for (const message::Message& command : commands()) {
    EXPECT_TRUE(check_for_worker(command, net::Role::kCoordinator).ok());
    EXPECT_EQ(check_for_coordinator(command, net::Role::kWorker).code(), Code::kCorrupt);
  }
}

TEST_F(HostileMembers, CannotSeizeTheEpoch) {
  serve();
  EXPECT_EQ(code_of(visitor("hall", net::Role::kWorker).greet(1)), Code::kInvalidArgument);
  EXPECT_EQ(code_of(visitor("phone", net::Role::kClient).greet(1)), Code::kInvalidArgument);
  constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(code_of(coordinator().greet(kFar)), Code::kInvalidArgument);
  EXPECT_TRUE(coordinator().greet(7).has_welcome()) << "the counter is where it was";
  EXPECT_EQ(code_of(coordinator().greet(8 + (uint64_t{1} << 20))), Code::kInvalidArgument);
  EXPECT_TRUE(coordinator().greet(7 + (uint64_t{1} << 20)).has_welcome());
}

TEST_F(HostileMembers, SendNothingToPlansThatDoNotNameThem) {
  serve();
  Visitor owner = coordinator();
  message::Assignment assignment = one_task();
  assignment.add_senders("friend");
  ASSERT_TRUE(owner.serve(kPlan, assignment).has_ready());
  Visitor hall = visitor("hall", net::Role::kWorker);
  hall.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats(9));
  const message::Message refused = hall.hear();
  EXPECT_EQ(code_of(refused), Code::kInvalidArgument);
  EXPECT_EQ(refused.failed().plan(), kPlan);
  EXPECT_EQ(refused.failed().request(), 1u);
  Visitor other = visitor("other coordinator", net::Role::kCoordinator);
  other.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats(9));
  EXPECT_EQ(code_of(other.hear()), Code::kInvalidArgument);
  // Nothing of it was kept: the answer is that for a permitted sender.
  Visitor named = visitor("friend", net::Role::kWorker);
  named.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats(5));
  net::Frame frame;
  ASSERT_TRUE(owner.hear(&frame).has_data());
  EXPECT_EQ(to_tensor(frame, DType::kF32, {4})->data<float>()[0], 5);
}

TEST_F(HostileMembers, LearnThatAPlanIsNotThere) {
  serve();
  Visitor owner = coordinator();
  owner.send_data(kPlan, 3, piece_of(kIn, 0, 4), four_floats());
  const message::Message reply = owner.hear();
  EXPECT_EQ(code_of(reply), Code::kUnavailable);
  EXPECT_EQ(reply.failed().plan(), kPlan);
  EXPECT_EQ(reply.failed().request(), 3u);
}

// The review's way to a crash: a plan that takes a while to compile, and many Starts at once.
TEST_F(HostileMembers, StartAPlanOnce) {
  constexpr int kStarts = 16;
  serve();
  message::Assignment assignment;
  for (int i = 0; i < 400; ++i) add_task(assignment, relu_of(), kIn + i, kIn + i + 1);
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.deploy(kPlan, assignment).has_missing());
  for (int i = 0; i < kStarts; ++i) owner.start(kPlan);
  int ready = 0, failed = 0;
  for (int i = 0; i < kStarts; ++i) {
    const message::Message reply = owner.hear();
    ready += reply.has_ready() ? 1 : 0;
    failed += reply.has_failed() && reply.failed().plan() == kPlan ? 1 : 0;
  }
  EXPECT_EQ(ready, 1);
  EXPECT_EQ(failed, kStarts - 1);
}

TEST_F(HostileMembers, KeepAFewThreadsBusyAtMost) {
  Hooked device;
  std::atomic<int> at_once = 0, most = 0;
  std::atomic<bool> go = false;
  device.on_compile = [&] {
    most = std::max(most.load(), ++at_once);
    go.wait(false);
    --at_once;
  };
  serve(device);
  Visitor owner = coordinator();
  constexpr int kPlans = 32;
  for (uint64_t plan = 1; plan <= kPlans; ++plan) {
    ASSERT_TRUE(owner.deploy(plan, one_task()).has_missing());
  }
  for (uint64_t plan = 1; plan <= kPlans; ++plan) owner.start(plan);
  // The first that is refused comes while all threads that it may have are busy.
  const message::Message refused = owner.hear();
  EXPECT_EQ(code_of(refused), Code::kExhausted);
  EXPECT_EQ(refused.failed().plan(), 9u);
  go = true;
  go.notify_all();
  for (int i = 1; i < kPlans; ++i) {
    const message::Message reply = owner.hear();
    EXPECT_TRUE(reply.has_ready() || code_of(reply) == Code::kExhausted);
  }
}

// No piece ever comes for an input without elements.
TEST_F(HostileMembers, MayDeployInputsWithoutElements) {
  const auto cpu = make_cpu_device({.threads = 1});
  for (Device* device : {reference_.get(), cpu.get()}) {
    serve(*device);
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kF32, {4}});
    const ValueId nothing = graph.add_input("nothing", {DType::kF32, {0}});
    graph.mark_output(*graph.add(ops::concat, {x, nothing}, {{"axis", int64_t{0}}}));
    message::Assignment assignment;
    add_task(assignment, graph, kIn, kOut);
    encode(piece_of(kIn + 2, 0, 0), *assignment.mutable_tasks(0)->add_inputs());
    add_send(assignment, piece_of(kOut, 0, 4), plan::kCoordinator);
    Visitor owner = coordinator();
    ASSERT_TRUE(owner.serve(kPlan, assignment).has_ready());
    owner.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats());
    EXPECT_TRUE(owner.hear().has_data());
    EXPECT_TRUE(lives());
  }
}

TEST_F(HostileMembers, AreRefusedWhereTasksDisagreeOnAType) {
  const auto cpu = make_cpu_device({.threads = 1});
  serve(*cpu);
  message::Assignment made, read;
  add_task(made, relu_of(DType::kF32), kIn, kOut);
  add_task(made, relu_of(DType::kF64), kOut, kOut + 1);
  add_task(read, relu_of(DType::kF32), kIn, kOut);
  add_task(read, relu_of(DType::kF64), kIn, kOut + 1);
  Visitor owner = coordinator();
  const message::Message reply = owner.serve(kPlan, made);
  EXPECT_EQ(code_of(reply), Code::kInvalidArgument);
  EXPECT_EQ(reply.failed().plan(), kPlan);
  EXPECT_EQ(code_of(owner.serve(kPlan + 1, read)), Code::kInvalidArgument);
  EXPECT_TRUE(lives());
}

TEST_F(HostileMembers, GetAnErrorWhereMemoryRunsOut) {
  Hooked device;
  serve(device);
  Visitor owner = coordinator();
  device.on_run = [](const RunOptions&) { throw std::bad_alloc(); };
  ASSERT_TRUE(owner.serve(kPlan, one_task()).has_ready());
  owner.send_data(kPlan, 1, piece_of(kIn, 0, 4), four_floats());
  const message::Message running = owner.hear();
  EXPECT_EQ(code_of(running), Code::kExhausted);
  EXPECT_EQ(running.failed().plan(), kPlan);
  EXPECT_EQ(running.failed().request(), 1u);
  // Another graph, which is not known yet.
  device.on_compile = [] { throw std::bad_alloc(); };
  message::Assignment other;
  add_task(other, relu_of(DType::kF64), kIn, kOut);
  const message::Message starting = owner.serve(kPlan + 1, other);
  EXPECT_EQ(code_of(starting), Code::kExhausted);
  EXPECT_EQ(starting.failed().plan(), kPlan + 1);
  message::Message measure;
  measure.mutable_measure();
  message::Graphs graphs;
  encode(relu_of(), *graphs.add_graphs(), [](const Tensor&) { return Hash(kHashBytes, '\0'); });
  EXPECT_EQ(code_of(owner.ask(measure, graphs.SerializeAsString())), Code::kExhausted);
}

TEST_F(HostileMembers, CannotHaveGraphsMeasuredThatDoNotFit) {
  constexpr int64_t kElements = 1 << 20;
  serve({.weight_bytes = 1 << 20});
  message::Message measure;
  measure.mutable_measure();
  message::Graphs input, made;
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {kElements}})}));
  const auto hash = [](const Tensor&) { return Hash(kHashBytes, '\0'); };
  encode(graph, *input.add_graphs(), hash);
  Graph large;
  const ValueId x = large.add_input("x", {DType::kF32, {1, 512}});
  const ValueId wide = *large.add(ops::transpose, {x});
  large.mark_output(*large.add(ops::add, {x, wide}));
  encode(large, *made.add_graphs(), hash);
  Visitor owner = coordinator();
  EXPECT_EQ(code_of(owner.ask(measure, input.SerializeAsString())), Code::kExhausted);
  EXPECT_EQ(code_of(owner.ask(measure, made.SerializeAsString())), Code::kExhausted);
}

// The result is not read, so the device is free again.
TEST_F(HostileMembers, EndTheirMeasurementsWhenTheyLeave) {
  Hooked device;
  std::atomic<bool> begun = false, ended = false;
  device.on_run = [&](const RunOptions& options) {
    begun = true;
    begun.notify_all();
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, options.cancel, [] { return false; });
    ended = true;
    ended.notify_all();
  };
  serve(device);
  message::Message measure;
  measure.mutable_measure()->set_seconds(1e9);
  message::Graphs graphs;
  encode(relu_of(), *graphs.add_graphs(), [](const Tensor&) { return Hash(kHashBytes, '\0'); });
  Visitor owner = coordinator();
  owner.say(measure, graphs.SerializeAsString());
  begun.wait(false);
  EXPECT_TRUE(owner.greet().has_welcome()) << "the reader goes on meanwhile";
  owner.leave();
  ended.wait(false);
}

TEST_F(HostileMembers, HoldNoMoreThanTheirBudget) {
  serve({.peer_bytes = 1 << 20});
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, one_task()).has_ready());
  message::Message data;
  data.mutable_data()->set_plan(kPlan);
  data.mutable_data()->set_request(2);
  const std::string large(2 << 20, 'x');
  const message::Message refused = owner.ask(data, large);
  EXPECT_EQ(code_of(refused), Code::kExhausted);
  EXPECT_EQ(refused.failed().plan(), kPlan);
  EXPECT_EQ(refused.failed().request(), 2u);
  // Plans that are not started count, on all channels of the peer.
  message::Assignment padded = one_task();
  padded.add_senders(std::string(300 << 10, 'x'));
  Visitor again = coordinator();
  int kept = 0;
  for (uint64_t plan = 100; plan < 110; ++plan) {
    const message::Message reply = (plan % 2 == 0 ? owner : again).deploy(plan, padded);
    kept += reply.has_missing() ? 1 : 0;
    EXPECT_TRUE(reply.has_missing() || code_of(reply) == Code::kExhausted);
  }
  EXPECT_EQ(kept, 3);
  EXPECT_TRUE(visitor("another", net::Role::kOwner).deploy(200, padded).has_missing());
}

TEST_F(HostileMembers, CannotDeployWhatIsTooLarge) {
  serve();
  Visitor owner = coordinator();
  message::Assignment peers = one_task();
  for (int i = 0; i <= 1024; ++i) {
    message::Peer& peer = *peers.add_peers();
    peer.set_worker(i);
    peer.set_name("n" + std::to_string(i));
  }
  const message::Message many = owner.deploy(1, peers);
  EXPECT_EQ(code_of(many), Code::kInvalidArgument);
  EXPECT_EQ(many.failed().plan(), 1u);
  message::Assignment tasks;
  for (int i = 0; i < 1 << 15; ++i) tasks.add_tasks()->add_inputs();
  EXPECT_EQ(code_of(owner.deploy(2, tasks)), Code::kInvalidArgument);
  message::Assignment bytes;
  bytes.add_senders(std::string(kMostAssignmentBytes, 'x'));
  EXPECT_EQ(code_of(owner.deploy(3, bytes)), Code::kInvalidArgument);
  message::Assignment nameless = one_task();
  nameless.add_peers()->set_worker(1);
  EXPECT_EQ(code_of(owner.deploy(4, nameless)), Code::kInvalidArgument);
}

// The one request too many fails at once and by name, so that it is not waited for.
TEST_F(HostileMembers, AreToldWhichRequestIsTooMuch) {
  constexpr uint64_t kMost = 64;
  serve();
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, one_task()).has_ready());
  const Tensor half = Tensor::of<float>({2}, {1, 2});
  for (uint64_t request = 1; request <= kMost + 1; ++request) {
    owner.send_data(kPlan, request, piece_of(kIn, 0, 2), half);
  }
  const message::Message refused = owner.hear();
  EXPECT_EQ(code_of(refused), Code::kExhausted);
  EXPECT_EQ(refused.failed().plan(), kPlan);
  EXPECT_EQ(refused.failed().request(), kMost + 1);
  owner.send_data(kPlan, 1, piece_of(kIn, 2, 4), half);
  EXPECT_TRUE(owner.hear().has_data()) << "the others go on";
}

TEST_F(HostileMembers, SendNoBoolsThatAreNone) {
  serve();
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kBool, {4}});
  graph.mark_output(*graph.add(ops::not_, {x}));
  message::Assignment assignment;
  add_task(assignment, graph, kIn, kOut);
  add_send(assignment, piece_of(kOut, 0, 4), plan::kCoordinator);
  Visitor owner = coordinator();
  ASSERT_TRUE(owner.serve(kPlan, assignment).has_ready());
  message::Message data;
  data.mutable_data()->set_plan(kPlan);
  data.mutable_data()->set_request(1);
  data.mutable_data()->set_dtype(static_cast<uint32_t>(DType::kBool));
  encode(piece_of(kIn, 0, 4), *data.mutable_data()->mutable_piece());
  EXPECT_EQ(code_of(owner.ask(data, "\x01\x01\x02\x01")), Code::kCorrupt);
}

// One user measures while another deploys. The thread sanitizer sees what is not guarded.
TEST_F(HostileMembers, AndHonestOnesUseTheCpuAtOnce) {
  const auto cpu = make_cpu_device({.threads = 2, .tune = Tune::kFast});
  serve(*cpu);
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([this, user] {
      Visitor owner = visitor("user " + std::to_string(user), net::Role::kCoordinator);
      for (int64_t i = 0; i < 4; ++i) {
        Graph graph;
        const ValueId x = graph.add_input("x", {DType::kF32, {4, 32 + i}});
        const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {32 + i, 4}}));
        const ValueId y = *graph.add(ops::mat_mul, {x, w});
        graph.mark_output(y);
        if (user % 2 == 0) {
          message::Message measure;
          measure.mutable_measure();
          message::Graphs graphs;
          encode(graph, *graphs.add_graphs(), [](const Tensor&) { return Hash(kHashBytes, '\0'); });
          EXPECT_TRUE(owner.ask(measure, graphs.SerializeAsString()).has_measured());
        } else {
          message::Assignment assignment;
          message::Task& task = *assignment.add_tasks();
          encode(graph, *task.mutable_graph(),
                 [](const Tensor& tensor) { return hash_of(tensor.bytes()); });
          encode({ValueId{kIn}, {{0, 0}, {4, 32 + i}}}, *task.add_inputs());
          encode({ValueId{kOut}, {{0, 0}, {4, 4}}}, *task.add_outputs());
          const auto plan = static_cast<uint64_t>(100 * user + i + 1);
          EXPECT_TRUE(owner.serve(plan, assignment).has_ready());
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
}

}  // namespace
}  // namespace shoal::cluster
