// Wide AES: AES-GCM eight blocks at a time on CPUs that can (VAES with AVX-512). OpenSSL 3.0 has no
// such code and is three times slower. The code is Intel's multi-buffer library, if it was there at
// build time; OpenSSL keeps the protocol and finds this cipher as it finds any other, through a
// provider.
#pragma once

namespace shoal::net {

// The property query with which OpenSSL prefers this cipher; nullptr if this build or this CPU has
// nothing better than OpenSSL itself.
const char* wide_aes_properties();

}  // namespace shoal::net
