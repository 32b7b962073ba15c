// A group computes a tile of y. For every kDepth of k it brings the tiles of a and b that it needs
// into local memory, and each item adds its part of the product in registers: rows and columns in
// vectors of four, spread over the tile so that neighbours read neighbours. The elements of the
// next step are loaded into registers before those of this step are multiplied, so that memory
// works while the items do.
#include "shoal/gpu/tiles.h"

#include <algorithm>
#include <limits>

#include "shoal/gpu/source.h"

namespace shoal::gpu {
namespace {

constexpr int64_t kDepth = 8;  // of k, in one step

struct Tile {
  int64_t rows, columns;            // of a group
  int64_t item_rows, item_columns;  // of an item; multiples of 4

  int64_t across() const { return columns / item_columns; }
  int64_t down() const { return rows / item_rows; }
  int64_t items() const { return across() * down(); }
};

// In each, a whole number of rows of b's tile is loaded at once, so that an item stays with its
// column.
constexpr Tile kTiles[] = {{128, 128, 8, 8}, {64, 128, 8, 8}, {64, 64, 8, 4},
                           {32, 128, 4, 8},  {32, 64, 4, 4},  {32, 32, 4, 4}};

// A tile along k is written column by column; four more elements spread that over the banks of
// local memory.
int64_t pitch(int64_t length, const TileOperand& operand) {
  return operand.along_k ? length + 4 : length;
}

int64_t local_elements(const Tile& tile, const TileProduct& product) {
  return kDepth * (pitch(tile.rows, product.a) + pitch(tile.columns, product.b));
}

// Rounds of groups over the device, times what a group computes; the smaller an item's share, the
// more it loads for each product.
double cost(const Tile& tile, const TileProduct& product, int64_t units) {
  const int64_t groups = (product.rows + tile.rows - 1) / tile.rows *
                         ((product.columns + tile.columns - 1) / tile.columns) * product.batch;
  const double loads =
      1.0 / static_cast<double>(tile.item_rows) + 1.0 / static_cast<double>(tile.item_columns);
  return static_cast<double>((groups + units - 1) / units) *
         static_cast<double>(tile.rows * tile.columns) * (1 + 2 * loads);
}

std::optional<Tile> choose(const TileProduct& product, const Capabilities& device) {
  std::optional<Tile> best;
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const int64_t bytes = local_elements(tile, product) * static_cast<int64_t>(sizeof(float));
    if (tile.items() > device.max_group_items || bytes > device.local_bytes) continue;
    const double time = cost(tile, product, std::max<int64_t>(device.compute_units, 1));
    if (time < least) best = tile;
    least = std::min(least, time);
  }
  return best;
}

// The texts that bring a tile of one operand in: what is computed once, the loads into registers
// for the step that begins at `from`, and the stores into local memory.
class Loader {
 public:
  Loader(char name, const TileOperand& operand, int64_t length, int64_t total, int64_t items)
      : name_(name), operand_(operand), length_(length), total_(total), items_(items) {}

  std::string setup() const {
    std::string text;
    for (int64_t e = 0; e < count(); ++e) text += "float " + kept(e) + " = 0.0f;\n";
    if (operand_.along_k) return text;
    return text + "const int " + index() + " = " + name_ + "_origin + item % " + text_of(length_) +
           ";\n" + operand_.setup;
  }

  std::string load(const std::string& from, int64_t k) const {
    std::string text;
    for (int64_t e = 0; e < count(); ++e) {
      text += "{\nconst int k = " + from + " + " + step(e) + ";\n";
      if (operand_.along_k) {
        text += "const int " + index() + " = " + name_ + "_origin + " + place(e) + ";\n" +
                operand_.setup;
      }
      text += "float v = 0.0f;\nif (" + index() + " < " + text_of(total_) + " && k < " +
              text_of(k) + ") {\n" + operand_.load + "}\n" + kept(e) + " = v;\n}\n";
    }
    return text;
  }

  std::string store() const {
    std::string text;
    for (int64_t e = 0; e < count(); ++e) {
      text += std::string(1, name_) + "_tile[(" + step(e) + ") * " +
              text_of(pitch(length_, operand_)) + " + " + place(e) + "] = " + kept(e) + ";\n";
    }
    return text;
  }

 private:
  int64_t count() const { return length_ * kDepth / items_; }
  std::string index() const { return name_ == 'a' ? "row" : "column"; }
  std::string kept(int64_t e) const { return std::string(1, name_) + "_kept" + text_of(e); }
  // Where element e of an item lies in the tile.
  std::string step(int64_t e) const {
    if (operand_.along_k) return "item % " + text_of(kDepth);
    return "item / " + text_of(length_) + " + " + text_of(e * items_ / length_);
  }
  std::string place(int64_t e) const {
    if (!operand_.along_k) return "item % " + text_of(length_);
    return "(item / " + text_of(kDepth) + " + " + text_of(e * items_ / kDepth) + ")";
  }

  const char name_;
  const TileOperand& operand_;
  const int64_t length_, total_, items_;
};

constexpr char kLanes[] = {'x', 'y', 'z', 'w'};

std::string sum_name(int64_t row, int64_t vector) {
  return "sum" + text_of(row) + "_" + text_of(vector);
}

// One step of k, from local memory.
std::string multiply_text(const Tile& tile, const TileProduct& product) {
  std::string text = "for (int k = 0; k < " + text_of(kDepth) + "; ++k) {\n";
  for (int64_t q = 0; q < tile.item_rows / 4; ++q) {
    text += "const float4 a" + text_of(q) + " = LOCAL4(a_tile, k * " +
            text_of(pitch(tile.rows, product.a)) + " + down * 4 + " + text_of(q * tile.down() * 4) +
            ");\n";
  }
  for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
    text += "const float4 b" + text_of(p) + " = LOCAL4(b_tile, k * " +
            text_of(pitch(tile.columns, product.b)) + " + across * 4 + " +
            text_of(p * tile.across() * 4) + ");\n";
  }
  for (int64_t row = 0; row < tile.item_rows; ++row) {
    for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
      text += sum_name(row, p) + " += a" + text_of(row / 4) + "." + kLanes[row % 4] + " * b" +
              text_of(p) + ";\n";
    }
  }
  return text + "}\n";
}

std::string store_text(const Tile& tile, const TileProduct& product) {
  std::string text;
  for (int64_t column = 0; column < tile.item_columns; ++column) {
    text += "{\nconst int j = b_origin + across * 4 + " +
            text_of(column / 4 * tile.across() * 4 + column % 4) + ";\nif (j < " +
            text_of(product.columns) + ") {\n" + product.column_setup;
    for (int64_t row = 0; row < tile.item_rows; ++row) {
      text += "{\nconst int r = a_origin + down * 4 + " +
              text_of(row / 4 * tile.down() * 4 + row % 4) + ";\nif (r < " + text_of(product.rows) +
              ") {\nfloat value = " + sum_name(row, column / 4) + "." + kLanes[column % 4] + ";\n" +
              product.finish + "}\n}\n";
    }
    text += "}\n}\n";
  }
  return text;
}

std::string body_of(const Tile& tile, const TileProduct& product) {
  const Loader a('a', product.a, tile.rows, product.rows, tile.items());
  const Loader b('b', product.b, tile.columns, product.columns, tile.items());
  std::string clear;
  for (int64_t row = 0; row < tile.item_rows; ++row) {
    for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
      clear += "float4 " + sum_name(row, p) + " = ZERO4;\n";
    }
  }
  return filled(R"(const int item = ITEM(0);
const int across = item % $across;
const int down = item / $across;
const int z = GROUP(2);
const int a_origin = GROUP(1) * $rows;
const int b_origin = GROUP(0) * $columns;
$clear$setup$first
for (int at = 0; at < $k; at += $depth) {
$store
BARRIER;
const int next = at + $depth;
if (next < $k) {
$load}
$multiply
BARRIER;
}
$finish)",
                {{"across", text_of(tile.across())},
                 {"rows", text_of(tile.rows)},
                 {"columns", text_of(tile.columns)},
                 {"clear", clear},
                 {"setup", a.setup() + b.setup()},
                 {"first", a.load("0", product.k) + b.load("0", product.k)},
                 {"k", text_of(product.k)},
                 {"depth", text_of(kDepth)},
                 {"store", a.store() + b.store()},
                 {"load", a.load("next", product.k) + b.load("next", product.k)},
                 {"multiply", multiply_text(tile, product)},
                 {"finish", store_text(tile, product)}});
}

}  // namespace

std::optional<Launch> make_tiles(const TileProduct& product, std::vector<Argument> arguments,
                                 const Capabilities& device) {
  constexpr int64_t kLeast = 16;
  if (!device.has_local_memory() || product.rows < kLeast || product.columns < kLeast ||
      product.k < kLeast) {
    return std::nullopt;
  }
  const std::optional<Tile> tile = choose(product, device);
  if (!tile) return std::nullopt;
  return Launch{std::move(arguments),
                {{"a_tile", kDepth * pitch(tile->rows, product.a)},
                 {"b_tile", kDepth * pitch(tile->columns, product.b)}},
                body_of(*tile, product),
                {(product.columns + tile->columns - 1) / tile->columns,
                 (product.rows + tile->rows - 1) / tile->rows, product.batch},
                {tile->items(), 1, 1}};
}

}  // namespace shoal::gpu
