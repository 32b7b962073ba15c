// Enrolment: gives a certificate to a device that holds a token.
//
// The newcomer authenticates the authority by the fingerprint in the token. The authority
// authenticates the newcomer by a proof of the secret, bound to this very connection, so that an
// eavesdropper or a machine in the middle learns nothing of use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/net/enrol/authority.h"
#include "shoal/net/enrol/invitation.h"
#include "shoal/net/frame.h"
#include "shoal/net/tls/tls.h"

namespace shoal::net {

struct JoinOptions {
  uint16_t port = 0;  // where it will listen, for the authority to remember; 0: nothing to remember
  uint16_t version = kProtocolVersion;
};

// The newcomer's side. The key is made here and never leaves.
Result<Identity> join(const Token& token, const std::string& name, Deadline deadline,
                      const JoinOptions& options = {});

// A peer that has joined.
struct Joined {
  std::string name;
  std::string address;  // where it came from, with the port it named; empty if it named none
};

struct EnrolmentOptions {
  std::function<Time()> clock = std::chrono::system_clock::now;
  std::chrono::seconds lifetime = kPeerLifetime;  // of the certificates
  std::chrono::milliseconds timeout{3000};        // for a newcomer that does not say what it wants
  size_t max_newcomers = 16;                      // at once; one more cuts off the oldest
  uint16_t version = kProtocolVersion;
  // Called for every peer that joined and every one that did not (why), on several threads.
  std::function<void(const Result<Joined>&)> told = [](const Result<Joined>&) {};
};

// The authority's side: a port for newcomers only. Serves until it is destroyed.
class Enrolment {
 public:
  virtual ~Enrolment() = default;
  virtual std::string address() const = 0;
};

Result<std::unique_ptr<Enrolment>> serve_enrolment(const Authority& authority,
                                                   std::string_view address,
                                                   EnrolmentOptions options = {});

}  // namespace shoal::net
