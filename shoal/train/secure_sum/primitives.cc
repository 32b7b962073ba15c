#include "shoal/train/secure_sum/primitives.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <string>

namespace shoal::secure_sum {
namespace {

using net::FreeWith;
using net::KeyPtr;
using AgreementPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<&EVP_PKEY_CTX_free>>;
using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<&EVP_CIPHER_CTX_free>>;
using KdfPtr = std::unique_ptr<EVP_KDF, FreeWith<&EVP_KDF_free>>;
using KdfContextPtr = std::unique_ptr<EVP_KDF_CTX, FreeWith<&EVP_KDF_CTX_free>>;

constexpr uint8_t kNonce[16] = {};  // of streams, whose keys are used once

Status failure(const char* what) { return net::openssl_failure(Code::kInternal, what); }

Result<Secret> derive(const Secret& agreed, std::string_view use,
                      std::span<const uint8_t> context) {
  std::string info(use);
  info.append(reinterpret_cast<const char*>(context.data()), context.size());
  char digest[] = "SHA256";
  Secret agreed_copy = agreed;
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, agreed_copy.data(), agreed_copy.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  const KdfPtr kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContextPtr kdf_context(kdf == nullptr ? nullptr : EVP_KDF_CTX_new(kdf.get()));
  Secret key;
  const bool derived = kdf_context != nullptr &&
                       EVP_KDF_derive(kdf_context.get(), key.data(), key.size(), params) == 1;
  forget(agreed_copy);
  if (!derived) return failure("HKDF");
  return key;
}

// a * b. Eight steps, whatever the factors are.
constexpr uint8_t multiply(uint8_t a, uint8_t b) {
  unsigned product = 0, x = a;
  for (unsigned bit = 0; bit < 8; ++bit) {
    product ^= x & (0u - (b >> bit & 1u));
    x = (x << 1) ^ (0x11bu & (0u - (x >> 7 & 1u)));
  }
  return static_cast<uint8_t>(product);
}

// 1 / a = a^254, as the field has 255 elements besides zero.
constexpr uint8_t inverse(uint8_t a) {
  uint8_t power = a;  // a^(2^n - 1) after n bits
  for (int bit = 1; bit < 7; ++bit) power = multiply(multiply(power, power), a);
  return multiply(power, power);
}

static_assert(multiply(0x57, 0x83) == 0xc1);  // FIPS 197, section 4.2
static_assert(multiply(inverse(0x53), 0x53) == 1);

void multiply_all(Secret& by_byte, uint8_t factor) {
  for (uint8_t& byte : by_byte) byte = multiply(byte, factor);
}

void add_all(Secret& sum, const Secret& other) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] ^= other[i];
}

}  // namespace

Result<Secret> fresh_secret() {
  Secret secret;
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) return failure("RAND_bytes");
  return secret;
}

void forget(Secret& secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

Secret hash_of(const Secret& secret) {
  Secret hash;
  unsigned size = 0;
  SHOAL_CHECK(EVP_Digest(secret.data(), secret.size(), hash.data(), &size, EVP_sha256(), nullptr) ==
                  1 &&
              size == hash.size());
  return hash;
}

bool equal(const Secret& a, const Secret& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

KeyStream::KeyStream(const Secret& key) : context_(EVP_CIPHER_CTX_new()) {
  SHOAL_CHECK(context_ != nullptr &&
              EVP_EncryptInit_ex(context_.get(), EVP_chacha20(), nullptr, key.data(), kNonce) == 1);
}

void KeyStream::fill(std::span<uint8_t> bytes) {
  std::ranges::fill(bytes, uint8_t{0});
  int size = 0;
  SHOAL_CHECK(EVP_EncryptUpdate(context_.get(), bytes.data(), &size, bytes.data(),
                                static_cast<int>(bytes.size())) == 1);
}

void KeyStream::add_to(std::span<uint32_t> words, bool subtract) {
  static_assert(std::endian::native == std::endian::little);
  uint32_t stream[2048];  // stays in the nearest cache
  while (!words.empty()) {
    const size_t count = std::min(words.size(), std::size(stream));
    fill({reinterpret_cast<uint8_t*>(stream), count * sizeof(uint32_t)});
    const uint32_t flip = subtract ? ~uint32_t{0} : 0;
    // -x is ~x + 1.
    for (size_t i = 0; i < count; ++i) words[i] += (stream[i] ^ flip) + (flip & 1);
    words = words.subspan(count);
  }
}

Result<KeyPair> KeyPair::of(const Secret& secret) {
  KeyPtr key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()));
  PublicKey public_key;
  size_t size = public_key.size();
  if (key == nullptr || EVP_PKEY_get_raw_public_key(key.get(), public_key.data(), &size) != 1) {
    return failure("X25519");
  }
  return KeyPair(std::move(key), public_key);
}

Result<Secret> KeyPair::agree(const PublicKey& other, std::string_view use,
                              std::span<const uint8_t> context) const {
  const KeyPtr peer(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()));
  const AgreementPtr agreement(EVP_PKEY_CTX_new(key_.get(), nullptr));
  if (peer == nullptr || agreement == nullptr) return failure("X25519");
  Secret agreed = {};
  size_t size = agreed.size();
  const bool done = EVP_PKEY_derive_init(agreement.get()) == 1 &&
                    EVP_PKEY_derive_set_peer(agreement.get(), peer.get()) == 1 &&
                    EVP_PKEY_derive(agreement.get(), agreed.data(), &size) == 1;
  // OpenSSL refuses points of low order; the comparison does not rely on that.
  if (!done || equal(agreed, Secret())) {
    return net::openssl_failure(Code::kCorrupt, "a public key that agrees on nothing");
  }
  auto key = derive(agreed, use, context);
  forget(agreed);
  return key;
}

Result<std::vector<uint8_t>> seal(const Secret& key, Sealer by, std::span<const uint8_t> plain) {
  const uint8_t nonce[12] = {static_cast<uint8_t>(by)};
  std::vector<uint8_t> sealed(plain.size() + kTagBytes);
  const CipherPtr context(EVP_CIPHER_CTX_new());
  int size = 0, rest = 0;
  const bool done =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, key.data(), nonce) == 1 &&
      EVP_EncryptUpdate(context.get(), sealed.data(), &size, plain.data(),
                        static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), sealed.data() + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                          sealed.data() + plain.size()) == 1;
  if (!done) return failure("ChaCha20-Poly1305");
  return sealed;
}

Result<std::vector<uint8_t>> open(const Secret& key, Sealer by, std::span<const uint8_t> sealed) {
  const uint8_t nonce[12] = {static_cast<uint8_t>(by)};
  if (sealed.size() < kTagBytes) return Status(Code::kCorrupt, "a sealed message is too short");
  std::vector<uint8_t> plain(sealed.size() - kTagBytes);
  std::array<uint8_t, kTagBytes> tag;
  std::ranges::copy(sealed.last(kTagBytes), tag.begin());
  const CipherPtr context(EVP_CIPHER_CTX_new());
  int size = 0, rest = 0;
  const bool done =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, key.data(), nonce) == 1 &&
      EVP_DecryptUpdate(context.get(), plain.data(), &size, sealed.data(),
                        static_cast<int>(plain.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), plain.data() + size, &rest) == 1;
  if (!done) {
    ERR_clear_error();
    return Status(Code::kCorrupt, "a sealed message was not sealed with this key");
  }
  return plain;
}

std::vector<Share> share_secret(const Secret& secret, size_t threshold, size_t count,
                                KeyStream& stream) {
  SHOAL_CHECK(threshold >= 1 && threshold <= count && count <= kMostShares);
  std::vector<Secret> coefficients(threshold);
  coefficients[0] = secret;
  for (size_t i = 1; i < threshold; ++i) stream.fill(coefficients[i]);
  std::vector<Share> shares(count);
  for (size_t s = 0; s < count; ++s) {
    shares[s].x = static_cast<uint8_t>(s + 1);
    // Horner's rule, from the highest coefficient down.
    for (size_t i = threshold; i-- > 0;) {
      multiply_all(shares[s].value, shares[s].x);
      add_all(shares[s].value, coefficients[i]);
    }
  }
  for (Secret& coefficient : coefficients) forget(coefficient);
  return shares;
}

// Lagrange at zero: sum over shares of value * product over the others of x / (x - own x); in this
// field, minus is plus.
Secret combine_shares(std::span<const Share> shares) {
  Secret secret = {};
  for (const Share& share : shares) {
    uint8_t above = 1, below = 1;
    for (const Share& other : shares) {
      if (&other == &share) continue;
      SHOAL_CHECK(other.x != 0 && other.x != share.x);
      above = multiply(above, other.x);
      below = multiply(below, static_cast<uint8_t>(other.x ^ share.x));
    }
    Secret term = share.value;
    multiply_all(term, multiply(above, inverse(below)));
    add_all(secret, term);
  }
  return secret;
}

}  // namespace shoal::secure_sum
