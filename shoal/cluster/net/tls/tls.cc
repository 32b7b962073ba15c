// The transport of production: dials, listens, and puts framed channels on TLS streams. The io
// thread only connects; established channels use none, because their senders and receivers do their
// own I/O.
#include "shoal/cluster/net/tls/tls.h"

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/endpoint.h"
#include "shoal/cluster/net/tls/acceptance.h"
#include "shoal/cluster/net/tls/dial.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/tls/service.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {
namespace {

// OpenChannels: the channels of a transport, so that those to removed members can be closed.
// Thread-safe.
class OpenChannels {
 public:
  explicit OpenChannels(std::shared_ptr<const Membership> membership)
      : membership_(std::move(membership)) {}

  // `id` is of the peer's certificate.
  void add(const std::shared_ptr<Channel>& channel, CertificateId id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [](const Entry& one) { return one.channel.expired(); });
    open_.push_back({channel, std::move(id)});
    // The peer may have been removed since it was checked.
    if (!membership_->check(open_.back().id).ok()) channel->close();
  }

  void close_denied() {
    const std::lock_guard lock(mutex_);
    for (const Entry& one : open_) {
      const auto channel = one.channel.lock();
      if (channel != nullptr && !membership_->check(one.id).ok()) channel->close();
    }
  }

 private:
  struct Entry {
    std::weak_ptr<Channel> channel;
    CertificateId id;
  };
  const std::shared_ptr<const Membership> membership_;
  std::mutex mutex_;
  std::vector<Entry> open_;
};

constexpr std::chrono::milliseconds kRefreshInterval{250};

// State that a transport shares with its listeners, which may outlive it.
struct Shared {
  Service service;
  std::shared_ptr<HeartbeatTimer> heartbeats;
  std::shared_ptr<OpenChannels> channels;
  std::shared_ptr<const Membership::Watcher> watcher;
  Terms terms;
  TlsOptions options;

  Result<std::shared_ptr<Channel>> make_channel(Introduced who,
                                                std::shared_ptr<void> held = nullptr) {
    const CertificatePtr certificate(SSL_get1_peer_certificate(&who.stream->ssl()));
    if (certificate == nullptr) return invalid("showed no certificate");
    SHOAL_ASSIGN(CertificateId id, id_of(*certificate));
    if (options.tap) who.stream->set_tap(options.tap(who.peer));
    std::shared_ptr<Channel> channel = std::make_shared<FramedChannel>(
        std::move(who.stream), std::move(who.peer), options.channel, heartbeats, std::move(held));
    channels->add(channel, std::move(id));
    return channel;
  }
};

// Looks for changes of the files by other processes, until the io_context ends.
void refresh_regularly(std::shared_ptr<boost::asio::steady_timer> timer,
                       std::shared_ptr<Membership> membership) {
  timer->expires_after(kRefreshInterval);
  auto& waiting = *timer;
  waiting.async_wait([timer = std::move(timer), membership = std::move(membership)](
                         const boost::system::error_code& cancelled) mutable {
    if (cancelled) return;
    membership->refresh();
    refresh_regularly(std::move(timer), std::move(membership));
  });
}

class TlsListener final : public Listener {
 public:
  TlsListener(std::shared_ptr<Shared> shared, std::shared_ptr<Acceptance> acceptance)
      : shared_(std::move(shared)), acceptance_(std::move(acceptance)) {}
  ~TlsListener() override { TlsListener::close(); }

  Result<std::shared_ptr<Channel>> accept(Deadline deadline) override {
    SHOAL_ASSIGN(Acceptance::Guest guest, acceptance_->next(deadline));
    return shared_->make_channel(std::move(guest.who), std::move(guest.held));
  }
  std::string address() const override { return acceptance_->address(); }
  void close() override { acceptance_->close(); }

 private:
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<Acceptance> acceptance_;
};

class TlsTransport final : public Transport {
 public:
  explicit TlsTransport(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  Result<std::shared_ptr<Channel>> connect(std::string_view address, Deadline deadline) override {
    SHOAL_ASSIGN(Introduced who,
                 dial(shared_->service.io(), address, shared_->options.membership->context(),
                      shared_->terms, deadline));
    return shared_->make_channel(std::move(who));
  }

  Result<std::unique_ptr<Listener>> listen(std::string_view address) override {
    SHOAL_ASSIGN(const auto where, listening_endpoint(address));
    auto acceptance = std::make_shared<Acceptance>(
        shared_->service.io(),
        [membership = shared_->options.membership] { return membership->context(); },
        shared_->terms, shared_->options);
    SHOAL_TRY(acceptance->open(where));
    return std::unique_ptr<Listener>(std::make_unique<TlsListener>(shared_, std::move(acceptance)));
  }

  Status learn(std::string_view deny_list) override {
    return shared_->options.membership->take(deny_list);
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_tls_transport(const Identity& identity,
                                                      TlsOptions options) {
  if (options.membership == nullptr) {
    SHOAL_ASSIGN(options.membership, Membership::make(identity));
  }
  const std::shared_ptr<Membership> membership = options.membership;
  auto shared = std::make_shared<Shared>();
  shared->heartbeats = std::make_shared<HeartbeatTimer>(options.channel.beat);
  shared->channels = std::make_shared<OpenChannels>(membership);
  // Not `shared` itself, which must not be destroyed on its own thread.
  shared->watcher = std::make_shared<const Membership::Watcher>(
      [channels = shared->channels] { channels->close_denied(); });
  membership->watch(shared->watcher);
  shared->terms.judge = [membership](SSL& ssl) {
    // A command that has just removed a member expects the next connection to know.
    if (membership->is_shared()) membership->refresh();
    return certified_peer(ssl, *membership);
  };
  shared->terms.version = options.version;
  shared->terms.membership = membership;
  shared->options = std::move(options);
  shared->options.refused = [membership,
                             told = std::move(shared->options.refused)](const Status& why) {
    membership->add_refusal(why);
    if (told) told(why);
  };
  if (membership->is_shared())
    refresh_regularly(std::make_shared<boost::asio::steady_timer>(shared->service.io()),
                      membership);
  return std::unique_ptr<Transport>(std::make_unique<TlsTransport>(std::move(shared)));
}

}  // namespace shoal::net
