#include "shoal/video/keyframe/sparse_features.h"

#include <algorithm>
#include <utility>

#include "shoal/engine/delta/changes.h"
#include "shoal/video/keyframe/masks.h"

namespace shoal::keyframe {
namespace {

using delta::Grid;
using delta::TileMask;

constexpr int kLeastChange = 15;  // levels of 255
constexpr int64_t kTaken = 32, kComputed = 96;
constexpr double kMostTaken = 0.6;  // of the image: beyond, it is computed whole

Grid tiles_of_image(const Plane& plane) {
  return {
      .height = plane.height, .width = plane.width, .tile_height = kBlock, .tile_width = kBlock};
}

}  // namespace

Result<SparseFeatures> SparseFeatures::compile(const Graph& features, Device& device) {
  SHOAL_ASSIGN(SparseNetwork network, SparseNetwork::compile(features, device));
  return SparseFeatures(std::move(network));
}

Result<std::vector<Tensor>> SparseFeatures::compute(const Tensor& input) {
  range_ = range_of(input);
  SHOAL_ASSIGN(Luma luma, luma_of(input, range_));
  seen_ = std::move(luma.levels.front());
  share_ = 1;
  TileMask all(tiles_of_image(seen_));
  all.fill(true);
  std::vector<Tensor> outputs(network_.outputs());
  SHOAL_TRY(network_.run(input, all, outputs));
  return outputs;
}

Result<std::vector<Tensor>> SparseFeatures::update(const Tensor& input, std::vector<Tensor> moved) {
  SHOAL_ASSIGN(const Luma luma, luma_of(input, range_));
  const Grid grid = tiles_of_image(luma.whole());
  const auto changed = brightness_mask(grid, seen_, luma.whole(), kLeastChange).rectangles();
  const TileMask taken = box_mask(grid, changed, kTaken);
  if (taken.share() > kMostTaken) return compute(input);
  const TileMask computed = box_mask(grid, changed, kComputed);
  share_ = computed.share();
  if (changed.empty()) return moved;
  std::vector<Tensor> fresh(network_.outputs());
  SHOAL_TRY(network_.run(input, computed, fresh));
  for (size_t i = 0; i < moved.size(); ++i) {
    const TileMask there = regridded(taken, delta::plane_of(moved[i].shape()));
    for (const cpu::Rectangle& one : there.rectangles()) {
      delta::copy_pixels(fresh[i], one, moved[i]);
    }
  }
  for (const cpu::Rectangle& one : taken.rectangles()) {
    for (int64_t y = one.rows.begin; y < one.rows.end; ++y) {
      std::copy(luma.whole().row(y) + one.columns.begin, luma.whole().row(y) + one.columns.end,
                seen_.pixels.begin() + y * seen_.width + one.columns.begin);
    }
  }
  return moved;
}

}  // namespace shoal::keyframe
