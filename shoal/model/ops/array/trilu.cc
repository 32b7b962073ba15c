// Trilu: keeps the upper or lower triangle of each matrix, the elements with column - row >= k or
// <= k; the others are zero. Its gradient is the same triangle of dy.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_trilu(const Node&, std::span<const Operand> inputs) {
  if (inputs[0].type.shape.rank() < 2) return invalid("takes matrices, of rank 2 or more");
  if (inputs.size() > 1 && inputs[1].given) {
    SHOAL_TRY(require<Types<int64_t>>(inputs[1]));
    SHOAL_TRY(require_single(inputs[1]));
  }
  return std::vector{inputs[0].type};
}

void reference_trilu(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();  // [batch..., rows, columns]
  const size_t rank = shape.rank();
  const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  const int64_t lines = shape.count(0, rank - 1);
  const bool upper = node.integer("upper", 1) != 0;
  const bool has_k = inputs.size() > 1 && inputs[1].defined();
  const int64_t k = has_k ? inputs[1].data<int64_t>()[0] : 0;
  visit<AllTypes>(inputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0].data<T>().data();
    T* y = outputs[0].data<T>().data();
    for (int64_t line = 0; line < lines; ++line, x += columns, y += columns) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t diagonal = column - line % rows;
        y[column] = (upper ? diagonal >= k : diagonal <= k) ? x[column] : T{};
      }
    }
  });
}

// Tiles hold whole matrices: k may be known only at run time, so it cannot be adjusted to a part.
std::optional<Tile> split_trilu(const Node& node, std::span<const Operand> inputs,
                                const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  Region matrices = output;
  for (size_t d = shape.rank() - 2; d < shape.rank(); ++d) {
    matrices.begin[d] = 0;
    matrices.end[d] = shape[d];
  }
  Tile tile{{matrices}, matrices, node.attributes, {}};
  if (inputs.size() > 1) tile.inputs.push_back(Region::whole(inputs[1].type.shape));
  return tile;
}

}  // namespace

SHOAL_RECORD(trilu) = {.name = "Trilu",
                       .max_inputs = 2,
                       .infer = infer_trilu,
                       .reference = reference_trilu,
                       .split = split_trilu,
                       .linear = true,
                       .in_place = true,
                       .linear_time = true,
                       .gradient = trilu_gradient};

}  // namespace shoal::ops
