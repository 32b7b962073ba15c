// Conv as a matrix product: filters times columns gathered from the image.
#include "shoal/ops/conv.h"

#include <algorithm>
#include <optional>

#include "shoal/cpu/dots.h"
#include "shoal/cpu/image_columns.h"
#include "shoal/cpu/kernel.h"
#include "shoal/cpu/packed_rows.h"
#include "shoal/cpu/product.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

// Every output is one element of the input: the image is the right factor as it is.
bool is_pointwise(const ops::Window& window) {
  return std::ranges::all_of(window.axes, [](const ops::WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

class ConvKernel : public Kernel {
 public:
  explicit ConvKernel(const Site& site)
      : conv_(ops::convolution_of(site.node, site.shape(0), site.shape(1))),
        geometry_(conv_.window),
        pointwise_(is_pointwise(conv_.window)),
        depth_(conv_.in_channels * conv_.taps()),
        threads_(site.pool.threads()),
        blocking_(choose_blocking(conv_.out_channels, conv_.output_plane(), depth_,
                                  site.constant(1) != nullptr, conv_.batch * conv_.groups,
                                  threads_)) {
    if (const Tensor* w = site.constant(1)) {
      packed_.emplace(w->data<float>().data(), conv_.groups, conv_.out_channels, depth_, site.pool);
      w->release_pages();
    }
  }

  void run(const Call& call) const override {
    auto* scratch = reinterpret_cast<float*>(call.scratch);
    const int64_t blocks = blocking_.blocks();
    call.pool.parallel_for(conv_.batch * conv_.groups * blocks, [&](int64_t index, int slot) {
      run_block(call, index / blocks, index % blocks, scratch + slot * blocking_.scratch_floats);
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(blocking_.scratch_floats * threads_) * sizeof(float);
  }

 private:
  // `image` counts the groups of all images of the batch.
  void run_block(const Call& call, int64_t image, int64_t block, float* scratch) const {
    const int64_t group = image % conv_.groups, m = conv_.out_channels;
    const float* x = call.input(0) + image * conv_.in_channels * conv_.input_plane();
    Product product;
    product.m = m;
    product.n = product.y_stride = conv_.output_plane();
    product.k = depth_;
    product.y = call.output(0) + image * m * product.n;
    if (packed_) {
      product.packed_left = packed_->panels(group);
    } else {
      product.left = {call.input(1) + group * m * depth_, depth_, 1};
    }
    if (call.has(2)) product.row_bias = call.input(2) + group * m;
    if (pointwise_) {
      const RightMatrix right({x, product.n, 1});
      product.right = &right;
      multiply(product, blocking_, block, scratch);
    } else {
      const ImageColumns right(geometry_, x, conv_.in_channels);
      product.right = &right;
      multiply(product, blocking_, block, scratch);
    }
  }

  const ops::Convolution conv_;
  const ImageGeometry geometry_;
  const bool pointwise_;
  const int64_t depth_;  // of the sum: channels times taps
  const int threads_;
  const Blocking blocking_;
  std::optional<PackedRows> packed_;  // if the weights are constant
};

std::unique_ptr<Kernel> make_conv(const Site& site) {
  if (!site.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ConvKernel>(site);
}

}  // namespace

std::vector<Provider> conv_kernels() { return {{&ops::conv, "conv_gemm", make_conv}}; }

}  // namespace shoal::cpu
