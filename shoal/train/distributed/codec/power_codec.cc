// PowerSGD: a gradient [m, n] as a product of thin matrices, by one step of the power iteration
// with error feedback (Vogels et al. 2019):
//
//   M = g + e;  P = M Q, its columns made orthonormal;  Q = M^T P;  decoded = P Q^T;  e = M - P Q^T
//
// The next step begins with this Q. Each sender has a basis of its own: sharing one would take two
// messages each way per step. A Q of zeros would stay so for ever, and the basis before is kept.
//
// Bytes: P by columns, then Q by columns, f32.
#include <cmath>

#include "shoal/train/distributed/codec/kernels.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

class PowerCodec : public TensorCodec {
 public:
  PowerCodec(size_t m, size_t n, size_t rank, RandomStream random)
      : m_(m),
        n_(n),
        rank_(rank),
        basis_({DType::kF32, {as_dim(rank), as_dim(n)}}),
        p_(rank * m),
        q_(rank * n) {
    fill_normal(basis_.data<float>(), random, 1 / std::sqrt(static_cast<double>(n)));
  }
  size_t bytes() const override { return (p_.size() + q_.size()) * sizeof(float); }
  bool has_error() const override { return true; }
  std::vector<std::pair<std::string, Tensor>> memories() const override {
    return {{"basis", basis_}};
  }

  void encode(std::span<const float> gradient, std::span<float> error, Workspace&,
              std::span<std::byte> to) override {
    add_scaled(error, 1, gradient);
    for (size_t i = 0; i < m_; ++i) {
      for (size_t k = 0; k < rank_; ++k) p_[k * m_ + i] = dot(row(error, i), basis(k));
    }
    make_orthonormal();
    std::ranges::fill(q_, 0.0f);
    for (size_t i = 0; i < m_; ++i) {
      for (size_t k = 0; k < rank_; ++k) add_scaled(q(k), p_[k * m_ + i], row(error, i));
    }
    for (size_t i = 0; i < m_; ++i) {
      for (size_t k = 0; k < rank_; ++k) add_scaled(row(error, i), -p_[k * m_ + i], q(k));
    }
    keep_basis();
    ByteWriter writer(to);
    std::memcpy(writer.take(p_.size() * sizeof(float)), p_.data(), p_.size() * sizeof(float));
    std::memcpy(writer.take(q_.size() * sizeof(float)), q_.data(), q_.size() * sizeof(float));
  }

  Status decode(std::span<const std::byte> from, Workspace&, std::span<float> to) override {
    ByteReader reader(from);
    std::memcpy(p_.data(), reader.take(p_.size() * sizeof(float)), p_.size() * sizeof(float));
    std::memcpy(q_.data(), reader.take(q_.size() * sizeof(float)), q_.size() * sizeof(float));
    // Elements of orthonormal columns are at most 1, but for rounding.
    if (!is_within(p_, 1.01f) || !is_within(q_, kLargestDecoded)) return corrupt_gradient();
    std::ranges::fill(to, 0.0f);
    for (size_t i = 0; i < m_; ++i) {
      for (size_t k = 0; k < rank_; ++k) add_scaled(row(to, i), p_[k * m_ + i], q(k));
    }
    return {};
  }

 private:
  static int64_t as_dim(size_t x) { return static_cast<int64_t>(x); }
  std::span<float> row(std::span<float> matrix, size_t i) const {
    return matrix.subspan(i * n_, n_);
  }
  std::span<float> basis(size_t k) { return basis_.data<float>().subspan(k * n_, n_); }
  std::span<float> q(size_t k) { return std::span(q_).subspan(k * n_, n_); }

  // Gram-Schmidt, twice: the second round removes what rounding left. A column that depends on
  // those before becomes zero.
  void make_orthonormal() {
    for (size_t k = 0; k < rank_; ++k) {
      const std::span<float> column = std::span(p_).subspan(k * m_, m_);
      const float before = std::sqrt(dot(column, column));
      for (int round = 0; round < 2; ++round) {
        for (size_t j = 0; j < k; ++j) {
          const std::span<const float> other = std::span(p_).subspan(j * m_, m_);
          add_scaled(column, -dot(column, other), other);
        }
      }
      const float length = std::sqrt(dot(column, column));
      const bool is_dependent = !(length > 1e-5f * before) || length < 1e-30f;
      for (float& x : column) x = is_dependent ? 0 : x / length;
    }
  }

  // The length of a basis vector is of no influence; 1 keeps products finite.
  void keep_basis() {
    for (size_t k = 0; k < rank_; ++k) {
      const float length = std::sqrt(dot(q(k), q(k)));
      if (length < 1e-30f) continue;
      for (size_t j = 0; j < n_; ++j) basis(k)[j] = q(k)[j] / length;
    }
  }

  size_t m_, n_, rank_;
  Tensor basis_;  // [rank, n]
  std::vector<float> p_, q_;
};

}  // namespace

// Where thin matrices are no smaller, the gradient travels as it is.
std::unique_ptr<TensorCodec> make_power_codec(const Shape& shape, size_t rank,
                                              RandomStream random) {
  const Groups groups = groups_of(shape);
  const bool is_smaller = rank * (groups.count + groups.size) < groups.count * groups.size;
  if (groups.count == 1 || !is_smaller) return make_f32_codec(shape);
  return std::make_unique<PowerCodec>(groups.count, groups.size, rank, random);
}

}  // namespace shoal::learn
