#include "hostile.h"

#include <thread>

#include "messages.pb.h"
#include "shoal/cluster/coordinator/runtime/plan_encoder.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::simulation {
namespace {

using cluster::message::Message;

class Hostile {
 public:
  Hostile(World& world, int worker) : world_(world), worker_(worker) {}

  void run() {
    const auto transport =
        world_.network.transport("hostile", net::Role::kCoordinator, world_.channel);
    auto connected = transport->connect(worker_name(worker_), net::after(std::chrono::seconds(2)));
    if (!connected.ok() || !prepare()) return;
    channel_ = *std::move(connected);
    std::thread reader([this] {
      while (channel_->receive(net::Deadline::max()).ok()) {
      }
    });
    const uint64_t messages = 4 + draw(24);
    for (uint64_t i = 0; i < messages; ++i) {
      send_something();
      if (draw(4) == 0) sleep_until(now() + static_cast<Nanos>(draw(50 * kMillisecond)));
    }
    sleep_until(now() + static_cast<Nanos>(draw(500 * kMillisecond)));
    channel_->close();
    reader.join();
  }

 private:
  // A plan for this worker alone.
  bool prepare() {
    std::vector<cluster::WorkerInfo> infos;
    for (int i = 0; i < world_.scene.workers; ++i)
      infos.push_back({worker_name(i), worker_name(i)});
    cluster::PlanEncoder encoder(world_.scene.plans.at({worker_}).scheduled);
    cluster::message::Assignment assignment;
    if (!encoder.encode_for(worker_, infos, assignment).ok()) return false;
    assignment_ = assignment.SerializeAsString();
    weights_ = encoder.weights();
    return true;
  }

  void send(const Message& message, net::Bytes payload = {}) {
    static_cast<void>(
        cluster::send(*channel_, message, std::span(&payload, payload.empty() ? 0 : 1)));
  }

  void send_something() {
    const uint64_t plan = 1 + draw(2);
    Message message;
    switch (draw(8)) {
      case 0:
      case 1:
        message.mutable_deploy()->set_plan(plan);
        send(message, cluster::bytes_of(assignment_));
        return send_weights();
      case 2:
      case 3:
        message.mutable_start()->set_plan(plan);
        send(message);
        return send(message);
      case 4:
        message.mutable_release()->set_plan(plan);
        return send(message);
      case 5:
        message.mutable_forget()->set_plan(plan);
        message.mutable_forget()->set_request(draw(4));
        return send(message);
      case 6:
        message.mutable_rejoin()->set_plan(plan);
        message.mutable_rejoin()->set_worker(static_cast<int>(draw(4)));
        return send(message);
      default:
        message.mutable_data()->set_plan(plan);
        message.mutable_data()->set_request(1 + draw(3));
        message.mutable_data()->set_dtype(static_cast<uint32_t>(DType::kF32));
        return send(message, std::as_bytes(std::span(world_.scene.inputs[0].data<float>())));
    }
  }

  void send_weights() {
    for (const auto& [hash, weight] : weights_) {
      Message message;
      message.mutable_blob()->set_hash(hash);
      send(message, weight.bytes());
    }
  }

  World& world_;
  const int worker_;
  std::shared_ptr<net::Channel> channel_;
  std::string assignment_;
  std::map<cluster::Hash, Tensor> weights_;
};

}  // namespace

void be_hostile(World& world, int worker) { Hostile(world, worker).run(); }

}  // namespace shoal::simulation
