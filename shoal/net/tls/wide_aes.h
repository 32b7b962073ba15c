// AES-GCM eight blocks at a time on CPUs that can (VAES with AVX-512): OpenSSL 3.0 has no such code
// and is three times slower. The code is Intel's multi-buffer library, where it was there to build
// with; OpenSSL keeps the protocol and finds this cipher as it finds any other, by its provider.
#pragma once

namespace shoal::net {

// By which properties OpenSSL is to fetch ciphers, so that it prefers this one; nullptr where this
// build or this CPU has nothing better than OpenSSL itself.
const char* wide_aes_properties();

}  // namespace shoal::net
