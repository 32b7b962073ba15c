// Authority: the small certificate authority of a cluster. The holder of its folder decides which
// peers belong to the cluster. Immutable; processes share the folder and take turns.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/net/role.h"
#include "shoal/cluster/net/tls/certificate.h"
#include "shoal/cluster/net/tls/deny_list.h"
#include "shoal/cluster/net/tls/identity.h"

namespace shoal::net {

// Short, because members renew their certificates by themselves from the sixtieth day on.
inline constexpr std::chrono::hours kPeerLifetime{24 * 90};

inline constexpr const char* kAuthorityName = "authority";  // its name for newcomers

// What a certificate grants beside the name.
struct Grant {
  Role role = Role::kWorker;
  std::chrono::seconds lifetime = kPeerLifetime;
};

// A member as the authority has recorded it.
struct Member {
  std::string name;
  Role role;
  Validity validity;  // of its latest certificate
};

class Authority {
 public:
  // Makes a cluster: a folder with a new key, readable by its owner only. Fails if the folder has
  // one already.
  static Result<Authority> create(const std::filesystem::path& folder, Time now);
  // kInvalidArgument if others can read the key.
  static Result<Authority> open(const std::filesystem::path& folder);
  static bool is_in(const std::filesystem::path& folder);  // whether its key is there

  const std::string& cluster() const { return self_.cluster; }          // its id
  const std::string& certificate() const { return self_.certificate; }  // PEM
  const Fingerprint& fingerprint() const { return fingerprint_; }
  const std::filesystem::path& folder() const { return folder_; }

  // The certificate, as PEM, for the key of this request. The authority decides on name and role,
  // whatever the request says. A name belongs to the first key that asks for it: a peer could
  // otherwise be impersonated by the next one invited. That key may ask again, and gets the same
  // certificate unless a renewal is due.
  Result<std::string> sign(std::string_view request, const std::string& name, Time now,
                           const Grant& grant = {}) const;
  // For a peer that the holder of the folder sets up directly; the name may have been given before.
  Result<Identity> issue(const std::string& name, Time now, const Grant& grant = {}) const;

  // The same identity with another certificate, as sign() gives it.
  Result<Identity> sign_again(const Identity& identity, Time now, const Grant& grant) const;

  // Another certificate for the key and the role that are recorded for this name. kNotFound if
  // there is none, for instance after revoke().
  Result<std::string> renew(const std::string& name, Time now,
                            std::chrono::seconds lifetime = kPeerLifetime) const;
  // For a member that asks: kInvalidArgument unless the request is signed with the recorded key.
  Result<std::string> renew(const std::string& name, std::string_view request, Time now,
                            std::chrono::seconds lifetime = kPeerLifetime) const;

  // Puts the certificate and the key of this member on the deny list, which is returned, and frees
  // the name for others. kNotFound if the name is not in use.
  Result<DenyList> revoke(const std::string& name, Time now) const;
  Result<DenyList> denied() const;  // the list as it is in the folder
  std::filesystem::path deny_list_file() const;

  // In alphabetical order, without the authority itself. Damaged records are left out. The key is
  // not read.
  static Result<std::vector<Member>> members_in(const std::filesystem::path& folder);

 private:
  Authority(std::filesystem::path folder, Identity self, const Fingerprint& fingerprint)
      : folder_(std::move(folder)), self_(std::move(self)), fingerprint_(fingerprint) {}

  std::filesystem::path record_of(const std::string& name) const;
  Result<CertificatePtr> recorded(const std::string& name) const;
  Result<std::string> certify(EVP_PKEY& key, const std::string& name, Time now,
                              const Grant& grant) const;
  Result<std::string> certify_and_record(EVP_PKEY& key, const std::string& name, Time now,
                                         const Grant& grant) const;
  Result<std::string> renew_for(X509& known, const std::string& name, Time now,
                                std::chrono::seconds lifetime) const;

  std::filesystem::path folder_;
  Identity self_;
  Fingerprint fingerprint_;
};

}  // namespace shoal::net
