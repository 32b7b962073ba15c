// TLS contexts: versions, ciphers and trust of all TLS connections of a peer.
#pragma once

#include <string_view>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/status.h"
#include "shoal/cluster/net/tls/identity.h"

namespace shoal::net {

// TLS 1.3 only. A peer without a certificate of the identity's authority is refused.
Result<ContextPtr> make_tls_context(const Identity& identity);

// TLS 1.3 only, for a peer without an identity: it shows no certificate, and the caller must check
// the other side's before trusting it.
Result<ContextPtr> make_anonymous_context();

// For the other side: shows the identity's certificate and the authority's. A peer may show a
// certificate of the authority, or none.
Result<ContextPtr> make_enrolment_context(const Identity& identity);

// TLS 1.3 only, for a server that clients know by its name: shows the first of `certificates`,
// followed by its chain, and asks clients for none. Both are PEM.
Result<ContextPtr> make_public_context(std::string_view certificates, std::string_view key);

// TLS 1.3 only, for a client of such a server, whose certificate must lead to one of `trusted`
// (PEM), or of the system's if that is empty. The caller checks its name.
Result<ContextPtr> make_client_context(std::string_view trusted);

}  // namespace shoal::net
