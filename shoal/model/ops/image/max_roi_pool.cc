// MaxRoiPool: the maximum of every bin of a box whose corners are rounded to elements (Fast R-CNN,
// arXiv 1504.08083, section 2.1). Bins overlap by rounding outwards; an empty bin gives 0. A region
// is [image, x1, y1, x2, y2], all of it data.
#include <algorithm>
#include <cmath>

#include "shoal/model/ops/image/roi.h"
#include "shoal/model/ops/record.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_max_roi_pool(const Node& node,
                                                   std::span<const Operand> inputs) {
  const std::vector<int64_t> pooled = node.integers("pooled_shape");
  if (pooled.size() != 2) return invalid("pooled_shape should be two numbers");
  SHOAL_ASSIGN(TensorType type, pooled_type(inputs[0], inputs[1], 5, pooled[0], pooled[1]));
  return std::vector{type};
}

struct Range {
  int64_t begin, end;
};

// The elements of bin b along one axis. Corners are data and may be anything, so they stay doubles
// until they are clamped to the axis. NaN gives an empty bin.
Range bin_of(double first, double last, int64_t b, int64_t bins, int64_t length) {
  const double size = std::max(last - first + 1, 1.0) / static_cast<double>(bins);
  auto inside = [&](double x) {
    return x > 0 ? static_cast<int64_t>(std::min(x, static_cast<double>(length))) : int64_t{0};
  };
  return {inside(std::floor(static_cast<double>(b) * size) + first),
          inside(std::ceil(static_cast<double>(b + 1) * size) + first)};
}

template <class T>
T maximum(const T* plane, int64_t width, Range rows, Range columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return T(0.0f);
  T top = plane[rows.begin * width + columns.begin];
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      if (plane[y * width + x] > top) top = plane[y * width + x];
    }
  }
  return top;
}

template <class T>
void pool(const Tensor& images, const T* roi, double scale, T* y, const Shape& output) {
  const Shape& shape = images.shape();
  const auto index = static_cast<double>(roi[0]);
  // An image number out of range, or NaN, gives zeros.
  if (!(index >= 0 && index < static_cast<double>(shape[0]))) {
    std::fill_n(y, output.count(1, 4), T(0.0f));
    return;
  }
  auto corner = [&](int i) { return std::round(static_cast<double>(roi[i]) * scale); };
  const T* plane = images.data<T>().data() + static_cast<int64_t>(index) * shape.count(1, 4);
  for (int64_t c = 0; c < shape[1]; ++c, plane += shape[2] * shape[3]) {
    for (int64_t i = 0; i < output[2]; ++i) {
      const Range rows = bin_of(corner(2), corner(4), i, output[2], shape[2]);
      for (int64_t j = 0; j < output[3]; ++j) {
        *y++ = maximum(plane, shape[3], rows, bin_of(corner(1), corner(3), j, output[3], shape[3]));
      }
    }
  }
}

void reference_max_roi_pool(const Node& node, std::span<const Tensor> inputs,
                            std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (int64_t r = 0; r < shape[0]; ++r) {
      pool(inputs[0], inputs[1].data<T>().data() + r * 5, node.real("spatial_scale", 1),
           outputs[0].data<T>().data() + r * shape.count(1, 4), shape);
    }
  });
}

}  // namespace

SHOAL_RECORD(max_roi_pool) = {.name = "MaxRoiPool",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .infer = infer_max_roi_pool,
                              .reference = reference_max_roi_pool,
                              .split = split_rois};

}  // namespace shoal::ops
