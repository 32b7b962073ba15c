// Streams over MPI. Messages of a stream have a tag of their own, and MPI keeps the order of
// messages with equal source and tag, so a stream needs no sequence numbers. An empty message ends
// it.
#include "shoal/cluster/mpi/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>

#include "shoal/cluster/mpi/mpi_dispatcher.h"
#include "shoal/cluster/net/channel/framed_channel.h"

namespace shoal::mpi {
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

// The launcher decides who takes part; rank 0 coordinates.
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
