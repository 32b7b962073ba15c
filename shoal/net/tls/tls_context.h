// What all TLS connections of a peer have in common: versions, ciphers, whom to trust.
#pragma once

#include "shoal/base/status.h"
#include "shoal/net/tls/identity.h"
#include "shoal/net/tls/openssl.h"

namespace shoal::net {

// TLS 1.3 only; who has no certificate of the identity's authority does not get through.
Result<ContextPtr> make_tls_context(const Identity& identity);

// TLS 1.3 only; for who has no identity yet: shows none, and believes nobody before he has looked
// at the certificates himself.
Result<ContextPtr> make_anonymous_context();

// For the other side of that: shows the identity's certificate and the authority's, asks for none.
Result<ContextPtr> make_enrolment_context(const Identity& identity);

}  // namespace shoal::net
