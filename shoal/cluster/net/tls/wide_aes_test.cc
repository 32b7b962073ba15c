#include "shoal/cluster/net/tls/wide_aes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/crypto/openssl.h"

namespace shoal::net {
namespace {

using Octets = std::vector<uint8_t>;
using CipherPtr = std::unique_ptr<EVP_CIPHER, FreeWith<&EVP_CIPHER_free>>;
using CipherContextPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<&EVP_CIPHER_CTX_free>>;

struct Sealed {
  Octets text;
  Octets tag = Octets(16);
};

Octets draw(std::mt19937& rng, size_t size) {
  Octets octets(size);
  for (uint8_t& octet : octets) octet = static_cast<uint8_t>(rng());
  return octets;
}

int length(const Octets& octets) { return static_cast<int>(octets.size()); }

// One provider's cipher under one key, for one message after another as TLS does it.
class Engine {
 public:
  Engine(const char* provider, const Octets& key, bool encrypts)
      : cipher_(EVP_CIPHER_fetch(nullptr, "AES-128-GCM", provider)),
        context_(EVP_CIPHER_CTX_new()) {
    EXPECT_EQ(EVP_CipherInit_ex(context_.get(), cipher_.get(), nullptr, nullptr, nullptr, encrypts),
              1);
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_IVLEN, 12, nullptr), 1);
    EXPECT_EQ(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, key.data(), nullptr, -1), 1);
  }

  Sealed seal(const Octets& iv, const Octets& header, const Octets& text, size_t cut) {
    Sealed sealed{.text = Octets(text.size())};
    EXPECT_EQ(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, iv.data(), 1), 1);
    EXPECT_TRUE(pass(header, text, cut, sealed.text));
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, 16, sealed.tag.data()), 1);
    return sealed;
  }

  std::optional<Octets> open(const Octets& iv, const Octets& header, Sealed sealed, size_t cut) {
    EXPECT_EQ(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, iv.data(), 0), 1);
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, 16, sealed.tag.data()), 1);
    Octets text = sealed.text;  // in place, as TLS does
    if (!pass(header, text, cut, text)) return std::nullopt;
    return text;
  }

 private:
  bool pass(const Octets& header, const Octets& in, size_t cut, Octets& out) {
    int n = 0;
    EXPECT_EQ(EVP_CipherUpdate(context_.get(), nullptr, &n, header.data(), length(header)), 1);
    const auto first = static_cast<int>(cut);
    EXPECT_EQ(EVP_CipherUpdate(context_.get(), out.data(), &n, in.data(), first), 1);
    EXPECT_EQ(
        EVP_CipherUpdate(context_.get(), out.data() + cut, &n, in.data() + cut, length(in) - first),
        1);
    return EVP_CipherFinal_ex(context_.get(), out.data() + in.size(), &n) == 1;
  }

  CipherPtr cipher_;
  CipherContextPtr context_;
};

class WideAes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (wide_aes_properties() == nullptr) GTEST_SKIP() << "no wide AES in this build or this CPU";
  }
};

TEST_F(WideAes, GivesWhatOpensslGives) {
  std::mt19937 rng(1);
  for (int key_number = 0; key_number < 20; ++key_number) {
    const Octets key = draw(rng, 16);
    Engine wide("provider=shoal", key, true);
    Engine narrow("provider=default", key, true);
    Engine reader("provider=shoal", key, false);
    for (int i = 0; i < 20; ++i) {
      const Octets iv = draw(rng, 12);
      const Octets header = draw(rng, 1 + rng() % 40);
      const Octets text = draw(rng, 1 + rng() % (rng() % 2 == 0 ? 300 : 16385));
      const size_t cut = rng() % (text.size() + 1);
      const Sealed sealed = wide.seal(iv, header, text, cut);
      const Sealed expected = narrow.seal(iv, header, text, text.size());
      ASSERT_EQ(sealed.text, expected.text) << text.size();
      ASSERT_EQ(sealed.tag, expected.tag) << text.size();
      ASSERT_EQ(reader.open(iv, header, expected, cut), text) << text.size();
    }
  }
}

TEST_F(WideAes, RefusesWhatWasChanged) {
  std::mt19937 rng(2);
  const Octets key = draw(rng, 16), iv = draw(rng, 12), header = draw(rng, 5);
  Engine writer("provider=shoal", key, true);
  Engine reader("provider=shoal", key, false);
  for (int i = 0; i < 200; ++i) {
    const Octets text = draw(rng, 1 + rng() % 2000);
    const Sealed sealed = writer.seal(iv, header, text, 0);
    Octets wrong_header = header;
    Sealed wrong = sealed;
    Octets& victim = i % 3 == 0 ? wrong.text : i % 3 == 1 ? wrong.tag : wrong_header;
    const size_t at = rng() % victim.size();
    victim[at] = static_cast<uint8_t>(victim[at] ^ (1u << (rng() % 8)));
    EXPECT_EQ(reader.open(iv, wrong_header, wrong, 0), std::nullopt);
    EXPECT_EQ(reader.open(iv, header, sealed, 0), text);
  }
}

TEST_F(WideAes, UsesNoIvTwice) {
  std::mt19937 rng(3);
  const Octets key = draw(rng, 16), iv = draw(rng, 12);
  const CipherPtr cipher(EVP_CIPHER_fetch(nullptr, "AES-128-GCM", "provider=shoal"));
  const CipherContextPtr context(EVP_CIPHER_CTX_new());
  Octets text(8);
  int n = 0;
  ASSERT_EQ(EVP_CipherInit_ex(context.get(), cipher.get(), nullptr, key.data(), iv.data(), 1), 1);
  ASSERT_EQ(EVP_CipherUpdate(context.get(), text.data(), &n, text.data(), length(text)), 1);
  ASSERT_EQ(EVP_CipherFinal_ex(context.get(), text.data(), &n), 1);
  EXPECT_NE(EVP_CipherUpdate(context.get(), text.data(), &n, text.data(), length(text)), 1);
  EXPECT_NE(EVP_CipherFinal_ex(context.get(), text.data(), &n), 1);
}

}  // namespace
}  // namespace shoal::net
