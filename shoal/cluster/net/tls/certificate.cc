// Certificates of a cluster. The subject is O = cluster, OU = role, CN = name. The role is a field
// of the subject and no extension of our own: every tool that prints certificates shows it, and it
// needs no registered number. One level only: the authority is a CA with path length 0, peers are
// not, so a peer's key cannot sign further certificates.
#include "shoal/cluster/net/tls/certificate.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <memory>

#include "shoal/cluster/net/hex.h"

namespace shoal::net {
namespace {

constexpr int kSerialBits = 159;  // as long as a serial number may be, so that none comes twice

Status failed(std::string_view what) { return openssl_failure(Code::kInternal, what); }

BioPtr reader(std::string_view text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return nullptr;
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// For text with a passphrase, which is refused then. Without it OpenSSL would ask for one on the
// terminal, and the text may be a stranger's.
void* no_passphrase() { return const_cast<char*>(""); }

std::string text_of(BIO& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

bool add_name(X509_NAME& name, int field, const std::string& value) {
  return X509_NAME_add_entry_by_NID(&name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

// The cluster's id is in every certificate, although each cluster has its own authority: a mistake
// with trust roots then still cannot mix two clusters.
bool set_subject(X509& certificate, const Subject& subject) {
  X509_NAME* name = X509_get_subject_name(&certificate);
  return name != nullptr && add_name(*name, NID_organizationName, subject.cluster) &&
         add_name(*name, NID_organizationalUnitName, std::string(to_string(subject.role))) &&
         add_name(*name, NID_commonName, subject.name);
}

bool set_serial(X509& certificate) {
  const std::unique_ptr<BIGNUM, FreeWith<&BN_free>> number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_validity(X509& certificate, const Validity& validity) {
  const auto seconds = [](Time time) { return std::chrono::system_clock::to_time_t(time); };
  return ASN1_TIME_set(X509_getm_notBefore(&certificate), seconds(validity.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(&certificate), seconds(validity.to)) != nullptr;
}

struct Extension {
  int field;
  const char* value;
};

bool add_extensions(X509& certificate, X509& issuer, std::initializer_list<Extension> extensions) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  for (const Extension& extension : extensions) {
    const std::unique_ptr<X509_EXTENSION, FreeWith<&X509_EXTENSION_free>> made(
        X509V3_EXT_conf_nid(nullptr, &context, extension.field, extension.value));
    if (made == nullptr || X509_add_ext(&certificate, made.get(), -1) != 1) return false;
  }
  return true;
}

// Everything but issuer, extensions and signature.
CertificatePtr begin_certificate(EVP_PKEY& key, const Subject& subject, const Validity& validity) {
  CertificatePtr certificate(X509_new());
  const bool ok = certificate != nullptr && X509_set_version(certificate.get(), 2) == 1 &&
                  set_serial(*certificate) && set_subject(*certificate, subject) &&
                  set_validity(*certificate, validity) &&
                  X509_set_pubkey(certificate.get(), &key) == 1;
  return ok ? std::move(certificate) : nullptr;
}

bool finish_certificate(X509& certificate, X509& issuer, EVP_PKEY& issuer_key,
                        std::initializer_list<Extension> extensions) {
  return X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) == 1 &&
         add_extensions(certificate, issuer, extensions) &&
         X509_sign(&certificate, &issuer_key, EVP_sha256()) > 0;
}

Result<std::string> subject_field(X509& certificate, int field) {
  const X509_NAME* name = X509_get_subject_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(name, field, -1);
  // A second field of the same kind would let two readers see two names.
  if (at < 0 || X509_NAME_get_index_by_NID(name, field, at) >= 0)
    return invalid("certificate does not name one peer of one cluster");
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                     static_cast<size_t>(ASN1_STRING_length(value)));
}

Result<Role> role_in(X509& certificate) {
  const X509_NAME* name = X509_get_subject_name(&certificate);
  // Certificates of earlier releases say no role. The least is right for them.
  if (X509_NAME_get_index_by_NID(name, NID_organizationalUnitName, -1) < 0) return Role::kWorker;
  SHOAL_ASSIGN(const std::string text, subject_field(certificate, NID_organizationalUnitName));
  if (const auto role = parse_role(text)) return *role;
  return invalid("certificate gives a role that is not known here");
}

}  // namespace

bool is_peer_name(std::string_view name) {
  constexpr size_t kMaxBytes = 63;
  // Names become file names, log lines and parts of messages: no separators, no leading dot.
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr std::string_view kAlphanumeric = kAllowed.substr(0, kAllowed.size() - 3);
  return !name.empty() && name.size() <= kMaxBytes &&
         kAlphanumeric.find(name.front()) != std::string_view::npos &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<KeyPtr> make_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return failed("cannot make a key");
  return key;
}

Result<std::string> key_to_pem(EVP_PKEY& key) {
  // Wiped when it is freed; the text that is returned is the caller's to protect.
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (bio == nullptr ||
      PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("cannot write a key");
  return text_of(*bio);
}

Result<KeyPtr> key_from_pem(std::string_view pem) {
  const BioPtr bio = reader(pem);
  KeyPtr key(bio == nullptr
                 ? nullptr
                 : PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_passphrase()));
  if (key == nullptr) return openssl_failure(Code::kCorrupt, "not a private key");
  return key;
}

Result<std::string> certificate_to_pem(X509& certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), &certificate) != 1)
    return failed("cannot write a certificate");
  return text_of(*bio);
}

Result<CertificatePtr> certificate_from_pem(std::string_view pem) {
  const BioPtr bio = reader(pem);
  CertificatePtr certificate(
      bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, nullptr, no_passphrase()));
  if (certificate == nullptr) return openssl_failure(Code::kCorrupt, "not a certificate");
  return certificate;
}

Result<std::string> make_request(EVP_PKEY& key) {
  const RequestPtr request(X509_REQ_new());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const bool ok = request != nullptr && bio != nullptr &&
                  X509_REQ_set_version(request.get(), 0) == 1 &&
                  X509_REQ_set_pubkey(request.get(), &key) == 1 &&
                  X509_REQ_sign(request.get(), &key, EVP_sha256()) > 0 &&
                  PEM_write_bio_X509_REQ(bio.get(), request.get()) == 1;
  if (!ok) return failed("cannot make a request for a certificate");
  return text_of(*bio);
}

Result<KeyPtr> key_of_request(std::string_view pem) {
  const BioPtr bio = reader(pem);
  const RequestPtr request(
      bio == nullptr ? nullptr
                     : PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, no_passphrase()));
  KeyPtr key(request == nullptr ? nullptr : X509_REQ_get_pubkey(request.get()));
  // The signature proves that the requester holds the key.
  if (key == nullptr || X509_REQ_verify(request.get(), key.get()) != 1)
    return openssl_failure(Code::kCorrupt, "not a request for a certificate");
  // Only one curve, so that no weak or slow key gets into the cluster.
  char group[16] = {};
  size_t length = 0;
  if (EVP_PKEY_get_group_name(key.get(), group, sizeof group, &length) != 1 ||
      std::string_view(group, length) != SN_X9_62_prime256v1)
    return Status(Code::kUnsupported, "key of a request is not on the curve P-256");
  return key;
}

Result<CertificatePtr> make_authority_certificate(EVP_PKEY& key, const Subject& subject,
                                                  const Validity& validity) {
  CertificatePtr made = begin_certificate(key, subject, validity);
  if (made == nullptr || !finish_certificate(*made, *made, key,
                                             {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                              {NID_key_usage, "critical,keyCertSign"},
                                              {NID_subject_key_identifier, "hash"}}))
    return failed("cannot make the authority's certificate");
  return made;
}

Result<CertificatePtr> make_peer_certificate(EVP_PKEY& key, const Subject& subject,
                                             const Validity& validity, X509& authority,
                                             EVP_PKEY& authority_key) {
  if (!is_peer_name(subject.name))
    return invalid(
        "a peer's name has 1 to 63 letters, digits, and after the first also '.', '_', '-'");
  CertificatePtr made = begin_certificate(key, subject, validity);
  if (made == nullptr || !finish_certificate(*made, authority, authority_key,
                                             {{NID_basic_constraints, "critical,CA:FALSE"},
                                              {NID_key_usage, "critical,digitalSignature"},
                                              {NID_ext_key_usage, "clientAuth,serverAuth"},
                                              {NID_subject_key_identifier, "hash"},
                                              {NID_authority_key_identifier, "keyid"}}))
    return failed("cannot make a certificate");
  return made;
}

Result<Subject> subject_of(X509& certificate) {
  Subject subject;
  SHOAL_ASSIGN(subject.cluster, subject_field(certificate, NID_organizationName));
  SHOAL_ASSIGN(subject.name, subject_field(certificate, NID_commonName));
  SHOAL_ASSIGN(subject.role, role_in(certificate));
  if (!is_peer_name(subject.name)) return invalid("certificate names a peer as no peer is named");
  return subject;
}

Result<Fingerprint> fingerprint_of(EVP_PKEY& key) {
  // By coordinates: the same key has several encodings, and a removed peer could choose another.
  std::array<unsigned char, 64> point{};
  int filled = 0;
  for (const char* coordinate : {OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y}) {
    BIGNUM* number = nullptr;
    if (EVP_PKEY_get_bn_param(&key, coordinate, &number) != 1) break;
    const int bytes = BN_bn2binpad(number, point.data() + filled, 32);
    BN_free(number);
    if (bytes != 32) break;
    filled += bytes;
  }
  Fingerprint print;
  unsigned size = 0;
  if (filled != static_cast<int>(point.size()) ||
      EVP_Digest(point.data(), point.size(), reinterpret_cast<unsigned char*>(print.data()), &size,
                 EVP_sha256(), nullptr) != 1 ||
      size != print.size())
    return failed("cannot take the fingerprint of a key");
  return print;
}

Result<CertificateId> id_of(X509& certificate) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(&certificate);
  EVP_PKEY* key = X509_get0_pubkey(&certificate);
  if (serial == nullptr || key == nullptr) return failed("a certificate has no serial or no key");
  CertificateId id;
  id.serial = to_hex({reinterpret_cast<const std::byte*>(ASN1_STRING_get0_data(serial)),
                      static_cast<size_t>(ASN1_STRING_length(serial))});
  SHOAL_ASSIGN(id.key, fingerprint_of(*key));
  return id;
}

Result<Validity> validity_of(X509& certificate) {
  std::tm from{};
  std::tm to{};
  if (ASN1_TIME_to_tm(X509_get0_notBefore(&certificate), &from) != 1 ||
      ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &to) != 1)
    return failed("cannot read the dates of a certificate");
  return Validity{std::chrono::system_clock::from_time_t(::timegm(&from)),
                  std::chrono::system_clock::from_time_t(::timegm(&to))};
}

Result<Validity> validity_of(const Identity& identity) {
  SHOAL_ASSIGN(const CertificatePtr own, certificate_from_pem(identity.certificate));
  return validity_of(*own);
}

Standing standing_of(const Validity& validity, Time now) {
  if (now >= validity.to) return Standing::kExpired;
  // As late as leaves one month of three for an owner who is away.
  return now < validity.from + (validity.to - validity.from) / 3 * 2 ? Standing::kGood
                                                                     : Standing::kDue;
}

Result<Fingerprint> fingerprint_of(X509& certificate) {
  Fingerprint print;
  unsigned size = 0;
  if (X509_digest(&certificate, EVP_sha256(), reinterpret_cast<unsigned char*>(print.data()),
                  &size) != 1 ||
      size != print.size())
    return failed("cannot take a fingerprint");
  return print;
}

}  // namespace shoal::net
