// Authority: the small certificate authority of a cluster. The holder of its folder decides which
// peers belong to the cluster. Immutable; processes share the folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/status.h"
#include "shoal/net/role.h"
#include "shoal/net/tls/identity.h"

namespace shoal::net {

inline constexpr std::chrono::hours kPeerLifetime{24 * 365};

// What a certificate grants beside the name.
struct Grant {
  Role role = Role::kWorker;
  std::chrono::seconds lifetime = kPeerLifetime;
};

class Authority {
 public:
  // Makes a cluster: a folder with a new key, readable by its owner only. Refuses a folder that has
  // one already.
  static Result<Authority> create(const std::filesystem::path& folder, Time now);
  static Result<Authority> open(const std::filesystem::path& folder);

  const std::string& cluster() const { return self_.cluster; }          // its id
  const std::string& certificate() const { return self_.certificate; }  // PEM
  const Fingerprint& fingerprint() const { return fingerprint_; }
  const std::filesystem::path& folder() const { return folder_; }

  // The certificate, as PEM, for the key of this request. Name and role are the authority's to
  // decide, whatever the request says. Each name is given once: a peer could otherwise be
  // impersonated by the next one invited.
  Result<std::string> sign(std::string_view request, const std::string& name, Time now,
                           const Grant& grant = {}) const;
  // For a peer that the holder of the folder sets up directly; the name may have been given before.
  Result<Identity> issue(const std::string& name, Time now, const Grant& grant = {}) const;

  // The name can be given again. Certificates that bear it stay valid until they expire.
  Status forget(const std::string& name) const;

 private:
  Authority(std::filesystem::path folder, Identity self, const Fingerprint& fingerprint)
      : folder_(std::move(folder)), self_(std::move(self)), fingerprint_(fingerprint) {}

  std::filesystem::path record_of(const std::string& name) const;

  std::filesystem::path folder_;
  Identity self_;
  Fingerprint fingerprint_;
};

}  // namespace shoal::net
