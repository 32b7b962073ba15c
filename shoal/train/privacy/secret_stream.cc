// ChaCha20 on eight blocks at once: word w of block l is state[w][l], so that the compiler computes
// the blocks by vectors.
#include "shoal/train/privacy/secret_stream.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "shoal/base/status.h"

namespace shoal::privacy {
namespace {

constexpr size_t kLanes = 8, kWords = 16;
constexpr double kHalfUnit = 0x1p-54, kUnit = 0x1p-53;

using Lanes = uint32_t[kLanes];

void add_xor_rotate(Lanes& a, const Lanes& b, Lanes& d, int left) {
  for (size_t l = 0; l < kLanes; ++l) {
    a[l] += b[l];
    d[l] = std::rotl(d[l] ^ a[l], left);
  }
}

void quarter_round(Lanes& a, Lanes& b, Lanes& c, Lanes& d) {
  add_xor_rotate(a, b, d, 16);
  add_xor_rotate(c, d, b, 12);
  add_xor_rotate(a, b, d, 8);
  add_xor_rotate(c, d, b, 7);
}

}  // namespace

Key fresh_key() {
  Key key;
  SHOAL_CHECK(getentropy(key.data(), key.size()) == 0);
  return key;
}

void SecretStream::refill() {
  constexpr uint32_t kConstant[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  uint32_t key[8];
  static_assert(sizeof key == sizeof key_ && std::endian::native == std::endian::little);
  std::memcpy(key, key_.data(), sizeof key);
  Lanes begin[kWords], state[kWords];
  for (size_t l = 0; l < kLanes; ++l) {
    const uint64_t block = block_ + l;
    for (size_t w = 0; w < 4; ++w) begin[w][l] = kConstant[w];
    for (size_t w = 0; w < 8; ++w) begin[4 + w][l] = key[w];
    begin[12][l] = static_cast<uint32_t>(block);
    begin[13][l] = static_cast<uint32_t>(block >> 32);
    begin[14][l] = static_cast<uint32_t>(number_);
    begin[15][l] = static_cast<uint32_t>(number_ >> 32);
  }
  std::memcpy(state, begin, sizeof state);
  for (int round = 0; round < 20; round += 2) {
    for (size_t w = 0; w < 4; ++w) {
      quarter_round(state[w], state[4 + w], state[8 + w], state[12 + w]);
    }
    for (size_t w = 0; w < 4; ++w) {
      quarter_round(state[w], state[4 + (w + 1) % 4], state[8 + (w + 2) % 4],
                    state[12 + (w + 3) % 4]);
    }
  }
  for (size_t l = 0; l < kLanes; ++l) {
    for (size_t w = 0; w < kWords; ++w) words_[l * kWords + w] = state[w][l] + begin[w][l];
  }
  block_ += kLanes;
  used_ = 0;
}

void SecretStream::fill(std::span<uint32_t> words) {
  while (!words.empty()) {
    if (used_ == std::size(words_)) refill();
    const size_t count = std::min(words.size(), std::size(words_) - used_);
    std::copy_n(words_ + used_, count, words.begin());
    used_ += count;
    words = words.subspan(count);
  }
}

void fill_normal(std::span<double> elements, SecretStream& stream) {
  for (size_t i = 0; i < elements.size(); i += 2) {
    uint32_t words[4];
    stream.fill(words);
    const uint64_t first = uint64_t{words[0]} << 32 | words[1];
    const uint64_t second = uint64_t{words[2]} << 32 | words[3];
    // In (0, 1) and never 0, whose logarithm is infinite.
    const double u = static_cast<double>(first >> 11) * kUnit + kHalfUnit;
    const double angle = 2 * std::numbers::pi * (static_cast<double>(second >> 11) * kUnit);
    const double radius = std::sqrt(-2 * std::log(u));
    elements[i] = radius * std::cos(angle);
    if (i + 1 < elements.size()) elements[i + 1] = radius * std::sin(angle);
  }
}

std::vector<size_t> sample(size_t count, double probability, SecretStream& stream) {
  SHOAL_CHECK(probability >= 0 && probability <= 1);
  // Rounded down: an example is seen no more often than the accountant says.
  const auto bound = static_cast<uint64_t>(std::floor(probability * 0x1p32));
  std::vector<size_t> chosen;
  uint32_t words[256];
  for (size_t i = 0; i < count; ++i) {
    if (i % std::size(words) == 0) stream.fill(words);
    if (words[i % std::size(words)] < bound) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace shoal::privacy
