// F(4 x 4, 3 x 3) of Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016).
// A tile d of 6 x 6 pixels of x gives a tile of 4 x 4 of y:
//
//   y = At [(G g Gt) . (Bt d B)] A
//
// with one product for each of the 36 points of a tile and each pair of channels, where the window
// has 144. Over all tiles, the products of a point are a matrix product: [out_channels,
// in_channels] by [in_channels, tiles], 36 of them, by tiles of local memory (tiles.h). Tiles of x
// and of y go through scratch memory, 36 numbers for 16 pixels, so that wide layers gain and small
// ones do not: the choice is by the cycles of the products and the bytes of the transforms, or by
// measurement (tune.h).
//
// In half precision, x and y are stored in f16. Transforms are f32, because what is added up from
// them is small beside them: with those of weights in f16, errors are above 2e-3 of the largest y.
// It is for devices without matrix units: those do the products of the window in less time than the
// bytes of the tiles take.
//
// The gradient for x of a convolution of stride 1 is such a convolution, too (conv_form.h).
#include <algorithm>
#include <limits>

#include "shoal/engine/gpu/kernels/conv_form.h"
#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;
using Row = std::vector<double>;
using Matrix = std::vector<Row>;

constexpr int64_t kOut = 4, kTaps = 3, kEdge = 6, kPoints = kEdge * kEdge;

const Matrix& input_matrix() {  // Bt
  static const Matrix matrix{{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                             {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
  return matrix;
}

const Matrix& weight_matrix() {  // G
  static const Matrix matrix{{1.0 / 4, 0, 0},
                             {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                             {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                             {1.0 / 24, 1.0 / 12, 1.0 / 6},
                             {1.0 / 24, -1.0 / 12, 1.0 / 6},
                             {0, 0, 1}};
  return matrix;
}

const Matrix& output_matrix() {  // At
  static const Matrix matrix{
      {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
  return matrix;
}

std::string name_of(const std::string& prefix, int64_t row, int64_t column) {
  return prefix + text_of(row) + "_" + text_of(column);
}

// factors[0] * name(0) + factors[1] * name(1) + ..., without those of 0.
template <class Name>
std::string sum_text(const Row& factors, const Name& name) {
  std::string text;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 0) continue;
    const std::string element = name(static_cast<int64_t>(i));
    const std::string term =
        factors[i] == 1 ? element : text_of(static_cast<float>(factors[i])) + " * " + element;
    text += (text.empty() ? "" : " + ") + term;
  }
  return text;
}

// Statements for b = m a mt, of the numbers a0_0, a0_1, ... and b0_0, ...
std::string transform_text(const Matrix& m, const std::string& a, const std::string& b) {
  const auto rows = static_cast<int64_t>(m.size()), edge = static_cast<int64_t>(m[0].size());
  std::string text;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < edge; ++c) {
      text += "const float " + name_of("t", r, c) + " = " +
              sum_text(m[static_cast<size_t>(r)], [&](int64_t k) { return name_of(a, k, c); }) +
              ";\n";
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < rows; ++c) {
      text += "const float " + name_of(b, r, c) + " = " +
              sum_text(m[static_cast<size_t>(c)], [&](int64_t k) { return name_of("t", r, k); }) +
              ";\n";
    }
  }
  return text;
}

// A convolution as 36 products, and where they lie in scratch memory.
struct Winograd {
  const ConvForm& form;
  bool has_table = false;         // of the weights' transforms
  int64_t height = 0, width = 0;  // in tiles of y
  int64_t rows = 0, columns = 0;  // output channels in fours, and tiles of all images
  int64_t in_channels = 0, out_channels = 0;
  int64_t from = 0, to = 0, end = 0;  // in scratch memory: tiles of x, of y, and the end

  Winograd(const ConvForm& of, bool table) : form(of), has_table(table) {
    const ops::Convolution& conv = form.conv;
    height = (conv.window.axes[1].output + kOut - 1) / kOut;
    width = (conv.window.axes[2].output + kOut - 1) / kOut;
    rows = (conv.out_channels + 3) / 4 * 4;
    columns = conv.batch * height * width;
    in_channels = conv.in_channels;
    out_channels = conv.out_channels;
    from = has_table ? 0 : kPoints * in_channels * rows;
    to = from + kPoints * in_channels * columns;
    end = to + kPoints * out_channels * columns;
  }

  std::map<std::string, std::string> numbers() const {
    auto values = numbers_of(form);
    values["rows"] = text_of(rows);
    values["columns"] = text_of(columns);
    values["tiles"] = text_of(height * width);
    values["tiles_w"] = text_of(width);
    values["from"] = text_of(from);
    values["to"] = text_of(to);
    return values;
  }
};

bool is_possible(const ops::Convolution& conv, const ConvForm& form) {
  const auto& [depth, rows, columns] = conv.window.axes;
  const auto is_usual = [](const ops::WindowAxis& axis) {
    return axis.kernel == kTaps && axis.stride == 1 && axis.dilation == 1;
  };
  return is_usual(rows) && is_usual(columns) && depth.kernel == 1 && depth.output == 1 &&
         depth.input == 1 && conv.groups == 1 && !form.is_spread();
}

// An item for a tile of a channel; neighbours are tiles.
Launch input_launch(const NodeSpec& spec, const Winograd& winograd) {
  const auto values = winograd.numbers();
  std::string text = filled(R"(const int column = i % $columns;
const int c = i / $columns;
const int h = column % $tiles / $tiles_w * 4 - $pad_h;
const int w = column % $tiles_w * 4 - $pad_w;
const int x_at = (column / $tiles * $in_channels + c) * $image + h * $image_w + w;
)",
                            values);
  for (int64_t r = 0; r < kEdge; ++r) {
    const std::string row = text_of(r);
    text += filled("const bool row" + row + " = h + " + row + " >= 0 && h + " + row +
                       " < $image_h;\nconst bool column" + row + " = w + " + row + " >= 0 && w + " +
                       row + " < $image_w;\n",
                   values);
  }
  for (int64_t r = 0; r < kEdge; ++r) {
    for (int64_t c = 0; c < kEdge; ++c) {
      text += "const float " + name_of("d", r, c) + " = row" + text_of(r) + " && column" +
              text_of(c) + " ? LOAD(x, x_at + " + text_of(r) + " * " + values.at("image_w") +
              " + " + text_of(c) + ") : 0.0f;\n";
    }
  }
  text += transform_text(input_matrix(), "d", "v");
  for (int64_t q = 0; q < kPoints; ++q) {
    text += "STORE(room, " + text_of(winograd.from + q * winograd.in_channels * winograd.columns) +
            " + i, " + name_of("v", q / kEdge, q % kEdge) + ");\n";
  }
  return for_each_element(winograd.in_channels * winograd.columns,
                          {{Kind::kInput, 0, "x"}, {Kind::kScratch, 0, "room"}}, std::move(text),
                          spec.device);
}

// Of weights that are computed. [points, in_channels, rows], as tile_table() has it.
Launch weight_launch(const NodeSpec& spec, const Winograd& winograd) {
  const auto values = winograd.numbers();
  std::string text = filled("const int row = i % $rows;\nconst int c = i / $rows;\n", values);
  for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
    text += "const float " + name_of("g", tap / kTaps, tap % kTaps) + " = row < " +
            values.at("out_channels") + " ? LOAD(w_, " +
            winograd.form.weight_text("0", "row", "c", text_of(tap)) + ") : 0.0f;\n";
  }
  text += transform_text(weight_matrix(), "g", "u");
  const int64_t count = winograd.in_channels * winograd.rows;
  for (int64_t q = 0; q < kPoints; ++q) {
    text += "STORE(room, " + text_of(q * count) + " + i, " + name_of("u", q / kEdge, q % kEdge) +
            ");\n";
  }
  return for_each_element(count, {{Kind::kInput, 1, "w_"}, {Kind::kScratch, 0, "room"}},
                          std::move(text), spec.device);
}

// Bias, residual and activation are added here.
Launch output_launch(const NodeSpec& spec, const Winograd& winograd) {
  const ops::Convolution& conv = winograd.form.conv;
  const auto& [depth, rows, columns] = conv.window.axes;
  auto values = winograd.numbers();
  std::string text = filled(R"(const int column = i % $columns;
const int m = i / $columns;
const int group = 0;
const int image = column / $tiles;
const int h = column % $tiles / $tiles_w * 4;
const int w = column % $tiles_w * 4;
)",
                            values);
  for (int64_t q = 0; q < kPoints; ++q) {
    text += "const float " + name_of("z", q / kEdge, q % kEdge) + " = LOAD(room, " +
            text_of(winograd.to + q * winograd.out_channels * winograd.columns) + " + i);\n";
  }
  text += transform_text(output_matrix(), "z", "o");
  const bool in_fours = columns.output % kOut == 0;
  values["at"] = output_text(conv, "m");
  for (int64_t r = 0; r < kOut; ++r) {
    text += rows.output % kOut == 0 ? "{\n"
                                    : filled("if (h + " + text_of(r) + " < $out_h) {\n", values);
    text += in_fours ? "float4 values;\n" : "";
    for (int64_t c = 0; c < kOut; ++c) {
      values["r"] = text_of(r);
      values["c"] = text_of(c);
      values["value"] = value_text(spec, conv, "m", "at", name_of("o", r, c));
      values["store"] =
          in_fours ? std::string("values.") + "xyzw"[c] + " = value;\n" : "STORE(y, at, value);\n";
      values["limit"] = in_fours ? "" : filled("if (w + $c < $out_w) ", values);
      text += filled(R"($limit{
const int p = (h + $r) * $out_w + w + $c;
const int at = $at;
const float value = $value;
$store}
)",
                     values);
    }
    text += in_fours ? filled(R"(const int p = (h + $r) * $out_w + w;
ALIGNED_STORE4(y, $at, values);
)",
                              values)
                     : "";
    text += "}\n";
  }
  std::vector<Argument> arguments = conv_arguments(spec);
  std::erase_if(arguments, [](const Argument& argument) { return argument.name == "x"; });
  arguments.push_back({Kind::kScratch, 0, "room"});
  return for_each_element(winograd.out_channels * winograd.columns, std::move(arguments),
                          std::move(text), spec.device);
}

TileProduct point_product(const Winograd& winograd) {
  const auto values = winograd.numbers();
  TileProduct product;
  product.rows = winograd.out_channels;
  product.columns = winograd.columns;
  product.k = winograd.in_channels;
  product.batch = kPoints;
  product.a.load = filled("v = ALIGNED4(packed, (z * $in_channels + k) * $rows + row);\n", values);
  product.a.in_fours = true;
  product.b.load =
      filled("v = LOAD(room, $from + (z * $in_channels + k) * $columns + column);\n", values);
  product.at = filled("$to + (z * $out_channels + r) * $columns + j", values);
  product.in_fours = winograd.columns % 4 == 0;
  product.scratch = winograd.end;
  return product;
}

// G g Gt of a pair of channels, at a point.
float transformed(const Tensor& w, const ConvForm& form, int64_t point, int64_t m, int64_t c) {
  const Row& down = weight_matrix()[static_cast<size_t>(point / kEdge)];
  const Row& across = weight_matrix()[static_cast<size_t>(point % kEdge)];
  double sum = 0;
  for (size_t tap = 0; tap < down.size() * across.size(); ++tap) {
    const auto place = static_cast<size_t>(form.weight(0, m, c, static_cast<int64_t>(tap)));
    sum += down[tap / across.size()] * across[tap % across.size()] *
           static_cast<double>(w.data<float>()[place]);
  }
  return static_cast<float>(sum);
}

// The most elements of scratch memory.
int64_t room(const Capabilities& device) {
  return std::min<int64_t>(most_elements(device),
                           device.room_bytes / static_cast<int64_t>(sizeof(float)));
}

}  // namespace

// Tiles of x and y are written once and read once, by the transforms and by the products. kBytes
// are what a unit gets in a cycle, kLaunch the cycles that a launch takes, both of an H200.
double winograd_cycles(const NodeSpec& spec, const ConvForm& form, size_t rank) {
  constexpr double kBytes = 15, kLaunch = 14'000, kPixels = 16.0 / kPoints;
  const Winograd winograd(form, spec.inputs[1].value != nullptr);
  if (!is_possible(form.conv, form) || winograd.end > room(spec.device)) {
    return std::numeric_limits<double>::infinity();
  }
  const auto units = static_cast<double>(std::max<int64_t>(spec.device.compute_units, 1));
  const auto moved = [&](int64_t elements) {
    return static_cast<double>(elements) * sizeof(float) / (kBytes * units);
  };
  const int64_t x = winograd.to - winograd.from, y = winograd.end - winograd.to;
  const int64_t weights = kPoints * winograd.in_channels * winograd.rows;
  const double products =
      std::max(tile_cycles(point_product(winograd), spec.device, rank), moved(x + y + weights));
  const double of_weights = winograd.has_table ? 0 : moved(weights) + kLaunch;
  return products + (1 + kPixels) * moved(x + y) + 2 * kLaunch + of_weights;
}

std::optional<Work> make_winograd(const NodeSpec& spec, const ConvForm& form, size_t rank) {
  const Tensor* weights = spec.inputs[1].value;
  const Winograd winograd(form, weights != nullptr);
  if (!is_possible(form.conv, form) || winograd.end > room(spec.device)) return std::nullopt;
  const TileProduct points = point_product(winograd);
  std::optional<Work> work =
      make_tiles(points,
                 {{weights != nullptr ? Kind::kTable : Kind::kScratch, 0, "packed"},
                  {Kind::kScratch, 0, "room"},
                  {Kind::kScratch, 0, "y"}},
                 spec.device, rank);
  if (!work || work->scratch > room(spec.device)) return std::nullopt;
  work->kernel = "winograd";
  work->tables_in_f32 = true;
  work->launches.insert(work->launches.begin(), input_launch(spec, winograd));
  if (weights == nullptr) {
    work->launches.insert(work->launches.begin(), weight_launch(spec, winograd));
  } else {
    work->tables.push_back([w = *weights, form, points] {
      return tile_table(points, [&](int64_t z, int64_t row, int64_t k) {
        return transformed(w, form, z, row, k);
      });
    });
  }
  work->launches.push_back(output_launch(spec, winograd));
  return work;
}

}  // namespace shoal::gpu
