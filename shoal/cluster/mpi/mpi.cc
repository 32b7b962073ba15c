// Streams over MPI. Each stream has its own tag, and MPI keeps the order of messages with equal
// source and tag, so a stream needs no sequence numbers. An empty message ends it.
#include "shoal/cluster/mpi/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/frame.h"
#include "shoal/cluster/worker/worker.h"

namespace shoal::mpi {
namespace {

constexpr int kCoordinator = 0;

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

Status work(Ranks& ranks, Device& device) {
  const auto transport = ranks.transport();
  cluster::Worker worker({.name = name_of(ranks.rank()), .tasks = cluster::training_tasks()},
                         device, *transport);
  auto listener = transport->listen("");
  if (listener.ok()) worker.serve(*std::move(listener));
  ranks.barrier();  // the coordinator comes when it is done, and waits for failed ranks, too
  return listener.status();
}

}  // namespace

Result<std::optional<RankedCluster>> join_ranks(
    const std::function<Result<std::unique_ptr<Device>>()>& make_device) {
  SHOAL_ASSIGN(std::unique_ptr<Ranks> ranks, Ranks::begin());
  if (ranks->rank() != kCoordinator) {
    SHOAL_ASSIGN(const auto device, make_device());
    SHOAL_TRY(work(*ranks, *device));
    return std::optional<RankedCluster>();
  }
  if (ranks->size() < 2) {
    return Status(Code::kUnavailable, "one rank has nobody to work for it: mpirun -n 2 or more");
  }
  RankedCluster cluster;
  cluster.transport = ranks->transport();
  for (int rank = 1; rank < ranks->size(); ++rank) {
    cluster.workers.push_back({name_of(rank), std::to_string(rank)});
  }
  // The barrier here is the one that workers wait at in work(); the destructor has another.
  cluster.ranks = std::shared_ptr<Ranks>(ranks.release(), [](Ranks* all) {
    all->barrier();
    delete all;
  });
  return std::optional(std::move(cluster));
}

// The bytes of one stream that have arrived and have not been read. Not bounded. Thread-safe.
class Inbox {
 public:
  void put(std::vector<std::byte> bytes);
  void end();  // nothing will come any more
  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<std::byte>> parcels_;
  size_t taken_ = 0;  // of the first
  bool ended_ = false;
};

// One end of a stream: where its bytes come in, and by which tag they go out.
struct MpiRoute {
  int peer = 0;
  int tag = 0;
  std::shared_ptr<Inbox> inbox;
};

// All messages of a rank pass through it. One thread receives; senders send on their
// own threads. Thread-safe.
class MpiDispatcher {
 public:
  // MPI is initialised for any number of threads, and finalised after the dispatcher is gone.
  MpiDispatcher();
  ~MpiDispatcher();

  int rank() const { return rank_; }
  int size() const { return size_; }

  Result<MpiRoute> connect(int peer);
  Result<MpiRoute> accept(net::Deadline deadline);
  void stop_accepting();

  // An empty message ends the stream.
  void send(const MpiRoute& route, std::span<const net::Bytes> pieces);

 private:
  void receive_all();
  bool receive_one();
  void deliver(int source, int tag, std::vector<std::byte> bytes);

  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::shared_ptr<Inbox>> inboxes_;  // by source and tag
  std::deque<MpiRoute> arrivals_;
  bool accepting_ = true;
  int next_route_ = 1;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

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

// Polls eagerly shortly after a message, and rarely otherwise: MPI can only wait by polling.
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

namespace {

class MpiStream final : public net::Stream {
 public:
  MpiStream(std::shared_ptr<MpiDispatcher> dispatcher, MpiRoute route)
      : dispatcher_(std::move(dispatcher)), route_(std::move(route)) {}
  ~MpiStream() override { MpiStream::shut_down(); }

  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline) override {
    return route_.inbox->read(into, deadline);
  }

  // MPI_Send has no deadline. It does not block for long, because the peer's dispatcher takes every
  // message at once, whether or not its reader is ready.
  Status write(std::span<const net::Bytes> pieces, net::Deadline) override {
    if (closed_) return Status(Code::kUnavailable, "closed the connection");
    dispatcher_->send(route_, pieces);
    return {};
  }
  Status flush(net::Deadline) override { return {}; }

  void shut_down() override {
    if (closed_.exchange(true)) return;
    // The local reader first: MPI_Send below may wait for the peer.
    route_.inbox->end();
    dispatcher_->send(route_, {});
  }

 private:
  const std::shared_ptr<MpiDispatcher> dispatcher_;
  const MpiRoute route_;
  std::atomic<bool> closed_ = false;
};

// The launcher decides which machines take part; rank 0 coordinates.
net::Role role_of(int rank) { return rank == 0 ? net::Role::kOwner : net::Role::kWorker; }

class MpiTransport final : public net::Transport {
 public:
  MpiTransport(std::shared_ptr<MpiDispatcher> dispatcher, net::ChannelOptions options)
      : dispatcher_(std::move(dispatcher)),
        options_(std::move(options)),
        heartbeats_(std::make_shared<net::HeartbeatTimer>(options_.beat)) {}

  Result<std::shared_ptr<net::Channel>> connect(std::string_view address, net::Deadline) override {
    int rank = -1;
    const auto [end, error] = std::from_chars(address.begin(), address.end(), rank);
    if (error != std::errc() || end != address.end()) {
      return invalid("\"" + std::string(address) + "\" is no rank");
    }
    SHOAL_ASSIGN(MpiRoute route, dispatcher_->connect(rank));
    return channel_on(std::move(route));
  }

  Result<std::unique_ptr<net::Listener>> listen(std::string_view) override {
    return std::unique_ptr<net::Listener>(std::make_unique<MpiListener>(*this));
  }

 private:
  class MpiListener final : public net::Listener {
   public:
    explicit MpiListener(const MpiTransport& transport)
        : dispatcher_(transport.dispatcher_),
          options_(transport.options_),
          heartbeats_(transport.heartbeats_) {}
    ~MpiListener() override { MpiListener::close(); }

    Result<std::shared_ptr<net::Channel>> accept(net::Deadline deadline) override {
      SHOAL_ASSIGN(MpiRoute route, dispatcher_->accept(deadline));
      return make_channel(dispatcher_, std::move(route), options_, heartbeats_);
    }
    std::string address() const override { return std::to_string(dispatcher_->rank()); }
    void close() override { dispatcher_->stop_accepting(); }

   private:
    const std::shared_ptr<MpiDispatcher> dispatcher_;
    const net::ChannelOptions options_;
    const std::shared_ptr<net::HeartbeatTimer> heartbeats_;
  };

  static std::shared_ptr<net::Channel> make_channel(
      const std::shared_ptr<MpiDispatcher>& dispatcher, MpiRoute route,
      const net::ChannelOptions& options, const std::shared_ptr<net::HeartbeatTimer>& heartbeats) {
    const std::string address = std::to_string(route.peer);
    net::Peer peer{"rank " + address, address, role_of(route.peer)};
    return std::make_shared<net::FramedChannel>(
        std::make_unique<MpiStream>(dispatcher, std::move(route)), std::move(peer), options,
        heartbeats);
  }
  std::shared_ptr<net::Channel> channel_on(MpiRoute route) const {
    return make_channel(dispatcher_, std::move(route), options_, heartbeats_);
  }

  const std::shared_ptr<MpiDispatcher> dispatcher_;
  const net::ChannelOptions options_;
  const std::shared_ptr<net::HeartbeatTimer> heartbeats_;
};

}  // namespace

Ranks::Ranks() : dispatcher_(std::make_shared<MpiDispatcher>()) {}

Result<std::unique_ptr<Ranks>> Ranks::begin() {
  int allowed = MPI_THREAD_SINGLE;
  // Senders call MPI on their own threads, beside the dispatcher's.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &allowed) != MPI_SUCCESS) {
    return Status(Code::kUnavailable, "MPI does not start");
  }
  if (allowed != MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return Status(Code::kUnsupported, "this MPI cannot be used by several threads");
  }
  return std::unique_ptr<Ranks>(new Ranks);
}

Ranks::~Ranks() {
  barrier();
  // After the barrier: until then other ranks may still send here.
  dispatcher_.reset();
  MPI_Finalize();
}

int Ranks::rank() const { return dispatcher_->rank(); }
int Ranks::size() const { return dispatcher_->size(); }

std::unique_ptr<net::Transport> Ranks::transport(net::ChannelOptions options) {
  return std::make_unique<MpiTransport>(dispatcher_, std::move(options));
}

// MPI_Barrier would spin on a core while it waits, for as long as the cluster works.
void Ranks::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int here = 0;
  while (MPI_Test(&request, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && here == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Lengths first. All ranks see the same ones, and so agree on whether they are too long.
Result<std::vector<std::vector<std::byte>>> Ranks::gather(std::span<const std::byte> mine) {
  const auto ranks = static_cast<size_t>(size());
  const uint64_t length = mine.size();
  std::vector<uint64_t> lengths(ranks);
  MPI_Allgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int>::max());
  std::vector<int> counts, offsets;
  uint64_t total = 0;
  for (const uint64_t one : lengths) {
    if (one > kMost - std::min(total, kMost)) {
      return Status(Code::kUnsupported, "messages of ranks that are too long for MPI");
    }
    counts.push_back(static_cast<int>(one));
    offsets.push_back(static_cast<int>(total));
    total += one;
  }
  std::vector<std::byte> all(total);
  MPI_Allgatherv(mine.data(), counts[static_cast<size_t>(rank())], MPI_BYTE, all.data(),
                 counts.data(), offsets.data(), MPI_BYTE, MPI_COMM_WORLD);
  std::vector<std::vector<std::byte>> gathered;
  std::span<const std::byte> left = all;
  for (const uint64_t one : lengths) {
    gathered.emplace_back(left.begin(), left.begin() + static_cast<int64_t>(one));
    left = left.subspan(one);
  }
  return gathered;
}

}  // namespace shoal::mpi
