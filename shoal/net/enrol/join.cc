// The newcomer's side of an enrolment. The newcomer trusts nothing but the fingerprint in its
// token: TLS runs without verification, then the chain that was shown must contain the certificate
// with this fingerprint, and the peer's own certificate must be signed by it. Only then is the
// proof sent.
#include <openssl/x509_vfy.h>

#include <memory>
#include <utility>

#include "shoal/net/channel/framed_channel.h"
#include "shoal/net/enrol/enrolment.h"
#include "shoal/net/enrol/enrolment_wire.h"
#include "shoal/net/tls/certificate.h"
#include "shoal/net/tls/dial.h"
#include "shoal/net/tls/service.h"
#include "shoal/net/tls/tls_context.h"

namespace shoal::net {
namespace {

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

// Checks that the peer's certificate is signed by that authority. TLS has checked that the peer
// holds its key.
Status check_signed_by(SSL& ssl, X509& authority) {
  const std::unique_ptr<X509_STORE, FreeWith<&X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, FreeWith<&X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  const CertificatePtr shown(SSL_get1_peer_certificate(&ssl));
  const bool ready = store != nullptr && check != nullptr && shown != nullptr &&
                     X509_STORE_add_cert(store.get(), &authority) == 1 &&
                     X509_STORE_CTX_init(check.get(), store.get(), shown.get(), nullptr) == 1;
  if (!ready) return openssl_failure(Code::kInternal, "cannot check a certificate");
  const bool trusted = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (trusted) return {};
  return invalid(std::string("its certificate is refused: ") +
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())));
}

struct Authenticated {
  Introduced who;
  std::string authority;  // PEM
};

Result<Authenticated> find_cluster(Service& service, const Token& token, Deadline deadline,
                                   uint16_t version) {
  SHOAL_ASSIGN(ContextPtr context, make_anonymous_context());
  std::string authority;  // written on the service's thread, before dial() returns
  Terms terms;
  terms.version = version;
  terms.judge = [&](SSL& ssl) -> Result<Peer> {
    SHOAL_ASSIGN(const CertificatePtr root, find_authority(ssl, token.fingerprint));
    SHOAL_TRY(check_signed_by(ssl, *root));
    SHOAL_ASSIGN(authority, certificate_to_pem(*root));
    return Peer{"authority", "", Role::kOwner};
  };
  SHOAL_ASSIGN(Introduced who, dial(service.io(), token.address,
                                    std::shared_ptr<SSL_CTX>(std::move(context)), terms, deadline));
  return Authenticated{std::move(who), std::move(authority)};
}

}  // namespace

Result<Identity> join(const Token& token, const std::string& name, Deadline deadline,
                      const JoinOptions& options) {
  if (!is_peer_name(name)) return invalid("\"" + name + "\" cannot be the name of a peer");
  SHOAL_ASSIGN(const KeyPtr key, make_key());
  SHOAL_ASSIGN(std::string key_text, key_to_pem(*key));
  JoinRequest request;
  request.port = options.port;
  request.name = name;
  SHOAL_ASSIGN(request.request, make_request(*key));
  SHOAL_ASSIGN(request.id, id_of(token.secret));

  Service service;
  SHOAL_ASSIGN(Authenticated cluster, find_cluster(service, token, deadline, options.version));
  SHOAL_ASSIGN(const Binding binding, binding_of(cluster.who.stream->ssl()));
  SHOAL_ASSIGN(request.proof, prove(token.secret, binding, request));
  FramedChannel channel(std::move(cluster.who.stream), std::move(cluster.who.peer), {}, nullptr);
  const auto bytes = encode(request);
  SHOAL_TRY(channel.send({.control = bytes, .payload = {}}, deadline));
  SHOAL_ASSIGN(const Frame frame, channel.receive(deadline, {}));
  SHOAL_ASSIGN(std::string certificate, decode_join_answer(frame.control));
  return make_identity(std::move(certificate), std::move(key_text), std::move(cluster.authority));
}

}  // namespace shoal::net
