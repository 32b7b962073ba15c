// Enrolment: gives a certificate to a device that holds a token, and another one to a member whose
// certificate is about to end.
//
// The newcomer authenticates the authority by the fingerprint in the token. The authority
// authenticates the newcomer by a proof of the secret, bound to this connection, so that an
// eavesdropper or a machine in the middle learns nothing useful.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/cluster/net/enrol/authority.h"
#include "shoal/cluster/net/enrol/invitation.h"
#include "shoal/cluster/net/frame.h"
#include "shoal/cluster/net/tls/tls.h"

namespace shoal::net {

struct JoinOptions {
  uint16_t port = 0;  // where it will listen, for the authority to remember; 0: nothing to remember
  uint16_t version = kProtocolVersion;
  // PEM. With the key of an earlier attempt that was cut off, or of an expired identity, a peer
  // gets the same name again. Empty: a new key, which only the returned identity has.
  std::string key = {};
  // Stores the identity, and the deny list of the cluster ("" if it is empty). The token is used up
  // when this has returned OK. Null: nothing is stored.
  std::function<Status(const Identity&, const std::string& deny_list)> keep = nullptr;
  std::function<Time()> clock = std::chrono::system_clock::now;
};

// The newcomer's side. The private key is never sent.
Result<Identity> join(const Token& token, const std::string& name, Deadline deadline,
                      const JoinOptions& options = {});

// As join(), with a folder: uses the key of an earlier attempt, or a new one. The identity is on
// disk when this returns, and Membership::open() finds it.
Result<Identity> join_from(const std::filesystem::path& folder, const Token& token,
                           const std::string& name, Deadline deadline, JoinOptions options = {});
// The authority's address at that time, for renewals. kNotFound if the folder does not have it.
Result<std::string> joined_at(const std::filesystem::path& folder);

// Asks the authority at `address` for another certificate for this member, whose present one must
// still be valid. Membership::renew() takes the result.
Result<std::string> ask_for_renewal(const std::shared_ptr<Membership>& member,
                                    std::string_view address, Deadline deadline);

// A peer that has joined, or a member that has renewed its certificate.
struct Joined {
  std::string name;
  std::string address;  // where it came from, with the port it named; empty if it named none
  bool renewed = false;
};

struct EnrolmentOptions {
  std::function<Time()> clock = std::chrono::system_clock::now;
  std::chrono::seconds lifetime = kPeerLifetime;  // of the certificates
  std::chrono::milliseconds timeout{3000};        // for a newcomer that sends no request
  size_t max_newcomers = 16;                      // at once; one more cuts off the oldest
  uint16_t version = kProtocolVersion;
  // Called for every peer that joined, or with the reason why it did not, on several threads.
  std::function<void(const Result<Joined>&)> told = [](const Result<Joined>&) {};
};

// The authority's side: a port for newcomers, and for members that renew their certificates. Serves
// until it is destroyed.
class Enrolment {
 public:
  virtual ~Enrolment() = default;
  virtual std::string address() const = 0;
};

Result<std::unique_ptr<Enrolment>> serve_enrolment(const Authority& authority,
                                                   std::string_view address,
                                                   EnrolmentOptions options = {});

}  // namespace shoal::net
