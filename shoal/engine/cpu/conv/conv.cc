// Conv and FusedConv in the plain layout, for nodes that lowering does not move to blocks: groups
// of odd sizes, 1-D and 3-D images, single pixels, few output channels. Three kernels: a matrix
// product of filters [m, channels * taps] with columns gathered from the image (im2col,
// conv_loops.h), a loop per plane for depthwise convolutions, and dot products where the filter
// covers the whole image.
#include "shoal/model/ops/conv/conv.h"

#include <algorithm>
#include <optional>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// PackedRows: the left factor of many products, packed once when a kernel is made.

// Packs the filters of a convolution as left factor, one panel of rows after the other on all
// threads.

// A node's weights as `count` matrices of m x k, one after the other, row-major.
class PackedRows {
 public:
  PackedRows(const KernelSpec& spec, int64_t count, int64_t m, int64_t k);

  const float* panels(int64_t matrix) const { return packed_.get() + matrix * stride_; }

 private:
  int64_t stride_;
  PackedFloats packed_;
};

PackedRows::PackedRows(const KernelSpec& spec, int64_t count, int64_t m, int64_t k)
    : stride_(packed_rows_size(m, k)) {
  const int64_t rows = panel_size().rows, panels = (m + rows - 1) / rows;
  const float* data = spec.constant(1)->data<float>().data();
  packed_ = packed_weights(spec, {"rows", {count, m, k, rows}}, count * stride_, [&](float* to) {
    spec.pool.parallel_ranges(count * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t matrix = i / panels, row = i % panels * rows;
        pack_rows({data + (matrix * m + row) * k, k, 1}, std::min(rows, m - row), k,
                  to + matrix * stride_ + row * k);
      }
    });
  });
}

// Every output meets exactly one element of each input channel: the image itself is the right
// factor and need not be gathered.
bool is_pointwise(const ops::Window& window) {
  return std::ranges::all_of(window.axes, [](const ops::WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

Epilogue activation_of(const KernelSpec& spec) {
  if (spec.node.op != &ops::fused_conv) return {};
  return Epilogue(ops::activation_of(spec.node));
}

class ConvKernel : public Kernel {
 public:
  explicit ConvKernel(const KernelSpec& spec)
      : conv_(ops::convolution_of(spec.node, spec.shape(0), spec.shape(1))),
        geometry_(conv_.window),
        pointwise_(is_pointwise(conv_.window)),
        activation_(activation_of(spec)),
        depth_(conv_.in_channels * conv_.taps()),
        threads_(spec.pool.threads()),
        blocking_(choose_blocking(conv_.out_channels, conv_.output_plane(), depth_,
                                  {.left = spec.constant(1) != nullptr}, conv_.batch * conv_.groups,
                                  threads_)) {
    if (const Tensor* w = spec.constant(1)) {
      packed_.emplace(spec, conv_.groups, conv_.out_channels, depth_);
      w->release_pages();
    }
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const int64_t blocks = blocking_.blocks();
    args.pool.parallel_for(conv_.batch * conv_.groups * blocks, [&](int64_t index, int slot) {
      run_block(args, index / blocks, index % blocks, scratch + slot * blocking_.scratch_floats);
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(blocking_.scratch_floats * threads_) * sizeof(float);
  }

 private:
  // `image` counts the groups of all images of the batch.
  void run_block(const KernelArgs& args, int64_t image, int64_t block, float* scratch) const {
    const int64_t group = image % conv_.groups, m = conv_.out_channels;
    const float* x = args.input(0) + image * conv_.in_channels * conv_.input_plane();
    Product product;
    product.m = m;
    product.n = product.y_stride = conv_.output_plane();
    product.k = depth_;
    product.y = args.output(0) + image * m * product.n;
    if (packed_) {
      product.packed_left = packed_->panels(group);
    } else {
      product.left = {args.input(1) + group * m * depth_, depth_, 1};
    }
    if (args.has(2)) product.row_bias = args.input(2) + group * m;
    if (args.has(3)) product.addend = args.input(3) + image * m * product.n;
    product.activation = activation_;
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
  const Epilogue activation_;
  const int64_t depth_;  // of the sum: channels times taps
  const int threads_;
  const Blocking blocking_;
  std::optional<PackedRows> packed_;  // if the weights are constant
};

// One input channel per group: every output channel is one plane convolved by itself.
class DepthwiseKernel : public Kernel {
 public:
  explicit DepthwiseKernel(const KernelSpec& spec)
      : conv_(ops::convolution_of(spec.node, spec.shape(0), spec.shape(1))),
        activation_(activation_of(spec)) {}

  void run(const KernelArgs& args) const override {
    const int64_t channels = conv_.groups * conv_.out_channels, taps = conv_.taps();
    const int64_t in = conv_.input_plane(), out = conv_.output_plane();
    args.pool.parallel_for(conv_.batch * channels, [&](int64_t plane, int) {
      const int64_t channel = plane % channels;
      Depthwise p;
      p.window = &conv_.window;
      p.x = args.input(0) + plane / conv_.out_channels * in;
      p.w = args.input(1) + channel * taps;
      p.bias = args.has(2) ? args.input(2)[channel] : 0;
      p.addend = args.has(3) ? args.input(3) + plane * out : nullptr;
      p.low = activation_.low;
      p.high = activation_.high;
      p.y = args.output(0) + plane * out;
      convolve_plane(p);
      if (activation_.pass.loop != nullptr) activation_.pass(p.y, p.y, out);
    });
  }

 private:
  const ops::Convolution conv_;
  const Epilogue activation_;
};

// The filter covers the whole image: a fully connected layer, limited by reading its weights, which
// are used in place.
class WholeImageKernel : public Kernel {
 public:
  explicit WholeImageKernel(const KernelSpec& spec)
      : batch_(spec.shape(0)[0]),
        k_(spec.shape(0).count(1, spec.shape(0).rank())),
        m_(spec.shape(1)[0]),
        activation_(activation_of(spec)) {}

  void run(const KernelArgs& args) const override {
    const Dots dots{args.input(0), k_, batch_, k_, args.input(1), args.output(0), m_};
    const int64_t grain = (int64_t{1} << 15) / std::max<int64_t>(k_, 1) + 16;
    args.pool.parallel_ranges(m_, grain, [&](int64_t begin, int64_t end) {
      dot_rows(dots, begin, end);
      for (int64_t n = 0; n < batch_; ++n) {
        float* y = dots.y + n * m_;
        for (int64_t i = begin; i < end; ++i) {
          float sum = y[i];
          if (args.has(2)) sum += args.input(2)[i];
          if (args.has(3)) sum += args.input(3)[n * m_ + i];
          y[i] = std::min(std::max(sum, activation_.low), activation_.high);
        }
        if (activation_.pass.loop != nullptr) {
          activation_.pass(y + begin, y + begin, end - begin);
        }
      }
    });
  }

 private:
  const int64_t batch_, k_, m_;
  const Epilogue activation_;
};

std::unique_ptr<Kernel> make_conv(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ConvKernel>(spec);
}

std::unique_ptr<Kernel> make_depthwise(const KernelSpec& spec) {
  constexpr int64_t kFewChannels = 4;  // per group; more would share the gathered columns
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  const auto conv = ops::convolution_of(spec.node, spec.shape(0), spec.shape(1));
  const bool fits = conv.groups > 1 && conv.in_channels == 1 && conv.out_channels <= kFewChannels;
  return fits ? std::make_unique<DepthwiseKernel>(spec) : nullptr;
}

std::unique_ptr<Kernel> make_whole_image(const KernelSpec& spec) {
  constexpr int64_t kFewImages = 12;  // with more, a product reuses weights from a cache
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  const auto conv = ops::convolution_of(spec.node, spec.shape(0), spec.shape(1));
  const bool whole = std::ranges::all_of(conv.window.axes, [](const ops::WindowAxis& axis) {
    // With dilation, taps lie apart and the kernel covers more than axis.kernel elements.
    const bool spread = axis.dilation > 1 && axis.kernel > 1;
    return axis.kernel == axis.input && axis.pad_begin == 0 && axis.output == 1 && !spread;
  });
  if (!whole || conv.groups > 1 || conv.batch > kFewImages) return nullptr;
  return std::make_unique<WholeImageKernel>(spec);
}

}  // namespace

std::vector<Provider> conv_kernels() {
  std::vector<Provider> all;
  for (const Operator* op : {&ops::conv, &ops::fused_conv}) {
    all.push_back({op, "conv_gemv", make_whole_image});
    all.push_back({op, "depthwise", make_depthwise});
    all.push_back({op, "conv_gemm", make_conv});
  }
  return all;
}

}  // namespace shoal::cpu
