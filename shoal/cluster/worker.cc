#include "shoal/cluster/worker.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/talk.h"

namespace shoal::cluster {
namespace {

Result<std::vector<plan::Piece>> decode_all(
    const google::protobuf::RepeatedPtrField<message::Piece>& from) {
  std::vector<plan::Piece> pieces;
  for (const message::Piece& piece : from) {
    SHOAL_ASSIGN(plan::Piece decoded, decode(piece));
    pieces.push_back(std::move(decoded));
  }
  return pieces;
}

// The pieces must be what the graph takes or gives.
Status check_pieces(const Graph& graph, std::span<const ValueId> values,
                    const std::vector<plan::Piece>& pieces) {
  if (values.size() != pieces.size()) return invalid("pieces do not match the graph");
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (graph[values[i]].type.shape != pieces[i].region.shape()) {
      return invalid("pieces do not match the graph");
    }
  }
  return {};
}

bool contains(const Region& outer, const Region& inner) {
  return outer.begin.rank() == inner.begin.rank() && plan::intersection(outer, inner) == inner;
}

}  // namespace

Worker::Worker(WorkerOptions options, Device& device, net::Transport& transport)
    : options_(std::move(options)),
      device_(device),
      transport_(transport),
      store_(options_.weight_bytes) {}

Worker::~Worker() { stop(); }

void Worker::serve(std::unique_ptr<net::Listener> listener) {
  listener_ = std::move(listener);
  acceptor_ = std::thread([this] { accept(); });
  computer_ = std::thread([this] { compute(); });
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (const ChannelPtr& channel : channels_) channel->close();
    for (const auto& [plan, duty] : duties_) {
      const std::lock_guard duty_lock(duty->mutex);
      for (const auto& [worker, channel] : duty->peers) channel->close();
    }
  }
  if (listener_ != nullptr) listener_->close();
  work_.notify_all();
  if (acceptor_.joinable()) acceptor_.join();  // from then on nobody comes
  if (computer_.joinable()) computer_.join();
  join_visits(true);
}

// Those that are over, or all.
void Worker::join_visits(bool all) {
  std::erase_if(visits_, [&](Visit& visit) {
    if (!all && !visit.over) return false;
    visit.thread.join();
    return true;
  });
}

void Worker::accept() {
  for (;;) {
    auto channel = listener_->accept(net::Deadline::max());
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (!channel.ok()) {
      if (channel.status().code() == Code::kUnavailable) return;
      continue;  // whoever came did not get in
    }
    channels_.insert(*channel);
    join_visits(false);
    Visit& visit = visits_.emplace_back();
    visit.thread = std::thread([this, &visit, shared = *channel] {
      listen(shared);
      visit.over = true;
    });
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

// Plans of a coordinator that is gone are dropped: nobody wants their answers.
void Worker::forget(const ChannelPtr& channel) {
  std::vector<DutyPtr> dropped;  // freed after the lock is
  const std::lock_guard lock(mutex_);
  channels_.erase(channel);
  std::erase_if(duties_, [&](const auto& entry) {
    const bool gone = entry.second->coordinator == channel;
    if (gone) dropped.push_back(entry.second);
    return gone;
  });
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
      return welcome(channel);
    case message::Message::kDeploy:
      return deploy(channel, message.deploy().plan(), frame);
    case message::Message::kBlob:
      return store_.put(message.blob().hash(), frame.payload);
    case message::Message::kStart:
      return start(channel, message.start().plan());
    case message::Message::kRelease: {
      const std::lock_guard lock(mutex_);
      const auto it = duties_.find(message.release().plan());
      if (it != duties_.end() && it->second->coordinator == channel) duties_.erase(it);
      return {};
    }
    case message::Message::kData:
      return take_piece(message.data(), frame);
    default:
      return Status(Code::kCorrupt, "a message that workers do not get");
  }
}

Status Worker::welcome(const ChannelPtr& channel) {
  message::Message reply;
  message::Welcome& welcome = *reply.mutable_welcome();
  welcome.set_version(kProtocolVersion);
  welcome.set_name(options_.name);
  welcome.set_threads(static_cast<uint32_t>(device_.info().threads));
  return send(*channel, reply);
}

Status Worker::deploy(const ChannelPtr& channel, uint64_t plan, const net::Frame& frame) {
  constexpr size_t kMostDuties = 64;
  auto duty = std::make_shared<Duty>();
  duty->plan = plan;
  duty->coordinator = channel;
  duty->assignment.assign(reinterpret_cast<const char*>(frame.payload.bytes.data()),
                          frame.payload.bytes.size());
  message::Assignment assignment;
  if (!assignment.ParseFromString(duty->assignment)) {
    return Status(Code::kCorrupt, "an assignment cannot be read");
  }
  message::Message reply;
  reply.mutable_missing()->set_plan(plan);
  std::set<Hash> missing;
  for (const message::Task& task : assignment.tasks()) {
    SHOAL_ASSIGN(const std::vector<Hash> hashes, hashes_in(task.graph()));
    for (const Hash& hash : hashes) {
      if (!store_.has(hash)) missing.insert(hash);
    }
  }
  for (const Hash& hash : missing) reply.mutable_missing()->add_hashes(hash);
  {
    const std::lock_guard lock(mutex_);
    if (duties_.size() >= kMostDuties) return Status(Code::kExhausted, "too many plans at once");
    if (!duties_.emplace(plan, duty).second) return invalid("there is such a plan already");
  }
  return send(*channel, reply);
}

Status Worker::start(const ChannelPtr& channel, uint64_t plan) {
  const DutyPtr duty = duty_of(plan);
  if (duty == nullptr || duty->coordinator != channel || duty->deployment != nullptr) {
    return invalid("there is no such plan to start");
  }
  SHOAL_ASSIGN(auto deployment, compile(*duty));
  {
    const std::lock_guard lock(mutex_);
    duty->deployment = std::move(deployment);
    duty->assignment.clear();
  }
  message::Message reply;
  reply.mutable_ready()->set_plan(plan);
  return send(*channel, reply);
}

Result<std::unique_ptr<Deployment>> Worker::compile(Duty& duty) {
  message::Assignment assignment;
  SHOAL_CHECK(assignment.ParseFromString(duty.assignment));  // it was read before
  std::vector<WorkerTask> tasks;
  for (const message::Task& from : assignment.tasks()) {
    WorkerTask task;
    SHOAL_ASSIGN(const Graph graph, decode(from.graph(), [&](const Hash& h, const TensorType& t) {
                   return store_.find(h, t);
                 }));
    SHOAL_ASSIGN(task.inputs, decode_all(from.inputs()));
    SHOAL_ASSIGN(task.outputs, decode_all(from.outputs()));
    SHOAL_TRY(check_pieces(graph, graph.inputs(), task.inputs));
    SHOAL_TRY(check_pieces(graph, graph.outputs(), task.outputs));
    for (const message::Send& order : from.sends()) {
      SHOAL_ASSIGN(plan::Piece piece, decode(order.piece()));
      const bool made = std::ranges::any_of(task.outputs, [&](const plan::Piece& output) {
        return output.value == piece.value && contains(output.region, piece.region);
      });
      if (!made) return invalid("a task is to send what it does not make");
      task.sends.push_back({std::move(piece), order.to()});
    }
    SHOAL_ASSIGN(task.executable, device_.compile(graph));
    tasks.push_back(std::move(task));
  }
  for (const message::Peer& peer : assignment.peers()) {
    duty.addresses[peer.worker()] = peer.address();
  }
  return std::make_unique<Deployment>(std::move(tasks));
}

Worker::DutyPtr Worker::duty_of(uint64_t plan) {
  const std::lock_guard lock(mutex_);
  const auto it = duties_.find(plan);
  return it == duties_.end() ? nullptr : it->second;
}

// From the coordinator or another worker. Pieces of plans that are over are dropped in silence.
Status Worker::take_piece(const message::Data& data, const net::Frame& frame) {
  const DutyPtr duty = duty_of(data.plan());
  if (duty == nullptr || duty->deployment == nullptr) return {};
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const std::optional<DType> dtype = duty->deployment->dtype_of(piece.value);
  if (!dtype || static_cast<uint32_t>(*dtype) != data.dtype()) {
    return Status(Code::kCorrupt, "a piece of a value that nobody here reads");
  }
  SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, *dtype, piece.region.shape()));
  SHOAL_TRY(duty->deployment->put(data.request(), piece, elements));
  const std::lock_guard lock(mutex_);
  ++news_;
  work_.notify_all();
  return {};
}

void Worker::compute() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return stopped_ || news_ != seen; });
      if (stopped_) return;
      seen = news_;
    }
    while (compute_one()) {
    }
  }
}

bool Worker::compute_one() {
  std::vector<DutyPtr> duties;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    for (const auto& [plan, duty] : duties_) {
      if (duty->deployment != nullptr) duties.push_back(duty);
    }
  }
  for (const DutyPtr& duty : duties) {
    std::optional<ReadyTask> task = duty->deployment->take();
    if (!task) continue;
    if (const Status status = run(*duty, *task); !status.ok()) {
      duty->deployment->cancel(task->request);
      report(*duty, task->request, status.at(options_.name));
    }
    return true;
  }
  return false;
}

Status Worker::run(Duty& duty, const ReadyTask& ready) {
  const WorkerTask& task = duty.deployment->tasks()[ready.task];
  std::vector<Tensor> outputs(task.outputs.size());
  SHOAL_TRY(task.executable->run(ready.inputs, outputs, nullptr));
  // What others wait for goes first.
  for (const SendOrder& order : task.sends) {
    const auto made = std::ranges::find(task.outputs, order.piece.value, &plan::Piece::value);
    const Tensor& whole = outputs[static_cast<size_t>(made - task.outputs.begin())];
    const Tensor part = made->region == order.piece.region
                            ? whole
                            : crop(whole, plan::relative(order.piece.region, made->region));
    SHOAL_ASSIGN(const ChannelPtr peer, peer_of(duty, order.to));
    SHOAL_TRY(send_piece(*peer, duty.plan, ready.request, order.piece, part));
  }
  duty.deployment->finish(ready, outputs);
  return {};
}

Result<Worker::ChannelPtr> Worker::peer_of(Duty& duty, int worker) {
  if (worker == plan::kCoordinator) return duty.coordinator;
  const std::lock_guard lock(duty.mutex);
  const auto known = duty.peers.find(worker);
  if (known != duty.peers.end()) return known->second;
  const auto address = duty.addresses.find(worker);
  if (address == duty.addresses.end()) return invalid("a plan names no address of a worker");
  SHOAL_ASSIGN(ChannelPtr channel, transport_.connect(address->second, net::after(kPatience)));
  duty.peers[worker] = channel;
  return channel;
}

void Worker::report(Duty& duty, uint64_t request, const Status& status) {
  message::Message message;
  message::Failed& failed = *message.mutable_failed();
  failed.set_plan(duty.plan);
  failed.set_request(request);
  failed.set_code(static_cast<uint32_t>(status.code()));
  failed.set_text(std::string(status.message()));
  static_cast<void>(send(*duty.coordinator, message));  // gone? then nobody waits
}

}  // namespace shoal::cluster
