// Threads of a worker: one accepts connections; one for each connection reads its messages in
// order, also if this worker connected; one computes tasks (WorkerPlans); one for each peer sends
// (PeerConnection); one stores weights (WeightReceiver). Work that takes long (compiling,
// measuring, releasing) goes to threads_, a few for each connection, because a waiting reader would
// delay pieces of other plans. A peer that breaks the protocol is disconnected; any other error is
// reported to it and the connection continues. No message ends the process: permissions.h says
// which roles may send what, a ByteBudget bounds the memory of frames, and catch_exhaustion()
// surrounds everything that acts on a message.
#include "shoal/cluster/worker/worker.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/base/machine/machine.h"
#include "shoal/base/threads/background_thread.h"
#include "shoal/base/threads/notification.h"
#include "shoal/cluster/messages/catch_exhaustion.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/messages/permissions.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/profiling/probe_handlers.h"

namespace shoal::cluster {
namespace {

// For the log: "desk (192.168.1.5:40312), coordinator".
std::string described(const net::Peer& peer) {
  return to_string(peer) + ", " + std::string(net::to_string(peer.role));
}

// For one connection. A coordinator deploys one plan at a time to a worker; releases may overlap.
constexpr int kMostErrands = 8;

// Of unsent error reports for one connection. Further ones are dropped.
constexpr size_t kMostReportBytes = size_t{1} << 20;

}  // namespace

Worker::Worker(WorkerOptions options, Device& device, net::Transport& transport)
    : options_(std::move(options)),
      device_(device),
      store_(options_.weight_bytes, std::move(options_.cache)),
      weights_(store_,
               [](const auto& channel, const auto& status) { report_to(channel, {}, status); }),
      programs_(device, options_.plan_bytes),
      peers_(options_.name, transport,
             [this](const ChannelPtr& channel) { return admit(channel, OpenedBy::kUs); }),
      task_runners_(options_.tasks,
                    {options_.task_device != nullptr ? *options_.task_device : device, computing_,
                     options_.plan_bytes}) {
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
  if (acceptor_.joinable()) acceptor_.join();  // no connection comes after this
  worker_plans_.stop();
  visits_.join();  // releases the plans of connections
  threads_.join();
  peers_.finish();
  // Now that no plan holds them, all end. Behind what closes them already.
  Notification closed;
  closer_.post([&] {
    peers_.close_unused();
    closed.notify();
  });
  closed.wait();
}

void Worker::accept() {
  for (;;) {
    auto channel = listener_->accept(net::Deadline::max());
    if (!channel.ok()) {
      if (channel.status().code() == Code::kUnavailable) return;
      continue;  // its certificate was refused
    }
    options_.log("connected: " + described((*channel)->peer()));
    if (admit(*channel, OpenedBy::kPeer).code() == Code::kUnavailable) return;
  }
}

// Begins to read a channel. kUnavailable if the worker is stopping. Who cannot be served, for want
// of a thread, is cut off.
Status Worker::admit(const ChannelPtr& channel, OpenedBy by) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return Status(Code::kUnavailable, "this worker ends");
  const Status admitted = catch_exhaustion([&]() -> Status {
    std::shared_ptr<ByteBudget> budget;
    for (const auto& [other, visitor] : channels_) {
      if (other->peer().name == channel->peer().name) budget = visitor.budget;
    }
    if (budget == nullptr) budget = ByteBudget::make(options_.peer_bytes);
    channels_.emplace(channel, Visitor{std::move(budget)});
    peers_.add(channel, by);
    const bool runs = visits_.run([this, channel] { listen(channel); });
    return runs ? Status() : Status(Code::kExhausted, "no thread is to be had");
  });
  if (admitted.ok()) return {};
  peers_.remove(channel);
  channels_.erase(channel);
  channel->close();
  return admitted;
}

void Worker::listen(const ChannelPtr& channel) {
  std::shared_ptr<ByteBudget> budget;
  {
    const std::lock_guard lock(mutex_);
    budget = channels_.at(channel).budget;
  }
  // A second barrier, around receiving and reporting, which take little memory. A peer that cannot
  // even be sent an error is disconnected.
  static_cast<void>(catch_exhaustion([&] {
    read(channel, *budget);
    return Status();
  }));
  channel->close();
  static_cast<void>(catch_exhaustion([&] {
    forget(channel);
    return Status();
  }));
}

void Worker::read(const ChannelPtr& channel, ByteBudget& budget) {
  std::optional<Subject> refused;  // of the frame that did not fit the budget
  const net::Place place = [&](net::Bytes control, size_t bytes) {
    Result<net::Buffer> memory = budget.allocate(bytes);
    message::Message message;
    if (!memory.ok() && message.ParseFromArray(control.data(), static_cast<int>(control.size()))) {
      refused = subject_of(message);
    }
    return memory;
  };
  for (;;) {
    refused.reset();
    Subject subject;
    const Result<net::Frame> frame = channel->receive(net::Deadline::max(), place);
    if (!frame.ok() && !refused) return;
    const Status status = frame.ok()
                              ? catch_exhaustion([&] { return take(channel, *frame, subject); })
                              : frame.status();
    if (status.ok()) continue;
    options_.log("refused: " + described(channel->peer()) + ": " + std::string(status.message()));
    if (status.code() == Code::kCorrupt) return report_to(channel, subject, status);
    fail(channel, refused.value_or(subject), status);
  }
}

Status Worker::take(const ChannelPtr& channel, const net::Frame& frame, Subject& subject) {
  message::Message message;
  SHOAL_TRY(parse(frame, message));
  subject = subject_of(message);
  SHOAL_TRY(check_for_worker(message, channel->peer().role));
  return handle(channel, message, frame);
}

Worker::Subject Worker::subject_of(const message::Message& message) {
  switch (message.kind_case()) {
    case message::Message::kDeploy:
      return {message.deploy().plan(), 0};
    case message::Message::kStart:
      return {message.start().plan(), 0};
    case message::Message::kRelease:
      return {message.release().plan(), 0};
    case message::Message::kRejoin:
      return {message.rejoin().plan(), 0};
    case message::Message::kForget:
      return {message.forget().plan(), message.forget().request()};
    case message::Message::kData:
      return {message.data().plan(), message.data().request()};
    case message::Message::kBeginTask:
      return {0, 0, message.begin_task().task()};
    case message::Message::kTaskMessage:
      return {0, 0, message.task_message().task()};
    default:
      return {};
  }
}

// Drops the plans of a coordinator that is gone. If the peer was another worker, pieces either way
// may be lost, which only the reader of this channel can know: the coordinators are told.
void Worker::forget(const ChannelPtr& channel) {
  Visitor visitor;
  {
    const std::lock_guard lock(mutex_);
    const auto it = channels_.find(channel);
    visitor = std::move(it->second);
    channels_.erase(it);
  }
  visitor.leaving.request_stop();
  task_runners_.forget(channel);
  visitor.plans.merge(peers_.remove(channel));
  for (uint64_t plan : visitor.plans) say_cut_off(plan, channel->peer().name);
  for (const WorkerPlanPtr& worker_plan : worker_plans_.take_all(channel)) {
    forget_senders(worker_plan->plan());
  }
}

void Worker::say_cut_off(uint64_t plan, const std::string& peer) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(plan);
  if (worker_plan != nullptr && worker_plan->started()) worker_plan->say_cut_off_from(peer);
}

// The plan is taken out at once, so that the coordinator can deploy it again under the same number.
// Others may still hold it: it ends, and its connections with it, when they let go of it.
void Worker::release(const ChannelPtr& channel, uint64_t plan) {
  if (worker_plans_.take(plan, channel) != nullptr) forget_senders(plan);
}

void Worker::forget_senders(uint64_t plan) {
  const std::lock_guard lock(mutex_);
  for (auto& [channel, visitor] : channels_) visitor.plans.erase(plan);
}

// A plan may end on a thread that sends, which its connection would wait for. One call that waits
// does for all plans that ended before it runs.
void Worker::close_unused_later() {
  static_cast<void>(catch_exhaustion([this] {
    closer_.post([this] { peers_.close_unused(); }, /*bytes=*/1);
    return Status();
  }));
}

// A slot among the background tasks of a connection, held while it lives.
struct Worker::Errand {
  Errand(Worker& of, ChannelPtr by) : worker(of), channel(std::move(by)) {}
  ~Errand() {
    const std::lock_guard lock(worker.mutex_);
    const auto visitor = worker.channels_.find(channel);
    if (counts && visitor != worker.channels_.end()) --visitor->second.errands;
  }
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  Worker& worker;
  const ChannelPtr channel;
  bool counts = false;
};

// Null if the connection has too many.
std::shared_ptr<Worker::Errand> Worker::begin_errand(const ChannelPtr& channel) {
  auto errand = std::make_shared<Errand>(*this, channel);
  {
    const std::lock_guard lock(mutex_);
    int& errands = channels_.at(channel).errands;
    errand->counts = errands < kMostErrands;
    if (errand->counts) ++errands;
  }
  return errand->counts ? errand : nullptr;  // one that does not count ends without the lock
}

Status Worker::run_errand(const ChannelPtr& channel, Subject subject,
                          std::function<Status()> what) {
  const std::shared_ptr<Errand> errand = begin_errand(channel);
  if (errand == nullptr) return Status(Code::kExhausted, "too much is asked for at once");
  const bool runs = threads_.run([channel, subject, what = std::move(what), errand] {
    static_cast<void>(catch_exhaustion([&] {
      const Status status = catch_exhaustion(what);
      if (!status.ok()) report_to(channel, subject, status);
      return Status();
    }));
  });
  return runs ? Status() : Status(Code::kExhausted, "no thread is to be had");
}

// A request fails at the coordinator that waits for it, which need not be the sender.
void Worker::fail(const ChannelPtr& channel, Subject subject, const Status& status) {
  const WorkerPlanPtr worker_plan =
      subject.request != 0 ? worker_plans_.find(subject.plan) : nullptr;
  if (worker_plan != nullptr && worker_plan->started() && worker_plan->has_sender(*channel)) {
    worker_plan->fail(subject.request, status);
  } else {
    report_later(channel, subject, status);
  }
}

// Not by the thread that reads: two workers that refuse each other's pieces would both wait until
// the other one reads.
void Worker::report_later(const ChannelPtr& channel, Subject subject, const Status& status) {
  std::shared_ptr<TaskThread> reports;
  {
    const std::lock_guard lock(mutex_);
    Visitor& visitor = channels_.at(channel);
    if (visitor.reports == nullptr) {
      visitor.reports = std::make_shared<TaskThread>(kMostReportBytes);
    }
    reports = visitor.reports;
  }
  auto report = [channel, subject, status] {
    static_cast<void>(catch_exhaustion([&] {
      report_to(channel, subject, status);
      return Status();
    }));
  };
  reports->post(std::move(report), sizeof(message::Failed) + status.message().size());
}

void Worker::report_to(const ChannelPtr& channel, Subject subject, const Status& status) {
  message::Message reply;
  reply.mutable_failed()->set_plan(subject.plan);
  reply.mutable_failed()->set_request(subject.request);
  reply.mutable_failed()->set_task(subject.task);
  reply.mutable_failed()->set_code(static_cast<uint32_t>(status.code()));
  reply.mutable_failed()->set_text(std::string(status.message()));
  static_cast<void>(send(*channel, reply));  // if it does not arrive, the channel is closing
}

// REQUIRES: check_for_worker() lets the message through.
Status Worker::handle(const ChannelPtr& channel, const message::Message& message,
                      const net::Frame& frame) {
  switch (message.kind_case()) {
    case message::Message::kHello:
      return welcome(channel, message.hello());
    case message::Message::kDeploy:
      return deploy(channel, message.deploy(), frame);
    case message::Message::kBlob:
      return weights_.take(channel, message.blob(), frame.payload);
    case message::Message::kStart:
      return run_errand(
          channel, subject_of(message),
          [this, channel, plan = message.start().plan()] { return start(channel, plan); });
    case message::Message::kRelease:
      release(channel, message.release().plan());
      return {};
    case message::Message::kForget: {
      const WorkerPlanPtr worker_plan = worker_plans_.find(message.forget().plan(), channel);
      if (worker_plan != nullptr && worker_plan->started())
        worker_plan->forget(message.forget().request());
      return {};
    }
    case message::Message::kCheck: {
      const WorkerPlanPtr worker_plan = worker_plans_.find(message.check().plan(), channel);
      if (worker_plan != nullptr && worker_plan->started()) worker_plan->check(message.check());
      return {};
    }
    case message::Message::kRejoin:
      return rejoin(channel, message.rejoin());
    case message::Message::kAwake:
      return {};
    case message::Message::kData:
      return take_piece(channel, message.data(), frame);
    case message::Message::kFailed:
      return take_refusal(channel, message.failed());
    case message::Message::kEcho:
      return echo(*channel, message.echo());
    case message::Message::kMeasure:
      return measure(channel, message.measure(), frame);
    case message::Message::kBeginTask:
      return begin_task(channel, message.begin_task(), frame);
    case message::Message::kTaskMessage:
      return task_runners_.take(channel, message.task_message(), frame);
    case message::Message::kAsk:
      // The load is looked at for a while.
      return run_errand(channel, {}, [this, channel] { return tell(channel); });
    case message::Message::kRenewed:
      return renew(channel, message.renewed().certificate());
    default:
      return Status(Code::kCorrupt, "a message that workers do not get");
  }
}

// Fencing: an exclusive coordinator takes the worker over from those of earlier epochs, which may
// not know of it yet. The epoch is on disk before it is followed, so that a restart does not let an
// older one back in.
Status Worker::follow(const ChannelPtr& channel, const message::Hello& hello) {
  if (!may_take_charge(channel->peer().role)) {
    return invalid("a " + std::string(net::to_string(channel->peer().role)) +
                   " cannot be in charge");
  }
  const Epoch claimed{hello.epoch(), channel->peer().name, hello.epoch_nonce()};
  const std::lock_guard lock(mutex_);
  SHOAL_TRY(check_claim(epoch_, claimed));
  if (claimed.number > epoch_.number || claimed.nonce != epoch_.nonce) {
    if (options_.epochs) SHOAL_TRY(options_.epochs->keep(claimed));
    epoch_ = claimed;
  }
  channels_.at(channel).epoch = claimed.number;
  for (const auto& [other, visitor] : channels_) {
    // Its plans go with it.
    if (visitor.epoch > 0 && visitor.epoch < claimed.number) other->close();
  }
  return {};
}

// A refusal names the epoch that is followed, so that the owner can go beyond it.
Status Worker::refuse(const ChannelPtr& channel, const Status& why) {
  options_.log("refused: " + described(channel->peer()) + ": " + std::string(why.message()));
  message::Message reply;
  reply.mutable_failed()->set_code(static_cast<uint32_t>(why.code()));
  reply.mutable_failed()->set_text(std::string(why.message()));
  {
    const std::lock_guard lock(mutex_);
    reply.mutable_failed()->set_epoch(epoch_.number);
  }
  return send(*channel, reply);
}

Status Worker::welcome(const ChannelPtr& channel, const message::Hello& hello) {
  if (hello.epoch() > 0) {
    if (const Status followed = follow(channel, hello); !followed.ok()) {
      return refuse(channel, followed);
    }
  }
  message::Message reply;
  message::Welcome& welcome = *reply.mutable_welcome();
  welcome.set_version(kProtocolVersion);
  welcome.set_name(options_.name);
  welcome.set_threads(static_cast<uint32_t>(device_.info().threads));
  welcome.set_clock(nanoseconds(std::chrono::steady_clock::now()));
  if (options_.membership != nullptr && channel->peer().role == net::Role::kOwner) {
    for (const net::Refusal& one : options_.membership->refusals()) welcome.add_refused(one.why);
  }
  return send(*channel, reply);
}

// From any peer: the certificate is for this worker, and the authority has signed it.
Status Worker::renew(const ChannelPtr& channel, const std::string& certificate) {
  if (options_.membership == nullptr) return invalid("this worker has no certificate to renew");
  SHOAL_TRY(options_.membership->renew(certificate));
  options_.log("renewed: by " + described(channel->peer()));
  message::Message reply;
  reply.mutable_renewed();
  return send(*channel, reply);
}

std::stop_token Worker::leaving(const ChannelPtr& channel) {
  const std::lock_guard lock(mutex_);
  return channels_.at(channel).leaving.get_token();
}

// Ends with the connection: the answer would not be read.
Status Worker::measure(const ChannelPtr& channel, const message::Measure& measure,
                       const net::Frame& frame) {
  const MeasureLimits limits{options_.weight_bytes, net::after(kMostMeasuringTime),
                             leaving(channel)};
  return run_errand(channel, {}, [this, channel, measure, frame, limits]() -> Status {
    SHOAL_ASSIGN(const message::Message reply,
                 time_graphs(device_, measure, frame, limits, computing_));
    return send(*channel, reply);
  });
}

Status Worker::begin_task(const ChannelPtr& channel, const message::BeginTask& begin,
                          const net::Frame& frame) {
  SHOAL_ASSIGN(auto run, task_runners_.begin(channel, begin, frame));
  options_.log("begins: task " + begin.name() + " of " + described(channel->peer()));
  return run_errand(channel, {0, 0, begin.task()}, std::move(run));
}

Status Worker::tell(const ChannelPtr& channel) {
  const Machine machine = describe_machine();
  message::Message reply;
  message::State& state = *reply.mutable_state();
  state.set_processor(processor_text(device_.info(), machine));
  state.set_memory_bytes(machine.memory_bytes);
  state.set_free_bytes(machine.free_bytes);
  state.set_load(machine.load);
  state.set_others_load(load_of_others());
  state.set_plan_bytes(options_.plan_bytes);
  state.set_cores(std::thread::hardware_concurrency());
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
  options_.log("deployed: plan " + std::to_string(deploy.plan()) + " by " +
               described(channel->peer()));
  weights_.ask_for(channel, deploy.plan(), worker_plan->weights());
  return {};
}

Status Worker::start(const ChannelPtr& channel, uint64_t plan) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(plan, channel);
  // It went with the connection by which it came, perhaps in the middle of a deployment.
  if (worker_plan == nullptr) return Status(Code::kUnavailable, "the plan is not here");
  WorkingSigns signs([&] {
    message::Message working;
    working.mutable_working()->set_plan(plan);
    static_cast<void>(send(*channel, working, {}, /*urgent=*/true));  // its reader notices a loss
  });
  if (!verify_weights(*worker_plan, signs)) {
    weights_.ask_for(channel, plan, worker_plan->weights());
    return {};
  }
  const Status started =
      worker_plan->start({programs_, store_, peers_, options_.weight_bytes, [&] { signs.step(); },
                          [this] { close_unused_later(); }});
  // Released meanwhile. This is not awaited, and another plan may have the number by now.
  if (worker_plans_.find(plan, channel) != worker_plan) return {};
  SHOAL_TRY(started);
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
    return Status(Code::kUnavailable, "the plan is not here");
  }
  worker_plan->rejoin(rejoin.worker());
  message::Message reply;
  reply.mutable_ready()->set_plan(rejoin.plan());
  return send(*channel, reply);
}

// A coordinator that connected before a member was removed makes no new connection by which it
// would learn of it. So it is told when it sends the next request.
Status Worker::tell_removed(const ChannelPtr& coordinator) {
  if (options_.membership == nullptr) return {};
  const auto list = options_.membership->denied();
  {
    const std::lock_guard lock(mutex_);
    uint64_t& told = channels_.at(coordinator).told;
    if (list->counter() <= told) return {};
    told = list->counter();
  }
  message::Message message;
  message.mutable_deny_list()->set_text(list->text());
  return send(*coordinator, message);
}

// Tells the sender that the plan is not here. If it is not over, a request would otherwise wait for
// its deadline.
Status Worker::take_piece(const ChannelPtr& channel, const message::Data& data,
                          const net::Frame& frame) {
  const WorkerPlanPtr worker_plan = worker_plans_.find(data.plan());
  if (worker_plan == nullptr || !worker_plan->started()) {
    return Status(Code::kUnavailable, "the plan is not here");
  }
  if (!worker_plan->has_sender(*channel)) return invalid("the plan names no such sender");
  const bool is_input = channel == worker_plan->coordinator();
  hit_fault_point(is_input ? FaultPoint::kInputArrives : FaultPoint::kPieceArrives);
  if (is_input) {
    SHOAL_TRY(tell_removed(channel));
  } else {
    const std::lock_guard lock(mutex_);
    // Remembered so that forget() can say which plans a broken connection concerns.
    channels_.at(channel).plans.insert(data.plan());
  }
  SHOAL_TRY(worker_plan->take(data, frame, is_input ? std::string() : channel->peer().name));
  worker_plans_.look();
  return {};
}

// A peer that does not have the plan dropped what was sent to it. The plan can then not rely on
// the peer, as if the connection had broken.
Status Worker::take_refusal(const ChannelPtr& channel, const message::Failed& failed) {
  if (status_of(failed).code() != Code::kUnavailable) return {};
  if (peers_.lose(channel, failed.plan())) say_cut_off(failed.plan(), channel->peer().name);
  return {};
}

void Worker::hit_fault_point(FaultPoint point) const {
  if (options_.reached) options_.reached(point);
}

}  // namespace shoal::cluster
