// LayerNormalization and RMSNormalization row by row; InstanceNormalization, and BatchNormalization
// in inference, plane by plane. Mean and variance are accumulated in double (rows.cc), then x is
// read once more, mostly from a cache.
#include <cmath>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/reduce/rows.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr int64_t kElements = 4096;  // worth waking a thread for

float inverse_deviation(double variance, double epsilon) {
  return static_cast<float>(1 / std::sqrt(variance + epsilon));
}

class RowNormalizationKernel : public Kernel {
 public:
  RowNormalizationKernel(const KernelSpec& spec, int64_t row)
      : rows_(spec.shape(0).count() / row),
        row_(row),
        epsilon_(spec.node.real("epsilon", kEpsilon)),
        around_zero_(spec.node.op == &ops::rms_normalization) {}

  void run(const KernelArgs& args) const override {
    args.pool.parallel_ranges(rows_, kElements / row_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* x = args.input(0) + i * row_;
        const MeanAndVariance of_row = moments(x);
        normalize_row(x, static_cast<float>(of_row.mean),
                      inverse_deviation(of_row.variance, epsilon_), args.input(1), args.input(2),
                      args.output(0) + i * row_, row_);
      }
    });
  }

 private:
  // Around zero, the mean of the squares stands for the variance: E[x^2] = variance + mean^2.
  MeanAndVariance moments(const float* x) const {
    const MeanAndVariance of_row = mean_and_variance(x, row_);
    if (!around_zero_) return of_row;
    return {0, of_row.variance + of_row.mean * of_row.mean};
  }

  const int64_t rows_, row_;
  const double epsilon_;
  const bool around_zero_;
};

std::unique_ptr<Kernel> make_row_normalization(const KernelSpec& spec) {
  const Shape& x = spec.shape(0);
  if (!spec.all_of_type(DType::kF32) || spec.outputs.size() > 1 || x.count() == 0) return nullptr;
  const size_t axis = ops::axis_in(spec.node.integer("axis", -1), x.rank());
  const int64_t row = x.count(axis, x.rank());
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    // One element per element of a row, and the same for every row.
    const bool fits =
        !spec.given(i) || (spec.shape(i).count() == row && spec.shape(i).rank() <= x.rank() - axis);
    if (!fits) return nullptr;
  }
  return std::make_unique<RowNormalizationKernel>(spec, row);
}

// Mean and variance of a plane are measured, or given per channel by inputs 3 and 4.
class PlaneNormalizationKernel : public Kernel {
 public:
  PlaneNormalizationKernel(const KernelSpec& spec, bool measures)
      : planes_(spec.shape(0)[0] * spec.shape(0)[1]),
        channels_(spec.shape(0)[1]),
        plane_(spec.shape(0).count(2, spec.shape(0).rank())),
        epsilon_(spec.node.real("epsilon", kEpsilon)),
        measures_(measures) {}

  void run(const KernelArgs& args) const override {
    const float *scale = args.input(1), *bias = args.input(2);
    args.pool.parallel_ranges(planes_, kElements / plane_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i % channels_;
        const float* x = args.input(0) + i * plane_;
        const MeanAndVariance moments = measures_
                                            ? mean_and_variance(x, plane_)
                                            : MeanAndVariance{args.input(3)[c], args.input(4)[c]};
        normalize_plane(x, static_cast<float>(moments.mean),
                        scale[c] * inverse_deviation(moments.variance, epsilon_), bias[c],
                        args.output(0) + i * plane_, plane_);
      }
    });
  }

 private:
  const int64_t planes_, channels_, plane_;
  const double epsilon_;
  const bool measures_;
};

std::unique_ptr<Kernel> make_batch_normalization(const KernelSpec& spec) {
  const bool training = spec.node.integer("training_mode", 0) != 0;
  if (!spec.all_of_type(DType::kF32) || training || spec.shape(0).rank() < 2 ||
      spec.shape(0).count() == 0) {
    return nullptr;
  }
  return std::make_unique<PlaneNormalizationKernel>(spec, false);
}

std::unique_ptr<Kernel> make_instance_normalization(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32) || spec.shape(0).count() == 0) return nullptr;
  return std::make_unique<PlaneNormalizationKernel>(spec, true);
}

}  // namespace

std::vector<Provider> normalization_kernels() {
  return {{&ops::batch_normalization, "planes", make_batch_normalization},
          {&ops::instance_normalization, "planes", make_instance_normalization},
          {&ops::layer_normalization, "rows", make_row_normalization},
          {&ops::rms_normalization, "rows", make_row_normalization}};
}

}  // namespace shoal::cpu
