// The innermost loop of convolutions of bytes, one JSON line per way of summing, tile and number of
// input channels: billions of operations per second of one thread, two for each product. Few
// channels show what rounding and storing take beside the sums.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "shoal/engine/cpu/quantized/byte_loops.h"

namespace shoal::cpu {
namespace {

// The time the thread really ran, which leaves out what else the machine does.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Setup {
  Setup(TileSize size, int64_t channels)
      : block(block_size()),
        x(static_cast<size_t>(size.pixels * channels), 3),
        y(static_cast<size_t>(size.pixels * size.blocks * block)),
        w(static_cast<size_t>(channels * size.blocks * block), 1),
        bias(static_cast<size_t>(size.blocks * block)),
        scale(bias.size(), 0.01f) {
    tile.x = x.data();
    tile.x_block = size.pixels * block;
    tile.in_blocks = channels / block;
    tile.full_groups = tile.last_groups = block / kGroup;
    tile.w = w.data();
    tile.bias = bias.data();
    tile.scale = scale.data();
    tile.out_blocks = size.blocks;
    tile.y = y.data();
    tile.y_block = size.pixels * block;
    tile.finish.own = Rounding({0, 255}, 0, DType::kU8);
  }

  int64_t block;
  std::vector<uint8_t> x, y;
  std::vector<int8_t> w;
  std::vector<int32_t> bias;
  std::vector<float> scale;
  ByteTile tile;
};

void measure(const char* dot, const ByteTiles& tiles, TileSize size, int64_t channels) {
  Setup setup(size, channels);
  const ByteTileFunction convolve = tiles.function(size, setup.block);
  const double operations =
      2.0 * static_cast<double>(size.pixels * size.blocks * setup.block * channels);
  const int repeats = static_cast<int>(2e8 / operations) + 1;
  double best = 0;
  for (int i = 0; i < 11; ++i) {
    const double begin = now();
    for (int r = 0; r < repeats; ++r) convolve(setup.tile, setup.block);
    best = std::max(best, operations * repeats / (now() - begin) * 1e-9);
  }
  std::printf(
      "{\"bench\":\"byte_tile\",\"dot\":\"%s\",\"pixels\":%d,\"blocks\":%d,\"channels\":%d,"
      "\"gops\":%.0f}\n",
      dot, static_cast<int>(size.pixels), static_cast<int>(size.blocks), static_cast<int>(channels),
      best);
  std::fflush(stdout);
}

void measure_all(const char* name, ByteDot dot) {
  const ByteTiles tiles = byte_tiles(dot);
  for (const TileSize size : tiles.sizes) {
    for (const int64_t channels : {16, 64, 512}) measure(name, tiles, size, channels);
  }
}

}  // namespace
}  // namespace shoal::cpu

int main() {
  shoal::cpu::measure_all("octets", shoal::cpu::ByteDot::kOctets);
  shoal::cpu::measure_all("quads", shoal::cpu::ByteDot::kQuads);
  shoal::cpu::measure_all("pairs", shoal::cpu::ByteDot::kPairs);
}
