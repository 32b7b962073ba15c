// Gather: y[i.., j.., k..] = data[i.., indices[j..], k..], slices of the data along `axis`.
// Negative indices count from the end. Gradient: ScatterND with reduction "add", since a slice may
// be taken more than once.
#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_gather(const Node& node, std::span<const Operand> inputs) {
  const Shape &data = inputs[0].type.shape, &indices = inputs[1].type.shape;
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", 0), data.rank()));
  SHOAL_TRY(require_indices(inputs[1], std::array{data[axis]}));
  if (data.rank() + indices.rank() - 1 > Shape::kMaxRank) return invalid("more than 8 dimensions");
  Shape shape;
  for (size_t d = 0; d < axis; ++d) shape.push_back(data[d]);
  for (int64_t dim : indices) shape.push_back(dim);
  for (size_t d = axis + 1; d < data.rank(); ++d) shape.push_back(data[d]);
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

void reference_gather(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const Shape& data = inputs[0].shape();  // [outer, length, inner]
  const size_t axis = axis_in(node.integer("axis", 0), data.rank());
  const int64_t outer = data.count(0, axis), length = data[axis];
  const std::vector<int64_t> indices = to_ints(inputs[1]);
  const size_t inner =
      static_cast<size_t>(data.count(axis + 1, data.rank())) * size_of(inputs[0].dtype());
  const std::byte* from = inputs[0].bytes().data();
  std::byte* to = outputs[0].bytes().data();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : indices) {
      std::memcpy(to, from + static_cast<size_t>(index_in(index, length)) * inner, inner);
      to += inner;
    }
    from += static_cast<size_t>(length) * inner;
  }
}

// Restricts the data to what constant indices read, and counts the indices from there.
void narrow_to_indices(Region& data, size_t axis, const Region& indices, const Tensor& all,
                       std::map<size_t, Tensor>& constants) {
  const int64_t length = data.end[axis];
  const Tensor read = crop(all, indices);
  std::vector<int64_t> list;
  for (int64_t index : to_ints(read)) list.push_back(index_in(index, length));
  if (list.empty()) return;
  const auto [low, high] = std::ranges::minmax(list);
  for (int64_t& index : list) index -= low;
  data.begin[axis] = low;
  data.end[axis] = high + 1;
  constants[1] = converted(Tensor::of<int64_t>(read.shape(), list), read.dtype());
}

// The data stay whole along the axis if the indices are known only at run time. The other axes are
// cut with the output, the indices too.
std::optional<Tile> split_gather(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  Region data = Region::whole(inputs[0].type.shape), indices = Region::whole(inputs[1].type.shape);
  const size_t axis = axis_in(node.integer("axis", 0), data.begin.rank());
  const size_t index_rank = indices.begin.rank();
  for (size_t d = 0; d < output.begin.rank(); ++d) {
    const bool is_index = d >= axis && d < axis + index_rank;
    Region& read = is_index ? indices : data;
    const size_t at = d < axis ? d : is_index ? d - axis : d - index_rank + 1;
    read.begin[at] = output.begin[d];
    read.end[at] = output.end[d];
  }
  Tile tile{{data, indices}, output, node.attributes, {}};
  if (inputs[1].value != nullptr) {
    narrow_to_indices(tile.inputs[0], axis, indices, *inputs[1].value, tile.constants);
  }
  return tile;
}

// Constant indices are renumbered to the remaining data.
std::optional<Settings> shrink_gather(const Node& node, std::span<const Operand> inputs,
                                      const Remainder& left) {
  const Shape& data = inputs[0].type.shape;
  const size_t axis = axis_in(node.integer("axis", 0), data.rank());
  const std::vector<int64_t>& kept = left.inputs[0][axis];
  if (std::ssize(kept) == data[axis]) return Settings{node.attributes, {}};
  if (inputs[1].value == nullptr) return std::nullopt;
  const Tensor indices = take(*inputs[1].value, left.inputs[1]);
  std::vector<int64_t> list = to_ints(indices);
  for (int64_t& index : list) {
    index = std::ranges::lower_bound(kept, index_in(index, data[axis])) - kept.begin();
  }
  return Settings{node.attributes,
                  {{1, converted(Tensor::of<int64_t>(indices.shape(), list), indices.dtype())}}};
}

}  // namespace

SHOAL_RECORD(gather) = {.name = "Gather",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .infer = infer_gather,
                        .reference = reference_gather,
                        .split = split_gather,
                        .shrink = shrink_gather,
                        .linear = true,
                        .linear_time = true,
                        .gradient = gather_gradient};

}  // namespace shoal::ops
