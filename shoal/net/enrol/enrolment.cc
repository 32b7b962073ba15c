// The authority's side of an enrolment:
//
//   newcomer  ->  JoinRequest: id of the invitation, name, key, proof
//   authority ->  certificate, or the reason for a refusal
//
// TLS authenticates the authority only. The proof is HMAC(secret, binding | request), where the
// binding is keying material of this TLS connection (RFC 5705): a machine in the middle has two
// connections with two bindings and cannot relay it. Anybody may connect, so newcomers are few at a
// time, have little time, and the oldest goes when there are too many.
#include "shoal/net/enrol/enrolment.h"

#include <atomic>
#include <list>
#include <thread>
#include <utility>

#include "shoal/net/channel/framed_channel.h"
#include "shoal/net/endpoint.h"
#include "shoal/net/enrol/enrolment_wire.h"
#include "shoal/net/tls/acceptance.h"
#include "shoal/net/tls/certificate.h"
#include "shoal/net/tls/service.h"
#include "shoal/net/tls/tls_context.h"

namespace shoal::net {
namespace {

// A newcomer that has connected, and the thread that serves it.
struct Newcomer {
  std::unique_ptr<FramedChannel> channel;
  Binding binding;
  std::atomic<bool> done{false};
  std::thread thread;
};

class EnrolmentServer final : public Enrolment {
 public:
  EnrolmentServer(const Authority& authority, EnrolmentOptions options)
      : authority_(authority), invitations_(authority_), options_(std::move(options)) {}

  ~EnrolmentServer() override {
    if (acceptance_) acceptance_->close();
    if (thread_.joinable()) thread_.join();
    while (!newcomers_.empty()) dismiss(newcomers_.begin());
  }

  Status open(std::string_view address) {
    SHOAL_ASSIGN(const auto where, listening_endpoint(address));
    SHOAL_ASSIGN(const Identity identity,
                 authority_.issue("authority", options_.clock(), {.role = Role::kOwner}));
    SHOAL_ASSIGN(ContextPtr context, make_enrolment_context(identity));
    TlsOptions tls;
    tls.refused = [this](const Status& why) { options_.told(why); };
    tls.max_channels_per_peer = options_.max_newcomers + 1;
    Terms terms;
    terms.version = options_.version;
    // Newcomers have no certificate to judge. All share one name, and with it one quota.
    terms.judge = [](SSL&) -> Result<Peer> { return Peer{"newcomer", ""}; };
    acceptance_ = std::make_shared<Acceptance>(
        service_.io(), std::shared_ptr<SSL_CTX>(std::move(context)), std::move(terms), tls);
    SHOAL_TRY(acceptance_->open(where));
    thread_ = std::thread([this] { accept(); });
    return {};
  }

  std::string address() const override { return acceptance_->address(); }

 private:
  using Place = std::list<Newcomer>::iterator;

  void accept() {
    for (;;) {
      auto guest = acceptance_->next(Deadline::max());
      if (!guest.ok()) return;
      for (auto one = newcomers_.begin(); one != newcomers_.end();) {
        const auto next = std::next(one);
        if (one->done) dismiss(one);
        one = next;
      }
      if (newcomers_.size() >= options_.max_newcomers) dismiss(newcomers_.begin());
      hear(*std::move(guest));
    }
  }

  void hear(Acceptance::Guest guest) {
    const auto binding = binding_of(guest.who.stream->ssl());
    if (!binding.ok()) return options_.told(binding.status());
    ChannelOptions options;
    // A request is a control part. A payload would let strangers allocate memory.
    options.max_payload_bytes = 0;
    Newcomer& one = newcomers_.emplace_back();
    one.binding = *binding;
    one.channel =
        std::make_unique<FramedChannel>(std::move(guest.who.stream), std::move(guest.who.peer),
                                        options, nullptr, std::move(guest.held));
    one.thread = std::thread([this, &one] {
      const auto result = admit(one);
      options_.told(result.ok() ? result : result.status().at(to_string(one.channel->peer())));
      one.done = true;
    });
  }

  void dismiss(Place one) {
    one->channel->close();
    one->thread.join();
    newcomers_.erase(one);
  }

  Result<Joined> admit(Newcomer& one) {
    const Deadline deadline = after(options_.timeout);
    SHOAL_ASSIGN(const Frame frame, one.channel->receive(deadline, {}));
    SHOAL_ASSIGN(const JoinRequest request, decode_join_request(frame.control));
    const auto certificate = certify(request, one.binding);
    const auto bytes = encode(certificate);
    SHOAL_TRY(one.channel->send({.control = bytes, .payload = {}}, deadline));
    if (!certificate.ok()) return certificate.status();
    (void)one.channel->receive(deadline, {});  // the newcomer closes first, so that nothing is lost
    return Joined{request.name, with_port(one.channel->peer().address, request.port)};
  }

  // The connection's port is an ephemeral one; the port to remember is the one in the request.
  static std::string with_port(const std::string& address, uint16_t port) {
    return port == 0 ? "" : address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  }

  Result<std::string> certify(const JoinRequest& request, const Binding& binding) {
    const Time now = options_.clock();
    SHOAL_ASSIGN(const Invitation invitation, invitations_.look_up(request.id, now));
    SHOAL_ASSIGN(const Proof proof, prove(invitation.secret, binding, request));
    if (!same(proof, request.proof)) return invalid("this token's secret is wrong");
    SHOAL_ASSIGN(std::string certificate,
                 authority_.sign(request.request, request.name, now,
                                 {.role = invitation.role, .lifetime = options_.lifetime}));
    // Last, so that a token is not used up by a wrong request. Two requests with one token may both
    // come this far: one of them fails here, and its name is free again.
    const Status used = invitations_.use(request.id);
    if (used.ok()) return certificate;
    (void)authority_.forget(request.name);
    return used;
  }

  const Authority authority_;
  const Invitations invitations_;
  const EnrolmentOptions options_;
  Service service_;
  std::shared_ptr<Acceptance> acceptance_;
  std::thread thread_;
  std::list<Newcomer> newcomers_;  // of thread_; oldest first
};

}  // namespace

Result<std::unique_ptr<Enrolment>> serve_enrolment(const Authority& authority,
                                                   std::string_view address,
                                                   EnrolmentOptions options) {
  auto server = std::make_unique<EnrolmentServer>(authority, std::move(options));
  SHOAL_TRY(server->open(address));
  return std::unique_ptr<Enrolment>(std::move(server));
}

}  // namespace shoal::net
