#include "shoal/cluster/coordinator.h"

#include <algorithm>
#include <future>
#include <random>

#include "messages.pb.h"
#include "shoal/cluster/assigning.h"
#include "shoal/cluster/recorder.h"
#include "shoal/cluster/talk.h"

namespace shoal::cluster {
namespace {

Result<message::Welcome> say_hello(net::Channel& channel) {
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
  return reply.welcome();
}

// Clocks are compared by the quickest of a few exchanges: the worker spoke halfway through it.
Result<WorkerInfo> greet(net::Channel& channel, const std::string& address) {
  constexpr int kExchanges = 3;
  WorkerInfo info;
  info.address = address;
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < kExchanges; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    SHOAL_ASSIGN(const message::Welcome welcome, say_hello(channel));
    const auto took = std::chrono::steady_clock::now() - begin;
    if (took >= quickest) continue;
    quickest = took;
    info.clock_ahead = welcome.clock() - nanoseconds(begin + took / 2);
    info.name = channel.peer().name;  // as certified
    info.threads = static_cast<int>(welcome.threads());
  }
  return info;
}

uint64_t random_id() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Result<std::unique_ptr<Coordinator>> Coordinator::connect(const std::vector<std::string>& addresses,
                                                          net::Transport& transport,
                                                          CoordinatorOptions options) {
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
  if (options.keep_awake.count() > 0) {
    coordinator->waker_.emplace(options.keep_awake,
                                [self = coordinator.get()] { self->wake_all(); });
  }
  return coordinator;
}

Coordinator::~Coordinator() {
  waker_.reset();
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

void Coordinator::wake_all() {
  message::Message message;
  message.mutable_awake();
  for (const Link& link : links_) {
    static_cast<void>(send(*link.channel, message, {}, true));  // who is gone is noticed elsewhere
  }
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

std::vector<int> Coordinator::lost() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> workers;
  for (size_t w = 0; w < lost_.size(); ++w) {
    if (!lost_[w].ok()) workers.push_back(static_cast<int>(w));
  }
  return workers;
}

// Whoever waits for this worker waits no more.
void Coordinator::lose(size_t worker, const Status& why) {
  const std::lock_guard lock(mutex_);
  lost_[worker] = why;
  replies_[worker] = {true, why, {}};
  requests_.lose(static_cast<int>(worker), why);
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
    case message::Message::kFailed:
      hear_of_failure(worker, message.failed());
      break;
    case message::Message::kData:
      SHOAL_TRY(collect(worker, message.data(), frame));
      break;
    case message::Message::kTraced: {
      const message::Traced& traced = message.traced();
      const auto measurement = measurements_.find(traced.request());
      if (measurement == measurements_.end()) return {};
      SHOAL_TRY(
          measurement->second.add(static_cast<int>(worker), traced, infos_[worker].clock_ahead));
      break;
    }
    default:
      return Status(Code::kCorrupt, "a message that coordinators do not get");
  }
  changed_.notify_all();
  return {};
}

void Coordinator::hear_of_failure(size_t worker, const message::Failed& failed) {
  const Code code = failed.code() <= static_cast<uint32_t>(Code::kInternal)
                        ? static_cast<Code>(failed.code())
                        : Code::kInternal;
  const Status status(code == Code::kOk ? Code::kInternal : code,
                      "worker " + infos_[worker].name + ": " + failed.text());
  if (failed.request() == 0) {
    replies_[worker] = {true, status, {}};
  } else {
    requests_.fail(static_cast<int>(worker), failed.request(), status);
  }
}

Status Coordinator::collect(size_t worker, const message::Data& data, const net::Frame& frame) {
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const int from = static_cast<int>(worker);
  SHOAL_ASSIGN(const auto type, requests_.expect(from, data.request(), piece));
  if (!type) return {};  // nobody waits any more
  SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, type->dtype, type->shape));
  requests_.arrive(data.request(), piece, elements);
  const auto measurement = measurements_.find(data.request());
  if (measurement == measurements_.end()) return {};
  measurement->second.received(piece, from);
  if (!requests_.knows(data.request())) measurement->second.answered();
  return {};
}

Result<Coordinator::Reply> Coordinator::exchange(size_t worker, const message::Message& message,
                                                 const std::string& payload,
                                                 std::chrono::seconds patience) {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_TRY(lost_[worker]);
    replies_[worker] = {};
  }
  const net::Bytes bytes = bytes_of(payload);
  SHOAL_TRY(send(*links_[worker].channel, message, std::span(&bytes, payload.empty() ? 0 : 1)));
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, patience, [&] { return replies_[worker].came; });
  if (!came) return Status(Code::kDeadline, "worker " + infos_[worker].name + " does not answer");
  SHOAL_TRY(replies_[worker].status);
  return std::move(replies_[worker]);
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(const Graph& graph, const plan::Plan& plan,
                                                        bool traced) {
  SHOAL_TRY(plan::verify(graph, plan, static_cast<int>(links_.size())));
  SHOAL_ASSIGN(plan::Schedule schedule, plan::make_schedule(graph, plan));
  std::vector<std::string> assignments(links_.size());
  Assigning assigning(graph, plan, schedule);
  for (size_t w = 0; w < links_.size(); ++w) {
    message::Assignment assignment;
    SHOAL_TRY(assigning.encode_for(static_cast<int>(w), infos_, assignment));
    if (assignment.tasks_size() > 0) assignments[w] = assignment.SerializeAsString();
  }
  // One deployment at a time: workers answer without saying to which.
  const std::lock_guard alone(deploying_);
  const auto course =
      std::make_shared<const Course>(Course{next_plan_++, graph, plan, std::move(schedule)});
  {
    const std::lock_guard lock(mutex_);
    requests_.add(course);
  }
  // Released again if a worker fails.
  std::unique_ptr<RemotePlan> remote(new RemotePlan(*this, course));
  std::vector<std::future<Status>> ready;
  for (size_t w = 0; w < links_.size(); ++w) {
    if (assignments[w].empty()) continue;
    ready.push_back(std::async(std::launch::async, [&, w] {
      return assign(w, course->id, traced, assignments[w], assigning.weights());
    }));
  }
  Status status;
  for (std::future<Status>& one : ready) {
    const Status its = one.get();
    if (status.ok()) status = its;
  }
  SHOAL_TRY(status);
  const std::lock_guard lock(mutex_);
  requests_.offer(course->id, {course->id});
  return remote;
}

Status Coordinator::assign(size_t worker, uint64_t plan, bool traced, const std::string& assignment,
                           const std::map<Hash, Tensor>& weights) {
  message::Message deploy;
  deploy.mutable_deploy()->set_plan(plan);
  deploy.mutable_deploy()->set_traced(traced);
  SHOAL_ASSIGN(const Reply reply, exchange(worker, deploy, assignment, kPatience));
  for (const Hash& hash : reply.missing) {
    const auto weight = weights.find(hash);
    if (weight == weights.end()) {
      return Status(Code::kCorrupt, "worker " + infos_[worker].name + " misses what was not named");
    }
    message::Message blob;
    blob.mutable_blob()->set_hash(hash);
    const net::Bytes bytes = weight->second.bytes();
    SHOAL_TRY(send(*links_[worker].channel, blob, std::span(&bytes, 1))
                  .at("worker " + infos_[worker].name));
  }
  message::Message start;
  start.mutable_start()->set_plan(plan);
  return exchange(worker, start, {}, kCompilePatience).status();
}

}  // namespace shoal::cluster
