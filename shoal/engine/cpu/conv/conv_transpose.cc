// ConvTranspose and FusedConvTranspose in the plain layout (col2im). A matrix product of the
// weights, [channels * taps, in], with some elements of the image, [in, columns], gives what these
// elements add to the output through every tap; that is scattered to where it belongs. Every output
// channel belongs to one thread, so that scattering needs no atomics. Cost: in * taps * channels
// multiply-accumulates per element of the image, and a read-modify-write of y per tap.
#include <algorithm>
#include <array>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

using ops::Range;

// Columns of the product: elements of the image that are multiplied at a time. Rows: about this
// many output channels times taps. The result, 120 KB, stays in the second-level cache until it is
// scattered.
constexpr int64_t kColumns = 240, kRows = 128;

Epilogue activation_of(const KernelSpec& spec) {
  if (spec.node.op != &ops::fused_conv_transpose) return {};
  return Epilogue(ops::activation_of(spec.node));
}

class ConvTransposeKernel : public Kernel {
 public:
  explicit ConvTransposeKernel(const KernelSpec& spec)
      : conv_(ops::transposed_convolution_of(spec.node, spec.shape(0), spec.shape(1))),
        geometry_(conv_.window),
        activation_(activation_of(spec)),
        threads_(spec.pool.threads()) {
    choose_work({.left = spec.constant(1) != nullptr});
    if (const Tensor* w = spec.constant(1)) {
      pack(spec);
      w->release_pages();
    }
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    args.pool.parallel_for(conv_.batch * conv_.groups * parts_, [&](int64_t index, int slot) {
      run_part(args, index / parts_, index % parts_, scratch + slot * scratch_floats());
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(scratch_floats() * threads_) * sizeof(float);
  }

 private:
  // conv_ is the convolution from y to x, so that its input is our output. Channels are of a group.
  int64_t in() const { return conv_.out_channels; }
  int64_t out() const { return conv_.in_channels; }
  int64_t in_plane() const { return conv_.output_plane(); }
  int64_t out_plane() const { return conv_.input_plane(); }

  // Cuts the output channels of a group into parts. Parts are halved until all threads have work,
  // as long as the product has enough rows to be efficient.
  void choose_work(Packed packed) {
    constexpr int64_t kPartsPerThread = 2, kFewRows = 32;
    channels_ = std::clamp<int64_t>(kRows / conv_.taps(), 1, std::max<int64_t>(out(), 1));
    const auto count = [&] { return (out() + channels_ - 1) / channels_; };
    const int64_t wanted = threads_ == 1 ? 1 : kPartsPerThread * threads_;
    while (conv_.batch * conv_.groups * count() < wanted && channels_ > 1 &&
           channels_ * conv_.taps() > kFewRows) {
      channels_ = (channels_ + 1) / 2;
    }
    parts_ = count();
    const int64_t rows = channels_ * conv_.taps();
    columns_ = std::clamp<int64_t>(2 * kRows * kColumns / rows, 1, kColumns);
    blocking_ = one_block(rows, columns_, in(), packed);
  }

  // The weights of one part, [rows, in], as a transposed view: for every channel of the image, the
  // taps of all output channels are contiguous.
  Matrix weights_of(const float* w, int64_t group, int64_t part) const {
    const int64_t row = out() * conv_.taps();
    return {w + group * in() * row + part * channels_ * conv_.taps(), 1, row};
  }
  int64_t channels_of(int64_t part) const { return std::min(channels_, out() - part * channels_); }
  int64_t packed_floats() const { return packed_rows_size(channels_ * conv_.taps(), in()); }

  void pack(const KernelSpec& spec) {
    const float* w = spec.constant(1)->data<float>().data();
    const int64_t count = conv_.groups * parts_;
    const PackedForm form{"parts",
                          {conv_.groups, out(), in(), conv_.taps(), channels_, panel_size().rows}};
    packed_ = packed_weights(spec, form, count * packed_floats(), [&](float* to) {
      spec.pool.parallel_ranges(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          pack_rows(weights_of(w, i / parts_, i % parts_), channels_of(i % parts_) * conv_.taps(),
                    in(), to + i * packed_floats());
        }
      });
    });
  }

  // Of a thread. All start at a cache line, because panels are stored by aligned vectors.
  int64_t scratch_floats() const {
    constexpr int64_t kLine = 64 / sizeof(float);
    return round_up(blocking_.scratch_floats + channels_ * conv_.taps() * columns_, kLine);
  }

  // `image` counts the groups of all images of the batch.
  void run_part(const KernelArgs& args, int64_t image, int64_t part, float* scratch) const {
    const int64_t group = image % conv_.groups, channels = channels_of(part);
    const int64_t channel = part * channels_;
    const int64_t plane = (image * out() + channel) * out_plane();
    float* y = args.output(0) + plane;
    start(y, channels, args.has(2) ? args.input(2) + group * out() + channel : nullptr,
          args.has(3) ? args.input(3) + plane : nullptr);
    Product product;
    product.m = channels * conv_.taps();
    product.k = in();
    if (packed_.get() != nullptr) {
      product.packed_left = packed_.get() + (group * parts_ + part) * packed_floats();
    } else {
      product.left = weights_of(args.input(1), group, part);
    }
    product.y = scratch + blocking_.scratch_floats;
    const Matrix x{args.input(0) + image * in() * in_plane(), in_plane(), 1};
    for (int64_t j = 0; j < in_plane(); j += columns_) {
      const RightMatrix right(x.from(0, j));
      product.right = &right;
      product.n = product.y_stride = std::min(columns_, in_plane() - j);
      multiply(product, blocking_, 0, scratch);
      add_columns(product, j, channels, y);
    }
    finish(y, channels * out_plane());
  }

  // Initialises y with bias and addend, to which products are added.
  void start(float* y, int64_t channels, const float* bias, const float* addend) const {
    for (int64_t c = 0; c < channels; ++c, y += out_plane()) {
      const float first = bias != nullptr ? bias[c] : 0;
      if (addend == nullptr) {
        std::fill_n(y, out_plane(), first);
      } else {
        const float* from = addend + c * out_plane();
        std::transform(from, from + out_plane(), y, [&](float x) { return x + first; });
      }
    }
  }

  // Scatters the product of the elements of the image from j on.
  void add_columns(const Product& product, int64_t j, int64_t channels, float* y) const {
    std::array<OutputRun, kColumns> room;
    const auto runs = cut_into_runs(conv_.window, j, j + product.n, room);
    const auto& [depths, rows, columns] = conv_.window.axes;
    const float* row = product.y;
    for (int64_t c = 0; c < channels; ++c, y += out_plane()) {
      for (int64_t kd = 0; kd < depths.kernel; ++kd) {
        for (int64_t kh = 0; kh < rows.kernel; ++kh) {
          for (int64_t kw = 0; kw < columns.kernel; ++kw, row += product.n) {
            add_row(row, runs, {kd, kh, kw}, y);
          }
        }
      }
    }
  }

  // Scatters one row of the product: contributions to one channel through one tap. `runs` cuts the
  // elements at the ends of image rows; geometry_ knows for which of them the tap hits the output.
  void add_row(const float* from, std::span<const OutputRun> runs, std::array<int64_t, 3> tap,
               float* y) const {
    const auto& [depths, rows, columns] = conv_.window.axes;
    const Range inside = geometry_.columns[static_cast<size_t>(tap[2])];
    for (const OutputRun& run : runs) {
      const int64_t depth = depths.position(run.depth, tap[0]);
      const int64_t line = rows.position(run.row, tap[1]);
      if (depth >= 0 && depth < depths.input && line >= 0 && line < rows.input) {
        const int64_t begin = std::max(run.column, inside.begin);
        const int64_t end = std::min(run.column + run.length, inside.end);
        const int64_t to = (depth * rows.input + line) * columns.input;
        for (int64_t i = begin; i < end; ++i) {
          y[to + columns.position(i, tap[2])] += from[i - run.column];
        }
      }
      from += run.length;
    }
  }

  void finish(float* y, int64_t n) const {
    std::transform(y, y + n, y, [low = activation_.low, high = activation_.high](float x) {
      return std::min(std::max(x, low), high);
    });
    if (activation_.pass.loop != nullptr) activation_.pass(y, y, n);
  }

  const ops::Convolution conv_;  // from y to x
  const ImageGeometry geometry_;
  const Epilogue activation_;
  const int threads_;
  int64_t channels_ = 1, parts_ = 0;  // output channels in a part, and parts of a group
  int64_t columns_ = 1;
  Blocking blocking_;
  PackedFloats packed_;  // [group][part], if the weights are constant
};

std::unique_ptr<Kernel> make_conv_transpose(const KernelSpec& spec) {
  if (!spec.all_of_type(DType::kF32)) return nullptr;
  return std::make_unique<ConvTransposeKernel>(spec);
}

}  // namespace

std::vector<Provider> conv_transpose_kernels() {
  return {{&ops::conv_transpose, "scatter", make_conv_transpose},
          {&ops::fused_conv_transpose, "scatter", make_conv_transpose}};
}

}  // namespace shoal::cpu
