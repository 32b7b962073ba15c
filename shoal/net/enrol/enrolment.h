// Enrolment: how a device that holds a token gets its certificate.
//
// The newcomer knows the authority by the fingerprint in the token; the authority knows the
// newcomer by a proof that he has the secret, bound to this very connection, so that who listens or
// stands between them learns nothing he could use.
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
  uint16_t port = 0;  // where he will listen, for the authority to remember; 0: nothing to remember
  uint16_t version = kProtocolVersion;
};

// On the side of the newcomer: the key is made here and never leaves.
Result<Identity> join(const Token& token, const std::string& name, Deadline deadline,
                      const JoinOptions& options = {});

// Who has joined.
struct Joined {
  std::string name;
  std::string address;  // where he came from, with the port he said; empty if he said none
};

struct EnrolmentOptions {
  std::function<Time()> clock = std::chrono::system_clock::now;
  std::chrono::seconds lifetime = kPeerLifetime;  // of the certificates
  std::chrono::milliseconds timeout{3000};        // with a newcomer who does not say what he wants
  size_t max_newcomers = 16;                      // at once; one more cuts off the oldest
  uint16_t version = kProtocolVersion;
  // Told of everyone who joined and everyone who did not (why), by several threads.
  std::function<void(const Result<Joined>&)> told = [](const Result<Joined>&) {};
};

// On the side of the authority: a port for newcomers only. Serves until it is destroyed.
class Enrolment {
 public:
  virtual ~Enrolment() = default;
  virtual std::string address() const = 0;
};

Result<std::unique_ptr<Enrolment>> serve_enrolment(const Authority& authority,
                                                   std::string_view address,
                                                   EnrolmentOptions options = {});

}  // namespace shoal::net
