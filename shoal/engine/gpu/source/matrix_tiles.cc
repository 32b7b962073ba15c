// As tiles.cc, in half precision: a warp, 32 items of a group, computes 64 rows and 32 or 64
// columns of y as products of fragments, [16, 16] x [16, 8], added in f32. Items hold fragments as
// mma.m16n8k16 of PTX has them; with g = lane / 4 and q = lane % 4, an item has
//
//   of a  rows g and g + 8, and k 2q, 2q + 1, 2q + 8 and 2q + 9: four pairs along k
//   of b  column g, and the same k: two pairs
//   of y  rows g and g + 8, and columns 2q and 2q + 1
//
// Which k of a step of 32 is which k of its two fragments does not matter, as long as a and b agree
// in it, nor does it which column of a block of 32 is which of its four fragments. They are dealt
// out so that what an item has is contiguous:
//
//   k       8q + 4f + 2h + e       is  2q + 8h + e  of fragment f,   e and h being 0 or 1
//   column  16F + 4q + 2f + e      is  2q + e       of fragment 2F + f
//
// An item loads eight k of b at once where they are neighbours in memory, puts them into local
// memory as one vector, finds there what its fragments need of a column as one vector, and stores
// four columns of y as one. Weights are stored as fragments before.
#include <algorithm>

#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/source/tiles.h"

namespace shoal::gpu {
namespace {

constexpr int64_t kDepth = kMostDepth;  // of k, in one step: two fragments
constexpr int64_t kWarpRows = 64, kColumns = 128;
constexpr int64_t kAhead = 2;  // steps whose elements are on their way, by MatrixWay::kAhead
constexpr int64_t kEights = kColumns * kDepth / 8;  // of b, in one step

struct MatrixTile {
  int64_t rows, warp_columns;
  bool is_ahead = false;
  int64_t stages() const { return is_ahead ? kAhead + 1 : 2; }  // steps that local memory holds
  int64_t warps() const { return rows / kWarpRows * (kColumns / warp_columns); }
  int64_t items() const { return warps() * 32; }
  int64_t fragments() const { return warp_columns / 8; }  // along a row of a warp
  int64_t a_loads() const { return rows * kDepth / 8 / items(); }
  int64_t b_loads() const { return kEights / items(); }
  int64_t a_floats() const { return rows * kDepth / 2; }  // in local memory, two halves in each
  int64_t b_floats() const { return kColumns * kDepth / 2; }
};

int64_t tile_rows(const TileProduct& product) { return product.rows > kWarpRows ? 128 : 64; }

int64_t row_fragments(const TileProduct& product) {
  const int64_t rows = tile_rows(product);
  return (product.rows + rows - 1) / rows * (rows / 16);
}
int64_t k_fragments(const TileProduct& product) {
  return (product.k + kDepth - 1) / kDepth * (kDepth / 16);
}

// Which eights of b an item brings. Neighbours bring neighbours in memory: columns, or the four
// eights of a column.
std::string place_text(const TileProduct& product) {
  return product.b.in_eights ? "item / 4" : "item % " + text_of(kColumns);
}
std::string eight_text(const TileProduct& product, const MatrixTile& tile, int64_t i) {
  if (product.b.in_eights) return "item % 4";
  return "(item / " + text_of(kColumns) + " * " + text_of(tile.b_loads()) + " + " + text_of(i) +
         ")";
}
// Columns from the first that an item brings to the i-th: a multiple of 32.
int64_t columns_before(const TileProduct& product, const MatrixTile& tile, int64_t i) {
  return product.b.in_eights ? i * tile.items() / 4 : 0;
}

// What is computed once. Columns that do not exist are loaded as the last one, and not stored.
std::string setup_text(const TileProduct& product, const MatrixTile& tile) {
  if (!product.b.in_eights) return "const int column = b_origin + b_place;\n" + product.b.setup;
  const std::string last = text_of(product.columns - 1);
  std::string text;
  for (int64_t i = 0; i < tile.b_loads(); ++i) {
    const std::string number = text_of(i);
    text += "int b_from" + number + ";\n{\nconst int any = b_origin + b_place + " +
            text_of(columns_before(product, tile, i)) + ";\nconst int column = any < " + last +
            " ? any : " + last + ";\n" + product.b.setup + "b_from" + number + " = from;\n}\n";
  }
  return text;
}

std::string load_eight_text(const TileProduct& product, const std::string& kept,
                            const std::string& eight) {
  std::string text;
  for (int64_t e = 0; e < 8; ++e) {
    std::string inside =
        product.columns % kColumns == 0 ? "" : "column < " + text_of(product.columns);
    if (product.k % kDepth != 0) {
      inside += (inside.empty() ? "k < " : " && k < ") + text_of(product.k);
    }
    text += "{\nconst int k = at + " + eight + " * 8 + " + text_of(e) + ";\nuint v = 0;\n" +
            (inside.empty() ? "" : "if (" + inside + ") ") + "{\n" +
            filled(product.b.load, {{"load", "BITS"}}) + "}\n" + kept + "." + "xyzw"[e / 2] +
            (e % 2 == 0 ? " = v;\n}\n" : " |= v << 16;\n}\n");
  }
  return text;
}

// Where the i-th eight of an item is among the weights.
std::string a_place_text(const TileProduct& product, const MatrixTile& tile, int64_t i) {
  return filled(
      "(((z * $rows + GROUP(1) * $tile_rows + ($u) / 64) * $depths + at / 16 + ($u) / 32 % 2) * 32"
      " + ($u) % 32) * 8",
      {{"u", "item + " + text_of(i * tile.items())},
       {"rows", text_of(row_fragments(product))},
       {"tile_rows", text_of(tile.rows / 16)},
       {"depths", text_of(k_fragments(product))}});
}

std::string load_text(const TileProduct& product, const MatrixTile& tile) {
  std::string text;
  for (int64_t i = 0; i < tile.a_loads(); ++i) {
    text += "a_kept" + text_of(i) + " = BITS8(packed, " + a_place_text(product, tile, i) + ");\n";
  }
  text += "{\n" + product.b.step;
  for (int64_t i = 0; i < tile.b_loads(); ++i) {
    const std::string kept = "b_kept" + text_of(i), eight = eight_text(product, tile, i);
    text += product.b.in_eights
                ? "{\nconst int from = b_from" + text_of(i) + ";\nconst int k = at + " + eight +
                      " * 8;\n" + kept + " = BITS8(x_last, " + product.b.load + ");\n}\n"
                : load_eight_text(product, kept, eight);
  }
  return text + "}\n";
}

// Where the i-th eight of an item goes in local memory. Eight q of column n of fragment f is in
// slot 8q + (n + 2q + 4f) % 8 of the 32 of its fragment, so that neither writes nor reads conflict
// in a bank of local memory.
std::string b_slot_text(const TileProduct& product, const MatrixTile& tile, int64_t i) {
  const std::string eight = eight_text(product, tile, i);
  return "(b_fragment + " + text_of(columns_before(product, tile, i) / 8) + ") * 32 + " + eight +
         " * 8 + (b_turn + " + eight + " * 2) % 8";
}

std::string store_local_text(const TileProduct& product, const MatrixTile& tile,
                             const std::string& a, const std::string& b) {
  std::string text;
  for (int64_t i = 0; i < tile.a_loads(); ++i) {
    text += "LOCAL_BITS4(" + a + ", item + " + text_of(i * tile.items()) + ") = a_kept" +
            text_of(i) + ";\n";
  }
  for (int64_t i = 0; i < tile.b_loads(); ++i) {
    text += "LOCAL_BITS4(" + b + ", " + b_slot_text(product, tile, i) + ") = b_kept" + text_of(i) +
            ";\n";
  }
  return text;
}

// Copies the elements of the step that begins at `at`, to the stage that begins at a_to and b_to.
std::string copy_text(const TileProduct& product, const MatrixTile& tile) {
  std::string text = product.b.step;
  for (int64_t i = 0; i < tile.a_loads(); ++i) {
    text += "COPY8(a_to, item + " + text_of(i * tile.items()) + ", packed, " +
            a_place_text(product, tile, i) + ");\n";
  }
  for (int64_t i = 0; i < tile.b_loads(); ++i) {
    text += "{\nconst int from = b_from" + text_of(i) + ";\nconst int k = at + " +
            eight_text(product, tile, i) + " * 8;\n" + "COPY8(b_to, " +
            b_slot_text(product, tile, i) + ", x_last, " + product.b.load + ");\n}\n";
  }
  return text;
}

// The sum of fragment m, n of a warp. Without units the loops below walk an array of them.
std::string sum_name(const MatrixTile& tile, MatrixUnits units, int64_t m, int64_t n) {
  return units == MatrixUnits::kNvidia ? "sum" + text_of(m) + "_" + text_of(n)
                                       : "sums[" + text_of(m * tile.fragments() + n) + "]";
}

constexpr std::string_view kEmulated = R"(for (int i = 0; i < $count; ++i) {
const int n = i / 2 % $fragments;
const uint4 a = LOCAL_BITS4(a_now, ((warp_down * 4 + i / 2 / $fragments) * 2 + i % 2) * 32 + lane);
const uint4 b = LOCAL_BITS4(b_now, (warp_across * $fragments + n) * 32 + (b_slot ^ n % 2 * 4));
sums[i / 2] = mma_local(sums[i / 2], a, i % 2 == 0 ? b.xy : b.zw, exchanged, lane);
}
)";

std::string multiply_text(const MatrixTile& tile, MatrixUnits units) {
  const int64_t fragments = tile.fragments();
  if (units == MatrixUnits::kEmulated) {
    return filled(kEmulated,
                  {{"count", text_of(8 * fragments)}, {"fragments", text_of(fragments)}});
  }
  std::string text;
  for (int64_t n = 0; n < fragments; ++n) {
    text += "const uint4 b" + text_of(n) + " = LOCAL_BITS4(b_now, (warp_across * " +
            text_of(fragments) + " + " + text_of(n) +
            (n % 2 == 0 ? ") * 32 + b_slot);\n" : ") * 32 + (b_slot ^ 4));\n");
  }
  for (int64_t f = 0; f < kDepth / 16; ++f) {
    for (int64_t m = 0; m < 4; ++m) {
      text += "{\nconst uint4 a = LOCAL_BITS4(a_now, ((warp_down * 4 + " + text_of(m) + ") * 2 + " +
              text_of(f) + ") * 32 + lane);\n";
      for (int64_t n = 0; n < fragments; ++n) {
        const std::string sum = sum_name(tile, units, m, n);
        text +=
            sum + " = mma_nvidia(" + sum + ", a, b" + text_of(n) + (f == 0 ? ".xy);\n" : ".zw);\n");
      }
      text += "}\n";
    }
  }
  return text;
}

// Four columns of all rows of an item, as one vector each or one by one.
std::string store_tile_text(const TileProduct& product, const MatrixTile& tile, MatrixUnits units) {
  const int64_t count = product.in_fours ? 4 : 1;
  std::string text;
  for (int64_t column = 0; column < tile.warp_columns / 4; column += count) {
    text += "{\nconst int j = b_origin + warp_across * " + text_of(tile.warp_columns) +
            " + lane % 4 * 4 + " + text_of(column / 4 * 16 + column % 4) + ";\nif (j < " +
            text_of(product.columns) + ") {\n" + product.column_setup;
    for (int64_t row = 0; row < 8; ++row) {
      const int64_t m = row / 2, half = row % 2;
      std::vector<std::string> values;
      for (int64_t c = column; c < column + count; ++c) {
        values.push_back(sum_name(tile, units, m, c / 2) + "." + "xyzw"[half * 2 + c % 2]);
      }
      text += "{\nconst int r = a_origin + warp_down * 64 + " + text_of(m * 16 + half * 8) +
              " + lane / 4;\nif (r < " + text_of(product.rows) + ") {\n" +
              store_text(product, values) + "}\n}\n";
    }
    text += "}\n}\n";
  }
  return text;
}

std::string clear_text(const MatrixTile& tile, MatrixUnits units) {
  const bool is_emulated = units == MatrixUnits::kEmulated;
  const int64_t fragments = tile.fragments();
  std::string text = is_emulated ? "float4 sums[" + text_of(4 * fragments) + "];\n" : "";
  for (int64_t i = 0; i < 4 * fragments; ++i) {
    text += (is_emulated ? "" : "float4 ") + sum_name(tile, units, i / fragments, i % fragments) +
            " = ZERO4;\n";
  }
  if (tile.is_ahead) return text;
  for (int64_t i = 0; i < tile.a_loads(); ++i) text += "uint4 a_kept" + text_of(i) + ";\n";
  for (int64_t i = 0; i < tile.b_loads(); ++i) text += "uint4 b_kept" + text_of(i) + ";\n";
  return text;
}

constexpr std::string_view kBegin = R"(const int item = ITEM(0);
const int lane = item % 32;
const int warp_across = item / 32 % $across;
const int warp_down = item / 32 / $across;
const int b_slot = lane % 4 * 8 + (lane / 4 + lane % 4 * 2) % 8;
const int b_place = $place;
const int b_fragment = b_place / 16 * 2 + b_place % 4 / 2;
const int b_turn = b_place % 16 / 4 * 2 + b_place % 2 + b_fragment * 4;
$exchanged
const int z = GROUP(2);
const int a_origin = GROUP(1) * $rows;
const int b_origin = GROUP(0) * $columns;
$setup$clear)";

constexpr std::string_view kSteps = R"({
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
)";

// Of three stages, one is multiplied and two are on their way. Behind the barrier, all items have
// what they copied for this step and are done with the step before, whose stage is copied to next.
constexpr std::string_view kStepsAhead = R"(for (int early = 0; early < $ahead; ++early) {
const int at = early * $depth;
if (at < $k) {
LOCAL_ARRAY a_to = a_tile + early * $a_floats;
LOCAL_ARRAY b_to = b_tile + early * $b_floats;
$copy}
END_COPIES;
}
int now = 0;
for (int first = 0; first < $k; first += $depth) {
WAIT_FOR_COPIES;
BARRIER;
{
const int at = first + $ahead * $depth;
const int next = now == 0 ? $ahead : now - 1;
if (at < $k) {
LOCAL_ARRAY a_to = a_tile + next * $a_floats;
LOCAL_ARRAY b_to = b_tile + next * $b_floats;
$copy}
END_COPIES;
}
{
LOCAL_ARRAY a_now = a_tile + now * $a_floats;
LOCAL_ARRAY b_now = b_tile + now * $b_floats;
$multiply}
now = now == $ahead ? 0 : now + 1;
}
)";

std::string steps_text(const TileProduct& product, const MatrixTile& tile, MatrixUnits units) {
  std::map<std::string, std::string> values{{"k", text_of(product.k)},
                                            {"depth", text_of(kDepth)},
                                            {"a_floats", text_of(tile.a_floats())},
                                            {"b_floats", text_of(tile.b_floats())},
                                            {"multiply", multiply_text(tile, units)}};
  if (tile.is_ahead) {
    values["ahead"] = text_of(kAhead);
    values["copy"] = copy_text(product, tile);
    return filled(kStepsAhead, values);
  }
  values["load"] = load_text(product, tile);
  values["store_first"] = store_local_text(product, tile, "a_tile", "b_tile");
  values["store"] = store_local_text(product, tile, "a_next", "b_next");
  return filled(kSteps, values);
}

std::string body_of(const TileProduct& product, const MatrixTile& tile, MatrixUnits units) {
  const std::string exchanged =
      "__local uint* exchanged = (__local uint*)fragments + item / 32 * 192;";
  return filled(kBegin, {{"across", text_of(kColumns / tile.warp_columns)},
                         {"columns", text_of(kColumns)},
                         {"rows", text_of(tile.rows)},
                         {"place", place_text(product)},
                         {"exchanged", units == MatrixUnits::kEmulated ? exchanged : ""},
                         {"setup", setup_text(product, tile)},
                         {"clear", clear_text(tile, units)}}) +
         steps_text(product, tile, units) + store_tile_text(product, tile, units);
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
        const int64_t lane = row % 8 * 4 + k % 32 / 8, pair = row % 16 / 8 + k % 4 / 2 * 2;
        const int64_t fragment = (z * rows + row / 16) * depths + k / 32 * 2 + k % 8 / 4;
        to[static_cast<size_t>((fragment * 32 + lane) * 8 + pair * 2 + k % 2)] = element(z, row, k);
      }
    }
  }
  return table;
}

std::optional<Work> make_matrix(const TileProduct& product, std::vector<Argument> arguments,
                                const Capabilities& device, MatrixWay way) {
  constexpr int64_t kLeast = 16;
  if (device.matrix_units == MatrixUnits::kNone || product.rows < kLeast ||
      product.columns < kLeast || product.k < kLeast) {
    return std::nullopt;
  }
  const bool is_ahead = way == MatrixWay::kAhead;
  const int64_t rows = tile_rows(product);
  const bool is_narrow = way == MatrixWay::kNarrow || (is_ahead && rows == kWarpRows);
  const MatrixTile tile{rows, is_narrow ? 32 : 64, is_ahead};
  if (is_ahead && !product.b.in_eights) return std::nullopt;
  constexpr int64_t kLeastItems = kColumns;  // so that an item brings k of one column
  if (tile.items() < kLeastItems) return std::nullopt;
  const std::array<int64_t, 3> groups{(product.columns + kColumns - 1) / kColumns,
                                      (product.rows + tile.rows - 1) / tile.rows, product.batch};
  // With few groups most of the device would idle: smaller tiles do better.
  const bool is_emulated = device.matrix_units == MatrixUnits::kEmulated;
  if (!is_emulated && groups[0] * groups[1] * groups[2] * 3 < device.compute_units) {
    return std::nullopt;
  }
  std::vector<LocalArray> locals{{"a_tile", tile.stages() * tile.a_floats()},
                                 {"b_tile", tile.stages() * tile.b_floats()}};
  if (is_emulated) locals.push_back({"fragments", tile.warps() * 192});
  int64_t bytes = 0;
  for (const LocalArray& local : locals) bytes += local.elements * 4;
  if (tile.items() > device.max_group_items || bytes > device.local_bytes) return std::nullopt;
  arguments.push_back({Argument::Kind::kTable, 0, "packed"});
  constexpr const char* kNames[] = {"matrix", "matrix-wide", "matrix-ahead"};
  Work work{.kernel = kNames[static_cast<size_t>(way)]};
  work.launches.push_back({std::move(arguments),
                           std::move(locals),
                           body_of(product, tile, device.matrix_units),
                           groups,
                           {tile.items(), 1, 1}});
  return work;
}

}  // namespace shoal::gpu
