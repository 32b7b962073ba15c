// Splits the columns of each panel into runs within rows of the output and gathers them
// (gather.cc).
#include <algorithm>
#include <array>
#include <span>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

namespace shoal::cpu {

std::span<const OutputRun> cut_into_runs(const ops::Window& window, int64_t j, int64_t j_end,
                                         std::span<OutputRun> runs) {
  const auto& [depths, rows, columns] = window.axes;
  size_t count = 0;
  int64_t row = j / columns.output, column = j % columns.output;
  while (j < j_end) {
    const int64_t length = std::min(columns.output - column, j_end - j);
    runs[count++] = {length, row / rows.output, row % rows.output, column};
    j += length;
    ++row;
    column = 0;
  }
  return runs.first(count);
}

ImageGeometry::ImageGeometry(const ops::Window& of) : window(of) {
  for (int64_t tap = 0; tap < of.axes[2].kernel; ++tap) columns.push_back(of.axes[2].outputs(tap));
}

ImageColumns::ImageColumns(const ImageGeometry& geometry, const float* x, int64_t channels)
    : geometry_(geometry), x_(x), x_end_(x + channels) {
  for (const ops::WindowAxis& axis : geometry.window.axes) channels *= axis.input;
  x_end_ = x + channels;
}

void ImageColumns::pack(int64_t k, int64_t k_end, int64_t j, int64_t j_end, float* panels) const {
  const int64_t width = panel_size().columns;
  std::array<OutputRun, kMaxPanelColumns> runs;
  for (; j < j_end; j += width, panels += width * (k_end - k)) {
    const auto panel = cut_into_runs(geometry_.window, j, std::min(j + width, j_end), runs);
    gather(geometry_, {x_, x_end_}, panel, k, k_end, panels);
  }
}

}  // namespace shoal::cpu
