// The transport of production: dials, listens, and puts framed channels on TLS streams. The io
// thread only connects; established channels use none, because their senders and receivers do their
// own I/O.
#include "shoal/net/tls/tls.h"

#include <utility>

#include "shoal/net/channel/framed_channel.h"
#include "shoal/net/endpoint.h"
#include "shoal/net/tls/acceptance.h"
#include "shoal/net/tls/dial.h"
#include "shoal/net/tls/service.h"
#include "shoal/net/tls/tls_context.h"

namespace shoal::net {
namespace {

// State that a transport shares with its listeners, which may outlive it.
struct Shared {
  Service service;
  std::shared_ptr<HeartbeatTimer> heartbeats;
  std::shared_ptr<SSL_CTX> context;
  Terms terms;
  TlsOptions options;

  std::shared_ptr<Channel> make_channel(Introduced who, std::shared_ptr<void> held = nullptr) {
    if (options.tap) who.stream->set_tap(options.tap(who.peer));
    return std::make_shared<FramedChannel>(std::move(who.stream), std::move(who.peer),
                                           options.channel, heartbeats, std::move(held));
  }
};

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
                 dial(shared_->service.io(), address, shared_->context, shared_->terms, deadline));
    return shared_->make_channel(std::move(who));
  }

  Result<std::unique_ptr<Listener>> listen(std::string_view address) override {
    SHOAL_ASSIGN(const auto where, listening_endpoint(address));
    auto acceptance = std::make_shared<Acceptance>(shared_->service.io(), shared_->context,
                                                   shared_->terms, shared_->options);
    SHOAL_TRY(acceptance->open(where));
    return std::unique_ptr<Listener>(std::make_unique<TlsListener>(shared_, std::move(acceptance)));
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_tls_transport(const Identity& identity,
                                                      TlsOptions options) {
  SHOAL_ASSIGN(ContextPtr context, make_tls_context(identity));
  auto shared = std::make_shared<Shared>();
  shared->heartbeats = std::make_shared<HeartbeatTimer>(options.channel.beat);
  shared->context = std::move(context);
  shared->terms.judge = [cluster = identity.cluster](SSL& ssl) {
    return certified_peer(ssl, cluster);
  };
  shared->terms.version = options.version;
  shared->options = std::move(options);
  return std::unique_ptr<Transport>(std::make_unique<TlsTransport>(std::move(shared)));
}

}  // namespace shoal::net
