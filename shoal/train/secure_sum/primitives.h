// The cryptography of secure aggregation, by OpenSSL: key agreement, streams, sealed messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/crypto/openssl.h"
#include "shoal/base/status.h"

namespace shoal::secure_sum {

using Secret = std::array<uint8_t, 32>;
using PublicKey = std::array<uint8_t, 32>;

// A secret from the system's generator.
Result<Secret> fresh_secret();
// Overwrites a secret that is no longer needed.
void forget(Secret& secret);
// SHA-256.
Secret hash_of(const Secret& secret);
bool equal(const Secret& a, const Secret& b);  // in the same time, wherever they differ

// The bytes of ChaCha20 under a key that is used for nothing else. The key is overwritten at the
// end.
class KeyStream {
 public:
  explicit KeyStream(const Secret& key);
  // The next bytes.
  void fill(std::span<uint8_t> bytes);
  // Adds the next words to these, or subtracts them, modulo 2^32.
  void add_to(std::span<uint32_t> words, bool subtract = false);

 private:
  using ContextPtr = std::unique_ptr<EVP_CIPHER_CTX, net::FreeWith<&EVP_CIPHER_CTX_free>>;
  ContextPtr context_;
};

// An X25519 key pair.
class KeyPair {
 public:
  // The key of this secret; X25519 uses 251 bits of it. Fails if OpenSSL does.
  static Result<KeyPair> of(const Secret& secret);
  const PublicKey& public_key() const { return public_; }
  // A key that only the owner of the other pair can compute as well; `use` and `context` make keys
  // for different purposes differ (HKDF with SHA-256). kCorrupt for a point of low order, with
  // which every secret agrees on the same.
  Result<Secret> agree(const PublicKey& other, std::string_view use,
                       std::span<const uint8_t> context) const;

 private:
  KeyPair(net::KeyPtr key, const PublicKey& public_key)
      : key_(std::move(key)), public_(public_key) {}
  net::KeyPtr key_;
  PublicKey public_;
};

inline constexpr size_t kTagBytes = 16;
// Which of two that have a key in common seals.
enum class Sealer : uint8_t { kLower, kHigher };
// ChaCha20-Poly1305. REQUIRES: each of the two seals one message only: there is no other nonce.
Result<std::vector<uint8_t>> seal(const Secret& key, Sealer by, std::span<const uint8_t> plain);
// kCorrupt for what was not sealed with this key by this one.
Result<std::vector<uint8_t>> open(const Secret& key, Sealer by, std::span<const uint8_t> sealed);

// Shamir's secret sharing: a secret in parts: any `threshold` of them restore it, and fewer say
// nothing about it.
//
// Each byte is the constant of a polynomial of degree threshold - 1 over GF(2^8), with the
// reduction polynomial of AES, x^8 + x^4 + x^3 + x + 1; share i has its values at x = i. Products
// are computed without tables and branches, so that time does not depend on secrets.

inline constexpr size_t kMostShares = 255;  // as many points as the field has, without zero

struct Share {
  uint8_t x = 0;  // not 0
  Secret value = {};
};

// Shares for x = 1 to `count`; the coefficients are drawn from `stream`. REQUIRES: 1 <= threshold
// <= count <= kMostShares.
std::vector<Share> share_secret(const Secret& secret, size_t threshold, size_t count,
                                KeyStream& stream);

// The secret of these shares; all are used. Another one if they are not of the same
// secret, or too few: the caller checks what comes out. REQUIRES: the x differ, and none is 0.
Secret combine_shares(std::span<const Share> shares);

}  // namespace shoal::secure_sum
