// A worker sends its coordinator arbitrary messages, mostly valid ones, during deployments and
// requests. Afterwards the coordinator's plan on another worker answers as before.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fuzz_bytes.h"
#include "fuzz_cluster.h"
#include "messages.pb.h"
#include "no_idle_priority.h"
#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/worker/worker.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/ops.h"
#include "unhurried.h"

namespace {

using namespace shoal;
using namespace shoal::cluster;
using namespace std::chrono_literals;

// Two layers, the second with a weight that travels apart.
Graph make_graph() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 512}});
  const ValueId y = *graph.add(ops::relu, {x});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {1, 512}}));
  graph.mark_output(*graph.add(ops::add, {y, w}));
  return graph;
}

const Graph& the_graph() {
  static const Graph graph = make_graph();
  return graph;
}

// The first layer on one worker, the second on another.
plan::Plan plan_on(int first, int second) {
  plan::Plan plan;
  for (size_t i = 0; i < 2; ++i) {
    const plan::NodeRange range{i, i + 1};
    const int worker = i == 0 ? first : second;
    plan.segments.push_back({range, "", {{worker, plan::whole_pieces(the_graph(), range)}}});
  }
  return plan;
}

// The untrusted worker. It has a thread, which reads and sends as the input says, and leaves when
// the input has ended, so that no peer has to wait for it.
class Rogue {
 public:
  Rogue(net::LoopbackNetwork& network, FuzzBytes& input)
      : input_(input),
        transport_(network.transport("rogue", unhurried(), net::Role::kWorker)),
        listener_(*transport_->listen("rogue")),
        thread_([this] { serve(); }) {}
  ~Rogue() {
    listener_->close();
    thread_.join();
  }

 private:
  void serve() {
    for (;;) {
      auto channel = listener_->accept(net::Deadline::max());
      if (!channel.ok()) return;
      greet(**channel);
      while (hear(**channel)) {
      }
      (*channel)->close();
    }
  }
  static void greet(net::Channel& channel) {
    if (!channel.receive(net::after(20s)).ok()) return;
    message::Message welcome;
    welcome.mutable_welcome()->set_version(cluster::kProtocolVersion);
    static_cast<void>(send(channel, welcome));
  }
  bool hear(net::Channel& channel);
  void say_something(net::Channel& channel);
  void answer(net::Channel& channel, const message::Message& heard);
  uint64_t some_plan() { return input_.one_in(4) ? uint64_t{1} << input_.below(64) : plan_; }
  uint64_t some_request() { return static_cast<uint64_t>(input_.below(4)); }
  void set_piece(message::Piece& to);

  FuzzBytes& input_;  // read by this thread only, until it ends
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Listener> listener_;
  uint64_t plan_ = 0;  // the last that it was given
  std::thread thread_;
};

bool Rogue::hear(net::Channel& channel) {
  const auto frame = channel.receive(net::Deadline::max());
  message::Message heard;
  if (!frame.ok() || !parse(*frame, heard).ok()) return false;
  if (heard.has_deploy()) plan_ = heard.deploy().plan();
  for (int left = input_.below(4); left > 0; --left) say_something(channel);
  if (input_.empty() || input_.one_in(8)) return false;
  answer(channel, heard);
  return true;
}

// As an honest worker would, if it had no work to do.
void Rogue::answer(net::Channel& channel, const message::Message& heard) {
  message::Message reply;
  if (heard.has_deploy()) {
    reply.mutable_missing()->set_plan(heard.deploy().plan());
  } else if (heard.has_start()) {
    reply.mutable_ready()->set_plan(heard.start().plan());
  } else if (heard.has_rejoin()) {
    reply.mutable_ready()->set_plan(heard.rejoin().plan());
  } else if (heard.has_hello()) {
    reply.mutable_welcome()->set_version(cluster::kProtocolVersion);
  } else {
    return;
  }
  static_cast<void>(send(channel, reply));
}

void Rogue::set_piece(message::Piece& to) {
  const plan::Piece whole{ValueId{input_.below(5)}, Region::whole({1, 512})};
  encode(whole, to);
  if (input_.one_in(4)) to.set_begin(1, input_.byte());
}

void Rogue::say_something(net::Channel& channel) {
  message::Message message;
  std::string payload;
  switch (input_.below(8)) {
    case 0:
      message.mutable_missing()->set_plan(some_plan());
      for (int left = input_.below(4); left > 0; --left) {
        const auto bytes = the_graph()[ValueId{2}].constant->bytes();
        message.mutable_missing()->add_hashes(input_.one_in(4) ? "no hash" : hash_of(bytes));
      }
      break;
    case 1:
      message.mutable_ready()->set_plan(some_plan());
      break;
    case 2: {
      message::Failed& failed = *message.mutable_failed();
      failed.set_plan(some_plan());
      failed.set_request(some_request());
      failed.set_code(static_cast<uint32_t>(input_.below(12)));
      failed.set_unreached(static_cast<uint32_t>(input_.below(5)));
      break;
    }
    case 3:
      message.mutable_cut()->set_plan(some_plan());
      message.mutable_cut()->set_from(input_.one_in(2) ? "honest" : "rogue");
      break;
    case 4: {
      message::Data& data = *message.mutable_data();
      data.set_plan(some_plan());
      data.set_request(some_request());
      data.set_dtype(static_cast<uint32_t>(input_.below(3)));
      set_piece(*data.mutable_piece());
      payload.assign(input_.one_in(4) ? input_.byte() : 2048, '\1');
      break;
    }
    case 5: {
      message::Traced& traced = *message.mutable_traced();
      traced.set_plan(some_plan());
      traced.set_request(some_request());
      for (int left = input_.below(3); left > 0; --left) traced.add_tasks();
      for (int left = input_.below(3); left > 0; --left) {
        set_piece(*traced.add_received()->mutable_piece());
        set_piece(*traced.add_sent()->mutable_piece());
      }
      break;
    }
    case 6:
      message.mutable_welcome()->set_clock(int64_t{1} << input_.below(63));
      break;
    default:
      if (input_.one_in(2)) message.mutable_start();
      break;
  }
  std::string control = message.SerializeAsString();
  input_.damage(control);
  const net::Bytes bytes = bytes_of(payload);
  static_cast<void>(channel.send(
      {bytes_of(control), std::span(&bytes, payload.empty() ? 0 : 1), false}, net::after(20s)));
}

Tensor the_input() {
  Tensor tensor({DType::kF32, {1, 512}});
  for (size_t i = 0; i < 512; ++i) tensor.data<float>()[i] = static_cast<float>(i) - 256;
  return tensor;
}

void check_answer(RemotePlan& plan) {
  const std::vector<Tensor> inputs = {the_input()};
  std::vector<Tensor> outputs(1);
  if (!plan.run(inputs, outputs, 20s).ok()) fail("an honest request fails");
  for (size_t i = 0; i < 512; ++i) {
    const float wanted = std::max(inputs[0].data<float>()[i], 0.0F);
    if (outputs[0].data<float>()[i] != wanted) fail("a wrong answer");
  }
}

// Deploys plans with a part for the rogue, and uses them. All of it may fail, and soon.
void use(Coordinator& coordinator) {
  constexpr int kHonest = 0, kRogue = 1;
  const std::vector<Tensor> inputs = {the_input()};
  for (const auto& [first, second] :
       {std::pair(kRogue, kHonest), std::pair(kHonest, kRogue), std::pair(kRogue, kRogue)}) {
    if (!coordinator.lost().empty()) static_cast<void>(coordinator.revive(kRogue));
    auto deployed = coordinator.deploy(the_graph(), plan_on(first, second), /*traced=*/true);
    if (!deployed.ok()) continue;
    std::vector<Tensor> outputs(1);
    plan::Timeline times;
    static_cast<void>((*deployed)->run(inputs, outputs, 5ms, &times));
    static_cast<void>((*deployed)->run(inputs, outputs, 5ms));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  give_up_idle_priority();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto device = make_reference_device();
  FuzzBytes input(data, size);
  net::LoopbackNetwork network;
  const auto transport = network.transport("honest", unhurried(), net::Role::kWorker);
  Worker worker({.name = "honest"}, *device, *transport);
  worker.serve(*transport->listen("honest"));
  const Rogue rogue(network, input);
  const auto own = network.transport("coordinator", unhurried(), net::Role::kCoordinator);
  const std::vector<ListedWorker> workers = {{"honest", "honest"}, {"rogue", "rogue"}};
  auto coordinator = Coordinator::connect(workers, *own);
  if (!coordinator.ok()) fail("it does not connect");
  {
    auto honest = (*coordinator)->deploy(the_graph(), plan_on(0, 0));
    if (!honest.ok()) fail("an honest plan is refused");
    use(**coordinator);
    check_answer(**honest);
  }
  coordinator->reset();
  return 0;
}
