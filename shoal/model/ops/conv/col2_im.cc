// Col2Im: puts blocks cut from an image back, and adds them up where they overlap. x [n, c * taps,
// blocks] becomes y [n, c, spatial...]; inputs 1 and 2 are the sizes of the image and of a block.
// The window is that of a convolution over y. It is the gradient of im2col, and im2col is its
// gradient.
#include <algorithm>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"
#include "shoal/model/ops/window.h"

namespace shoal::ops {
namespace {

struct Blocks {
  Window window;
  Shape image;  // y
};

Result<Shape> require_sizes(const Operand& operand) {
  SHOAL_ASSIGN(const std::vector<int64_t> sizes, require_list(operand));
  if (sizes.empty() || sizes.size() > Window::kMaxRank) {
    return invalid("takes images and blocks of 1 to 3 axes, not " + std::to_string(sizes.size()));
  }
  Shape shape;
  for (int64_t size : sizes) shape.push_back(size);
  return shape;
}

Result<Blocks> require_blocks(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_rank(inputs[0], 3));
  SHOAL_ASSIGN(const Shape image, require_sizes(inputs[1]));
  SHOAL_ASSIGN(const Shape block, require_sizes(inputs[2]));
  const Shape& x = inputs[0].type.shape;
  // The sizes are elements of a constant and may be anything. The image is checked as a type before
  // the window multiplies its dimensions, and `taps` may overflow.
  Checked taps = 1;
  Shape y{x[0], 1}, kernel{1, 1};
  for (int64_t size : image) y.push_back(size);
  for (int64_t size : block) kernel.push_back(size), taps = taps * size;
  SHOAL_TRY(check(TensorType{inputs[0].type.dtype, y}));
  SHOAL_ASSIGN(const Window window, require_window(node, y, kernel));
  if (!taps.ok() || x[1] % taps.value() != 0) {
    return invalid(std::to_string(x[1]) + " rows are not those of blocks " + to_string(block));
  }
  y[1] = x[1] / taps.value();
  Checked places = 1;
  for (const WindowAxis& axis : window.spatial()) places = places * axis.output;
  if (places.value() != x[2]) {
    return invalid(std::to_string(places.value()) + " blocks fit the image, there are " +
                   std::to_string(x[2]));
  }
  return Blocks{window, y};
}

Result<std::vector<TensorType>> infer_col2_im(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Numbers>(inputs[0]));
  SHOAL_ASSIGN(const Blocks blocks, require_blocks(node, inputs));
  return std::vector{TensorType{inputs[0].type.dtype, blocks.image}};
}

// Adds a row of x, the elements at tap (k0, k1, k2) of every block, to a plane of y.
template <class T, class Sum>
void add_row(const Window& window, const std::array<int64_t, 3>& k, const T* row, Sum* plane) {
  const auto& [a, b, c] = window.axes;
  const Range planes = a.outputs(k[0]), rows = b.outputs(k[1]), columns = c.outputs(k[2]);
  for (int64_t i = planes.begin; i < planes.end; ++i) {
    for (int64_t j = rows.begin; j < rows.end; ++j) {
      const T* from = row + (i * b.output + j) * c.output;
      Sum* to = plane + (a.position(i, k[0]) * b.input + b.position(j, k[1])) * c.input;
      for (int64_t l = columns.begin; l < columns.end; ++l) {
        to[c.position(l, k[2])] += static_cast<Sum>(static_cast<Compute<T>>(from[l]));
      }
    }
  }
}

// The same walk, writing the offsets in the plane instead of adding.
void place_row(const Window& window, const std::array<int64_t, 3>& k, int64_t* row) {
  const auto& [a, b, c] = window.axes;
  const Range planes = a.outputs(k[0]), rows = b.outputs(k[1]), columns = c.outputs(k[2]);
  for (int64_t i = planes.begin; i < planes.end; ++i) {
    for (int64_t j = rows.begin; j < rows.end; ++j) {
      const int64_t line = (a.position(i, k[0]) * b.input + b.position(j, k[1])) * c.input;
      for (int64_t l = columns.begin; l < columns.end; ++l) {
        row[(i * b.output + j) * c.output + l] = line + c.position(l, k[2]);
      }
    }
  }
}

template <class T>
void add_up(const Blocks& blocks, const Tensor& x, Tensor& y) {
  const auto& [a, b, c] = blocks.window.axes;
  const int64_t size = a.input * b.input * c.input;
  const T* row = x.data<T>().data();
  T* to = y.data<T>().data();
  // Sums of integers wrap, and f16 is rounded once per plane.
  std::vector<Modular<Compute<T>>> plane(static_cast<size_t>(size));
  for (int64_t channel = blocks.image[0] * blocks.image[1]; channel > 0; --channel) {
    std::ranges::fill(plane, 0);
    for (int64_t i = 0; i < a.kernel; ++i) {
      for (int64_t j = 0; j < b.kernel; ++j) {
        for (int64_t k = 0; k < c.kernel; ++k, row += x.shape()[2]) {
          add_row(blocks.window, {i, j, k}, row, plane.data());
        }
      }
    }
    to = std::ranges::transform(plane, to, [](auto sum) {
           return static_cast<T>(static_cast<Compute<T>>(sum));
         }).out;
  }
}

void reference_col2_im(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const Blocks blocks = *require_blocks(node, operands_of(inputs));
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() { add_up<T>(blocks, inputs[0], outputs[0]); });
}

// Cut by images and channels. Blocks overlap, so all blocks of a channel stay together.
std::optional<Tile> split_col2_im(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const Blocks blocks = *require_blocks(node, inputs);
  int64_t taps = 1;
  for (const WindowAxis& axis : blocks.window.spatial()) taps *= axis.kernel;
  Region x = Region::whole(inputs[0].type.shape), y = Region::whole(blocks.image);
  for (size_t d = 0; d < 2; ++d) y.begin[d] = output.begin[d], y.end[d] = output.end[d];
  x.begin[0] = y.begin[0];
  x.end[0] = y.end[0];
  x.begin[1] = y.begin[1] * taps;
  x.end[1] = y.end[1] * taps;
  return Tile{{x, Region::whole(inputs[1].type.shape), Region::whole(inputs[2].type.shape)},
              y,
              node.attributes,
              {}};
}

// [taps, blocks]: for each element of x the element of a plane of y that it is added to. A tap in
// the padding gets one past the last, where the gradient has a zero.
Result<Tensor> places_of(const Window& window) {
  const auto& [a, b, c] = window.axes;
  const int64_t blocks = a.output * b.output * c.output, outside = a.input * b.input * c.input;
  // An x of narrow elements, or without any, says little about the size of this one.
  const TensorType type{DType::kI64, {a.kernel * b.kernel * c.kernel, blocks}};
  SHOAL_TRY(check(type));
  Tensor places(type);
  int64_t* row = places.data<int64_t>().data();
  std::ranges::fill(places.data<int64_t>(), outside);
  for (int64_t i = 0; i < a.kernel; ++i) {
    for (int64_t j = 0; j < b.kernel; ++j) {
      for (int64_t k = 0; k < c.kernel; ++k, row += blocks) place_row(window, {i, j, k}, row);
    }
  }
  return places;
}

// Gathers the blocks from dy: the gradient of a sum goes to each term.
Result<std::vector<ValueId>> gradient(const Node& node, std::span<const ValueId> outputs,
                                      Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  SHOAL_ASSIGN(const Blocks blocks, require_blocks(node, graph.operands(node.inputs)));
  const Shape& image = blocks.image;
  const Shape planes{image[0], image[1], image.count(2, image.rank())};
  const ValueId dy = chain.reshape(outputs[0], planes);
  const ValueId none = chain.zeros({image[0], image[1], 1});
  const ValueId all = chain.add(concat, {dy, none}, {{"axis", int64_t{2}}});
  SHOAL_ASSIGN(Tensor table, places_of(blocks.window));
  const ValueId places = chain.constant(std::move(table));
  const ValueId cut = chain.add(gather, {all, places}, {{"axis", int64_t{2}}});
  return chain.finish({chain.reshape(cut, chain.shape_of(node.inputs[0])), kNoValue, kNoValue});
}

}  // namespace

SHOAL_RECORD(col2_im) = {.name = "Col2Im",
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .value_inputs = 1 << 1 | 1 << 2,
                         .infer = infer_col2_im,
                         .reference = reference_col2_im,
                         .split = split_col2_im,
                         .linear = true,
                         .gradient = gradient};

}  // namespace shoal::ops
