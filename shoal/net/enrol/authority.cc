// The authority's files: its certificate and key, and a record for each name that was given. The
// record is created exclusively, which makes it the lock on the name as well.
#include "shoal/net/enrol/authority.h"

#include <openssl/rand.h>

#include <array>
#include <system_error>
#include <utility>

#include "shoal/net/hex.h"
#include "shoal/net/text_file.h"
#include "shoal/net/tls/certificate.h"

namespace shoal::net {
namespace {

constexpr const char* kCertificateFile = "authority.pem";
constexpr const char* kKeyFile = "authority-key.pem";
constexpr const char* kPeersFolder = "peers";
constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 10};
// Clocks of small boards are often behind until they have reached a time server.
constexpr std::chrono::hours kClockTolerance{24};

Result<std::string> random_cluster_id() {
  std::array<std::byte, 8> id;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(id.data()), static_cast<int>(id.size())) != 1)
    return openssl_failure(Code::kInternal, "cannot draw a cluster's id");
  return to_hex(id);
}

// The certificate for `key` as PEM.
Result<std::string> certify(const Identity& authority, EVP_PKEY& key, const std::string& name,
                            Time now, const Grant& grant) {
  SHOAL_ASSIGN(const CertificatePtr own, certificate_from_pem(authority.certificate));
  SHOAL_ASSIGN(const KeyPtr secret, key_from_pem(authority.key));
  SHOAL_ASSIGN(
      const CertificatePtr made,
      make_peer_certificate(key, {.cluster = authority.cluster, .name = name, .role = grant.role},
                            {now - kClockTolerance, now + grant.lifetime}, *own, *secret));
  return certificate_to_pem(*made);
}

}  // namespace

Result<Authority> Authority::create(const std::filesystem::path& folder, Time now) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / kKeyFile, ignored))
    return invalid("there is a cluster in " + folder.string() + " already");
  SHOAL_ASSIGN(const std::string id, random_cluster_id());
  SHOAL_ASSIGN(const KeyPtr key, make_key());
  SHOAL_ASSIGN(
      const CertificatePtr certificate,
      make_authority_certificate(*key, {.cluster = id, .name = "authority", .role = Role::kOwner},
                                 {now - kClockTolerance, now + kAuthorityLifetime}));
  SHOAL_ASSIGN(const std::string key_text, key_to_pem(*key));
  SHOAL_ASSIGN(const std::string text, certificate_to_pem(*certificate));
  SHOAL_TRY(make_private_folder(folder));
  // The key comes last: create() takes its existence for that of a whole cluster.
  SHOAL_TRY(write_text(folder / kCertificateFile, text));
  SHOAL_TRY(write_text(folder / kKeyFile, key_text, AtomicFile::Readers::kOwner));
  return open(folder);
}

Result<Authority> Authority::open(const std::filesystem::path& folder) {
  SHOAL_ASSIGN(std::string certificate, read_text(folder / kCertificateFile));
  SHOAL_ASSIGN(std::string key, read_text(folder / kKeyFile));
  std::string root = certificate;  // signed by itself
  auto self = make_identity(std::move(certificate), std::move(key), std::move(root));
  if (!self.ok()) return self.status().at(folder.string());
  SHOAL_ASSIGN(const CertificatePtr parsed, certificate_from_pem(self->certificate));
  SHOAL_ASSIGN(const Fingerprint fingerprint, fingerprint_of(*parsed));
  return Authority(folder, *std::move(self), fingerprint);
}

std::filesystem::path Authority::record_of(const std::string& name) const {
  return folder_ / kPeersFolder / (name + ".pem");
}

Result<std::string> Authority::sign(std::string_view request, const std::string& name, Time now,
                                    const Grant& grant) const {
  SHOAL_ASSIGN(const KeyPtr key, key_of_request(request));
  SHOAL_ASSIGN(std::string certificate, certify(self_, *key, name, now, grant));
  SHOAL_TRY(make_private_folder(folder_ / kPeersFolder));
  // If two requests ask for one name at once, one of them creates the file.
  const Status recorded = write_new_text(record_of(name), certificate);
  if (recorded.ok()) return certificate;
  std::error_code ignored;
  if (!std::filesystem::exists(record_of(name), ignored)) return recorded;
  return invalid("the name " + name + " is taken in this cluster");
}

Result<Identity> Authority::issue(const std::string& name, Time now, const Grant& grant) const {
  SHOAL_ASSIGN(const KeyPtr key, make_key());
  SHOAL_ASSIGN(std::string key_text, key_to_pem(*key));
  SHOAL_ASSIGN(std::string certificate, certify(self_, *key, name, now, grant));
  SHOAL_TRY(make_private_folder(folder_ / kPeersFolder));
  SHOAL_TRY(write_text(record_of(name), certificate));
  return make_identity(std::move(certificate), std::move(key_text), self_.certificate);
}

Status Authority::forget(const std::string& name) const {
  std::error_code error;
  if (is_peer_name(name) && std::filesystem::remove(record_of(name), error)) {
    return sync_folder(record_of(name).parent_path());
  }
  return Status(Code::kNotFound, "no peer of this cluster has that name");
}

}  // namespace shoal::net
