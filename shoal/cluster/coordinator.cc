#include "shoal/cluster/coordinator.h"

#include <algorithm>
#include <random>
#include <set>

#include "messages.pb.h"
#include "shoal/cluster/talk.h"

namespace shoal::cluster {
namespace {

Result<WorkerInfo> greet(net::Channel& channel, const std::string& address) {
  message::Message hello;
  hello.mutable_hello()->set_version(kProtocolVersion);
  SHOAL_TRY(send(channel, hello));
  SHOAL_ASSIGN(const net::Frame frame, channel.receive(net::after(kPatience)));
  message::Message reply;
  SHOAL_TRY(parse(frame, reply));
  if (!reply.has_welcome()) return Status(Code::kCorrupt, "it does not say welcome");
  if (reply.welcome().version() != kProtocolVersion) {
    return Status(Code::kUnsupported, "it speaks version " +
                                          std::to_string(reply.welcome().version()) +
                                          ", this is version " + std::to_string(kProtocolVersion));
  }
  return WorkerInfo{reply.welcome().name(), address, static_cast<int>(reply.welcome().threads())};
}

uint64_t random_id() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Result<std::unique_ptr<Coordinator>> Coordinator::connect(const std::vector<std::string>& addresses,
                                                          net::Transport& transport) {
  std::unique_ptr<Coordinator> coordinator(new Coordinator);
  for (const std::string& address : addresses) {
    auto channel = transport.connect(address, net::after(kPatience));
    if (!channel.ok()) return channel.status().at("worker " + address);
    auto info = greet(**channel, address);
    if (!info.ok()) return info.status().at("worker " + address);
    coordinator->infos_.push_back(*std::move(info));
    coordinator->links_.push_back({*std::move(channel), {}});
  }
  coordinator->lost_.resize(addresses.size());
  coordinator->replies_.resize(addresses.size());
  // From a random number on, so that coordinators do not meet on a worker.
  coordinator->next_plan_ = random_id();
  for (size_t i = 0; i < addresses.size(); ++i) {
    coordinator->links_[i].reader = std::thread([self = coordinator.get(), i] { self->read(i); });
  }
  return coordinator;
}

Coordinator::~Coordinator() {
  for (Link& link : links_) link.channel->close();
  for (Link& link : links_) {
    if (link.reader.joinable()) link.reader.join();
  }
}

net::Traffic Coordinator::traffic() const {
  net::Traffic sum;
  for (const Link& link : links_) {
    sum.sent += link.channel->traffic().sent;
    sum.received += link.channel->traffic().received;
  }
  return sum;
}

void Coordinator::read(size_t worker) {
  for (;;) {
    const Result<net::Frame> frame = links_[worker].channel->receive(net::Deadline::max());
    const Status status = frame.ok() ? handle(worker, *frame) : frame.status();
    if (status.ok()) continue;
    lose(worker, status.at("worker " + infos_[worker].name));
    links_[worker].channel->close();
    return;
  }
}

// Whoever waits for this worker waits no more.
void Coordinator::lose(size_t worker, const Status& why) {
  const std::lock_guard lock(mutex_);
  lost_[worker] = why;
  replies_[worker] = {true, why, {}};
  for (auto& [id, answer] : answers_) {
    if (answer.status.ok()) answer.status = why;
  }
  changed_.notify_all();
}

Status Coordinator::handle(size_t worker, const net::Frame& frame) {
  message::Message message;
  SHOAL_TRY(parse(frame, message));
  const std::lock_guard lock(mutex_);
  switch (message.kind_case()) {
    case message::Message::kMissing:
      replies_[worker] = {
          true, {}, {message.missing().hashes().begin(), message.missing().hashes().end()}};
      break;
    case message::Message::kReady:
      replies_[worker] = {true, {}, {}};
      break;
    case message::Message::kFailed: {
      const message::Failed& failed = message.failed();
      const Code code = failed.code() <= static_cast<uint32_t>(Code::kInternal)
                            ? static_cast<Code>(failed.code())
                            : Code::kInternal;
      const Status status(code == Code::kOk ? Code::kInternal : code,
                          "worker " + infos_[worker].name + ": " + failed.text());
      const auto answer = answers_.find({failed.plan(), failed.request()});
      if (answer != answers_.end()) {
        answer->second.status = status;
      } else {
        replies_[worker] = {true, status, {}};
      }
      break;
    }
    case message::Message::kData: {
      const message::Data& data = message.data();
      const auto answer = answers_.find({data.plan(), data.request()});
      const auto plan = plans_.find(data.plan());
      if (answer == answers_.end() || plan == plans_.end()) return {};  // nobody waits any more
      SHOAL_TRY(plan->second->collect(data, frame, answer->second));
      break;
    }
    default:
      return Status(Code::kCorrupt, "a message that coordinators do not get");
  }
  changed_.notify_all();
  return {};
}

Result<Coordinator::Reply> Coordinator::exchange(size_t worker, const message::Message& message,
                                                 const std::string& payload) {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_TRY(lost_[worker]);
    replies_[worker] = {};
  }
  const net::Bytes bytes = bytes_of(payload);
  SHOAL_TRY(send(*links_[worker].channel, message, std::span(&bytes, payload.empty() ? 0 : 1)));
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, kPatience, [&] { return replies_[worker].came; });
  if (!came) return Status(Code::kDeadline, "worker " + infos_[worker].name + " does not answer");
  SHOAL_TRY(replies_[worker].status);
  return std::move(replies_[worker]);
}

// What one worker does, as it is told.
class Coordinator::Assigning {
 public:
  Assigning(const Graph& graph, const plan::Plan& plan, const plan::Schedule& schedule)
      : graph_(graph), plan_(plan), schedule_(schedule) {}

  Status encode_for(int worker, const std::vector<WorkerInfo>& infos,
                    message::Assignment& assignment) {
    std::set<int> peers;
    for (size_t s = 0; s < plan_.segments.size(); ++s) {
      const auto& tasks = plan_.segments[s].tasks;
      for (size_t t = 0; t < tasks.size(); ++t) {
        if (tasks[t].worker != worker) continue;
        SHOAL_TRY(encode_task(schedule_.parts[s][t], worker, *assignment.add_tasks(), peers));
      }
    }
    for (int peer : peers) {
      message::Peer& to = *assignment.add_peers();
      to.set_worker(peer);
      to.set_address(infos[static_cast<size_t>(peer)].address);
    }
    return {};
  }

  const std::map<Hash, Tensor>& weights() const { return weights_; }

 private:
  Status encode_task(const plan::Part& part, int worker, message::Task& to, std::set<int>& peers) {
    SHOAL_ASSIGN(const Graph graph, plan::to_graph(graph_, part));
    encode(graph, *to.mutable_graph(),
           [&](const Hash& hash, const Tensor& tensor) { weights_.emplace(hash, tensor); });
    for (const plan::Piece& piece : part.inputs) encode(piece, *to.add_inputs());
    for (const plan::Piece& piece : part.outputs) encode(piece, *to.add_outputs());
    for (const plan::Transfer& transfer : schedule_.transfers) {
      const bool mine = transfer.from == worker &&
                        std::ranges::any_of(part.outputs, [&](const plan::Piece& output) {
                          return output.value == transfer.piece.value &&
                                 plan::intersection(output.region, transfer.piece.region) ==
                                     transfer.piece.region;
                        });
      if (!mine) continue;
      message::Send& order = *to.add_sends();
      encode(transfer.piece, *order.mutable_piece());
      order.set_to(transfer.to);
      if (transfer.to != plan::kCoordinator) peers.insert(transfer.to);
    }
    return {};
  }

  const Graph& graph_;
  const plan::Plan& plan_;
  const plan::Schedule& schedule_;
  std::map<Hash, Tensor> weights_;
};

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(const Graph& graph,
                                                        const plan::Plan& plan) {
  SHOAL_TRY(plan::verify(graph, plan, static_cast<int>(links_.size())));
  SHOAL_ASSIGN(plan::Schedule schedule, plan::make_schedule(graph, plan));
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_plan_++;
  }
  Assigning assigning(graph, plan, schedule);
  for (size_t w = 0; w < links_.size(); ++w) {
    message::Assignment assignment;
    SHOAL_TRY(assigning.encode_for(static_cast<int>(w), infos_, assignment));
    message::Message deploy;
    deploy.mutable_deploy()->set_plan(id);
    SHOAL_ASSIGN(const Reply reply, exchange(w, deploy, assignment.SerializeAsString()));
    for (const Hash& hash : reply.missing) {
      const auto weight = assigning.weights().find(hash);
      if (weight == assigning.weights().end()) {
        return Status(Code::kCorrupt, "worker " + infos_[w].name + " misses what was not named");
      }
      message::Message blob;
      blob.mutable_blob()->set_hash(hash);
      const net::Bytes bytes = weight->second.bytes();
      SHOAL_TRY(send(*links_[w].channel, blob, std::span(&bytes, 1)));
    }
    message::Message start;
    start.mutable_start()->set_plan(id);
    SHOAL_TRY(exchange(w, start, {}).status());
  }
  std::unique_ptr<RemotePlan> remote(new RemotePlan(*this, graph, std::move(schedule), id));
  const std::lock_guard lock(mutex_);
  plans_[id] = remote.get();
  return remote;
}

RemotePlan::~RemotePlan() {
  {
    const std::lock_guard lock(coordinator_.mutex_);
    coordinator_.plans_.erase(id_);
  }
  message::Message release;
  release.mutable_release()->set_plan(id_);
  for (Coordinator::Link& link : coordinator_.links_) {
    static_cast<void>(send(*link.channel, release));  // who is gone has released it already
  }
}

Status RemotePlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                       std::chrono::milliseconds patience) {
  const uint64_t request = next_request_++;
  const std::pair key{id_, request};
  {
    const std::lock_guard lock(coordinator_.mutex_);
    for (const Status& lost : coordinator_.lost_) SHOAL_TRY(lost);
    Coordinator::Answer& answer = coordinator_.answers_[key];
    for (ValueId id : graph_.outputs()) {
      const Value& value = graph_[id];
      answer.outputs.push_back(value.constant ? *value.constant : Tensor(value.type));
    }
    for (const plan::Transfer& transfer : schedule_.transfers) {
      if (transfer.to == plan::kCoordinator) {
        answer.missing += transfer.piece.region.shape().count();
      }
    }
  }
  const Status sent = send_inputs(request, inputs);
  std::unique_lock lock(coordinator_.mutex_);
  Coordinator::Answer& answer = coordinator_.answers_[key];
  const bool over = sent.ok() && coordinator_.changed_.wait_for(lock, patience, [&] {
    return answer.missing <= 0 || !answer.status.ok();
  });
  Status status = !sent.ok() ? sent
                  : over     ? answer.status
                             : Status(Code::kDeadline, "the workers take too long");
  if (status.ok()) std::ranges::move(answer.outputs, outputs.begin());
  coordinator_.answers_.erase(key);
  return status;
}

Status RemotePlan::send_inputs(uint64_t request, std::span<const Tensor> inputs) {
  for (const plan::Transfer& transfer : schedule_.transfers) {
    if (transfer.from != plan::kCoordinator) continue;
    const auto& [value, region] = transfer.piece;
    const auto at = std::ranges::find(graph_.inputs(), value) - graph_.inputs().begin();
    const Tensor& whole = inputs[static_cast<size_t>(at)];
    const bool all = region == Region::whole(whole.shape());
    if (transfer.to == plan::kCoordinator) continue;
    const auto worker = static_cast<size_t>(transfer.to);
    SHOAL_TRY(send_piece(*coordinator_.links_[worker].channel, id_, request, transfer.piece,
                         all ? whole : crop(whole, region))
                  .at("worker " + coordinator_.infos_[worker].name));
  }
  return {};
}

// Called with the coordinator's lock held.
Status RemotePlan::collect(const message::Data& data, const net::Frame& frame,
                           Coordinator::Answer& answer) const {
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const auto outputs = graph_.outputs();
  bool wanted = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != piece.value) continue;
    Tensor& whole = answer.outputs[i];
    if (piece.region.begin.rank() != whole.shape().rank() ||
        plan::intersection(piece.region, Region::whole(whole.shape())) != piece.region) {
      return Status(Code::kCorrupt, "an answer lies outside its value");
    }
    SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, whole.dtype(), piece.region.shape()));
    paste(elements, piece.region, whole);
    wanted = true;
  }
  if (!wanted) return Status(Code::kCorrupt, "an answer that nobody asked for");
  answer.missing -= piece.region.shape().count();
  return {};
}

}  // namespace shoal::cluster
