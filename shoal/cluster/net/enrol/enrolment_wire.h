// Enrolment wire: the messages between a newcomer and the authority, and the proof of the secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/status.h"
#include "shoal/cluster/net/enrol/invitation.h"
#include "shoal/cluster/net/frame.h"

namespace shoal::net {

using Proof = std::array<std::byte, 32>;

struct JoinRequest {
  InvitationId id;
  Proof proof;
  uint16_t port = 0;  // where it will listen; 0: it does not say
  std::string name;
  std::string request;  // for a certificate, PEM
};

std::vector<std::byte> encode(const JoinRequest& request);
Result<JoinRequest> decode_join_request(Bytes bytes);

// The certificate as PEM, or the error.
std::vector<std::byte> encode(const Result<std::string>& answer);
Result<std::string> decode_join_answer(Bytes bytes);

// A value known only to the two ends of this connection (RFC 5705).
using Binding = std::array<std::byte, 32>;
Result<Binding> binding_of(SSL& ssl);

// HMAC-SHA-256 by the secret over the binding and all fields of the request.
Result<Proof> prove(const Secret& secret, const Binding& binding, const JoinRequest& request);
bool same(const Proof& a, const Proof& b);  // in a time that does not tell where they differ

}  // namespace shoal::net
