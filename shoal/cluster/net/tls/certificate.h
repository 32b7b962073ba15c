// Certificates: keys, requests and certificates as PEM text, in the form in which they are stored
// and sent. ECDSA on P-256.
#pragma once

#include <string>
#include <string_view>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/status.h"
#include "shoal/cluster/net/role.h"
#include "shoal/cluster/net/tls/identity.h"

namespace shoal::net {

struct Subject {
  std::string cluster;
  std::string name;
  Role role = Role::kWorker;
};

// 1 to 63 of a-z, A-Z, 0-9, and after the first also '.', '_' and '-': valid in a message, a log,
// and as a file name.
bool is_peer_name(std::string_view name);

Result<KeyPtr> make_key();
Result<std::string> key_to_pem(EVP_PKEY& key);
Result<KeyPtr> key_from_pem(std::string_view pem);

Result<std::string> certificate_to_pem(X509& certificate);
Result<CertificatePtr> certificate_from_pem(std::string_view pem);

// A request contains the key only; the authority decides on the name.
Result<std::string> make_request(EVP_PKEY& key);
// The key of a request that was signed with it.
Result<KeyPtr> key_of_request(std::string_view pem);

struct Validity {
  Time from;
  Time to;
};

// Signed by `key`, which is its own: the root of a cluster's trust.
Result<CertificatePtr> make_authority_certificate(EVP_PKEY& key, const Subject& subject,
                                                  const Validity& validity);
// For `key`, signed by the authority.
Result<CertificatePtr> make_peer_certificate(EVP_PKEY& key, const Subject& subject,
                                             const Validity& validity, X509& authority,
                                             EVP_PKEY& authority_key);

// The subject of a verified certificate. kInvalidArgument if it does not name one peer of one
// cluster, or names an unknown role. Without a role it is a worker's.
Result<Subject> subject_of(X509& certificate);

Result<Fingerprint> fingerprint_of(X509& certificate);  // SHA-256 of its DER
// SHA-256 of the point that a public key on P-256 is, however the key was encoded.
Result<Fingerprint> fingerprint_of(EVP_PKEY& key);

// Identifies a certificate and its key.
struct CertificateId {
  std::string serial;  // hex
  Fingerprint key{};
};
Result<CertificateId> id_of(X509& certificate);

Result<Validity> validity_of(X509& certificate);
Result<Validity> validity_of(const Identity& identity);

// The state of a certificate.
enum class Standing {
  kGood,
  kDue,      // two thirds of its time are over: it is to be renewed
  kExpired,  // too late to be renewed by itself
};
Standing standing_of(const Validity& validity, Time now);

}  // namespace shoal::net
