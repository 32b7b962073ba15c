// Norms are summed in f64: of a million elements in f32 the last could be lost, and the bound with
// them. Sums are f32, as gradients are.
#include "shoal/train/privacy/clipped_sum.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

namespace shoal::privacy {
namespace {

// ChaCha20 on eight blocks at once: word w of block l is state[w][l], so that the compiler computes
// the blocks by vectors.

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

// Four sums, so that the compiler may add by vectors.
double square_sum(std::span<const float> elements) {
  double sums[4] = {};
  const size_t whole = elements.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    for (size_t k = 0; k < 4; ++k) sums[k] += double{elements[i + k]} * double{elements[i + k]};
  }
  for (size_t i = whole; i < elements.size(); ++i) {
    sums[0] += double{elements[i]} * double{elements[i]};
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
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

ClippedSum::ClippedSum(std::span<const Tensor> weights, double clip) : clip_(clip) {
  SHOAL_CHECK(clip > 0);
  for (const Tensor& weight : weights) sums_.emplace_back(weight.type());
}

Status ClippedSum::add(std::span<const Tensor> gradient) {
  SHOAL_CHECK(gradient.size() == sums_.size());
  double squares = 0;
  for (const Tensor& part : gradient) squares += square_sum(part.data<float>());
  if (!std::isfinite(squares)) {
    return invalid("gradients are no numbers; a lower rate may help");
  }
  const double norm = std::sqrt(squares);
  ++added_;
  if (norm > clip_) ++clipped_;
  const auto factor = static_cast<float>(norm > clip_ ? clip_ / norm : 1);
  for (size_t t = 0; t < sums_.size(); ++t) {
    const std::span<float> sum = sums_[t].data<float>();
    const std::span<const float> part = gradient[t].data<float>();
    SHOAL_CHECK(part.size() == sum.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * part[i];
  }
  return {};
}

void ClippedSum::release(double noise, double batch, SecretStream& stream,
                         std::span<Tensor> gradients) {
  SHOAL_CHECK(gradients.size() == sums_.size() && batch > 0 && noise >= 0);
  const double deviation = noise * clip_;
  for (size_t t = 0; t < sums_.size(); ++t) {
    if (!gradients[t].defined()) gradients[t] = Tensor(sums_[t].type());
    const std::span<float> sum = sums_[t].data<float>();
    const std::span<float> out = gradients[t].data<float>();
    double normal[512] = {};
    for (size_t i = 0; i < sum.size(); ++i) {
      if (i % std::size(normal) == 0 && deviation > 0) {
        fill_normal(std::span(normal).first(std::min(std::size(normal), sum.size() - i)), stream);
      }
      out[i] =
          static_cast<float>((double{sum[i]} + deviation * normal[i % std::size(normal)]) / batch);
    }
    std::ranges::fill(sum, 0.0f);
  }
}

}  // namespace shoal::privacy
