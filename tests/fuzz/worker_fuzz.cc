// Members of every role say to a worker whatever they like, in any order, mostly what makes sense.
// Afterwards the worker answers, and the plan of an honest coordinator is as it was.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "fuzz_bytes.h"
#include "fuzz_cluster.h"
#include "messages.pb.h"
#include "no_idle_priority.h"
#include "shoal/cluster/data_parallel/training_setup.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/worker/worker.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/train/distributed/run/hub_messages.h"
#include "step_mutator.h"
#include "training.pb.h"
#include "unhurried.h"

namespace {

using namespace shoal;
using namespace shoal::cluster;
using namespace std::chrono_literals;

constexpr uint64_t kHonestPlan = 1;  // which others may guess
constexpr int kMostSteps = 64;
constexpr size_t kStepBytes = 32;  // of the input, for one message
constexpr size_t kBudget = size_t{1} << 20;

// Graphs to deploy and to measure.
std::vector<Graph> make_graphs() {
  std::vector<Graph> graphs;
  const auto begin = [&]() -> Graph& { return graphs.emplace_back(); };
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Graph& graph = begin();
    graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {dtype, {4}})}));
  }
  {
    Graph& graph = begin();
    const ValueId x = graph.add_input("x", {DType::kF32, {4}});
    const ValueId nothing = graph.add_input("nothing", {DType::kF32, {0}});
    graph.mark_output(*graph.add(ops::concat, {x, nothing}, {{"axis", int64_t{0}}}));
  }
  {
    Graph& graph = begin();  // with a weight that travels apart
    const ValueId x = graph.add_input("x", {DType::kF32, {512}});
    const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {512}}));
    graph.mark_output(*graph.add(ops::add, {x, w}));
  }
  {
    Graph& graph = begin();  // that makes much of little
    const ValueId x = graph.add_input("x", {DType::kF32, {1, 1024}});
    graph.mark_output(*graph.add(ops::add, {x, *graph.add(ops::transpose, {x})}));
  }
  {
    Graph& graph = begin();  // that computes nothing
    graph.mark_output(graph.add_input("x", {DType::kF32, {4}}));
  }
  {
    Graph& graph = begin();  // with more input than may be held
    const ValueId x = graph.add_input("x", {DType::kF32, {1 << 19}});
    graph.mark_output(*graph.add(ops::relu, {x}));
  }
  return graphs;
}

const std::vector<Graph>& graphs() {
  static const std::vector<Graph> all = make_graphs();
  return all;
}

plan::Piece whole_of(const Graph& graph, ValueId id, int value) {
  return {ValueId{value}, Region::whole(graph[id].type.shape)};
}

// Says what the input tells it to.
class Member {
 public:
  Member(net::LoopbackNetwork& network, const std::string& name, net::Role role)
      : transport_(network.transport(name, unhurried(), role)) {}

  void say_something(FuzzBytes& input);
  bool measures() const { return measures_; }  // has asked for it: nothing else may be computed
  void leave() {
    if (channel_ != nullptr) channel_->close();
  }

 private:
  void connect() { channel_ = *transport_->connect("worker", net::after(20s)); }
  void compose(FuzzBytes& input, message::Message& message, std::string& payload);
  static message::Assignment assignment(FuzzBytes& input);
  static void add_task(FuzzBytes& input, message::Assignment& to);
  static plan::Piece piece(FuzzBytes& input);
  static void compose_training(FuzzBytes& input, uint64_t run, message::Message& message,
                               std::string& payload);
  static EncodedSetup setup(FuzzBytes& input);
  static std::string order(FuzzBytes& input);

  std::unique_ptr<net::Transport> transport_;
  std::shared_ptr<net::Channel> channel_;  // null: it has not said anything yet
  bool measures_ = false;
};

void Member::say_something(FuzzBytes& input) {
  if (channel_ == nullptr) connect();
  message::Message message;
  std::string payload;
  compose(input, message, payload);
  std::string control = message.SerializeAsString();
  input.damage(control);
  input.damage(payload);
  const net::Bytes bytes = bytes_of(payload);
  Status sent;
  for (int times = input.one_in(8) ? 2 : 1; times > 0; --times) {
    sent = channel_->send({bytes_of(control), std::span(&bytes, payload.empty() ? 0 : 1), false},
                          net::after(20s));
  }
  if (sent.code() == Code::kDeadline) fail("the worker does not read");
  // Pieces can follow when the plan has been started: the answer to each message is waited for.
  const bool waits =
      message.has_deploy() || message.has_begin_task() || (message.has_start() && !input.one_in(4));
  if (waits) static_cast<void>(channel_->receive(net::after(1s)));
  measures_ |= message.has_measure();
  // What it answers is read, so that it does not wait for this member.
  while (channel_->receive(net::Deadline::min()).ok()) {
  }
  if (!sent.ok()) connect();  // it was disconnected
}

plan::Piece Member::piece(FuzzBytes& input) {
  const Graph& graph =
      graphs()[static_cast<size_t>(input.below(static_cast<int>(graphs().size())))];
  plan::Piece piece = whole_of(graph, graph.inputs()[0], input.below(4));
  if (!input.one_in(4)) return piece;
  for (int64_t& x : piece.region.begin) x = input.below(6);
  for (int64_t& x : piece.region.end) x = input.below(6);
  return piece;
}

void Member::add_task(FuzzBytes& input, message::Assignment& to) {
  const Graph& graph =
      graphs()[static_cast<size_t>(input.below(static_cast<int>(graphs().size())))];
  message::Task& task = *to.add_tasks();
  encode(graph, *task.mutable_graph(),
         [](const Tensor& tensor) { return hash_of(tensor.bytes()); });
  for (ValueId id : graph.inputs()) encode(whole_of(graph, id, input.below(4)), *task.add_inputs());
  for (ValueId id : graph.outputs()) {
    const plan::Piece made = whole_of(graph, id, input.below(4));
    encode(made, *task.add_outputs());
    message::Send& order = *task.add_sends();
    encode(made, *order.mutable_piece());
    order.set_to(input.below(3) - 1);
  }
  if (!input.one_in(4)) return;
  message::Code& code = *task.add_codes();
  for (int member = 0; member < 3; ++member) encode(piece(input), *code.add_members());
  code.set_parities(1);
  code.set_dtype(static_cast<uint32_t>(DType::kF32));
  for (int i = 0; i < 2; ++i) code.add_coefficients(1);
}

message::Assignment Member::assignment(FuzzBytes& input) {
  message::Assignment assignment;
  const int tasks = input.below(4);
  for (int i = 0; i < tasks; ++i) add_task(input, assignment);
  for (int worker = 0; worker < 2; ++worker) {
    message::Peer& peer = *assignment.add_peers();
    peer.set_worker(worker);
    peer.set_name(worker == 0 ? "worker" : "nobody");
    peer.set_address(worker == 0 ? "worker" : "nowhere");
  }
  assignment.add_senders("friend");
  assignment.set_survives(input.one_in(2));
  assignment.set_wait_ms(static_cast<uint32_t>(input.below(2)));
  return assignment;
}

// A network of one layer, four inputs and two classes, for micro-batches of one sample.
EncodedSetup Member::setup(FuzzBytes& input) {
  TrainingSetup setup;
  const ValueId x = setup.network.add_input("x", {DType::kF32, {1, 4}});
  const int64_t classes = input.one_in(4) ? 512 : 2;  // its weights are not part of the message
  const ValueId w = setup.network.add_constant("w", Tensor({DType::kF32, {4, classes}}));
  setup.network.mark_output(*setup.network.add(ops::mat_mul, {x, w}));
  setup.exchange.levels = input.below(3);
  const auto codecs = learn::all_codecs();
  setup.exchange.codec.kind =
      codecs[static_cast<size_t>(input.below(static_cast<int>(codecs.size())))];
  return *encode_setup(setup);
}

std::string Member::order(FuzzBytes& input) {
  const int64_t step = input.below(3);
  learn::ToWorker order = learn::GoodbyeMessage{};
  switch (input.below(5)) {
    case 0:
    case 1:
      order = learn::StateMessage{step, {{"w", Tensor({DType::kF32, {4, 2}})}}};
      break;
    case 2:
      order = learn::AssignMessage{step, input.below(2), input.below(5)};
      break;
    case 3:
      order = learn::PullMessage{
          .step = step,
          .outer = input.one_in(4) ? learn::OuterRule{0.7F, 0.9F} : learn::OuterRule{},
          .merged = std::vector<std::byte>(4 * 2 * sizeof(float))};
      break;
    default:
      if (input.one_in(2)) order = learn::LateMessage{step};
  }
  const std::vector<std::byte> bytes = encode(order);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Member::compose_training(FuzzBytes& input, uint64_t run, message::Message& message,
                              std::string& payload) {
  switch (input.below(4)) {
    case 0: {
      const EncodedSetup its = setup(input);
      message::BeginTask& begin = *message.mutable_begin_task();
      begin.set_task(run);
      begin.set_name(input.one_in(8) ? "federated" : kTrainingTask);  // the former it has not
      begin.set_header(its.header());
      for (const net::Bytes piece : its.pieces()) {
        payload.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      }
      return;
    }
    case 1: {
      message::TrainingHeader header;
      header.mutable_examples()->set_step(input.below(3));
      header.mutable_examples()->set_number(input.below(4));
      message.mutable_task_message()->set_task(run);
      message.mutable_task_message()->set_header(header.SerializeAsString());
      payload.assign(4 * sizeof(float) + sizeof(int64_t), '\0');
      return;
    }
    default:
      message.mutable_task_message()->set_task(run);
      payload = order(input);
  }
}

void Member::compose(FuzzBytes& input, message::Message& message, std::string& payload) {
  const uint64_t plan = static_cast<uint64_t>(input.below(4)) + 1;
  switch (input.below(20)) {
    case 0:
      message.mutable_hello()->set_version(kProtocolVersion);
      if (input.one_in(4)) message.mutable_hello()->set_epoch(uint64_t{1} << input.below(64));
      return;
    case 1:
    case 2:
      message.mutable_deploy()->set_plan(plan);
      message.mutable_deploy()->set_traced(input.one_in(3));
      payload = assignment(input).SerializeAsString();
      return;
    case 3:
    case 4:
      message.mutable_start()->set_plan(plan);
      return;
    case 5:
      message.mutable_release()->set_plan(plan);
      return;
    case 6: {
      payload.assign(512 * sizeof(float), '\0');
      message.mutable_blob()->set_hash(hash_of(bytes_of(payload)));
      return;
    }
    case 7:
    case 8:
    case 9: {
      message::Data& data = *message.mutable_data();
      const plan::Piece its = piece(input);
      data.set_plan(plan);
      data.set_request(static_cast<uint64_t>(input.below(4)));
      data.set_dtype(static_cast<uint32_t>(input.one_in(4) ? DType::kF64 : DType::kF32));
      encode(its, *data.mutable_piece());
      const bool is_box = decode(data.piece()).ok();
      const size_t element = data.dtype() == static_cast<uint32_t>(DType::kF64) ? 8 : 4;
      if (is_box) payload.assign(static_cast<size_t>(its.region.shape().count()) * element, '\1');
      return;
    }
    case 10:
      message.mutable_forget()->set_plan(plan);
      message.mutable_forget()->set_request(static_cast<uint64_t>(input.below(4)));
      return;
    case 11:
      message.mutable_rejoin()->set_plan(plan);
      message.mutable_rejoin()->set_worker(input.below(3) - 1);
      return;
    case 12: {
      message.mutable_measure()->set_seconds(input.one_in(8) ? 1e9 : 0);
      message::Graphs some;
      const size_t count = static_cast<size_t>(input.below(3));
      for (size_t i = 0; i < count; ++i) {
        encode(graphs()[static_cast<size_t>(input.below(static_cast<int>(graphs().size())))],
               *some.add_graphs(), [](const Tensor&) { return Hash(kHashBytes, '\0'); });
      }
      payload = some.SerializeAsString();
      return;
    }
    case 13:
      message.mutable_ask();
      return;
    case 14:
      message.mutable_echo()->set_reply_bytes(uint64_t{1} << input.below(40));
      return;
    case 15:
    case 16:
    case 17:
    case 18:
      return compose_training(input, plan, message, payload);
    default:
      // Messages that only coordinators get, or no peer.
      if (input.one_in(2)) message.mutable_traced();
      return;
  }
}

// Deploys a plan and uses it.
class Honest {
 public:
  explicit Honest(net::LoopbackNetwork& network)
      : transport_(network.transport("honest", unhurried(), net::Role::kCoordinator)),
        channel_(*transport_->connect("worker", net::after(20s))) {
    message::Message deploy, start;
    deploy.mutable_deploy()->set_plan(kHonestPlan);
    start.mutable_start()->set_plan(kHonestPlan);
    message::Assignment assignment;
    message::Task& task = *assignment.add_tasks();
    encode(graphs()[0], *task.mutable_graph(), [](const Tensor&) { return Hash(); });
    encode(whole_of(graphs()[0], graphs()[0].inputs()[0], 0), *task.add_inputs());
    const plan::Piece made = whole_of(graphs()[0], graphs()[0].outputs()[0], 1);
    encode(made, *task.add_outputs());
    encode(made, *task.add_sends()->mutable_piece());
    task.mutable_sends(0)->set_to(plan::kCoordinator);
    say(deploy, assignment.SerializeAsString());
    if (!hear().has_missing()) fail("an honest plan is refused");
    say(start, "");
    if (!hear().has_ready()) fail("an honest plan does not start");
  }

  void use(uint64_t request) {
    const Tensor elements = Tensor::of<float>({4}, {1, -2, 3, -4});
    const plan::Piece input = whole_of(graphs()[0], graphs()[0].inputs()[0], 0);
    if (!send_piece(*channel_, kHonestPlan, request, input, elements).ok()) fail("nobody listens");
    net::Frame frame;
    const message::Message answer = hear(&frame);
    if (!answer.has_data() || answer.data().request() != request) fail("an honest request fails");
    const auto tensor = to_tensor(frame, DType::kF32, {4});
    if (!tensor.ok() || !std::ranges::equal(tensor->data<float>(), std::vector<float>{1, 0, 3, 0}))
      fail("a wrong answer");
  }

 private:
  void say(const message::Message& message, const std::string& payload) {
    const net::Bytes bytes = bytes_of(payload);
    if (!send(*channel_, message, std::span(&bytes, payload.empty() ? 0 : 1)).ok()) {
      fail("nobody listens");
    }
  }
  message::Message hear(net::Frame* whole = nullptr) {
    auto frame = channel_->receive(net::after(20s));
    message::Message message;
    if (!frame.ok() || !parse(*frame, message).ok()) fail("no answer in time");
    if (whole != nullptr) *whole = *std::move(frame);
    return message;
  }

  std::unique_ptr<net::Transport> transport_;
  std::shared_ptr<net::Channel> channel_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  give_up_idle_priority();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  StepMutator<kStepBytes> mutator(std::span(data, size), seed);
  mutator.mutate();
  return mutator.write(std::span(data, std::min(max_size, kMostSteps * kStepBytes)));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto device = make_cpu_device({.threads = 1});
  FuzzBytes input(data, size);
  net::LoopbackNetwork network;
  const auto transport = network.transport("worker", unhurried(), net::Role::kWorker);
  Worker worker(
      {.name = "worker", .weight_bytes = kBudget, .peer_bytes = kBudget, .tasks = training_tasks()},
      *device, *transport);
  worker.serve(*transport->listen("worker"));
  Honest honest(network);
  std::vector<Member> members;
  members.emplace_back(network, "coordinator", net::Role::kCoordinator);
  members.emplace_back(network, "coordinator", net::Role::kCoordinator);
  members.emplace_back(network, "owner", net::Role::kOwner);
  members.emplace_back(network, "friend", net::Role::kWorker);
  members.emplace_back(network, "hall", net::Role::kWorker);
  members.emplace_back(network, "phone", net::Role::kClient);
  for (int i = 0; i < kMostSteps && !input.empty(); ++i) {
    FuzzBytes step = input.take(kStepBytes);
    members[static_cast<size_t>(step.below(6))].say_something(step);
  }
  // Plans take turns: what members have asked for is computed beside this request. What they had
  // measured ends with them.
  for (Member& member : members) {
    if (member.measures()) member.leave();
  }
  honest.use(1);
  for (Member& member : members) member.leave();
  honest.use(2);
  return 0;
}
