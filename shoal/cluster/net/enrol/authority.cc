// The authority's files: its certificate and key, a record for each name that was given (its latest
// certificate), and the deny list. A change of records or list needs the folder's lock.
#include "shoal/cluster/net/enrol/authority.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "shoal/base/files/file.h"
#include "shoal/cluster/net/folder_lock.h"
#include "shoal/cluster/net/hex.h"
#include "shoal/cluster/net/text_file.h"
#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::net {
namespace {

constexpr const char* kCertificateFile = "authority.pem";
constexpr const char* kKeyFile = "authority-key.pem";
constexpr const char* kPeersFolder = "peers";
constexpr const char* kDenyListFile = "denied";
constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 10};
// Clocks of small boards are often behind until they have reached a time server.
constexpr std::chrono::hours kClockTolerance{24};

Result<std::string> random_cluster_id() {
  std::array<std::byte, 8> id;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(id.data()), static_cast<int>(id.size())) != 1)
    return openssl_failure(Code::kInternal, "cannot draw a cluster's id");
  return to_hex(id);
}

int64_t seconds_since_1970(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

bool is_for(X509& certificate, EVP_PKEY& key) {
  return EVP_PKEY_eq(X509_get0_pubkey(&certificate), &key) == 1;
}

Status taken(const std::string& name) {
  return invalid("the name " + name + " is taken in this cluster");
}

Status nobody() { return Status(Code::kNotFound, "no peer of this cluster has that name"); }

// A record that is damaged counts as none: the name would be lost for ever.
Result<CertificatePtr> read_record(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text.ok()) return text.status().code() == Code::kNotFound ? nobody() : text.status();
  auto certificate = certificate_from_pem(*text);
  if (!certificate.ok()) return nobody();
  return certificate;
}

// Whether this certificate is what the peer would get now.
Result<bool> is_as_good(X509& certificate, Time now, const Grant& grant) {
  SHOAL_ASSIGN(const Subject subject, subject_of(certificate));
  SHOAL_ASSIGN(const Validity validity, validity_of(certificate));
  return subject.role == grant.role && standing_of(validity, now) == Standing::kGood;
}

}  // namespace

Result<Authority> Authority::create(const std::filesystem::path& folder, Time now) {
  SHOAL_TRY(make_private_folder(folder));
  {
    // If two processes make a cluster in one folder at once, the second finds that of the first.
    SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(folder));
    if (is_in(folder)) return invalid("there is a cluster in " + folder.string() + " already");
    SHOAL_ASSIGN(const std::string id, random_cluster_id());
    SHOAL_ASSIGN(const KeyPtr key, make_key());
    SHOAL_ASSIGN(const CertificatePtr certificate,
                 make_authority_certificate(
                     *key, {.cluster = id, .name = kAuthorityName, .role = Role::kOwner},
                     {now - kClockTolerance, now + kAuthorityLifetime}));
    SHOAL_ASSIGN(const std::string key_text, key_to_pem(*key));
    SHOAL_ASSIGN(const std::string text, certificate_to_pem(*certificate));
    // The key comes last: its existence is taken for that of a whole authority.
    SHOAL_TRY(write_text(folder / kCertificateFile, text));
    SHOAL_TRY(write_text(folder / kKeyFile, key_text, AtomicFile::Readers::kOwner));
  }
  return open(folder);
}

bool Authority::is_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kKeyFile, ignored);
}

Result<Authority> Authority::open(const std::filesystem::path& folder) {
  SHOAL_ASSIGN(std::string certificate, read_text(folder / kCertificateFile));
  SHOAL_ASSIGN(std::string key, read_secret(folder / kKeyFile));
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

std::filesystem::path Authority::deny_list_file() const { return folder_ / kDenyListFile; }

// The latest certificate of this name.
Result<CertificatePtr> Authority::recorded(const std::string& name) const {
  if (!is_peer_name(name)) return nobody();  // before it becomes a path
  return read_record(record_of(name));
}

// The certificate for `key` as PEM.
Result<std::string> Authority::certify(EVP_PKEY& key, const std::string& name, Time now,
                                       const Grant& grant) const {
  SHOAL_ASSIGN(const CertificatePtr own, certificate_from_pem(self_.certificate));
  SHOAL_ASSIGN(const KeyPtr secret, key_from_pem(self_.key));
  SHOAL_ASSIGN(
      const CertificatePtr made,
      make_peer_certificate(key, {.cluster = self_.cluster, .name = name, .role = grant.role},
                            {now - kClockTolerance, now + grant.lifetime}, *own, *secret));
  return certificate_to_pem(*made);
}

Result<std::string> Authority::certify_and_record(EVP_PKEY& key, const std::string& name, Time now,
                                                  const Grant& grant) const {
  SHOAL_ASSIGN(std::string certificate, certify(key, name, now, grant));
  SHOAL_TRY(make_private_folder(folder_ / kPeersFolder));
  SHOAL_TRY(write_text(record_of(name), certificate));
  return certificate;
}

Result<std::string> Authority::sign(std::string_view request, const std::string& name, Time now,
                                    const Grant& grant) const {
  if (name == kAuthorityName) return taken(name);
  SHOAL_ASSIGN(const KeyPtr key, key_of_request(request));
  SHOAL_ASSIGN(const Fingerprint print, fingerprint_of(*key));
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(folder_));
  SHOAL_ASSIGN(const DenyList list, denied());
  if (list.denies({.serial = "", .key = print}))
    return invalid("this device was removed from the cluster; delete its key to let it join anew");
  const auto known = recorded(name);
  if (known.ok() && !is_for(**known, *key)) return taken(name);
  if (known.ok()) {
    SHOAL_ASSIGN(const bool again, is_as_good(**known, now, grant));
    if (again) return certificate_to_pem(**known);
  } else if (known.status().code() != Code::kNotFound) {
    return known.status();
  }
  return certify_and_record(*key, name, now, grant);
}

Result<Identity> Authority::issue(const std::string& name, Time now, const Grant& grant) const {
  SHOAL_ASSIGN(const KeyPtr key, make_key());
  SHOAL_ASSIGN(std::string key_text, key_to_pem(*key));
  SHOAL_ASSIGN(std::string certificate, certify_and_record(*key, name, now, grant));
  return make_identity(std::move(certificate), std::move(key_text), self_.certificate);
}

Result<Identity> Authority::sign_again(const Identity& identity, Time now,
                                       const Grant& grant) const {
  SHOAL_ASSIGN(const KeyPtr key, key_from_pem(identity.key));
  SHOAL_ASSIGN(const std::string request, make_request(*key));
  SHOAL_ASSIGN(std::string certificate, sign(request, identity.name, now, grant));
  return make_identity(std::move(certificate), identity.key, self_.certificate);
}

Result<std::string> Authority::renew_for(X509& known, const std::string& name, Time now,
                                         std::chrono::seconds lifetime) const {
  SHOAL_ASSIGN(const Subject subject, subject_of(known));
  return certify_and_record(*X509_get0_pubkey(&known), name, now,
                            {.role = subject.role, .lifetime = lifetime});
}

Result<std::string> Authority::renew(const std::string& name, Time now,
                                     std::chrono::seconds lifetime) const {
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(folder_));
  SHOAL_ASSIGN(const CertificatePtr known, recorded(name));
  return renew_for(*known, name, now, lifetime);
}

Result<std::string> Authority::renew(const std::string& name, std::string_view request, Time now,
                                     std::chrono::seconds lifetime) const {
  SHOAL_ASSIGN(const KeyPtr key, key_of_request(request));
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(folder_));
  SHOAL_ASSIGN(const CertificatePtr known, recorded(name));
  if (!is_for(*known, *key)) return invalid("another key is recorded for " + name);
  return renew_for(*known, name, now, lifetime);
}

Result<DenyList> Authority::denied() const {
  const auto text = read_text(deny_list_file());
  if (text.status().code() == Code::kNotFound) return DenyList();
  if (!text.ok()) return text.status();
  SHOAL_ASSIGN(const CertificatePtr own, certificate_from_pem(self_.certificate));
  auto list = DenyList::parse(*text, self_.cluster, *own);
  if (!list.ok()) return list.status().at(deny_list_file().string());
  return list;
}

Result<DenyList> Authority::revoke(const std::string& name, Time now) const {
  if (name == kAuthorityName) return invalid("the authority cannot remove itself");
  SHOAL_ASSIGN(const FolderLock alone, FolderLock::take(folder_));
  SHOAL_ASSIGN(const CertificatePtr known, recorded(name));
  SHOAL_ASSIGN(const DenyList before, denied());
  SHOAL_ASSIGN(const CertificateId id, id_of(*known));
  SHOAL_ASSIGN(const Subject subject, subject_of(*known));
  SHOAL_ASSIGN(const Validity validity, validity_of(*known));
  std::vector<DeniedPeer> peers = before.peers();
  // The members' clocks may be behind this one.
  std::erase_if(peers, [&](const DeniedPeer& peer) {
    return peer.until < seconds_since_1970(now - kClockTolerance);
  });
  peers.push_back({name, subject.role, id, seconds_since_1970(validity.to)});
  SHOAL_ASSIGN(const KeyPtr secret, key_from_pem(self_.key));
  SHOAL_ASSIGN(DenyList after,
               DenyList::sign(self_.cluster, before.counter() + 1, std::move(peers), *secret));
  // The list first: a name that is free again while its certificate is still good would let two
  // peers bear it.
  SHOAL_TRY(write_text(deny_list_file(), after.text()));
  std::error_code error;
  std::filesystem::remove(record_of(name), error);
  if (error) return system_status(error.value()).at(record_of(name).string());
  SHOAL_TRY(sync_folder(folder_ / kPeersFolder));
  return after;
}

Result<std::vector<Member>> Authority::members_in(const std::filesystem::path& folder) {
  std::vector<Member> members;
  const auto files = list_folder(folder / kPeersFolder);
  if (!files.ok()) return members;  // no member has joined yet
  for (const std::filesystem::path& file : *files) {
    const auto known = read_record(file);
    if (!known.ok() || file.extension() != ".pem") continue;
    SHOAL_ASSIGN(Subject subject, subject_of(**known));
    SHOAL_ASSIGN(const Validity validity, validity_of(**known));
    if (subject.name == kAuthorityName) continue;
    members.push_back({std::move(subject.name), subject.role, validity});
  }
  std::ranges::sort(members, {}, &Member::name);
  return members;
}

}  // namespace shoal::net
