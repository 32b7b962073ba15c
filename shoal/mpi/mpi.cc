#include "shoal/mpi/mpi.h"

#include <mpi.h>

#include <atomic>
#include <charconv>

#include "shoal/mpi/office.h"
#include "shoal/net/framed_channel.h"

namespace shoal::mpi {
namespace {

class MpiStream final : public net::Stream {
 public:
  MpiStream(std::shared_ptr<Office> office, Line line)
      : office_(std::move(office)), line_(std::move(line)) {}
  ~MpiStream() override { MpiStream::shut_down(); }

  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline) override {
    return line_.inbox->read(into, deadline);
  }

  // MPI_Send has no deadline: the peer's office takes whatever comes.
  Status write(std::span<const net::Bytes> pieces, net::Deadline) override {
    if (closed_) return Status(Code::kUnavailable, "closed the connection");
    office_->send(line_, pieces);
    return {};
  }
  Status flush(net::Deadline) override { return {}; }

  void shut_down() override {
    if (closed_.exchange(true)) return;
    line_.inbox->end();
    office_->send(line_, {});
  }

 private:
  const std::shared_ptr<Office> office_;
  const Line line_;
  std::atomic<bool> closed_ = false;
};

class MpiTransport final : public net::Transport {
 public:
  MpiTransport(std::shared_ptr<Office> office, net::ChannelOptions options)
      : office_(std::move(office)),
        options_(std::move(options)),
        pulse_(std::make_shared<net::Pulse>(options_.beat)) {}

  Result<std::shared_ptr<net::Channel>> connect(std::string_view address, net::Deadline) override {
    int rank = -1;
    const auto [end, error] = std::from_chars(address.begin(), address.end(), rank);
    if (error != std::errc() || end != address.end()) {
      return invalid("\"" + std::string(address) + "\" is no rank");
    }
    SHOAL_ASSIGN(Line line, office_->connect(rank));
    return channel_on(std::move(line));
  }

  Result<std::unique_ptr<net::Listener>> listen(std::string_view) override {
    return std::unique_ptr<net::Listener>(std::make_unique<MpiListener>(*this));
  }

 private:
  class MpiListener final : public net::Listener {
   public:
    explicit MpiListener(const MpiTransport& transport)
        : office_(transport.office_), options_(transport.options_), pulse_(transport.pulse_) {}
    ~MpiListener() override { MpiListener::close(); }

    Result<std::shared_ptr<net::Channel>> accept(net::Deadline deadline) override {
      SHOAL_ASSIGN(Line line, office_->accept(deadline));
      return make_channel(office_, std::move(line), options_, pulse_);
    }
    std::string address() const override { return std::to_string(office_->rank()); }
    void close() override { office_->stop_accepting(); }

   private:
    const std::shared_ptr<Office> office_;
    const net::ChannelOptions options_;
    const std::shared_ptr<net::Pulse> pulse_;
  };

  static std::shared_ptr<net::Channel> make_channel(const std::shared_ptr<Office>& office,
                                                    Line line, const net::ChannelOptions& options,
                                                    const std::shared_ptr<net::Pulse>& pulse) {
    const std::string address = std::to_string(line.peer);
    return std::make_shared<net::FramedChannel>(
        std::make_unique<MpiStream>(office, std::move(line)), net::Peer{"rank " + address, address},
        options, pulse);
  }
  std::shared_ptr<net::Channel> channel_on(Line line) const {
    return make_channel(office_, std::move(line), options_, pulse_);
  }

  const std::shared_ptr<Office> office_;
  const net::ChannelOptions options_;
  const std::shared_ptr<net::Pulse> pulse_;
};

}  // namespace

Ranks::Ranks() : office_(std::make_shared<Office>()) {}

Result<std::unique_ptr<Ranks>> Ranks::begin() {
  int allowed = MPI_THREAD_SINGLE;
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
  meet();
  office_.reset();
  MPI_Finalize();
}

int Ranks::rank() const { return office_->rank(); }
int Ranks::size() const { return office_->size(); }

std::unique_ptr<net::Transport> Ranks::transport(net::ChannelOptions options) {
  return std::make_unique<MpiTransport>(office_, std::move(options));
}

// MPI_Barrier would use all of the processor while it waits.
void Ranks::meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int here = 0;
  while (MPI_Test(&request, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && here == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace shoal::mpi
