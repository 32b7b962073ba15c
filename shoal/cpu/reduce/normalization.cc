// LayerNormalization row by row; InstanceNormalization, and BatchNormalization in inference, plane
// by plane. Mean and variance are accumulated in double (rows.cc), then x is read once more, mostly
// from a cache.
#include <cmath>

#include "shoal/cpu/kernel.h"
#include "shoal/cpu/reduce/rows.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/require.h"

namespace shoal::cpu {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr int64_t kElements = 4096;  // worth waking a thread for

float inverse_deviation(double variance, double epsilon) {
  return static_cast<float>(1 / std::sqrt(variance + epsilon));
}

class LayerNormalizationKernel : public Kernel {
 public:
  LayerNormalizationKernel(const KernelSpec& site, int64_t row)
      : rows_(site.shape(0).count() / row),
        row_(row),
        epsilon_(site.node.real("epsilon", kEpsilon)) {}

  void run(const KernelArgs& call) const override {
    call.pool.parallel_ranges(rows_, kElements / row_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* x = call.input(0) + i * row_;
        const auto [mean, variance] = mean_and_variance(x, row_);
        normalize_row(x, static_cast<float>(mean), inverse_deviation(variance, epsilon_),
                      call.input(1), call.input(2), call.output(0) + i * row_, row_);
      }
    });
  }

 private:
  const int64_t rows_, row_;
  const double epsilon_;
};

std::unique_ptr<Kernel> make_layer_normalization(const KernelSpec& site) {
  const Shape& x = site.shape(0);
  if (!site.all_of_type(DType::kF32) || site.outputs.size() > 1 || x.count() == 0) return nullptr;
  const size_t axis = ops::axis_in(site.node.integer("axis", -1), x.rank());
  const int64_t row = x.count(axis, x.rank());
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    // One element per element of a row, and the same for every row.
    const bool fits =
        !site.given(i) || (site.shape(i).count() == row && site.shape(i).rank() <= x.rank() - axis);
    if (!fits) return nullptr;
  }
  return std::make_unique<LayerNormalizationKernel>(site, row);
}

// Mean and variance of a plane are measured, or given per channel by inputs 3 and 4.
class PlaneNormalizationKernel : public Kernel {
 public:
  PlaneNormalizationKernel(const KernelSpec& site, bool measures)
      : planes_(site.shape(0)[0] * site.shape(0)[1]),
        channels_(site.shape(0)[1]),
        plane_(site.shape(0).count(2, site.shape(0).rank())),
        epsilon_(site.node.real("epsilon", kEpsilon)),
        measures_(measures) {}

  void run(const KernelArgs& call) const override {
    const float *scale = call.input(1), *bias = call.input(2);
    call.pool.parallel_ranges(planes_, kElements / plane_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i % channels_;
        const float* x = call.input(0) + i * plane_;
        const MeanAndVariance moments = measures_
                                            ? mean_and_variance(x, plane_)
                                            : MeanAndVariance{call.input(3)[c], call.input(4)[c]};
        normalize_plane(x, static_cast<float>(moments.mean),
                        scale[c] * inverse_deviation(moments.variance, epsilon_), bias[c],
                        call.output(0) + i * plane_, plane_);
      }
    });
  }

 private:
  const int64_t planes_, channels_, plane_;
  const double epsilon_;
  const bool measures_;
};

std::unique_ptr<Kernel> make_batch_normalization(const KernelSpec& site) {
  const bool training = site.node.integer("training_mode", 0) != 0;
  if (!site.all_of_type(DType::kF32) || training || site.shape(0).rank() < 2 ||
      site.shape(0).count() == 0) {
    return nullptr;
  }
  return std::make_unique<PlaneNormalizationKernel>(site, false);
}

std::unique_ptr<Kernel> make_instance_normalization(const KernelSpec& site) {
  if (!site.all_of_type(DType::kF32) || site.shape(0).count() == 0) return nullptr;
  return std::make_unique<PlaneNormalizationKernel>(site, true);
}

}  // namespace

std::vector<Provider> normalization_kernels() {
  return {{&ops::batch_normalization, "planes", make_batch_normalization},
          {&ops::instance_normalization, "planes", make_instance_normalization},
          {&ops::layer_normalization, "rows", make_layer_normalization}};
}

}  // namespace shoal::cpu
