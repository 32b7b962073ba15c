// Resize of rows and columns, two neighbouring axes, whatever comes after them: nothing in the
// plain layout, the channels of a block in the blocked one. Columns are resized first, in the few
// rows of the image that a few rows of the result need; these rows stay in the cache and are then
// added up.
#include <algorithm>
#include <numeric>

#include "shoal/engine/cpu/kernel.h"
#include "shoal/engine/cpu/movement/movement.h"
#include "shoal/model/ops/image/resize_axis.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/window.h"

namespace shoal::cpu {
namespace {

using ops::ResizeAxis;
using ops::ResizeRule;

struct Axis {
  int64_t in, out;
  bool changes;
  LineTaps taps;
};

Axis axis_of(const ResizeRule& rule, const ResizeAxis& axis) {
  Axis made{
      axis.in_end - axis.in_begin, axis.out_end - axis.out_begin, !axis.is_identity(rule), {}};
  LineTaps& taps = made.taps;
  if (made.changes) {
    const ops::ResizeTaps given = resize_taps(rule, axis);
    taps = {given.first, given.offsets, {given.weights.begin(), given.weights.end()}};
  } else {  // one tap of weight 1
    taps.first.resize(static_cast<size_t>(made.out));
    std::iota(taps.first.begin(), taps.first.end(), 0);
    taps.offsets.resize(taps.first.size() + 1);
    std::iota(taps.offsets.begin(), taps.offsets.end(), 0);
    taps.weights.assign(taps.first.size(), 1.0f);
  }
  taps.each = taps.weights_of(0).size();
  for (size_t k = 0; k < taps.first.size(); ++k) {
    if (taps.weights_of(k).size() != taps.each) taps.each = 0;
  }
  return made;
}

// True if no output lies outside of the image, where it would be a constant.
bool is_inside(const LineTaps& taps) {
  return std::ranges::adjacent_find(taps.offsets) == taps.offsets.end();
}

class ResizeKernel : public Kernel {
 public:
  ResizeKernel(const KernelSpec& spec, size_t rows, Axis row_axis, Axis column_axis)
      : rows_(std::move(row_axis)),
        columns_(std::move(column_axis)),
        planes_(spec.shape(0).count(0, rows)),
        inner_(spec.shape(0).count(rows + 2, spec.shape(0).rank())),
        threads_(spec.pool.threads()) {
    for (int64_t part = 0; part < parts(); ++part) most_ = std::max(most_, range_of(part).count());
  }

  void run(const KernelArgs& args) const override {
    args.pool.parallel_for(planes_ * parts(), [&](int64_t i, int slot) {
      const int64_t plane = i / parts();
      run_part(i % parts(), args.input(0) + plane * rows_.in * columns_.in * inner_,
               reinterpret_cast<float*>(args.scratch) + slot * most_ * line(),
               args.output(0) + plane * rows_.out * line());
    });
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(columns_.changes ? threads_ * most_ * line() : 0) * sizeof(float);
  }

 private:
  static constexpr int64_t kRows = 16;  // of the result, in one part

  int64_t parts() const { return (rows_.out + kRows - 1) / kRows; }
  int64_t line() const { return columns_.out * inner_; }

  // Rows of the result in a part.
  ops::Range rows_of(int64_t part) const {
    return {part * kRows, std::min((part + 1) * kRows, rows_.out)};
  }
  // Rows of the image that they need.
  ops::Range range_of(int64_t part) const {
    ops::Range range{rows_.in, 0};
    const auto [begin, end] = rows_of(part);
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      range.begin = std::min(range.begin, rows_.taps.first[k]);
      range.end = std::max(range.end, rows_.taps.first[k] + std::ssize(rows_.taps.weights_of(k)));
    }
    return range;
  }

  void run_part(int64_t part, const float* x, float* lines, float* y) const {
    const ops::Range needed = range_of(part);
    const float* from = x + needed.begin * columns_.in * inner_;
    if (columns_.changes) {
      for (int64_t i = 0; i < needed.count(); ++i) {
        resize_line(columns_.taps, from + i * columns_.in * inner_, inner_, lines + i * line());
      }
      from = lines;
    }
    const auto [begin, end] = rows_of(part);
    for (int64_t row = begin; row < end; ++row) {
      const auto k = static_cast<size_t>(row);
      add_lines(rows_.taps.weights_of(k), from + (rows_.taps.first[k] - needed.begin) * line(),
                y + row * line(), line());
    }
  }

  const Axis rows_, columns_;
  const int64_t planes_, inner_, threads_;
  int64_t most_ = 0;  // rows of the image that a part needs
};

std::unique_ptr<Kernel> make(const KernelSpec& spec) {
  const Shape& x = spec.shape(0);
  const bool floats = spec.inputs[0].type.dtype == DType::kF32;
  if (!floats || x.rank() < 2 || spec.outputs[0].shape.count() == 0) return nullptr;
  const ResizeRule rule = *ops::resize_rule(spec.node);
  const std::vector<ResizeAxis> axes = *ops::resize_axes(spec.node, rule, spec.inputs);
  const auto changes = [&](const ResizeAxis& axis) { return !axis.is_identity(rule); };
  const auto first = std::ranges::find_if(axes, changes);
  const auto rows = std::min(static_cast<size_t>(first - axes.begin()), x.rank() - 2);
  if (std::any_of(axes.begin() + static_cast<std::ptrdiff_t>(rows) + 2, axes.end(), changes)) {
    return nullptr;
  }
  Axis row_axis = axis_of(rule, axes[rows]), column_axis = axis_of(rule, axes[rows + 1]);
  if (!is_inside(row_axis.taps) || !is_inside(column_axis.taps)) return nullptr;
  return std::make_unique<ResizeKernel>(spec, rows, std::move(row_axis), std::move(column_axis));
}

}  // namespace

std::vector<Provider> resize_kernels() { return {{&ops::resize, "lines", make}}; }

}  // namespace shoal::cpu
