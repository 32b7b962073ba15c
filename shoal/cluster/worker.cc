// Threads of a worker: one accepts connections; one for each visitor reads its messages in order;
// one computes tasks (WorkerPlans); one for each peer sends (Peer); one stores weights
// (WeightReceiver). Work that takes long (compiling, releasing) goes to threads_, because a reader
// that waits would hold up pieces of other plans. A visitor that breaks the protocol is
// disconnected; any other error is reported to it and the connection goes on.
#include "shoal/cluster/worker.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/base/background_thread.h"
#include "shoal/base/machine.h"
#include "shoal/cluster/message_io.h"
#include "shoal/cluster/probe_handlers.h"

namespace shoal::cluster {

Worker::Worker(WorkerOptions options, Device& device, net::Transport& transport)
    : options_(std::move(options)),
      device_(device),
      store_(options_.weight_bytes, std::move(options_.cache)),
      weights_(store_, &Worker::report_to),
      programs_(device),
      peers_(transport, [this](uint64_t plan, const auto& peer) { say_cut_off(plan, peer); }) {
  if (options_.epochs) epoch_ = options_.epochs->latest();
}

Worker::~Worker() { stop(); }

void Worker::serve(std::unique_ptr<net::Listener> listener) {
  listener_ = std::move(listener);
  worker_plans_.start();
  acceptor_ = std::thread([this] { accept(); });
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (const auto& [channel, visitor] : channels_) channel->close();
  }
  // Closing channels first lets blocked sends and receives fail, so that the joins below return.
  peers_.close();
  if (listener_ != nullptr) listener_->close();
  if (acceptor_.joinable()) acceptor_.join();  // no visitor comes after this
  worker_plans_.stop();
  visits_.join();  // the plans of a visitor go with it
  threads_.join();
  peers_.release(0);  // now that no plan holds them, all end
}

void Worker::accept() {
  for (;;) {
    auto channel = listener_->accept(net::Deadline::max());
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (!channel.ok()) {
      if (channel.status().code() == Code::kUnavailable) return;
      continue;  // its certificate was refused
    }
    channels_.try_emplace(*channel);
    visits_.run([this, shared = *channel] { listen(shared); });
  }
}

void Worker::listen(const ChannelPtr& channel) {
  for (;;) {
    const Result<net::Frame> frame = channel->receive(net::Deadline::max());
    if (!frame.ok()) break;
    if (const Status status = handle(channel, *frame); !status.ok()) {
      report_to(channel, status);
      if (status.code() == Code::kCorrupt) break;
    }
  }
  channel->close();
  forget(channel);
}

// Drops the plans of a coordinator that is gone. If the visitor was another worker, pieces that it
// sent may be lost, which only the reader of this channel can know: the coordinators are told.
void Worker::forget(const ChannelPtr& channel) {
  Visitor visitor;
  {
    const std::lock_guard lock(mutex_);
    visitor = std::move(channels_[channel]);
    channels_.erase(channel);
  }
  for (uint64_t plan : visitor.plans) say_cut_off(plan, channel->peer().name);
  for (WorkerPlanPtr& worker_plan : worker_plans_.take_all(channel))
    release(std::move(worker_plan));
}

void Worker::say_cut_off(uint64_t plan, const std::string& peer) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(plan);
  if (worker_plan != nullptr && worker_plan->started()) worker_plan->say_cut_off_from(peer);
}

void Worker::release(WorkerPlanPtr worker_plan) {
  const uint64_t plan = worker_plan->plan();
  worker_plan.reset();
  peers_.release(plan);
}

// On a thread of its own: it waits for sends that go on, perhaps to a peer that does not answer.
// The plan is taken out at once, so that the coordinator can deploy it again under the same number.
void Worker::release_later(const ChannelPtr& channel, uint64_t plan) {
  WorkerPlanPtr worker_plan = worker_plans_.take(plan, channel);
  if (worker_plan == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [one, visitor] : channels_) visitor.plans.erase(plan);
  }
  threads_.run(
      [this, worker_plan = std::move(worker_plan)]() mutable { release(std::move(worker_plan)); });
}

void Worker::report_to(const ChannelPtr& channel, const Status& status) {
  message::Message reply;
  reply.mutable_failed()->set_code(static_cast<uint32_t>(status.code()));
  reply.mutable_failed()->set_text(std::string(status.message()));
  static_cast<void>(send(*channel, reply));  // if it does not arrive, the channel is closing
}

Status Worker::handle(const ChannelPtr& channel, const net::Frame& frame) {
  message::Message message;
  SHOAL_TRY(parse(frame, message));
  switch (message.kind_case()) {
    case message::Message::kHello:
      return welcome(channel, message.hello());
    case message::Message::kDeploy:
      return deploy(channel, message.deploy(), frame);
    case message::Message::kBlob:
      return weights_.take(channel, message.blob(), frame.payload);
    case message::Message::kStart:
      threads_.run([this, channel, plan = message.start().plan()] {
        if (const Status status = start(channel, plan); !status.ok()) report_to(channel, status);
      });
      return {};
    case message::Message::kRelease:
      release_later(channel, message.release().plan());
      return {};
    case message::Message::kForget: {
      const WorkerPlanPtr worker_plan = worker_plans_.find(message.forget().plan(), channel);
      if (worker_plan != nullptr && worker_plan->started())
        worker_plan->forget(message.forget().request());
      return {};
    }
    case message::Message::kRejoin:
      return rejoin(channel, message.rejoin());
    case message::Message::kAwake:
      return {};
    case message::Message::kData:
      return take_piece(channel, message.data(), frame);
    case message::Message::kEcho:
      return echo(*channel, message.echo());
    case message::Message::kMeasure:
      return measure(channel, message.measure(), frame);
    case message::Message::kAsk:
      return tell(channel);
    default:
      return Status(Code::kCorrupt, "a message that workers do not get");
  }
}

// Fencing: an exclusive coordinator takes the worker over from those of earlier epochs, which may
// not know yet that there is another. The epoch is on disk before it is followed, so that a restart
// does not let an older one back in.
Status Worker::follow(const ChannelPtr& channel, uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  if (epoch < epoch_.number) {
    return invalid("a coordinator of epoch " + std::to_string(epoch) +
                   " is out of date: " + epoch_.in_charge + " of epoch " +
                   std::to_string(epoch_.number) + " is in charge");
  }
  if (epoch > epoch_.number) {
    const Epoch later{epoch, channel->peer().name};
    if (options_.epochs) SHOAL_TRY(options_.epochs->keep(later));
    epoch_ = later;
  }
  channels_[channel].epoch = epoch;
  for (const auto& [other, visitor] : channels_) {
    // Its plans go with it.
    if (visitor.epoch > 0 && visitor.epoch < epoch) other->close();
  }
  return {};
}

Status Worker::welcome(const ChannelPtr& channel, const message::Hello& hello) {
  if (hello.epoch() > 0) SHOAL_TRY(follow(channel, hello.epoch()));
  message::Message reply;
  message::Welcome& welcome = *reply.mutable_welcome();
  welcome.set_version(kProtocolVersion);
  welcome.set_name(options_.name);
  welcome.set_threads(static_cast<uint32_t>(device_.info().threads));
  welcome.set_clock(nanoseconds(std::chrono::steady_clock::now()));
  return send(*channel, reply);
}

Status Worker::measure(const ChannelPtr& channel, const message::Measure& measure,
                       const net::Frame& frame) {
  SHOAL_ASSIGN(const message::Message reply,
               time_graphs(device_, measure, frame, options_.weight_bytes, computing_));
  return send(*channel, reply);
}

Status Worker::tell(const ChannelPtr& channel) {
  const Machine machine = describe_machine();
  message::Message reply;
  message::State& state = *reply.mutable_state();
  state.set_processor(machine.processor);
  state.set_memory_bytes(machine.memory_bytes);
  state.set_free_bytes(machine.free_bytes);
  state.set_load(machine.load);
  state.set_weight_bytes(store_.bytes());
  state.set_plans(static_cast<uint32_t>(worker_plans_.count()));
  state.set_tasks(worker_plans_.computed());
  return send(*channel, reply);
}

Status Worker::deploy(const ChannelPtr& channel, const message::Deploy& deploy,
                      const net::Frame& frame) {
  hit_fault_point(FaultPoint::kDeploying);
  SHOAL_ASSIGN(const WorkerPlanPtr worker_plan, WorkerPlan::read(deploy, frame, channel));
  SHOAL_TRY(worker_plans_.add(worker_plan));
  weights_.ask_for(channel, deploy.plan(), worker_plan->weights());
  return {};
}

Status Worker::start(const ChannelPtr& channel, uint64_t plan) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(plan, channel);
  if (worker_plan == nullptr) return invalid("there is no such plan to start");
  WorkingSigns signs([&] {
    message::Message working;
    working.mutable_working()->set_plan(plan);
    static_cast<void>(send(*channel, working, {}, /*urgent=*/true));  // its reader notices a loss
  });
  if (!verify_weights(*worker_plan, signs)) {
    weights_.ask_for(channel, plan, worker_plan->weights());
    return {};
  }
  SHOAL_TRY(worker_plan->start(programs_, store_, peers_, [&] { signs.step(); }));
  message::Message reply;
  reply.mutable_ready()->set_plan(plan);
  // After Ready, pieces may arrive at any moment, from workers that were ready before this one.
  SHOAL_TRY(send(*channel, reply));
  hit_fault_point(FaultPoint::kReady);
  return {};
}

// False if some are not here any more, or were damaged on disk.
bool Worker::verify_weights(const WorkerPlan& worker_plan, WorkingSigns& signs) {
  const auto is_verified = [this](const Hash& hash) { return store_.is_verified(hash); };
  if (std::ranges::all_of(worker_plan.weights(), is_verified)) return true;
  bool all = true;
  // They are read and hashed, which must not slow down tasks of other plans.
  run_at_low_priority([&] {
    for (const Hash& hash : worker_plan.weights()) {
      if (!store_.verify(hash).ok()) all = false;
      signs.step();
    }
  });
  return all;
}

Status Worker::rejoin(const ChannelPtr& channel, const message::Rejoin& rejoin) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(rejoin.plan(), channel);
  if (worker_plan == nullptr || !worker_plan->started()) {
    return invalid("there is no such plan to rejoin");
  }
  worker_plan->rejoin(rejoin.worker());
  message::Message reply;
  reply.mutable_ready()->set_plan(rejoin.plan());
  return send(*channel, reply);
}

// Drops pieces of plans that are over or not started: a sender may not know it yet.
Status Worker::take_piece(const ChannelPtr& channel, const message::Data& data,
                          const net::Frame& frame) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(data.plan());
  if (worker_plan == nullptr || !worker_plan->started()) return {};
  hit_fault_point(channel == worker_plan->coordinator() ? FaultPoint::kInputArrives
                                                        : FaultPoint::kPieceArrives);
  SHOAL_TRY(worker_plan->take(data, frame));
  if (channel != worker_plan->coordinator()) {
    const std::lock_guard lock(mutex_);
    // Remembered so that forget() can say which plans a broken connection concerns.
    channels_[channel].plans.insert(data.plan());
  }
  worker_plans_.look();
  return {};
}

void Worker::hit_fault_point(FaultPoint point) const {
  if (options_.reached) options_.reached(point);
}

}  // namespace shoal::cluster
