// As tiles.cc, in half precision: a warp, 32 items of a group, computes 64 rows and 32 columns of y
// as 4 x 4 products of fragments, [16, 16] x [16, 8], added in f32. Items hold fragments as
// mma.m16n8k16 of PTX has them; with g = lane / 4 and q = lane % 4, an item has
//
//   of a  rows g and g + 8, and k 2q, 2q + 1, 2q + 8 and 2q + 9: four pairs along k
//   of b  column g, and the same k: two pairs
//   of y  rows g and g + 8, and columns 2q and 2q + 1
//
// Weights are stored as fragments before, so that an item loads its eight elements at once. Those
// of b are gathered in local memory: each item brings some k of one column.
#include "shoal/gpu/matrix.h"

#include <algorithm>

#include "shoal/gpu/source.h"

namespace shoal::gpu {
namespace {

constexpr int64_t kDepth = kMostDepth;  // of k, in one step: two fragments
constexpr int64_t kWarpRows = 64, kWarpColumns = 32, kColumns = 128;

struct MatrixTile {
  int64_t rows;
  int64_t warps() const { return rows / kWarpRows * (kColumns / kWarpColumns); }
  int64_t items() const { return warps() * 32; }
  int64_t item_k() const { return kDepth * kColumns / items(); }  // of b, that an item loads
  int64_t a_loads() const { return rows * kDepth / 8 / items(); }
  int64_t a_floats() const { return rows * kDepth / 2; }  // in local memory, two halves in each
  int64_t b_floats() const { return kColumns * kDepth / 2; }
};

MatrixTile tile_of(const TileProduct& product) { return {product.rows > 64 ? 128 : 64}; }

int64_t row_fragments(const TileProduct& product) {
  const int64_t rows = tile_of(product).rows;
  return (product.rows + rows - 1) / rows * (rows / 16);
}
int64_t k_fragments(const TileProduct& product) {
  return (product.k + kDepth - 1) / kDepth * (kDepth / 16);
}

std::string load_text(const TileProduct& product, const MatrixTile& tile) {
  std::string text;
  for (int64_t i = 0; i < tile.a_loads(); ++i) {
    const std::map<std::string, std::string> values{{"i", text_of(i)},
                                                    {"first", text_of(i * tile.items())},
                                                    {"rows", text_of(row_fragments(product))},
                                                    {"tile_rows", text_of(tile.rows / 16)},
                                                    {"depths", text_of(k_fragments(product))}};
    text += filled(R"({
const int u = item + $first;
a_kept$i = BITS8(packed, (((z * $rows + GROUP(1) * $tile_rows + u / 64) * $depths + at / 16 + u / 32 % 2) * 32 + u % 32) * 8);
}
)",
                   values);
  }
  text += "{\n" + product.b.step;
  for (int64_t i = 0; i < tile.item_k(); ++i) {
    std::string inside =
        product.columns % kColumns == 0 ? "" : "column < " + text_of(product.columns);
    if (product.k % kDepth != 0) {
      inside += (inside.empty() ? "k < " : " && k < ") + text_of(product.k);
    }
    text += "{\nconst int k = at + k_from + " + text_of(i) + ";\nuint v = 0;\n" +
            (inside.empty() ? "" : "if (" + inside + ") ") + "{\n" +
            filled(product.b.load, {{"load", "BITS"}}) + "}\nb_kept" + text_of(i / 2) +
            (i % 2 == 0 ? " = v;\n}\n" : " |= v << 16;\n}\n");
  }
  return text + "}\n";
}

// Pairs of column n and place q are in slot q * 8 + (n + 2q) % 8 of the 32 of their fragment, so
// that neither those who write nor those who read meet in a bank of local memory.
std::string store_local_text(const MatrixTile& tile, const std::string& a, const std::string& b) {
  std::string text;
  for (int64_t i = 0; i < tile.a_loads(); ++i) {
    text += "LOCAL_BITS4(" + a + ", item + " + text_of(i * tile.items()) + ") = a_kept" +
            text_of(i) + ";\n";
  }
  for (int64_t f = 0; f < tile.item_k() / 16; ++f) {
    for (int64_t q = 0; q < 4; ++q) {
      const std::string slot =
          "(b_place / 8 * 32 + " + text_of(q * 8) + " + (b_place + " + text_of(2 * q) + ") % 8)";
      text += "LOCAL_BITS2(" + b + ", " + slot + " * 2 + k_from / 16 + " + text_of(f) +
              ") = PAIR(b_kept" + text_of(f * 8 + q) + ", b_kept" + text_of(f * 8 + 4 + q) + ");\n";
    }
  }
  return text;
}

// The sum of fragment m, n of a warp. Without units the loops below walk an array of them.
std::string sum_name(MatrixUnits units, int64_t m, int64_t n) {
  return units == MatrixUnits::kNvidia ? "sum" + text_of(m) + "_" + text_of(n)
                                       : "sums[" + text_of(m * 4 + n) + "]";
}

constexpr std::string_view kEmulated = R"(for (int i = 0; i < 32; ++i) {
const uint4 a = LOCAL_BITS4(a_now, ((warp_down * 4 + i / 8) * 2 + i % 2) * 32 + lane);
const uint4 b = LOCAL_BITS4(b_now, (warp_across * 4 + i / 2 % 4) * 32 + b_slot);
sums[i / 2] = mma_local(sums[i / 2], a, i % 2 == 0 ? b.xy : b.zw, room, lane);
}
)";

std::string multiply_text(MatrixUnits units) {
  if (units == MatrixUnits::kEmulated) return std::string(kEmulated);
  std::string text;
  for (int64_t n = 0; n < 4; ++n) {
    text += "const uint4 b" + text_of(n) + " = LOCAL_BITS4(b_now, (warp_across * 4 + " +
            text_of(n) + ") * 32 + b_slot);\n";
  }
  for (int64_t f = 0; f < kDepth / 16; ++f) {
    for (int64_t m = 0; m < 4; ++m) {
      text += "{\nconst uint4 a = LOCAL_BITS4(a_now, ((warp_down * 4 + " + text_of(m) + ") * 2 + " +
              text_of(f) + ") * 32 + lane);\n";
      for (int64_t n = 0; n < 4; ++n) {
        const std::string sum = sum_name(units, m, n);
        text +=
            sum + " = mma_nvidia(" + sum + ", a, b" + text_of(n) + (f == 0 ? ".xy);\n" : ".zw);\n");
      }
      text += "}\n";
    }
  }
  return text;
}

std::string store_text(const TileProduct& product, MatrixUnits units) {
  std::string text;
  for (int64_t n = 0; n < 4; ++n) {
    for (int64_t e = 0; e < 2; ++e) {
      text += "{\nconst int j = b_origin + warp_across * 32 + " + text_of(n * 8 + e) +
              " + lane % 4 * 2;\nif (j < " + text_of(product.columns) + ") {\n" +
              product.column_setup;
      for (int64_t row = 0; row < 8; ++row) {
        const int64_t m = row / 2, half = row % 2;
        text += "{\nconst int r = a_origin + warp_down * 64 + " + text_of(m * 16 + half * 8) +
                " + lane / 4;\nif (r < " + text_of(product.rows) +
                ") {\nconst int at = " + product.at + ";\nfloat value = " + sum_name(units, m, n) +
                "." + "xyzw"[half * 2 + e] + ";\n" + product.finish +
                "STORE(y, at, value);\n}\n}\n";
      }
      text += "}\n}\n";
    }
  }
  return text;
}

std::string body_of(const TileProduct& product, const MatrixTile& tile, MatrixUnits units) {
  std::string clear;
  if (units == MatrixUnits::kEmulated) clear += "float4 sums[16];\n";
  for (int64_t i = 0; i < 16; ++i) {
    clear += (units == MatrixUnits::kEmulated ? "" : "float4 ") + sum_name(units, i / 4, i % 4) +
             " = ZERO4;\n";
  }
  for (int64_t i = 0; i < tile.a_loads(); ++i) clear += "uint4 a_kept" + text_of(i) + ";\n";
  for (int64_t i = 0; i < tile.item_k() / 2; ++i) clear += "uint b_kept" + text_of(i) + ";\n";
  return filled(R"(const int item = ITEM(0);
const int lane = item % 32;
const int warp_across = item / 32 % $across;
const int warp_down = item / 32 / $across;
const int b_slot = lane % 4 * 8 + (lane / 4 + lane % 4 * 2) % 8;
const int b_place = item % $columns;
const int k_from = item / $columns * $item_k;
$room
const int z = GROUP(2);
const int a_origin = GROUP(1) * $rows;
const int b_origin = GROUP(0) * $columns;
const int column = b_origin + b_place;
$setup$clear
{
const int at = 0;
$load}
int now = 0;
$store_first
BARRIER;
for (int first = 0; first < $k; first += $depth) {
const int at = first + $depth;
if (at < $k) {
$load}
{
LOCAL_ARRAY a_now = a_tile + now * $a_floats;
LOCAL_ARRAY b_now = b_tile + now * $b_floats;
$multiply}
now = 1 - now;
if (at < $k) {
LOCAL_ARRAY a_next = a_tile + now * $a_floats;
LOCAL_ARRAY b_next = b_tile + now * $b_floats;
$store}
BARRIER;
}
$finish)",
                {{"across", text_of(kColumns / kWarpColumns)},
                 {"columns", text_of(kColumns)},
                 {"rows", text_of(tile.rows)},
                 {"item_k", text_of(tile.item_k())},
                 {"room", units == MatrixUnits::kEmulated
                              ? "__local uint* room = (__local uint*)fragments + item / 32 * 192;"
                              : ""},
                 {"setup", product.b.setup},
                 {"clear", clear},
                 {"k", text_of(product.k)},
                 {"depth", text_of(kDepth)},
                 {"a_floats", text_of(tile.a_floats())},
                 {"b_floats", text_of(tile.b_floats())},
                 {"load", load_text(product, tile)},
                 {"store_first", store_local_text(tile, "a_tile", "b_tile")},
                 {"store", store_local_text(tile, "a_next", "b_next")},
                 {"multiply", multiply_text(units)},
                 {"finish", store_text(product, units)}});
}

}  // namespace

Tensor matrix_table(const TileProduct& product,
                    const std::function<float(int64_t, int64_t, int64_t)>& element) {
  const int64_t rows = row_fragments(product), depths = k_fragments(product);
  Tensor table({DType::kF32, {product.batch * rows * depths * 256}});
  const std::span<float> to = table.data<float>();
  for (int64_t z = 0; z < product.batch; ++z) {
    for (int64_t row = 0; row < product.rows; ++row) {
      for (int64_t k = 0; k < product.k; ++k) {
        const int64_t lane = row % 8 * 4 + k % 8 / 2, pair = row % 16 / 8 + k % 16 / 8 * 2;
        const int64_t fragment = (z * rows + row / 16) * depths + k / 16;
        to[static_cast<size_t>((fragment * 32 + lane) * 8 + pair * 2 + k % 2)] = element(z, row, k);
      }
    }
  }
  return table;
}

std::optional<Work> make_matrix(const TileProduct& product, std::vector<Argument> arguments,
                                const Capabilities& device) {
  constexpr int64_t kLeast = 16;
  if (device.matrix_units == MatrixUnits::kNone || product.rows < kLeast ||
      product.columns < kLeast || product.k < kLeast) {
    return std::nullopt;
  }
  const MatrixTile tile = tile_of(product);
  const std::array<int64_t, 3> groups{(product.columns + kColumns - 1) / kColumns,
                                      (product.rows + tile.rows - 1) / tile.rows, product.batch};
  // With few groups most of the device would idle: smaller tiles do better.
  const bool is_emulated = device.matrix_units == MatrixUnits::kEmulated;
  if (!is_emulated && groups[0] * groups[1] * groups[2] * 3 < device.compute_units) {
    return std::nullopt;
  }
  std::vector<LocalArray> locals{{"a_tile", 2 * tile.a_floats()}, {"b_tile", 2 * tile.b_floats()}};
  if (is_emulated) locals.push_back({"fragments", tile.warps() * 192});
  int64_t bytes = 0;
  for (const LocalArray& local : locals) bytes += local.elements * 4;
  if (tile.items() > device.max_group_items || bytes > device.local_bytes) return std::nullopt;
  arguments.push_back({Argument::Kind::kTable, 0, "packed"});
  Work work{.kernel = "matrix"};
  work.launches.push_back({std::move(arguments),
                           std::move(locals),
                           body_of(product, tile, device.matrix_units),
                           groups,
                           {tile.items(), 1, 1}});
  return work;
}

}  // namespace shoal::gpu
