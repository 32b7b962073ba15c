// Gemm: y = alpha * A' B' + beta * C, where ' transposes if the attribute says so. A' is [m, k], B'
// [k, n], and C broadcasts to [m, n]. Integers wrap; alpha and beta are converted to their type.
// The gradient is in gradient_product.cc.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using GemmTypes = Types<float, double, Half, BFloat16, int32_t, uint32_t, int64_t, uint64_t>;

struct Sizes {
  int64_t m, n, k;
};

Sizes sizes_of(const Node& node, const Shape& a, const Shape& b) {
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  return {a[ta ? 1 : 0], b[tb ? 0 : 1], a[ta ? 0 : 1]};
}

Result<std::vector<TensorType>> infer_gemm(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<GemmTypes>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_TRY(require_rank(inputs[0], 2));
  SHOAL_TRY(require_rank(inputs[1], 2));
  const Sizes size = sizes_of(node, inputs[0].type.shape, inputs[1].type.shape);
  const int64_t other_k = inputs[1].type.shape[node.integer("transB", 0) != 0 ? 1 : 0];
  if (size.k != other_k) {
    return invalid("matrices " + to_string(inputs[0].type.shape) + " and " +
                   to_string(inputs[1].type.shape) + " do not multiply");
  }
  const Shape shape{size.m, size.n};
  if (inputs.size() > 2 && inputs[2].given) {
    SHOAL_ASSIGN(Shape all, broadcast(std::vector{shape, inputs[2].type.shape}));
    if (all != shape) return invalid("C does not broadcast to the product");
  }
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

template <class T>
void multiply(const Node& node, std::span<const Tensor> inputs, Tensor& output) {
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  const auto [m, n, k] = sizes_of(node, inputs[0].shape(), inputs[1].shape());
  using Sum = Modular<Compute<T>>;  // integers wrap around
  const auto load = [](T x) { return static_cast<Sum>(static_cast<Compute<T>>(x)); };
  const auto alpha = static_cast<Sum>(convert<Compute<T>>(node.real("alpha", 1)));
  const auto beta = static_cast<Sum>(convert<Compute<T>>(node.real("beta", 1)));
  const bool has_c = inputs.size() > 2 && inputs[2].defined();
  const Strides sc = has_c ? broadcast_strides(inputs[2].shape(), output.shape()) : Strides{0, 0};
  const T* a = inputs[0].data<T>().data();
  const T* b = inputs[1].data<T>().data();
  const T* c = has_c ? inputs[2].data<T>().data() : nullptr;
  T* y = output.data<T>().data();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Sum sum{0};
      for (int64_t p = 0; p < k; ++p) {
        sum += load(a[ta ? p * m + i : i * k + p]) * load(b[tb ? j * k + p : p * n + j]);
      }
      sum *= alpha;
      if (has_c) sum += beta * load(c[i * sc[0] + j * sc[1]]);
      y[i * n + j] = static_cast<T>(static_cast<Compute<T>>(sum));
    }
  }
}

void reference_gemm(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit<GemmTypes>(inputs[0].dtype(), [&]<class T>() { multiply<T>(node, inputs, outputs[0]); });
}

// Rows of y need rows of A', columns of y columns of B'. The sum over k is not cut.
std::optional<Tile> split_gemm(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  Region a = Region::whole(inputs[0].type.shape), b = Region::whole(inputs[1].type.shape);
  const size_t row = node.integer("transA", 0) != 0 ? 1 : 0;
  const size_t column = node.integer("transB", 0) != 0 ? 0 : 1;
  a.begin[row] = output.begin[0];
  a.end[row] = output.end[0];
  b.begin[column] = output.begin[1];
  b.end[column] = output.end[1];
  Tile tile{{a, b}, output, node.attributes, {}};
  if (inputs.size() > 2) {
    tile.inputs.push_back(inputs[2].given ? broadcast_region(inputs[2].type.shape, output)
                                          : Region{});
  }
  return tile;
}

// No overflow: each pair of m, n and k is bounded by a tensor that has passed check().
int64_t count_macs(const Node& node, std::span<const Operand> inputs, std::span<const TensorType>) {
  const auto [m, n, k] = sizes_of(node, inputs[0].type.shape, inputs[1].type.shape);
  return m * n * k;
}

}  // namespace

SHOAL_RECORD(gemm) = {.name = "Gemm",
                      .min_inputs = 2,
                      .max_inputs = 3,
                      .infer = infer_gemm,
                      .reference = reference_gemm,
                      .split = split_gemm,
                      .linear = true,
                      .macs = count_macs,
                      .gradient = gemm_gradient};

}  // namespace shoal::ops
