#include "shoal/cluster/net/tls/identity.h"

#include <openssl/x509.h>

#include <utility>

#include "shoal/cluster/net/text_file.h"
#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::net {
namespace {

constexpr const char* kCertificateFile = "certificate.pem";
constexpr const char* kKeyFile = "key.pem";
constexpr const char* kAuthorityFile = "authority.pem";

}  // namespace

Result<Identity> make_identity(std::string certificate, std::string key, std::string authority) {
  SHOAL_ASSIGN(const CertificatePtr own, certificate_from_pem(certificate));
  SHOAL_ASSIGN(const KeyPtr secret, key_from_pem(key));
  SHOAL_ASSIGN(const CertificatePtr root, certificate_from_pem(authority));
  const bool same_key = X509_check_private_key(own.get(), secret.get()) == 1;
  // Expiry is not checked: peers that see the certificate check it, by their own clocks.
  const bool signed_by_root = X509_verify(own.get(), X509_get0_pubkey(root.get())) == 1;
  ERR_clear_error();
  if (!same_key) return invalid("certificate and key do not belong together");
  if (!signed_by_root) return invalid("certificate is not signed by this authority");
  SHOAL_ASSIGN(Subject subject, subject_of(*own));
  return Identity{std::move(subject.name), std::move(subject.cluster), std::move(certificate),
                  std::move(key),          std::move(authority),       subject.role};
}

Result<Fingerprint> authority_fingerprint(const Identity& identity) {
  SHOAL_ASSIGN(const CertificatePtr root, certificate_from_pem(identity.authority));
  return fingerprint_of(*root);
}

Status save(const Identity& identity, const std::filesystem::path& folder) {
  SHOAL_TRY(make_private_folder(folder));
  SHOAL_TRY(write_text(folder / kKeyFile, identity.key, AtomicFile::Readers::kOwner));
  SHOAL_TRY(write_text(folder / kAuthorityFile, identity.authority));
  return save_certificate(identity, folder);
}

std::filesystem::path certificate_file(const std::filesystem::path& folder) {
  return folder / kCertificateFile;
}

Status save_certificate(const Identity& identity, const std::filesystem::path& folder) {
  return write_text(certificate_file(folder), identity.certificate);
}

Result<Identity> load_identity(const std::filesystem::path& folder) {
  SHOAL_ASSIGN(std::string certificate, read_text(certificate_file(folder)));
  SHOAL_ASSIGN(std::string authority, read_text(folder / kAuthorityFile));
  SHOAL_ASSIGN(std::string key, read_secret(folder / kKeyFile));
  auto identity = make_identity(std::move(certificate), std::move(key), std::move(authority));
  if (!identity.ok()) return identity.status().at(folder.string());
  return identity;
}

Result<std::string> load_or_make_key(const std::filesystem::path& folder) {
  auto known = read_secret(folder / kKeyFile);
  if (known.status().code() != Code::kNotFound) {
    if (!known.ok() || key_from_pem(*known).ok()) return known;
  }
  SHOAL_ASSIGN(const KeyPtr key, make_key());
  SHOAL_ASSIGN(std::string text, key_to_pem(*key));
  SHOAL_TRY(make_private_folder(folder));
  SHOAL_TRY(write_text(folder / kKeyFile, text, AtomicFile::Readers::kOwner));
  return text;
}

}  // namespace shoal::net
