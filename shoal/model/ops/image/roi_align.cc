// RoiAlign: every bin of a box is the mean or the maximum of points sampled in it by bilinear
// interpolation (Mask R-CNN, arXiv 1703.06870, section 3). Opset 16 shifts coordinates by half a
// pixel; "output_half_pixel" is the older rule, which also makes boxes at least one pixel large.
#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/model/ops/image/roi.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr int64_t kMaxSamplingRatio = 256;  // squared, it multiplies the work

Result<std::vector<TensorType>> infer_roi_align(const Node& node, std::span<const Operand> inputs) {
  const std::string mode = node.text("mode", "avg");
  if (mode != "avg" && mode != "max") return invalid("mode '" + mode + "' is unknown");
  const std::string coordinates = node.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return invalid("coordinate_transformation_mode '" + coordinates + "' is unknown");
  }
  const int64_t ratio = node.integer("sampling_ratio", 0);
  if (ratio < 0 || ratio > kMaxSamplingRatio) return invalid("sampling_ratio is out of range");
  SHOAL_ASSIGN(TensorType type,
               pooled_type(inputs[0], inputs[1], 4, node.integer("output_height", 1),
                           node.integer("output_width", 1)));
  SHOAL_TRY(require<Indices>(inputs[2]));
  SHOAL_TRY(require_rank(inputs[2], 1));
  if (inputs[2].type.shape[0] != type.shape[0]) {
    return invalid("needs one batch index per region of interest");
  }
  return std::vector{type};
}

struct Rule {
  explicit Rule(const Node& node)
      : mean(node.text("mode", "avg") == "avg"),
        half_pixel(node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"),
        scale(node.real("spatial_scale", 1)),
        ratio(node.integer("sampling_ratio", 0)) {}

  bool mean, half_pixel;
  float scale;
  int64_t ratio;
};

// A sampled coordinate between two elements of an axis. Outside the axis, and for NaN, both weights
// are 0.
template <class T>
struct Sample {
  int64_t low = 0, high = 0;
  T low_weight = 0, high_weight = 0;
};

template <class T>
Sample<T> sample_at(T x, int64_t length) {
  if (!(x >= -1 && x <= static_cast<T>(length)) || length == 0) return {};
  x = std::clamp<T>(x, 0, static_cast<T>(length - 1));
  // As a float, the last index of a very long axis may be one too large.
  const int64_t low = std::min(static_cast<int64_t>(x), length - 1);
  const T rest = x - static_cast<T>(low);
  return {low, std::min(low + 1, length - 1), 1 - rest, rest};
}

// One axis of a box, cut into bins.
template <class T>
class Bins {
 public:
  Bins(T begin, T end, int64_t bins, int64_t length, const Rule& rule)
      : begin_(begin), length_(length) {
    const T size = rule.half_pixel ? end - begin : std::max<T>(end - begin, 1);
    bin_ = size / static_cast<T>(bins);
    // A bin larger than the image gets no more points than one that just covers it: boxes are data,
    // and the number of points is the time it takes.
    const T adaptive = std::ceil(std::min(bin_, static_cast<T>(length + 2)));
    grid_ = rule.ratio > 0 ? rule.ratio : adaptive > 0 ? static_cast<int64_t>(adaptive) : 0;
  }

  void samples_of(int64_t bin, std::vector<Sample<T>>& samples) const {
    samples.clear();
    for (int64_t k = 0; k < grid_; ++k) {
      const T within = (static_cast<T>(k) + T{0.5}) / static_cast<T>(grid_);
      samples.push_back(sample_at(begin_ + (static_cast<T>(bin) + within) * bin_, length_));
    }
  }

 private:
  T begin_, bin_;
  int64_t length_, grid_;
};

template <class T>
Compute<T> mean(const T* image, int64_t width, std::span<const Sample<Compute<T>>> ys,
                std::span<const Sample<Compute<T>>> xs) {
  Compute<T> sum = 0;
  for (const auto& y : ys) {
    const T *low = image + y.low * width, *high = image + y.high * width;
    for (const auto& x : xs) {
      sum += y.low_weight * (x.low_weight * low[x.low] + x.high_weight * low[x.high]) +
             y.high_weight * (x.low_weight * high[x.low] + x.high_weight * high[x.high]);
    }
  }
  const size_t count = std::max<size_t>(ys.size() * xs.size(), 1);
  return sum / static_cast<Compute<T>>(count);
}

// The test vectors of ONNX take the largest of the four weighted neighbours, not of their sums.
template <class T>
Compute<T> maximum(const T* image, int64_t width, std::span<const Sample<Compute<T>>> ys,
                   std::span<const Sample<Compute<T>>> xs) {
  if (ys.empty() || xs.empty()) return 0;
  Compute<T> top = std::numeric_limits<Compute<T>>::lowest();
  for (const auto& y : ys) {
    const T *low = image + y.low * width, *high = image + y.high * width;
    for (const auto& x : xs) {
      top = std::max<Compute<T>>({top, y.low_weight * x.low_weight * low[x.low],
                                  y.low_weight * x.high_weight * low[x.high],
                                  y.high_weight * x.low_weight * high[x.low],
                                  y.high_weight * x.high_weight * high[x.high]});
    }
  }
  return top;
}

template <class T>
void pool(const Rule& rule, const T* image, const Shape& shape, const T* roi, T* y,
          const Shape& output) {
  using C = Compute<T>;
  const int64_t height = shape[2], width = shape[3], oh = output[2], ow = output[3];
  auto corner = [&](int i) {
    return static_cast<C>(roi[i]) * static_cast<C>(rule.scale) - (rule.half_pixel ? C{0.5} : C{0});
  };
  const Bins<C> columns(corner(0), corner(2), ow, width, rule);
  const Bins<C> rows(corner(1), corner(3), oh, height, rule);
  const auto reduce = rule.mean ? mean<T> : maximum<T>;
  std::vector<Sample<C>> xs, ys;
  for (int64_t i = 0; i < oh; ++i) {
    rows.samples_of(i, ys);
    for (int64_t j = 0; j < ow; ++j) {
      columns.samples_of(j, xs);
      for (int64_t c = 0; c < shape[1]; ++c) {
        y[(c * oh + i) * ow + j] =
            static_cast<T>(reduce(image + c * height * width, width, ys, xs));
      }
    }
  }
}

void reference_roi_align(const Node& node, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const int64_t block = shape.count(1, 4), images = inputs[0].shape()[0];
  const std::vector<int64_t> image_of = to_ints(inputs[2]);
  const bool empty = inputs[0].count() == 0;
  const Rule rule(node);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (int64_t r = 0; r < shape[0]; ++r) {
      T* y = outputs[0].data<T>().data() + r * block;
      const int64_t image = image_of[static_cast<size_t>(r)];
      // Image numbers are data: one out of range gives zeros.
      if (image < 0 || image >= images || empty) {
        std::fill_n(y, block, T(0.0f));
      } else {
        pool(rule, inputs[0].data<T>().data() + image * inputs[0].shape().count(1, 4),
             inputs[0].shape(), inputs[1].data<T>().data() + r * 4, y, shape);
      }
    }
  });
}

}  // namespace

SHOAL_RECORD(roi_align) = {.name = "RoiAlign",
                           .min_inputs = 3,
                           .max_inputs = 3,
                           .infer = infer_roi_align,
                           .reference = reference_roi_align,
                           .split = split_rois};

}  // namespace shoal::ops
