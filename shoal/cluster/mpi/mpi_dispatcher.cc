#include "shoal/cluster/mpi/mpi_dispatcher.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shoal::mpi {
namespace {

// Stream n of a connecting rank: it sends with tag 2n and is answered with tag 2n + 1. It announces
// n with tag 0.
constexpr int kConnect = 0;

}  // namespace

void Inbox::put(std::vector<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  parcels_.push_back(std::move(bytes));
  changed_.notify_all();
}

void Inbox::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Result<size_t> Inbox::read(std::span<std::byte> into, net::Deadline deadline) {
  std::unique_lock lock(mutex_);
  // Bytes that came before the end are still read: the end only shows when the inbox is empty.
  if (!changed_.wait_until(lock, deadline, [&] { return ended_ || !parcels_.empty(); })) {
    return Status(Code::kDeadline, "nothing has come");
  }
  if (parcels_.empty()) return Status(Code::kUnavailable, "closed the connection");
  const std::vector<std::byte>& first = parcels_.front();
  const size_t n = std::min(into.size(), first.size() - taken_);
  std::memcpy(into.data(), first.data() + taken_, n);
  taken_ += n;
  if (taken_ == first.size()) {
    parcels_.pop_front();
    taken_ = 0;
  }
  return n;
}

MpiDispatcher::MpiDispatcher() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  thread_ = std::thread([this] { receive_all(); });
}

MpiDispatcher::~MpiDispatcher() {
  over_ = true;
  thread_.join();
}

Result<MpiRoute> MpiDispatcher::connect(int peer) {
  if (peer < 0 || peer >= size_) return invalid("there is no rank " + std::to_string(peer));
  int number = 0;
  MpiRoute route{peer, 0, std::make_shared<Inbox>()};
  {
    const std::lock_guard lock(mutex_);
    number = next_route_++;
    route.tag = 2 * number;
    // Before the announcement: the answer may arrive while MPI_Send is still returning.
    inboxes_[{peer, route.tag + 1}] = route.inbox;
  }
  MPI_Send(&number, 1, MPI_INT, peer, kConnect, MPI_COMM_WORLD);
  return route;
}

Result<MpiRoute> MpiDispatcher::accept(net::Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return !accepting_ || !arrivals_.empty(); })) {
    return Status(Code::kDeadline, "nobody connected");
  }
  if (!accepting_) return Status(Code::kUnavailable, "listener is closed");
  MpiRoute route = std::move(arrivals_.front());
  arrivals_.pop_front();
  return route;
}

void MpiDispatcher::stop_accepting() {
  const std::lock_guard lock(mutex_);
  accepting_ = false;
  changed_.notify_all();
}

void MpiDispatcher::send(const MpiRoute& route, std::span<const net::Bytes> pieces) {
  std::vector<std::byte> bytes;
  for (net::Bytes piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, route.peer, route.tag,
           MPI_COMM_WORLD);
}

// Polls eagerly shortly after a message, and rarely otherwise: MPI cannot wait without using the
// processor.
void MpiDispatcher::receive_all() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kEager{1};
  constexpr std::chrono::microseconds kNap{50};
  auto last = Clock::now();
  while (!over_) {
    if (receive_one()) {
      last = Clock::now();
    } else if (Clock::now() - last > kEager) {
      std::this_thread::sleep_for(kNap);
    } else {
      std::this_thread::yield();
    }
  }
}

bool MpiDispatcher::receive_one() {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  // A matched probe: with several threads, another receive could otherwise take the probed message.
  MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status);
  if (found == 0) return false;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::vector<std::byte> bytes(static_cast<size_t>(std::max(count, 0)));
  MPI_Mrecv(bytes.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  deliver(status.MPI_SOURCE, status.MPI_TAG, std::move(bytes));
  return true;
}

void MpiDispatcher::deliver(int source, int tag, std::vector<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (tag == kConnect && bytes.size() == sizeof(int)) {
    int number = 0;
    std::memcpy(&number, bytes.data(), sizeof(number));
    MpiRoute route{source, 2 * number + 1, std::make_shared<Inbox>()};
    inboxes_[{source, 2 * number}] = route.inbox;
    arrivals_.push_back(std::move(route));
    changed_.notify_all();
    return;
  }
  const auto inbox = inboxes_.find({source, tag});
  if (inbox == inboxes_.end()) return;  // of a stream that is over
  if (!bytes.empty()) return inbox->second->put(std::move(bytes));
  inbox->second->end();
  // The reader holds the inbox itself; messages after the end are dropped.
  inboxes_.erase(inbox);
}

}  // namespace shoal::mpi
