#include "shoal/video/keyframe/sparse_network.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/model/passes/passes.h"

namespace shoal::keyframe {
namespace {

using cpu::Rectangle;
using delta::Grid;
using delta::TileMask;

// The tiles, as row or column numbers, that a range of pixels overlaps.
ops::Range tiles_of(const ops::Range& pixels, int64_t tile) {
  return {pixels.begin / tile, ceil_div(pixels.end, tile)};
}

ops::Range clipped(const ops::Range& range, int64_t margin, int64_t extent) {
  return {std::clamp(range.begin - margin, int64_t{0}, extent),
          std::clamp(range.end + margin, int64_t{0}, extent)};
}

// Where a range of a side of `from` pixels lies on one of `to`, rounded outwards.
ops::Range scaled(const ops::Range& range, int64_t from, int64_t to) {
  return {range.begin * to / from, ceil_div(range.end * to, from)};
}

// Sets tiles for which is_set(rectangle of pixels).
template <class F>
TileMask made(const Grid& grid, const F& is_set) {
  TileMask mask(grid);
  for (int64_t row = 0; row < grid.rows(); ++row) {
    for (int64_t column = 0; column < grid.columns(); ++column) {
      mask.set(row, column, is_set(grid.tile(row, column)));
    }
  }
  return mask;
}

}  // namespace

int64_t margin_after(int64_t frames) { return 64 + 8 * frames; }

TileMask box_mask(const Grid& grid, std::span<const Rectangle> boxes, int64_t margin) {
  TileMask mask(grid);
  for (const Rectangle& box : boxes) {
    const Rectangle in{clipped(box.rows, margin, grid.height),
                       clipped(box.columns, margin, grid.width)};
    if (in.rows.begin >= in.rows.end || in.columns.begin >= in.columns.end) continue;
    const ops::Range rows = tiles_of(in.rows, grid.tile_height);
    const ops::Range columns = tiles_of(in.columns, grid.tile_width);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column) mask.set(row, column);
    }
  }
  return mask;
}

TileMask brightness_mask(const Grid& grid, const Plane& then, const Plane& now, int threshold) {
  for (const Plane* plane : {&then, &now}) {
    SHOAL_CHECK(plane->height == grid.height && plane->width == grid.width);
  }
  return made(grid, [&](const Rectangle& tile) {
    for (int64_t y = tile.rows.begin; y < tile.rows.end; ++y) {
      const uint8_t *const a = then.row(y), *const b = now.row(y);
      for (int64_t x = tile.columns.begin; x < tile.columns.end; ++x) {
        if (std::abs(int{a[x]} - int{b[x]}) >= threshold) return true;
      }
    }
    return false;
  });
}

TileMask both(const TileMask& a, const TileMask& b) {
  SHOAL_CHECK(a.grid() == b.grid());
  TileMask mask = a;
  for (int64_t row = 0; row < a.grid().rows(); ++row) {
    for (int64_t column = 0; column < a.grid().columns(); ++column) {
      if (!b.at(row, column)) mask.set(row, column, false);
    }
  }
  return mask;
}

TileMask regridded(const TileMask& mask, const Grid& grid) {
  const Grid& old = mask.grid();
  return made(grid, [&](const Rectangle& tile) {
    const ops::Range rows = tiles_of(scaled(tile.rows, grid.height, old.height), old.tile_height);
    const ops::Range columns =
        tiles_of(scaled(tile.columns, grid.width, old.width), old.tile_width);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t column = columns.begin; column < columns.end; ++column) {
        if (mask.at(row, column)) return true;
      }
    }
    return false;
  });
}

using delta::TileMask;

namespace {

// Layers read around the pixels that they compute, so that an image is blocked whole. To unblock
// tiles alone gains nothing, and what is zero need not stay zero in an element-wise node.
bool is_whole(const Operator& op) {
  return &op == &cpu::block_channels || &op == &cpu::unblock_channels ||
         &op == &cpu::elementwise_chain || op.elementwise.operands > 0;
}

}  // namespace

SparseNetwork::SparseNetwork(std::unique_ptr<Executable> executable)
    : executable_(std::move(executable)),
      whole_(dynamic_cast<const cpu::CpuExecutable*>(executable_.get())) {}

Result<SparseNetwork> SparseNetwork::compile(const Graph& graph, Device& device,
                                             int64_t most_tile) {
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(graph));
  SHOAL_ASSIGN(auto executable, device.compile(optimized));
  SparseNetwork network(std::move(executable));
  if (network.whole_ == nullptr) {
    return Status(Code::kUnsupported, "only a CPU can leave out parts of what it computes");
  }
  const Graph& carried_out = network.whole_->graph();
  const auto is_computed = [&](ValueId output) {
    return std::ranges::any_of(carried_out.nodes(), [&](const Node& node) {
      return std::ranges::find(node.outputs, output) != node.outputs.end();
    });
  };
  if (carried_out.inputs().size() != 1 ||
      !std::ranges::all_of(carried_out.outputs(), is_computed)) {
    return Status(Code::kUnsupported, "a sparse network has one input and computes its outputs");
  }
  SHOAL_ASSIGN(network.values_, delta::keep_values(*network.whole_));
  for (size_t i = 0; i < carried_out.nodes().size(); ++i) {
    const Node& node = carried_out.nodes()[i];
    const auto* kernel =
        dynamic_cast<const cpu::RectangleKernel*>(network.whole_->steps()[i].kernel.get());
    if (node.outputs.size() > 1 || is_whole(*node.op)) kernel = nullptr;
    const Shape& shape = carried_out[node.outputs[0]].type.shape;
    network.kernels_.push_back(kernel);
    network.grids_.push_back(
        delta::tiles_of(shape, most_tile, kernel != nullptr ? kernel->granule() : 1));
  }
  return network;
}

TileMask SparseNetwork::computed(const TileMask& mask) const {
  const auto last = std::ranges::find_if(kernels_.rbegin(), kernels_.rend(),
                                         [](const auto* kernel) { return kernel != nullptr; });
  if (last == kernels_.rend()) return TileMask();
  return regridded(mask, grids_[static_cast<size_t>(kernels_.rend() - last) - 1]);
}

Status SparseNetwork::run(const Tensor& input, const TileMask& mask, std::span<Tensor> outputs) {
  const Graph& graph = whole_->graph();
  SHOAL_CHECK(outputs.size() == graph.outputs().size());
  values_.bind(graph.inputs()[0], input);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = graph.outputs()[i];
    if (!outputs[i].defined()) outputs[i] = Tensor::uninitialized(graph[id].type);
    values_.bind(id, outputs[i]);
  }
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const cpu::CpuExecutable::Step& step = whole_->steps()[i];
    const cpu::KernelArgs args = values_.args_of(step);
    const TileMask tiles = kernels_[i] != nullptr ? regridded(mask, grids_[i]) : TileMask();
    if (kernels_[i] == nullptr || tiles.pixels() == grids_[i].pixels()) {
      step.kernel->run(args);
      continue;
    }
    Tensor& y = values_.at(graph.nodes()[i].outputs[0]);
    std::memset(y.bytes().data(), 0, y.bytes().size());
    kernels_[i]->run_in(args, tiles.rectangles());
  }
  return {};
}

}  // namespace shoal::keyframe
