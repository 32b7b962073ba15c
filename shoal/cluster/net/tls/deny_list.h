// DenyList: the members that were removed from a cluster before their certificates end. Signed by
// the authority, with a counter, so that any member may pass it on: the list with the higher
// counter is the right one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/status.h"
#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::net {

struct DeniedPeer {
  std::string name;
  Role role = Role::kWorker;
  // Both are denied: the key as well, so that another certificate for it does not help.
  CertificateId id;
  int64_t until = 0;  // when the certificate ends, in seconds since 1970; needless after that
};

// Longer lists of others are dropped. Enough for a thousand removed members.
inline constexpr size_t kMaxDenyListBytes = size_t{256} << 10;

// A value. The default one has counter 0 and is empty.
class DenyList {
 public:
  DenyList() = default;
  // kExhausted if it becomes too long to be sent.
  static Result<DenyList> sign(const std::string& cluster, uint64_t counter,
                               std::vector<DeniedPeer> peers, EVP_PKEY& authority_key);
  // The list as text() gave it. kCorrupt unless this authority has signed it, for this cluster.
  static Result<DenyList> parse(std::string_view text, const std::string& cluster, X509& authority);

  uint64_t counter() const { return counter_; }
  const std::vector<DeniedPeer>& peers() const { return peers_; }
  const std::string& text() const { return text_; }  // empty if the counter is 0
  bool denies(const CertificateId& id) const;

 private:
  DenyList(uint64_t counter, std::vector<DeniedPeer> peers, std::string text);

  uint64_t counter_ = 0;
  std::vector<DeniedPeer> peers_;
  std::string text_;
  std::set<std::string> serials_;
  std::set<Fingerprint> keys_;
};

}  // namespace shoal::net
