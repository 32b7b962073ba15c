// A group computes a tile of y. For every step along k it brings the tiles of a and b that it needs
// into local memory, and each item adds its part of the product in registers: rows and columns in
// vectors of four, spread over the tile so that neighbours read neighbours. There are two tiles of
// each: the elements of the next step are loaded into registers before those of this step are
// multiplied, and stored after, so that memory works while the items do and a step has one barrier.
//
// If y has too few tiles for the device, k is cut into parts, one per group. They write their sums
// to scratch memory, and the last of them to arrive adds all parts, in their order: one launch, and
// the same bits each time. An atomic counts the groups to find the last; the counter is 0 again in
// the end.
#include "shoal/engine/gpu/source/tiles.h"

#include <algorithm>
#include <limits>

#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

struct Tile {
  int64_t rows, columns;            // of a group
  int64_t item_rows, item_columns;  // of an item; multiples of 4
  int64_t depth;                    // of k, in one step

  int64_t across() const { return columns / item_columns; }
  int64_t down() const { return rows / item_rows; }
  int64_t items() const { return across() * down(); }
};

// In each, a whole number of rows of b's tile is loaded at once, so that an item stays with its
// column. The smaller ones are for products that have few of them, which wait for memory: their
// steps are longer.
constexpr Tile kTiles[] = {{64, 128, 8, 8, 16},
                           {64, 64, 8, 4, 16},
                           {32, 128, 4, 8, 16},
                           {32, 64, 4, 4, 16},
                           {32, 32, 4, 4, 32}};

// A product and how it is cut.
struct Cut {
  Tile tile;
  int64_t parts = 1;  // of k

  int64_t tiles(const TileProduct& product) const {
    return (product.rows + tile.rows - 1) / tile.rows *
           ((product.columns + tile.columns - 1) / tile.columns) * product.batch;
  }
  // The k of a part; the last one may have fewer.
  int64_t part_k(const TileProduct& product) const {
    const int64_t steps = (product.k + tile.depth - 1) / tile.depth;
    return (steps + parts - 1) / parts * tile.depth;
  }
};

// A tile along k is written column by column; four more elements spread that over the banks of
// local memory.
int64_t pitch(int64_t length, const TileOperand& operand) {
  return operand.along_k ? length + 4 : length;
}

int64_t a_elements(const Tile& tile, const TileProduct& product) {
  return tile.depth * pitch(tile.rows, product.a);
}
int64_t b_elements(const Tile& tile, const TileProduct& product) {
  return tile.depth * pitch(tile.columns, product.b);
}

// Cycles, roughly. A unit does 128 products in a cycle, and has some groups in progress at once;
// the smaller an item's share, the more it loads for each product. A group alone waits for memory
// and then for its own products. The constants were found on an H200.
double cost(const Cut& cut, const TileProduct& product, int64_t units) {
  constexpr double kProducts = 128, kLatency = 700, kOwn = 1.6, kAddPart = 12, kJoin = 2500;
  const Tile& tile = cut.tile;
  const int64_t groups = cut.tiles(product) * cut.parts;
  const int64_t most = (tile.item_rows * tile.item_columns > 32 ? 512 : 1024) / tile.items();
  const int64_t at_once = std::min(most, (groups + units - 1) / units);
  const double rounds = static_cast<double>((groups + units * at_once - 1) / (units * at_once));
  const double loads =
      1.0 / static_cast<double>(tile.item_rows) + 1.0 / static_cast<double>(tile.item_columns);
  const double all = static_cast<double>(at_once * tile.rows * tile.columns * tile.depth) *
                     (1 + 2 * loads) / kProducts;
  const auto elements = static_cast<double>(tile.item_rows * tile.item_columns);
  const double alone = kLatency + kOwn * elements * static_cast<double>(tile.depth);
  const double steps = static_cast<double>(cut.part_k(product) / tile.depth);
  const double join =
      cut.parts == 1 ? 0 : kJoin + kAddPart * static_cast<double>(cut.parts) * elements;
  return rounds * steps * std::max(alone, all) + join;
}

// The ways to cut a product that are worth a try, the best first by their cost.
std::vector<Cut> cuts_of(const TileProduct& product, const Capabilities& device) {
  // Gradients of weights have sums over all positions of all images, and few tiles.
  constexpr int64_t kVeryLong = 16'384;
  const int64_t most_parts = !device.groups_meet ? 1 : product.k < kVeryLong ? 32 : 128;
  constexpr int64_t kFew = 2;  // tiles for each unit: with more of them, the device is busy anyway
  std::vector<std::pair<double, Cut>> all;
  for (const Tile& tile : kTiles) {
    const int64_t bytes = 2 * (a_elements(tile, product) + b_elements(tile, product)) *
                          static_cast<int64_t>(sizeof(float));
    if (tile.items() > device.max_group_items || bytes > device.local_bytes) continue;
    const int64_t steps = (product.k + tile.depth - 1) / tile.depth;
    for (int64_t parts = 1; parts <= std::min(most_parts, steps); parts *= 2) {
      const int64_t each = (steps + parts - 1) / parts;
      const Cut cut{tile, (steps + each - 1) / each};  // none is empty
      if (parts > 1 && cut.tiles(product) > kFew * device.compute_units) break;
      all.emplace_back(cost(cut, product, std::max<int64_t>(device.compute_units, 1)), cut);
    }
  }
  std::ranges::stable_sort(all, {}, &std::pair<double, Cut>::first);
  constexpr double kWorse = 2;
  std::vector<Cut> cuts;
  for (const auto& [cycles, cut] : all) {
    if (cycles <= kWorse * all.front().first) cuts.push_back(cut);
  }
  return cuts;
}

// The texts that bring a tile of one operand in: what is computed once, the loads into registers
// for the step that begins at `at`, and the stores into local memory.
class Loader {
 public:
  Loader(char name, const TileOperand& operand, const Tile& tile, int64_t total)
      : name_(name),
        operand_(operand),
        length_(name == 'a' ? tile.rows : tile.columns),
        depth_(tile.depth),
        total_(total),
        items_(tile.items()) {}

  std::string setup() const {
    std::string text;
    for (int64_t e = 0; e < count(); ++e) {
      text += operand_.in_fours ? "float4 " + kept(e) + " = ZERO4;\n"
                                : "float " + kept(e) + " = 0.0f;\n";
    }
    if (operand_.along_k) return text;
    return text + "const int " + index() + " = " + name_ + "_origin + " + place(0) + ";\n" +
           operand_.setup;
  }

  std::string load(int64_t k) const {
    std::string text = "{\n" + operand_.step;
    for (int64_t e = 0; e < count(); ++e) {
      text += "{\nconst int k = at + " + step(e) + ";\n";
      if (operand_.along_k) {
        text += "const int " + index() + " = " + name_ + "_origin + " + place(e) + ";\n" +
                operand_.setup;
      }
      std::string inside = total_ % length_ == 0 ? "" : index() + " < " + text_of(total_);
      if (k % depth_ != 0) {
        inside += (inside.empty() ? "k < " : " && k < ") + text_of(k);
      }
      text += operand_.in_fours ? "float4 v = ZERO4;\n" : "float v = 0.0f;\n";
      text += (inside.empty() ? "" : "if (" + inside + ") ") + "{\n" +
              filled(operand_.load, {{"load", "LOAD"}}) + "}\n" + kept(e) + " = v;\n}\n";
    }
    return text + "}\n";
  }

  // To the tile that begins at the four of this name; none: at the first one.
  std::string store(const std::string& first) const {
    const std::string tile = std::string(1, name_) + "_tile, " +
                             (first.empty()       ? ""
                              : operand_.in_fours ? first + " + "
                                                  : first + " * 4 + ");
    const int64_t line = pitch(length_, operand_) / lanes();
    std::string text;
    for (int64_t e = 0; e < count(); ++e) {
      const std::string at =
          "(" + step(e) + ") * " + text_of(line) + " + " + (operand_.in_fours ? four() : place(e));
      text += (operand_.in_fours ? "LOCAL4(" : "LOCAL(") + tile + at + ") = " + kept(e) + ";\n";
    }
    return text;
  }

 private:
  int64_t lanes() const { return operand_.in_fours ? 4 : 1; }
  int64_t count() const { return length_ * depth_ / (items_ * lanes()); }
  std::string index() const { return name_ == 'a' ? "row" : "column"; }
  std::string kept(int64_t e) const { return std::string(1, name_) + "_kept" + text_of(e); }
  // Where element e of an item lies in the tile.
  std::string step(int64_t e) const {
    if (operand_.along_k) return "item % " + text_of(depth_);
    const int64_t each = length_ / lanes();
    return "item / " + text_of(each) + " + " + text_of(e * items_ / each);
  }
  std::string four() const { return "item % " + text_of(length_ / lanes()); }
  std::string place(int64_t e) const {
    if (!operand_.along_k) return operand_.in_fours ? four() + " * 4" : four();
    return "(item / " + text_of(depth_) + " + " + text_of(e * items_ / depth_) + ")";
  }

  const char name_;
  const TileOperand& operand_;
  const int64_t length_, depth_, total_, items_;
};

constexpr char kLanes[] = {'x', 'y', 'z', 'w'};

std::string sum_name(int64_t row, int64_t vector) {
  return "sum" + text_of(row) + "_" + text_of(vector);
}

// One step, from local memory. Places are counted in fours: a compiler that must mind overflow
// cannot divide the sum of them.
std::string multiply_text(const Tile& tile, const TileProduct& product) {
  std::string text =
      "UNROLL\nfor (int k = 0; k < " + text_of(std::min<int64_t>(tile.depth, 8)) + "; ++k) {\n";
  if (tile.depth > 8) {
    text = "for (int from = 0; from < " + text_of(tile.depth) +
           "; from += 8) {\nUNROLL\nfor (int k = from; k < from + 8; ++k) {\n";
  }
  for (int64_t q = 0; q < tile.item_rows / 4; ++q) {
    text += "const float4 a" + text_of(q) + " = LOCAL4(a_tile, a_now + k * " +
            text_of(pitch(tile.rows, product.a) / 4) + " + down + " + text_of(q * tile.down()) +
            ");\n";
  }
  for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
    text += "const float4 b" + text_of(p) + " = LOCAL4(b_tile, b_now + k * " +
            text_of(pitch(tile.columns, product.b) / 4) + " + across + " +
            text_of(p * tile.across()) + ");\n";
  }
  for (int64_t row = 0; row < tile.item_rows; ++row) {
    for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
      text += sum_name(row, p) + " += a" + text_of(row / 4) + "." + kLanes[row % 4] + " * b" +
              text_of(p) + ";\n";
    }
  }
  return text + (tile.depth > 8 ? "}\n}\n" : "}\n");
}

std::string store_tile_text(const Tile& tile, const TileProduct& product) {
  const int64_t count = product.in_fours ? 4 : 1;
  std::string text;
  for (int64_t column = 0; column < tile.item_columns; column += count) {
    text += "{\nconst int j = b_origin + across * 4 + " +
            text_of(column / 4 * tile.across() * 4 + column % 4) + ";\nif (j < " +
            text_of(product.columns) + ") {\n" + product.column_setup +
            (product.is_stored.empty() ? "{\n" : "if (" + product.is_stored + ") {\n");
    for (int64_t row = 0; row < tile.item_rows; ++row) {
      std::vector<std::string> values;
      for (int64_t lane = column % 4; lane < column % 4 + count; ++lane) {
        values.push_back(sum_name(row, column / 4) + "." + kLanes[lane]);
      }
      text += "{\nconst int r = a_origin + down * 4 + " +
              text_of(row / 4 * tile.down() * 4 + row % 4) + ";\nif (r < " + text_of(product.rows) +
              ") {\n" + store_text(product, values) + "}\n}\n";
    }
    text += "}\n}\n}\n";
  }
  return text;
}

// The sums of all parts, in their order, for the last group that arrives; the others end here.
// Element e of item i is at e * items + i, so that neighbours write neighbours.
std::string join_text(const Cut& cut, const TileProduct& product) {
  const Tile& tile = cut.tile;
  std::string write, clear, add;
  int64_t e = 0;
  for (int64_t row = 0; row < tile.item_rows; ++row) {
    for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
      const std::string sum = sum_name(row, p);
      clear += sum + " = ZERO4;\n";
      for (const char lane : kLanes) {
        const std::string at = text_of(e++ * tile.items()) + " + item";
        write += "SHARED(parts, part_at + " + at + ") = " + sum + "." + lane + ";\n";
        add += sum + "." + lane + " += SHARED(parts, from + " + at + ");\n";
      }
    }
  }
  return filled(R"(const int tile = (z * GROUPS(1) + GROUP(1)) * GROUPS(0) + GROUP(0);
const int part_at = $scratch + (tile * $parts + part) * $elements;
$write
BARRIER_ALL;
if (item == 0) {
FENCE;
const int before = NEXT(int_counters, tile);
LOCAL(arrived, 0) = TO_FLOAT(before);
if (before == $last_int) int_counters[tile] = 0;
FENCE;
}
BARRIER_ALL;
if (LOCAL(arrived, 0) != $last) return;
$clear
for (int p = 0; p < $parts; ++p) {
const int from = $scratch + (tile * $parts + p) * $elements;
$add
}
)",
                {{"parts", text_of(cut.parts)},
                 {"scratch", text_of(product.scratch)},
                 {"elements", text_of(tile.rows * tile.columns)},
                 {"last_int", text_of(cut.parts - 1)},
                 {"last", text_of(static_cast<float>(cut.parts - 1))},
                 {"write", write},
                 {"clear", clear},
                 {"add", add}});
}

std::string body_of(const Cut& cut, const TileProduct& product) {
  const Tile& tile = cut.tile;
  const Loader a('a', product.a, tile, product.rows);
  const Loader b('b', product.b, tile, product.columns);
  std::string clear;
  for (int64_t row = 0; row < tile.item_rows; ++row) {
    for (int64_t p = 0; p < tile.item_columns / 4; ++p) {
      clear += "float4 " + sum_name(row, p) + " = ZERO4;\n";
    }
  }
  // Items that run together make a block of 4 rows and 8 columns of vectors, which reads less of
  // local memory than a line of them.
  return filled(R"(const int item = ITEM(0);
const int across = item / 32 % ($across / 8) * 8 + item % 8;
const int down = item / (4 * $across) * 4 + item / 8 % 4;
const int z = GROUP(2) / $parts;
const int part = GROUP(2) % $parts;
const int a_origin = GROUP(1) * $rows;
const int b_origin = GROUP(0) * $columns;
const int begin = part * $part_k;
const int end = begin + $part_k < $k ? begin + $part_k : $k;
$clear$setup
{
const int at = begin;
$load}
int now = 0;
$store_first
BARRIER;
for (int first = begin; first < end; first += $depth) {
const int at = first + $depth;
if (at < end) {
$load}
{
const int a_now = now * $a_fours;
const int b_now = now * $b_fours;
$multiply}
now = 1 - now;
if (at < end) {
const int a_next = now * $a_fours;
const int b_next = now * $b_fours;
$store}
BARRIER;
}
$join$finish)",
                {{"across", text_of(tile.across())},
                 {"parts", text_of(cut.parts)},
                 {"part_k", text_of(cut.part_k(product))},
                 {"rows", text_of(tile.rows)},
                 {"columns", text_of(tile.columns)},
                 {"clear", clear},
                 {"setup", a.setup() + b.setup()},
                 {"k", text_of(product.k)},
                 {"depth", text_of(tile.depth)},
                 {"a_fours", text_of(a_elements(tile, product) / 4)},
                 {"b_fours", text_of(b_elements(tile, product) / 4)},
                 {"store_first", a.store("") + b.store("")},
                 {"store", a.store("a_next") + b.store("b_next")},
                 {"load", a.load(product.k) + b.load(product.k)},
                 {"multiply", multiply_text(tile, product)},
                 {"join", cut.parts == 1 ? "" : join_text(cut, product)},
                 {"finish", store_tile_text(tile, product)}});
}

// Of few columns a tile is mostly empty. Where k is long, its parts side by side are worth that: on
// an H200, 512 channels of 2 x 2 by 3 x 3 take 1.5 ms otherwise.
std::optional<Cut> cut_of(const TileProduct& product, const Capabilities& device, size_t rank) {
  constexpr int64_t kLeast = 16, kLong = 512;
  const int64_t least_columns = product.k < kLong ? kLeast : 1;
  if (!device.has_local_memory() || product.rows < kLeast || product.columns < least_columns ||
      product.k < kLeast) {
    return std::nullopt;
  }
  const std::vector<Cut> cuts = cuts_of(product, device);
  return rank < cuts.size() ? std::optional(cuts[rank]) : std::nullopt;
}

}  // namespace

Tensor tile_table(const TileProduct& product,
                  const std::function<float(int64_t, int64_t, int64_t)>& element) {
  const int64_t rows = (product.rows + 3) / 4 * 4;
  Tensor table({DType::kF32, {product.batch, product.k, rows}});
  for (int64_t z = 0; z < product.batch; ++z) {
    for (int64_t row = 0; row < product.rows; ++row) {
      for (int64_t k = 0; k < product.k; ++k) {
        table.data<float>()[static_cast<size_t>((z * product.k + k) * rows + row)] =
            element(z, row, k);
      }
    }
  }
  return table;
}

std::string store_text(const TileProduct& product, std::span<const std::string> values) {
  const bool in_fours = values.size() == 4;
  std::string text = "const int at_first = " + product.at + ";\nconst int j_first = j;\n";
  text += in_fours ? "float4 values;\n" : "";
  for (size_t lane = 0; lane < values.size(); ++lane) {
    const std::string number = std::to_string(lane);
    text += "{\nconst int at = at_first + " + number + ";\nconst int j = j_first + " + number +
            ";\nfloat value = " + values[lane] + ";\n" + product.finish +
            (in_fours ? std::string("values.") + kLanes[lane] + " = value;\n}\n"
                      : "STORE(y, at, value);\n}\n");
  }
  return text + (in_fours ? "ALIGNED_STORE4(y, at_first, values);\n" : "");
}

double tile_cycles(const TileProduct& product, const Capabilities& device, size_t rank) {
  const std::optional<Cut> cut = cut_of(product, device, rank);
  return cut ? cost(*cut, product, std::max<int64_t>(device.compute_units, 1))
             : std::numeric_limits<double>::infinity();
}

std::optional<Work> make_tiles(const TileProduct& product, std::vector<Argument> arguments,
                               const Capabilities& device, size_t rank) {
  const std::optional<Cut> cut = cut_of(product, device, rank);
  if (!cut) return std::nullopt;
  const Tile& tile = cut->tile;
  Work work{.kernel = "tiles", .scratch = product.scratch};
  std::vector<LocalArray> locals{{"a_tile", 2 * a_elements(tile, product)},
                                 {"b_tile", 2 * b_elements(tile, product)}};
  if (cut->parts > 1) {
    arguments.push_back({Argument::Kind::kScratch, 0, "parts"});
    arguments.push_back({Argument::Kind::kCounters, 0, "int_counters"});
    locals.push_back({"arrived", 1});
    work.kernel = "tiles/" + std::to_string(cut->parts);
    work.counters = cut->tiles(product);
    work.scratch += work.counters * cut->parts * tile.rows * tile.columns;
  }
  work.launches.push_back({std::move(arguments),
                           std::move(locals),
                           body_of(*cut, product),
                           {(product.columns + tile.columns - 1) / tile.columns,
                            (product.rows + tile.rows - 1) / tile.rows, product.batch * cut->parts},
                           {tile.items(), 1, 1}});
  return work;
}

}  // namespace shoal::gpu
