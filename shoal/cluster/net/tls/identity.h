// Identity: the certificate and key that a peer shows, and the authority by which it verifies
// others. All PEM text.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "shoal/base/status.h"
#include "shoal/cluster/net/role.h"

namespace shoal::net {

using Time = std::chrono::system_clock::time_point;
using Fingerprint = std::array<std::byte, 32>;  // SHA-256 of a certificate

struct Identity {
  std::string name;           // of this peer
  std::string cluster;        // id, the same for all peers of a cluster
  std::string certificate;    // says both, signed by the authority
  std::string key;            // secret
  std::string authority;      // the certificate by which others are verified
  Role role = Role::kWorker;  // as certified
};

// Checks that the parts belong together, and reads name, cluster and role from the certificate.
Result<Identity> make_identity(std::string certificate, std::string key, std::string authority);

// The fingerprint by which a token can be matched with this identity's cluster.
Result<Fingerprint> authority_fingerprint(const Identity& identity);

// Saves three files; the key is readable by its owner only. The certificate comes last: without it
// the folder has no identity yet, only a key.
Status save(const Identity& identity, const std::filesystem::path& folder);
Status save_certificate(const Identity& identity, const std::filesystem::path& folder);
std::filesystem::path certificate_file(const std::filesystem::path& folder);
// kNotFound if the identity was never complete. kInvalidArgument if others can read the key.
Result<Identity> load_identity(const std::filesystem::path& folder);

// The key of a folder, or a new one, which is on disk when this returns: a peer whose first attempt
// to join was cut off asks again with the same key.
Result<std::string> load_or_make_key(const std::filesystem::path& folder);

}  // namespace shoal::net
