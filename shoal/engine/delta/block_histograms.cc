#include "shoal/engine/delta/block_histograms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/base/round_up.h"
#include "shoal/base/status.h"

namespace shoal::delta {
namespace {

constexpr int64_t kParts = 4;  // of a block along each side, whose means are compared

}  // namespace

BlockHistograms::BlockHistograms(const HistogramOptions& options) : options_(options) {
  constexpr int64_t kMostBins = 256;
  SHOAL_CHECK(options.side > 0 && options.bins > 0 && options.bins <= kMostBins);
}

Grid blocks_of(const Shape& shape, int64_t side) {
  Grid grid = plane_of(shape);
  grid.tile_height = std::max<int64_t>(ceil_div(grid.height, side), 1);
  grid.tile_width = std::max<int64_t>(ceil_div(grid.width, side), 1);
  return grid;
}

double distance(const std::vector<float>& a, const std::vector<float>& b, int64_t bins,
                double enough) {
  const double scale = static_cast<double>(bins) / static_cast<double>(a.size());
  double sum = 0;
  for (size_t k = 0; k < a.size() && sum * scale < enough; ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    const double total = static_cast<double>(a[k]) + static_cast<double>(b[k]);
    if (difference != 0) sum += difference * difference / total;
  }
  return sum * scale;
}

// Into the memory of `block`.
void BlockHistograms::describe(const Tensor& image, const cpu::Rectangle& where, Block& block) {
  const int64_t channels = shape_[0] * shape_[1], bins = options_.bins;
  const auto share = 1 / static_cast<float>(where.pixels());
  const auto width = static_cast<size_t>(where.columns.count());
  block.shares.resize(static_cast<size_t>(channels * bins));
  if (options_.compares_means) {
    block.means.assign(static_cast<size_t>(channels * kParts * kParts), 0);
  }
  counts_.resize(static_cast<size_t>(bins));
  in_block_.resize(static_cast<size_t>(where.pixels()));
  for (int64_t c = 0; c < channels; ++c) {
    auto to = in_block_.begin();
    for (int64_t row = where.rows.begin; row < where.rows.end; ++row) {
      const int64_t line = (c * shape_[2] + row) * shape_[3];
      to = std::copy_n(bins_.begin() + line + where.columns.begin, width, to);
      if (options_.compares_means) {
        add_means(image.data<float>().data() + line, row, where, share, c, block);
      }
    }
    std::ranges::fill(counts_, 0u);
    count_bins(in_block_, counts_);
    for (int64_t bin = 0; bin < bins; ++bin) {
      block.shares[static_cast<size_t>(c * bins + bin)] =
          static_cast<float>(counts_[static_cast<size_t>(bin)]) * share;
    }
  }
}

void BlockHistograms::add_means(const float* line, int64_t row, const cpu::Rectangle& where,
                                float share, int64_t channel, Block& block) const {
  const int64_t part_row = (row - where.rows.begin) * kParts / where.rows.count();
  for (int64_t column = where.columns.begin; column < where.columns.end; ++column) {
    const int64_t part =
        part_row * kParts + (column - where.columns.begin) * kParts / where.columns.count();
    block.means[static_cast<size_t>(channel * kParts * kParts + part)] +=
        (line[column] - low_) / (high_ - low_) * share * kParts * kParts;
  }
}

bool BlockHistograms::has_changed(const Block& old, const Block& now, double now_ms) const {
  if (options_.ttl_ms > 0 && now_ms - old.taken_ms > options_.ttl_ms) return true;
  if (distance(old.shares, now.shares, options_.bins, options_.most) >= options_.most) return true;
  for (size_t i = 0; i < now.means.size(); ++i) {
    if (std::abs(now.means[i] - old.means[i]) > options_.most_of_means) return true;
  }
  return false;
}

TileMask BlockHistograms::update(const Tensor& image, double now_ms) {
  TileMask mask(blocks_of(image.shape(), options_.side));
  const Grid& grid = mask.grid();
  const bool is_first = blocks_.empty() || shape_ != image.shape();
  if (is_first) {
    shape_ = image.shape();
    const auto [low, high] = std::ranges::minmax(image.data<float>());
    low_ = options_.low < options_.high ? options_.low : low;
    high_ = options_.low < options_.high ? options_.high : std::max(high, low + 1e-6F);
    blocks_.assign(static_cast<size_t>(grid.rows() * grid.columns()), {});
    bins_.resize(static_cast<size_t>(image.count()));
  }
  const float scale = static_cast<float>(options_.bins) / (high_ - low_);
  bins_of(image.data<float>(), {low_, scale, options_.bins}, bins_);
  for (int64_t row = 0; row < grid.rows(); ++row) {
    for (int64_t column = 0; column < grid.columns(); ++column) {
      Block& old = blocks_[static_cast<size_t>(row * grid.columns() + column)];
      describe(image, grid.tile(row, column), now_);
      const bool changed = is_first || has_changed(old, now_, now_ms);
      mask.set(row, column, changed);
      now_.taken_ms = changed ? now_ms : old.taken_ms;
      if (changed || !options_.since_taken) std::swap(old, now_);
    }
  }
  return mask;
}

}  // namespace shoal::delta
