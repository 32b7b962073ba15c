#include "shoal/cluster/coordinator.h"

#include <algorithm>
#include <random>

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"

namespace shoal::cluster {
namespace {

uint64_t random_id() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Coordinator::Link::~Link() {
  channel->close();
  if (reader.joinable()) reader.join();
}

Result<std::unique_ptr<Coordinator>> Coordinator::connect(const std::vector<std::string>& addresses,
                                                          net::Transport& transport,
                                                          CoordinatorOptions options) {
  std::unique_ptr<Coordinator> self(new Coordinator(transport, options));
  for (const std::string& address : addresses) {
    self->infos_.push_back({address, address});
    auto link = self->reach(self->infos_.size() - 1, net::after(kTimeout));
    if (!link.ok() && !options.partial) return link.status();
    self->links_.push_back(link.ok() ? *std::move(link) : nullptr);
    self->lost_.push_back(link.status());
  }
  self->replies_.resize(addresses.size());
  // From a random number on, so that coordinators do not meet on a worker.
  self->next_plan_ = random_id();
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (self->links_[i] != nullptr) self->start_reading(i, *self->links_[i]);
  }
  return self;
}

Coordinator::~Coordinator() {
  waker_.reset();
  for (const LinkPtr& link : links_) {
    if (link != nullptr) link->channel->close();
  }
  links_.clear();
}

// The way to a worker; nobody reads from it yet. One that is connected and then says nothing,
// because it is cut off again, must not keep us from others for long.
Result<Coordinator::LinkPtr> Coordinator::reach(size_t worker, net::Deadline deadline) {
  constexpr std::chrono::seconds kGreeting{2};
  const std::string address = infos_[worker].address;
  auto channel = transport_.connect(address, deadline);
  if (!channel.ok()) return channel.status().at("worker " + address);
  auto info = greet(**channel, address, options_.epoch, deadline + kGreeting);
  if (!info.ok()) return info.status().at("worker " + address);
  auto link = std::make_shared<Link>();
  link->channel = *std::move(channel);
  link->outbox = std::make_unique<Outbox>();
  const std::lock_guard lock(mutex_);
  infos_[worker] = *std::move(info);
  return link;
}

void Coordinator::start_reading(size_t worker, Link& link) {
  link.reader = std::thread([this, worker, &link] { read(worker, link); });
}

Status Coordinator::revive(int worker) {
  constexpr std::chrono::milliseconds kReviveTimeout{500};
  const auto w = static_cast<size_t>(worker);
  SHOAL_ASSIGN(LinkPtr link, reach(w, net::after(kReviveTimeout)));
  const LinkPtr before = link_of(worker);  // ends when the lock has been let go
  const std::lock_guard lock(mutex_);
  links_[w] = link;
  lost_[w] = {};
  start_reading(w, *link);
  return {};
}

void Coordinator::watch(const void* who, std::function<void()> watcher) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(who);
  if (watcher) watchers_[who] = std::move(watcher);
}

Coordinator::LinkPtr Coordinator::link_of(int worker) const {
  const std::lock_guard lock(mutex_);
  return links_[static_cast<size_t>(worker)];
}

Status Coordinator::send_to(int worker, const message::Message& message,
                            std::span<const net::Bytes> payload, bool urgent) const {
  const LinkPtr link = link_of(worker);
  if (link == nullptr) return Status(Code::kUnavailable, "it was never there");
  return send(*link->channel, message, payload, urgent);
}

net::Traffic Coordinator::traffic() const {
  const std::lock_guard lock(mutex_);
  net::Traffic sum;
  for (const LinkPtr& link : links_) {
    if (link == nullptr) continue;
    sum.sent += link->channel->traffic().sent;
    sum.received += link->channel->traffic().received;
  }
  return sum;
}

void Coordinator::wake(int worker) const {
  message::Message message;
  message.mutable_awake();
  static_cast<void>(send_to(worker, message, {}, true));  // who is gone is noticed elsewhere
}

void Coordinator::read(size_t worker, Link& link) {
  for (;;) {
    const Result<net::Frame> frame = link.channel->receive(net::Deadline::max());
    const Status status = frame.ok() ? handle(worker, *frame) : frame.status();
    if (status.ok()) continue;
    lose(worker, link, status.at("worker " + infos_[worker].name));
    link.channel->close();
    return;
  }
}

Tally Coordinator::tally() const {
  const std::lock_guard lock(mutex_);
  return tally_;
}

std::vector<int> Coordinator::lost() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> workers;
  for (size_t w = 0; w < lost_.size(); ++w) {
    if (!lost_[w].ok()) workers.push_back(static_cast<int>(w));
  }
  return workers;
}

// Whoever waits for this worker waits no more. What ends of a way that was given up already is no
// loss.
void Coordinator::lose(size_t worker, const Link& link, const Status& why) {
  const std::lock_guard lock(mutex_);
  if (links_[worker].get() != &link || !lost_[worker].ok()) return;
  lost_[worker] = why;
  replies_[worker] = {true, why, {}};
  requests_.lose(static_cast<int>(worker), why);
  for (auto& [attempt, measurement] : measurements_) measurement.excuse(static_cast<int>(worker));
  changed_.notify_all();
  tell_watchers();
}

void Coordinator::tell_watchers() const {
  for (const auto& [who, watcher] : watchers_) watcher();
}

Status Coordinator::handle(size_t worker, const net::Frame& frame) {
  message::Message message;
  SHOAL_TRY(parse(frame, message));
  if (options_.reached && message.has_data()) {
    options_.reached(FaultPoint::kAnswerArrives, static_cast<int>(worker));
  }
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
    case message::Message::kCut:
      hear_of_cut(worker, message.cut());
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
  const Status status = status_of(failed).at("worker " + infos_[worker].name);
  if (failed.request() == 0) {
    replies_[worker] = {true, status, {}};
    return;
  }
  const bool named = failed.unreached() > 0 && failed.unreached() <= infos_.size();
  requests_.fail(static_cast<int>(worker), failed.request(), status,
                 named ? static_cast<int>(failed.unreached()) - 1 : -1);
  if (status.code() == Code::kUnavailable) tell_watchers();
}

void Coordinator::hear_of_cut(size_t worker, const message::Cut& cut) {
  const auto from = std::ranges::find(infos_, cut.from(), &WorkerInfo::name);
  if (from == infos_.end()) return;
  requests_.cut_off(
      cut.plan(), static_cast<int>(from - infos_.begin()), static_cast<int>(worker),
      Status(Code::kUnavailable,
             "worker " + infos_[worker].name + " hears nothing of " + from->name + " any more"));
  tell_watchers();
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

}  // namespace shoal::cluster
