// The newcomer's side of an enrolment. The newcomer trusts nothing but the fingerprint in its
// token: TLS runs without verification, then the chain that was shown must contain the certificate
// with this fingerprint, and the peer's own certificate must be signed by it and name the
// authority: another member of the cluster is not believed. Only then is the proof sent.
#include <openssl/x509_vfy.h>

#include <array>
#include <memory>
#include <utility>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/enrol/enrolment.h"
#include "shoal/cluster/net/enrol/enrolment_wire.h"
#include "shoal/cluster/net/text_file.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/dial.h"
#include "shoal/cluster/net/tls/membership.h"
#include "shoal/cluster/net/tls/service.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::net {
namespace {

constexpr const char* kAddressFile = "joined-at";

// The certificate with this fingerprint among those that were shown.
Result<CertificatePtr> find_authority(SSL& ssl, const Fingerprint& fingerprint) {
  STACK_OF(X509)* shown = SSL_get_peer_cert_chain(&ssl);
  for (int i = 0; i < sk_X509_num(shown); ++i) {
    X509* certificate = sk_X509_value(shown, i);
    SHOAL_ASSIGN(const Fingerprint print, fingerprint_of(*certificate));
    if (print != fingerprint) continue;
    X509_up_ref(certificate);
    return CertificatePtr(certificate);
  }
  return invalid("is not the cluster that the token is for");
}

// Checks that the peer's certificate is signed by that authority, for the authority. TLS has
// checked that the peer holds its key.
Status check_is_authority(SSL& ssl, X509& authority, Time now) {
  const std::unique_ptr<X509_STORE, FreeWith<&X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, FreeWith<&X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  const CertificatePtr shown(SSL_get1_peer_certificate(&ssl));
  const bool ready = store != nullptr && check != nullptr && shown != nullptr &&
                     X509_STORE_add_cert(store.get(), &authority) == 1 &&
                     X509_STORE_CTX_init(check.get(), store.get(), shown.get(), nullptr) == 1;
  if (!ready) return openssl_failure(Code::kInternal, "cannot check a certificate");
  X509_STORE_CTX_set_time(check.get(), 0, std::chrono::system_clock::to_time_t(now));
  const bool trusted = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (!trusted)
    return invalid(std::string("its certificate is refused: ") +
                   X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())));
  SHOAL_ASSIGN(const Subject subject, subject_of(*shown));
  if (subject.name == kAuthorityName) return {};
  return invalid("is " + subject.name + " and not the authority of its cluster");
}

struct Authenticated {
  Introduced who;
  std::string authority;  // PEM
};

Result<Authenticated> find_cluster(Service& service, const Token& token, Deadline deadline,
                                   const JoinOptions& options) {
  SHOAL_ASSIGN(ContextPtr context, make_anonymous_context());
  std::string authority;  // written on the service's thread, before dial() returns
  Terms terms;
  terms.version = options.version;
  terms.judge = [&](SSL& ssl) -> Result<Peer> {
    SHOAL_ASSIGN(const CertificatePtr root, find_authority(ssl, token.fingerprint));
    SHOAL_TRY(check_is_authority(ssl, *root, options.clock()));
    SHOAL_ASSIGN(authority, certificate_to_pem(*root));
    return Peer{kAuthorityName, "", Role::kOwner};
  };
  SHOAL_ASSIGN(Introduced who, dial(service.io(), token.address,
                                    std::shared_ptr<SSL_CTX>(std::move(context)), terms, deadline));
  return Authenticated{std::move(who), std::move(authority)};
}

// Sends a request and gives the certificate that answers it.
Result<std::string> exchange(FramedChannel& channel, const JoinRequest& request,
                             Deadline deadline) {
  const auto bytes = encode(request);
  SHOAL_TRY(channel.send({.control = bytes, .payload = {}}, deadline));
  SHOAL_ASSIGN(const Frame frame, channel.receive(deadline, {}));
  return decode_join_answer(frame.control);
}

Result<std::string> request_for(const std::string& key_text) {
  SHOAL_ASSIGN(const KeyPtr key, key_from_pem(key_text));
  return make_request(*key);
}

Result<std::string> new_key() {
  SHOAL_ASSIGN(const KeyPtr key, make_key());
  return key_to_pem(*key);
}

}  // namespace

Result<Identity> join(const Token& token, const std::string& name, Deadline deadline,
                      const JoinOptions& options) {
  if (!is_peer_name(name)) return invalid("\"" + name + "\" cannot be the name of a peer");
  SHOAL_ASSIGN(std::string key, options.key.empty() ? new_key() : Result<std::string>(options.key));
  JoinRequest request;
  request.port = options.port;
  request.name = name;
  SHOAL_ASSIGN(request.request, request_for(key));
  SHOAL_ASSIGN(request.id, id_of(token.secret));

  Service service;
  SHOAL_ASSIGN(Authenticated cluster, find_cluster(service, token, deadline, options));
  SHOAL_ASSIGN(const Binding binding, binding_of(cluster.who.stream->ssl()));
  SHOAL_ASSIGN(request.proof, prove(token.secret, binding, request));
  FramedChannel channel(std::move(cluster.who.stream), std::move(cluster.who.peer), {}, nullptr);
  SHOAL_ASSIGN(std::string certificate, exchange(channel, request, deadline));
  SHOAL_ASSIGN(Identity identity,
               make_identity(std::move(certificate), std::move(key), std::move(cluster.authority)));
  if (options.keep) SHOAL_TRY(options.keep(identity, cluster.who.deny_list));
  // Says that the certificate has arrived. If this is lost, the token can be used again, by us.
  const std::array<std::byte, 1> kept{};
  SHOAL_TRY(channel.send({.control = kept, .payload = {}}, deadline));
  (void)channel.receive(deadline, {});  // the authority closes when it has heard it
  return identity;
}

Result<Identity> join_from(const std::filesystem::path& folder, const Token& token,
                           const std::string& name, Deadline deadline, JoinOptions options) {
  SHOAL_ASSIGN(options.key, load_or_make_key(folder));
  options.keep = [&](const Identity& identity, const std::string& deny_list) -> Status {
    SHOAL_TRY(write_text(folder / kAddressFile, token.address));
    SHOAL_TRY(save(identity, folder));
    if (deny_list.empty()) return {};
    SHOAL_ASSIGN(const auto membership, Membership::open(folder));
    return membership->take(deny_list);
  };
  return join(token, name, deadline, options);
}

Result<std::string> joined_at(const std::filesystem::path& folder) {
  return read_text(folder / kAddressFile);
}

Result<std::string> ask_for_renewal(const std::shared_ptr<Membership>& member,
                                    std::string_view address, Deadline deadline) {
  JoinRequest request{};  // without proof: the handshake authenticates the device
  const Identity identity = member->identity();
  request.name = identity.name;
  SHOAL_ASSIGN(request.request, request_for(identity.key));
  Terms terms;
  terms.version = kProtocolVersion;
  terms.membership = member;
  terms.judge = [member](SSL& ssl) -> Result<Peer> {
    SHOAL_ASSIGN(Peer peer, certified_peer(ssl, *member));
    if (peer.name == kAuthorityName) return peer;
    return invalid("is " + peer.name + " and not the authority of the cluster");
  };
  Service service;
  SHOAL_ASSIGN(Introduced who, dial(service.io(), address, member->context(), terms, deadline));
  FramedChannel channel(std::move(who.stream), std::move(who.peer), {}, nullptr);
  return exchange(channel, request, deadline);
}

}  // namespace shoal::net
