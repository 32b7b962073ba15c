#include "shoal/cluster/net/tls/tls_context.h"

#include <vector>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::net {
namespace {

// Without instructions for it, AES is several times slower than ChaCha20, and its key leaks to
// programs that can watch the cache.
bool cpu_has_aes() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_AES) != 0 && (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
#else
  return false;
#endif
}

Result<ContextPtr> make_context() {
  ContextPtr context(SSL_CTX_new(TLS_method()));
  const char* ciphers =
      cpu_has_aes() ? "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
                    : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384";
  const bool ok = context != nullptr &&
                  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
                  SSL_CTX_set_ciphersuites(context.get(), ciphers) == 1 &&
                  SSL_CTX_set1_groups_list(context.get(), "X25519:P-256") == 1 &&
                  SSL_CTX_set_num_tickets(context.get(), 0) == 1;  // no resumption, nothing to keep
  if (!ok) return openssl_failure(Code::kInternal, "cannot set up TLS");
  // ChaCha20 if either side prefers it: that is the one without AES instructions.
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                         SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

Status show(SSL_CTX& context, std::string_view certificate_pem, std::string_view key_pem) {
  SHOAL_ASSIGN(const CertificatePtr certificate, certificate_from_pem(certificate_pem));
  SHOAL_ASSIGN(const KeyPtr key, key_from_pem(key_pem));
  if (SSL_CTX_use_certificate(&context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(&context, key.get()) != 1)
    return openssl_failure(Code::kInvalidArgument, "cannot use the certificate");
  return {};
}

Status show_too(SSL_CTX& context, std::string_view certificate_pem) {
  SHOAL_ASSIGN(CertificatePtr certificate, certificate_from_pem(certificate_pem));
  if (SSL_CTX_add_extra_chain_cert(&context, certificate.get()) != 1)
    return openssl_failure(Code::kInternal, "cannot show the authority's certificate");
  (void)certificate.release();  // the context owns it now
  return {};
}

Status trust(SSL_CTX& context, std::string_view certificate_pem) {
  SHOAL_ASSIGN(const CertificatePtr certificate, certificate_from_pem(certificate_pem));
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), certificate.get()) != 1)
    return openssl_failure(Code::kInvalidArgument, "cannot use the authority's certificate");
  return {};
}

// The texts that begin with each certificate of a PEM text; at least one.
std::vector<std::string_view> certificates_in(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  std::vector<std::string_view> all = {pem};
  size_t next = pem.find(kBegin);
  while ((next = pem.find(kBegin, next + 1)) != pem.npos) all.push_back(pem.substr(next));
  return all;
}

}  // namespace

Result<ContextPtr> make_tls_context(const Identity& identity) {
  SHOAL_ASSIGN(ContextPtr context, make_context());
  SHOAL_TRY(show(*context, identity.certificate, identity.key));
  SHOAL_TRY(trust(*context, identity.authority));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

Result<ContextPtr> make_anonymous_context() {
  SHOAL_ASSIGN(ContextPtr context, make_context());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  return context;
}

Result<ContextPtr> make_enrolment_context(const Identity& identity) {
  SHOAL_ASSIGN(ContextPtr context, make_tls_context(identity));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SHOAL_TRY(show_too(*context, identity.authority));
  return context;
}

Result<ContextPtr> make_public_context(std::string_view certificates, std::string_view key) {
  SHOAL_ASSIGN(ContextPtr context, make_context());
  SHOAL_TRY(show(*context, certificates, key));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const auto all = certificates_in(certificates);
  for (size_t i = 1; i < all.size(); ++i) SHOAL_TRY(show_too(*context, all[i]));
  return context;
}

Result<ContextPtr> make_client_context(std::string_view trusted) {
  SHOAL_ASSIGN(ContextPtr context, make_context());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (trusted.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
    return context;
  }
  for (std::string_view certificate : certificates_in(trusted)) {
    SHOAL_TRY(trust(*context, certificate));
  }
  return context;
}

}  // namespace shoal::net
