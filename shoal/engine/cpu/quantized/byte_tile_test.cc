// Every tile and every way to multiply bytes, against plain loops. Kernels use few of them: the
// best that the machine has, in the sizes that fit a layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "shoal/engine/cpu/instruction_set.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"

namespace shoal::cpu {
namespace {

struct Case {
  TileSize size;
  int64_t step = 0, in_blocks = 0, tap_rows = 1, tap_columns = 1;
};

template <class T>
std::vector<T> random_of(std::mt19937& rng, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(rng());
  return values;
}

// An image with blocks of b channels side by side, and weights [m][tap][c], for one tile of each.
class TileLaw {
 public:
  TileLaw(const Case& c, const ByteTiles& tiles)
      : c_(c),
        tiles_(tiles),
        b_(block_size()),
        taps_(c.tap_rows * c.tap_columns),
        outputs_(c.size.blocks * b_),
        channels_(c.in_blocks * b_),
        row_((c.size.pixels - 1) * c.step + c.tap_columns * b_),
        x_(random_of<uint8_t>(rng_, c.in_blocks * c.tap_rows * row_)),
        w_(random_of<int8_t>(rng_, outputs_ * taps_ * channels_)),
        bias_(random_of<int16_t>(rng_, outputs_)) {}

  void expect() {
    const std::vector<int8_t> packed = packed_weights();
    const std::vector<float> scale(static_cast<size_t>(outputs_), 1 / 1024.0f);
    std::vector<int32_t> bias(bias_.begin(), bias_.end());
    for (int64_t m = 0; m < outputs_; ++m) {
      for (int64_t i = 0; i < taps_ * channels_; ++i) {  // the offset was taken from x
        bias[size_t(m)] += tiles_.pixel_offset * w_[size_t(m * taps_ * channels_ + i)];
      }
    }
    std::vector<uint8_t> y(static_cast<size_t>(c_.size.pixels * outputs_));
    ByteTile tile;
    tile.x = x_.data();
    tile.x_block = c_.tap_rows * row_;
    tile.x_row = row_;
    tile.x_column = b_;
    tile.in_blocks = c_.in_blocks;
    tile.full_groups = tile.last_groups = b_ / kGroup;
    tile.tap_rows = c_.tap_rows;
    tile.tap_columns = c_.tap_columns;
    tile.w = packed.data();
    tile.bias = bias.data();
    tile.scale = scale.data();
    tile.out_blocks = c_.size.blocks;
    tile.y = y.data();
    tile.y_block = c_.size.pixels * b_;
    tile.finish.own = Rounding({0, 255}, 128, DType::kU8);
    tiles_.function(c_.size, c_.step)(tile, c_.step);
    for (int64_t i = 0; i < c_.size.pixels * outputs_; ++i) {
      const int64_t m = i / tile.y_block * b_ + i % b_, pixel = i % tile.y_block / b_;
      const float real = std::nearbyint(static_cast<float>(sum_of(m, pixel)) / 1024);
      ASSERT_EQ(y[size_t(i)], std::clamp(real + 128, 0.0f, 255.0f)) << m << ", pixel " << pixel;
    }
  }

 private:
  int8_t weight(int64_t m, int64_t tap, int64_t c) const {
    return c < channels_ ? w_[size_t((m * taps_ + tap) * channels_ + c)] : int8_t{0};
  }

  // As byte_loops.h and ByteFilters describe them.
  std::vector<int8_t> packed_weights() const {
    std::vector<int8_t> packed;
    const int64_t together = std::max(b_, tiles_.group), group = tiles_.group;
    for (int64_t c0 = 0; c0 < channels_; c0 += together) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        for (int64_t c = c0; c < c0 + together; c += group) {
          for (int64_t m0 = 0; m0 < outputs_; m0 += b_) {
            for (int64_t i = 0; i < b_ * group; ++i) {
              const bool first = tiles_.channels_first;
              packed.push_back(
                  weight(m0 + (first ? i / group : i % b_), tap, c + (first ? i % group : i / b_)));
            }
          }
        }
      }
    }
    return packed;
  }

  int32_t sum_of(int64_t m, int64_t pixel) const {
    int32_t sum = bias_[size_t(m)];
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t c = 0; c < channels_; ++c) {
        const int64_t at = (c / b_ * c_.tap_rows + tap / c_.tap_columns) * row_ + pixel * c_.step +
                           tap % c_.tap_columns * b_ + c % b_;
        sum += x_[size_t(at)] * weight(m, tap, c);
      }
    }
    return sum;
  }

  std::mt19937 rng_{1};
  const Case c_;
  const ByteTiles tiles_;
  const int64_t b_, taps_, outputs_, channels_, row_;
  const std::vector<uint8_t> x_;
  const std::vector<int8_t> w_;
  const std::vector<int16_t> bias_;
};

void expect_tiles(ByteDot dot) {
  const ByteTiles tiles = byte_tiles(dot);
  for (const TileSize& size : tiles.sizes) {
    for (int64_t blocks = 1; blocks <= size.blocks; ++blocks) {
      for (const int64_t pixels_apart : {1, 2, 3}) {
        const TileSize part{size.pixels, blocks};
        TileLaw({part, pixels_apart * block_size(), 3, 2, 3}, tiles).expect();
        TileLaw({part, pixels_apart * block_size(), 2}, tiles).expect();
      }
    }
  }
}

TEST(ByteTile, AddsUpAllTapsAndChannels) {
  for (const std::string_view set : instruction_sets()) {
    SCOPED_TRACE(set);
    use_instruction_set(set);
    for (const ByteDot dot : {ByteDot::kPairs, ByteDot::kQuads, ByteDot::kOctets}) {
      SCOPED_TRACE(static_cast<int>(dot));
      expect_tiles(dot);
    }
  }
  use_instruction_set("");
}

#if defined(__aarch64__) && !defined(__clang__)
TEST(ByteTile, UsesWhatAnArmHas) {
  EXPECT_EQ(!byte_tiles(ByteDot::kQuads).sizes.empty(), has(Extension::kDotProduct));
  EXPECT_EQ(!byte_tiles(ByteDot::kOctets).sizes.empty(), has(Extension::kMatrixProduct));
}
#endif

TEST(ByteDots, AddUpRows) {
  std::mt19937 rng(2);
  for (const std::string_view set : instruction_sets()) {
    use_instruction_set(set);
    for (const int64_t k : {1, 15, 16, 100}) {
      for (int64_t rows = 1; rows <= ByteDots::kMostRows; ++rows) {
        constexpr int64_t kColumns = 6;
        const auto a = random_of<uint8_t>(rng, rows * k), b = random_of<uint8_t>(rng, kColumns * k);
        std::vector<int32_t> sums(static_cast<size_t>(rows * kColumns)), b_sums(kColumns);
        const bool wants_sums = rows % 2 == 0;
        multiply_bytes({a.data(), rows, b.data(), 0x80, k, sums.data(), kColumns,
                        wants_sums ? b_sums.data() : nullptr},
                       0, kColumns);
        for (int64_t i = 0; i < rows * kColumns; ++i) {
          int32_t sum = 0, b_sum = 0;
          for (int64_t p = 0; p < k; ++p) {
            const int32_t factor = b[size_t(i % kColumns * k + p)] - 128;
            sum += a[size_t(i / kColumns * k + p)] * factor;
            b_sum += factor;
          }
          ASSERT_EQ(sums[size_t(i)], sum) << set << ", k " << k << ", rows " << rows;
          ASSERT_EQ(b_sums[size_t(i % kColumns)], wants_sums ? b_sum : 0);
        }
      }
    }
  }
  use_instruction_set("");
}

}  // namespace
}  // namespace shoal::cpu
