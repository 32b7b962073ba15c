// The authority's side of an enrolment:
//
//   newcomer  ->  JoinRequest: id of the invitation, name, key, proof
//   authority ->  certificate, or the reason for a refusal
//   newcomer  ->  one byte, which says that the certificate is on its disk
//
// Until then the token is bound to the newcomer's key and can be used again with it: whatever is
// cut off, the newcomer repeats. A member shows its certificate in the handshake instead of a
// proof, and is given another one by the same messages.
//
// TLS authenticates the authority only. The proof is HMAC(secret, binding | request), where the
// binding is keying material of this TLS connection (RFC 5705): a machine in the middle has two
// connections with two bindings and cannot relay it. Anybody may connect, so newcomers are few at a
// time, have little time, and the oldest goes when there are too many.
#include "shoal/cluster/net/enrol/enrolment.h"

#include <atomic>
#include <list>
#include <thread>
#include <utility>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/endpoint.h"
#include "shoal/cluster/net/enrol/enrolment_wire.h"
#include "shoal/cluster/net/tls/acceptance.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/tls/service.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::net {
namespace {

constexpr const char* kNewcomer = "newcomer";
// Of the certificate that newcomers see. Its key is in this process only.
constexpr std::chrono::hours kServiceLifetime{24 * 365};

// A newcomer that has connected, and the thread that serves it.
struct Newcomer {
  std::unique_ptr<FramedChannel> channel;
  Binding binding;
  bool is_member = false;  // has shown a certificate
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
                 authority_.issue(kAuthorityName, options_.clock(),
                                  {.role = Role::kOwner, .lifetime = kServiceLifetime}));
    SHOAL_ASSIGN(const auto membership,
                 Membership::make(identity, {.clock = options_.clock,
                                             .folder = {},
                                             .deny_list = authority_.deny_list_file(),
                                             .shared = true}));
    SHOAL_ASSIGN(ContextPtr made, make_enrolment_context(identity));
    const std::shared_ptr<SSL_CTX> context = std::move(made);
    TlsOptions tls;
    tls.refused = [this](const Status& why) { options_.told(why); };
    tls.max_channels_per_peer = options_.max_newcomers + 1;
    Terms terms;
    terms.version = options_.version;
    terms.membership = membership;
    terms.judge = [membership](SSL& ssl) -> Result<Peer> {
      // Removed members must not be renewed, so the list is read before each decision.
      membership->refresh();
      if (SSL_get0_peer_certificate(&ssl) != nullptr) return certified_peer(ssl, *membership);
      // Newcomers have no certificate to check. All share one name, and with it one quota.
      return Peer{kNewcomer, ""};
    };
    acceptance_ = std::make_shared<Acceptance>(
        service_.io(), [context] { return context; }, std::move(terms), tls);
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
    one.is_member = SSL_get0_peer_certificate(&guest.who.stream->ssl()) != nullptr;
    one.channel =
        std::make_unique<FramedChannel>(std::move(guest.who.stream), std::move(guest.who.peer),
                                        options, nullptr, std::move(guest.held));
    one.thread = std::thread([this, &one] {
      const auto result = admit(one);
      options_.told(result.ok() ? result : result.status().at(to_string(one.channel->peer())));
      one.channel->close();  // which tells the newcomer that it is listed
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
    const Peer& peer = one.channel->peer();
    SHOAL_ASSIGN(const Frame frame, one.channel->receive(deadline, {}));
    SHOAL_ASSIGN(const JoinRequest request, decode_join_request(frame.control));
    const bool is_member = one.is_member;
    const auto certificate = is_member ? renew(peer, request) : certify(request, one.binding);
    const auto bytes = encode(certificate);
    SHOAL_TRY(one.channel->send({.control = bytes, .payload = {}}, deadline));
    if (!certificate.ok()) return certificate.status();
    const Status acknowledged = one.channel->receive(deadline, {}).status();
    if (is_member) return Joined{peer.name, "", true};
    // The token stays good, for the same key, until it expires.
    if (!acknowledged.ok()) return acknowledged.at("did not acknowledge its certificate");
    SHOAL_TRY(invitations_.use(request.id));
    return Joined{request.name, with_port(peer.address, request.port)};
  }

  // The connection's port is an ephemeral one; the port to remember is the one in the request.
  static std::string with_port(const std::string& address, uint16_t port) {
    return port == 0 ? "" : address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  }

  // The name is that of the certificate which TLS has verified, whatever the request says.
  Result<std::string> renew(const Peer& member, const JoinRequest& request) {
    return authority_.renew(member.name, request.request, options_.clock(), options_.lifetime);
  }

  Result<std::string> certify(const JoinRequest& request, const Binding& binding) {
    const Time now = options_.clock();
    SHOAL_ASSIGN(const Invitation invitation, invitations_.look_up(request.id, now));
    SHOAL_ASSIGN(const Proof proof, prove(invitation.secret, binding, request));
    if (!same(proof, request.proof)) return invalid("this token's secret is wrong");
    SHOAL_ASSIGN(const KeyPtr key, key_of_request(request.request));
    SHOAL_ASSIGN(const Fingerprint print, fingerprint_of(*key));
    SHOAL_TRY(invitations_.claim(request.id, print));
    auto certificate = authority_.sign(request.request, request.name, now,
                                       {.role = invitation.role, .lifetime = options_.lifetime});
    // A token is not used up by a name that is taken.
    if (!certificate.ok()) invitations_.give_up(request.id);
    return certificate;
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
