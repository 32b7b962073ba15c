// Life of the links. A worker is present or lost; lose() and revive() change that under the lock
// and call the events there, so that all listeners see losses and returns in order. A WorkerLink
// joins its threads when it ends, so the last reference must never be dropped under the lock, which
// those threads take.
#include "shoal/cluster/coordinator/runtime/worker_links.h"

#include <utility>

#include "messages.pb.h"
#include "shoal/cluster/messages/catch_exhaustion.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

// Short: callers try again later.
constexpr std::chrono::milliseconds kReviveTimeout{500};

}  // namespace

WorkerLinks::WorkerLinks(std::span<const ListedWorker> workers,
                         std::vector<Result<GreetedWorker>> greeted, net::Transport& transport,
                         EpochClaim epoch, LinkEvents events)
    : transport_(transport), epoch_(std::move(epoch)), events_(std::move(events)) {
  for (size_t w = 0; w < workers.size(); ++w) {
    if (greeted[w].ok()) {
      entries_.push_back(
          {std::move(greeted[w]->info), std::make_shared<WorkerLink>(greeted[w]->channel)});
    } else {
      entries_.push_back({{workers[w].name, workers[w].address}, nullptr, greeted[w].status()});
    }
  }
}

void WorkerLinks::start() {
  const std::lock_guard lock(mutex_);
  for (size_t w = 0; w < entries_.size(); ++w) {
    const int worker = static_cast<int>(w);
    const Entry& entry = entries_[w];
    if (entry.lost.ok()) {
      start_reading(worker, entry.link);
    } else {
      events_.lost(worker, entry.lost);
    }
  }
}

// Links end outside of the lock, which their readers may be waiting for.
void WorkerLinks::close() {
  std::vector<WorkerLinkPtr> links;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Entry& entry : entries_) links.push_back(std::exchange(entry.link, nullptr));
  }
  for (const WorkerLinkPtr& link : links) {
    if (link != nullptr) link->channel().close();
  }
}

void WorkerLinks::start_reading(int worker, const WorkerLinkPtr& link) {
  // A plain pointer: a shared one would make the thread own, and join, itself.
  link->start_reading([this, worker, link = link.get()] { read(worker, *link); });
}

void WorkerLinks::read(int worker, WorkerLink& link) {
  const net::Place place = [&](net::Bytes control, size_t bytes) {
    return events_.place(worker, control, bytes);
  };
  const net::Role role = link.channel().peer().role;
  for (;;) {
    // What a worker says must not end the coordinator either.
    const Status status = catch_exhaustion([&]() -> Status {
      SHOAL_ASSIGN(const net::Frame frame, link.channel().receive(net::Deadline::max(), place));
      return events_.received(worker, role, frame);
    });
    if (status.ok() || status.code() == Code::kCancelled) continue;
    lose(worker, link, status.at("worker " + name(worker)));
    link.channel().close();
    return;
  }
}

WorkerInfo WorkerLinks::info(int worker) const {
  const std::lock_guard lock(mutex_);
  return at(worker).info;
}

std::vector<WorkerInfo> WorkerLinks::infos() const {
  const std::lock_guard lock(mutex_);
  std::vector<WorkerInfo> infos;
  for (const Entry& entry : entries_) infos.push_back(entry.info);
  return infos;
}

void WorkerLinks::set_clock_ahead(int worker, int64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  at(worker).info.clock_ahead = nanoseconds;
}

void WorkerLinks::set_slowdown(int worker, double factor) {
  const std::lock_guard lock(mutex_);
  at(worker).info.slowdown = factor;
}

Status WorkerLinks::status(int worker) const {
  const std::lock_guard lock(mutex_);
  return at(worker).lost;
}

std::vector<int> WorkerLinks::lost() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> workers;
  for (size_t w = 0; w < entries_.size(); ++w) {
    if (!entries_[w].lost.ok()) workers.push_back(static_cast<int>(w));
  }
  return workers;
}

net::Traffic WorkerLinks::traffic() const {
  const std::lock_guard lock(mutex_);
  net::Traffic sum;
  for (const Entry& entry : entries_) {
    if (entry.link == nullptr) continue;
    const net::Traffic one = entry.link->channel().traffic();
    sum.sent += one.sent;
    sum.received += one.received;
  }
  return sum;
}

WorkerLinkPtr WorkerLinks::link(int worker) const {
  const std::lock_guard lock(mutex_);
  return at(worker).link;
}

Status WorkerLinks::send(int worker, const message::Message& message,
                         std::span<const net::Bytes> payload, bool urgent) const {
  const WorkerLinkPtr to = link(worker);
  if (to == nullptr) return Status(Code::kUnavailable, "there is no connection to it");
  return cluster::send(to->channel(), message, payload, urgent);
}

void WorkerLinks::post(int worker, const message::Message& message) const {
  constexpr size_t kBytes = 256;  // that a task with a small message takes, about
  const WorkerLinkPtr to = link(worker);
  if (to == nullptr) return;
  // A plain pointer: the thread that runs the task belongs to the link.
  const auto tell = [to = to.get(), message] {
    static_cast<void>(cluster::send(to->channel(), message));  // its reader notices a loss
  };
  to->sender().post(tell, kBytes + message.ByteSizeLong());
}

void WorkerLinks::lose(int worker, const WorkerLink& link, const Status& why) {
  const std::lock_guard lock(mutex_);
  Entry& entry = at(worker);
  // A late error of a link that was replaced must not lose the new one.
  if (entry.link.get() != &link || !entry.lost.ok()) return;
  entry.lost = why;
  events_.lost(worker, why);
}

Status WorkerLinks::revive(int worker) {
  const std::lock_guard alone(reviving_);
  const WorkerInfo before = info(worker);
  if (status(worker).ok()) return {};
  SHOAL_ASSIGN(GreetedWorker there, connect_to({before.name, before.address}, transport_, epoch_,
                                               net::after(kReviveTimeout)));
  adopt(worker, std::move(there));
  return {};
}

size_t WorkerLinks::revive_lost(const std::set<int>& except) {
  const std::lock_guard alone(reviving_);
  std::vector<int> numbers = lost();
  std::erase_if(numbers, [&](int number) { return except.contains(number); });
  std::vector<ListedWorker> workers;
  for (int number : numbers) {
    const WorkerInfo before = info(number);
    workers.push_back({before.name, before.address});
  }
  auto there = connect_to_all(workers, transport_, epoch_, net::after(kReviveTimeout));
  size_t revived = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!there[i].ok()) continue;
    adopt(numbers[i], *std::move(there[i]));
    ++revived;
  }
  return revived;
}

void WorkerLinks::adopt(int worker, GreetedWorker there) {
  // Declared before the lock: the unneeded link, old or new, ends after the lock is released.
  auto link = std::make_shared<WorkerLink>(std::move(there.channel));
  const std::lock_guard lock(mutex_);
  Entry& entry = at(worker);
  // A live link is never replaced: the worker would drop the plans that came by it.
  if (entry.lost.ok() || closed_) return;
  entry.info = std::move(there.info);
  entry.lost = {};
  entry.link.swap(link);
  events_.revived(worker);
  start_reading(worker, entry.link);
}

Status WorkerLinks::if_still(int worker, const WorkerLinkPtr& link,
                             const std::function<void()>& then) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = at(worker);
  // Under the lock, so that no loss can come between the test and `then`.
  SHOAL_TRY(entry.lost);
  if (entry.link != link) return Status(Code::kUnavailable, "it was gone again meanwhile");
  then();
  return {};
}

}  // namespace shoal::cluster
