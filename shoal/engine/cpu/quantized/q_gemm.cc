// QGemm: every element of the product is a dot product of two rows of bytes (byte_loops.h). Zero
// points are taken out of the loop:
//   sum of (a - za)(b - zb) = sum of a b - zb sum of a - za sum of b + k za zb
// Weights are read once per four rows of a, from memory at small batch sizes, which is the limit.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"

namespace shoal::cpu {
namespace {

constexpr size_t kA = 0, kAScale = 1, kAZeroPoint = 2, kB = 3, kBScale = 4, kBZeroPoint = 5;
constexpr size_t kBias = 6, kYScale = 7, kYZeroPoint = 8;

template <class T>
T column_of(std::span<const T> parameters, int64_t column) {
  return parameters[parameters.size() == 1 ? 0 : static_cast<size_t>(column)];
}

class QGemmKernel : public Kernel {
 public:
  explicit QGemmKernel(const KernelSpec& spec)
      : m_(spec.shape(kA)[0]),
        n_(spec.outputs[0].shape[1]),
        k_(spec.shape(kA)[1]),
        a_flip_(flip_of(spec.inputs[kA].type.dtype)),
        b_flip_(spec.inputs[kB].type.dtype == DType::kU8 ? 0x80 : 0),
        a_zero_(ops::zero_point_of(*spec.constant(kAZeroPoint)) + a_flip_),
        output_(spec.outputs[0].dtype) {
    read_columns(spec);
    const Tensor* b = spec.constant(kB);
    if (spec.node.integer("transB", 0) == 0) {
      transpose(*b);
    } else if (b != nullptr && spec.memory == Memory::kPlenty) {
      copy(*b);
    }
  }

  void run(const KernelArgs& args) const override {
    Work work = begin(args);
    const int64_t grain = (int64_t{1} << 16) / std::max<int64_t>(k_, 1) + 16;
    for (int64_t row = 0; row < m_; row += ByteDots::kMostRows) {
      const int64_t rows = std::min(ByteDots::kMostRows, m_ - row);
      args.pool.parallel_ranges(n_, grain, [&](int64_t first, int64_t last) {
        multiply_bytes({work.a + row * k_, rows, work.b, b_flip_, k_, work.sums, n_,
                        a_zero_ == 0 ? nullptr : work.b_sums},
                       first, last);
        finish(work, row, rows, first, last, args.outputs[0]);
      });
    }
  }

  size_t scratch_bytes() const override {
    const int64_t sums = (ByteDots::kMostRows + 1) * n_ + m_;
    return static_cast<size_t>(sums) * sizeof(int32_t) + static_cast<size_t>(m_ * k_);
  }

 private:
  struct Work {
    const uint8_t* a;
    const uint8_t* b;
    int32_t* sums;    // [kMostRows][n]
    int32_t* b_sums;  // [n]
    int32_t* a_sums;  // [m], of the u8
  };

  void read_columns(const KernelSpec& spec) {
    const float a_scale = ops::scale_of(*spec.constant(kAScale));
    const Tensor zeros = ops::converted(*spec.constant(kBZeroPoint), DType::kI32);
    const Tensor* bias = spec.constant(kBias);
    const bool is_real = output_ == DType::kF32;
    if (!is_real) {
      y_zero_ = ops::zero_point_of(*spec.constant(kYZeroPoint));
      bounds_ = ops::bounds_of(spec.node, output_);
    }
    for (int64_t j = 0; j < n_; ++j) {
      const float product = a_scale * column_of(spec.constant(kBScale)->data<float>(), j);
      scales_.push_back(is_real ? product : product / ops::scale_of(*spec.constant(kYScale)));
      bias_.push_back(bias == nullptr ? 0 : bias->data<int32_t>()[static_cast<size_t>(j)]);
      b_zeros_.push_back(column_of<int32_t>(zeros.data<int32_t>(), j) - b_flip_);
    }
  }

  uint8_t* make_room() {
    own_.emplace((n_ * k_ + 3) / 4);
    return reinterpret_cast<uint8_t*>(own_->data());
  }

  void transpose(const Tensor& b) {
    uint8_t* to = make_room();
    const uint8_t* from = bytes_of(b);
    for (int64_t p = 0; p < k_; ++p) {
      for (int64_t j = 0; j < n_; ++j) to[j * k_ + p] = *from++;
    }
    b.release_pages();
  }

  // Copies b to huge pages: from the small pages of a mapped file, large factors are read at half
  // the speed. Pages of the file are released on the way, so that both never exist in full.
  void copy(const Tensor& b) {
    constexpr int64_t kAtOnce = 8 << 20;
    uint8_t* to = make_room();
    const uint8_t* from = bytes_of(b);
    for (int64_t i = 0; i < n_ * k_; i += kAtOnce) {
      std::copy_n(from + i, std::min(kAtOnce, n_ * k_ - i), to + i);
      b.release_pages();
    }
  }

  Work begin(const KernelArgs& args) const {
    Work work{};
    work.sums = reinterpret_cast<int32_t*>(args.scratch);
    work.b_sums = work.sums + ByteDots::kMostRows * n_;
    work.a_sums = work.b_sums + n_;
    work.b = own_ ? reinterpret_cast<const uint8_t*>(own_->data()) : bytes_of(args.inputs[kB]);
    work.a = bytes_of(args.inputs[kA]);
    if (a_flip_ != 0) {
      auto* flipped = reinterpret_cast<uint8_t*>(work.a_sums + m_);
      std::transform(work.a, work.a + m_ * k_, flipped,
                     [this](uint8_t x) { return static_cast<uint8_t>(x ^ a_flip_); });
      work.a = flipped;
    }
    for (int64_t i = 0; i < m_; ++i) {
      work.a_sums[i] = std::accumulate(work.a + i * k_, work.a + (i + 1) * k_, 0);
    }
    return work;
  }

  // Sum of (a - a_zero)(b - b_zero) plus bias, modulo 2^32, from the sums of products and of
  // factors. Unsigned arithmetic, because signed overflow is undefined.
  int32_t sum_of(const Work& work, int64_t row, int64_t i, int64_t j) const {
    const auto column = static_cast<size_t>(j);
    const auto a_zero = static_cast<uint32_t>(a_zero_);
    const auto b_zero = static_cast<uint32_t>(b_zeros_[column]);
    uint32_t sum =
        static_cast<uint32_t>(work.sums[i * n_ + j]) + static_cast<uint32_t>(bias_[column]);
    sum -= b_zero * static_cast<uint32_t>(work.a_sums[row + i]);
    if (a_zero != 0) sum -= a_zero * static_cast<uint32_t>(work.b_sums[j]);
    return static_cast<int32_t>(sum + static_cast<uint32_t>(k_) * a_zero * b_zero);
  }

  void finish(const Work& work, int64_t row, int64_t rows, int64_t first, int64_t last,
              Tensor& y) const {
    const auto for_each = [&](const auto& f) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = first; j < last; ++j) {
          f(static_cast<size_t>((row + i) * n_ + j),
            static_cast<float>(sum_of(work, row, i, j)) * scales_[static_cast<size_t>(j)]);
        }
      }
    };
    if (output_ == DType::kF32) {
      const auto to = y.data<float>();
      return for_each([&](size_t at, float real) { to[at] = real; });
    }
    visit<ops::Bytes>(output_, [&]<class T>() {
      const auto to = y.data<T>();
      const auto low = static_cast<T>(bounds_.low), high = static_cast<T>(bounds_.high);
      for_each([&](size_t at, float real) {
        to[at] = std::clamp(ops::quantize<T>(real, y_zero_), low, high);
      });
    });
  }

  const int64_t m_, n_, k_;
  const uint8_t a_flip_, b_flip_;
  const int32_t a_zero_;
  const DType output_;
  int32_t y_zero_ = 0;
  ops::Bounds bounds_;
  std::vector<float> scales_;
  std::vector<int32_t> bias_, b_zeros_;
  std::optional<AlignedFloats> own_;  // four bytes of b in each; not if it is read where it lies
};

// Parameters must be constant, and so must b if it has to be transposed.
std::unique_ptr<Kernel> make_gemm(const KernelSpec& spec) {
  for (size_t i : {kAScale, kAZeroPoint, kBScale, kBZeroPoint}) {
    if (spec.constant(i) == nullptr) return nullptr;
  }
  for (size_t i : {kBias, kYScale, kYZeroPoint}) {
    if (spec.given(i) && spec.constant(i) == nullptr) return nullptr;
  }
  if (spec.node.integer("transB", 0) == 0 && spec.constant(kB) == nullptr) return nullptr;
  return std::make_unique<QGemmKernel>(spec);
}

}  // namespace

std::vector<Provider> q_gemm_kernels() { return {{&ops::q_gemm, "dots", make_gemm}}; }

}  // namespace shoal::cpu
