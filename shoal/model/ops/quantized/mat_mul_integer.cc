// MatMulInteger and QLinearMatMul: products of matrices of 8-bit integers,
//   sum = sum over k of (a - a_zero) (b - b_zero)
// MatMulInteger gives the sums, modulo 2^32. QLinearMatMul gives round(sum * a_scale * b_scale /
// y_scale) + y_zero, saturated to 8 bits. Zero points and scales are scalars, or one per row of a
// and per column of b, or that for each matrix of a batch.
#include <algorithm>
#include <vector>

#include "shoal/model/ops/product/matrix_product.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The positions of the inputs.
struct Places {
  size_t a, b, a_zero_point, b_zero_point;
};
constexpr Places kInteger{0, 1, 2, 3};
constexpr Places kQLinear{0, 3, 2, 5};
constexpr size_t kAScale = 1, kBScale = 4, kYScale = 6, kYZeroPoint = 7;

// The lines of a matrix that have a parameter of their own.
enum class Lines { kRows, kColumns };

// The parameter's shape as one that broadcasts to the matrices: a list with one element per row
// becomes a column.
Shape upright(const Shape& parameter, Lines lines) {
  const bool list = parameter.rank() == 1 && parameter[0] != 1;
  return list && lines == Lines::kRows ? Shape{parameter[0], 1} : parameter;
}

Status require_parameter(const Operand& parameter, const Shape& matrices, Lines lines) {
  const Shape& shape = parameter.type.shape;
  if (shape.count() == 1 && shape.rank() <= matrices.rank()) return {};
  const Shape full = upright(shape, lines);
  const size_t summed = lines == Lines::kRows ? 1 : 2;  // the axis of k, from the end
  // A parameter along k would differ between the terms of a sum, which no factor outside could
  // undo.
  const bool along_k = full.rank() >= summed && full[full.rank() - summed] != 1;
  auto stretched = broadcast(std::array{full, matrices});
  if (!along_k && stretched.ok() && *stretched == matrices) return {};
  return invalid("a parameter of shape " + to_string(shape) + " does not fit matrices of shape " +
                 to_string(matrices));
}

Status require_zero_point(std::span<const Operand> inputs, size_t zero_point, size_t matrices,
                          const Shape& shape, Lines lines) {
  if (zero_point >= inputs.size() || !inputs[zero_point].given) return {};
  SHOAL_TRY(require_same_type(std::array{inputs[matrices], inputs[zero_point]}));
  return require_parameter(inputs[zero_point], shape, lines);
}

Result<MatMulSizes> require_integers(const Places& at, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Bytes>(inputs[at.a]));
  SHOAL_TRY(require<Bytes>(inputs[at.b]));
  SHOAL_ASSIGN(MatMulSizes sizes, require_matmul(inputs[at.a].type.shape, inputs[at.b].type.shape));
  SHOAL_TRY(require_zero_point(inputs, at.a_zero_point, at.a, sizes.a_shape, Lines::kRows));
  SHOAL_TRY(require_zero_point(inputs, at.b_zero_point, at.b, sizes.b_shape, Lines::kColumns));
  return sizes;
}

Result<std::vector<TensorType>> infer_integer(const Node&, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const MatMulSizes sizes, require_integers(kInteger, inputs));
  return std::vector{TensorType{DType::kI32, sizes.output}};
}

Result<std::vector<TensorType>> infer_qlinear(const Node&, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const MatMulSizes sizes, require_integers(kQLinear, inputs));
  for (size_t scale : {kAScale, kBScale, kYScale}) SHOAL_TRY(require<Types<float>>(inputs[scale]));
  SHOAL_TRY(require_parameter(inputs[kAScale], sizes.a_shape, Lines::kRows));
  SHOAL_TRY(require_parameter(inputs[kBScale], sizes.b_shape, Lines::kColumns));
  for (size_t one : {kYScale, kYZeroPoint}) SHOAL_TRY(require_single(inputs[one]));
  SHOAL_TRY(require<Bytes>(inputs[kYZeroPoint]));
  return std::vector{TensorType{inputs[kYZeroPoint].type.dtype, sizes.output}};
}

// One parameter per line of every matrix, as T: [batch..., lines]. Zeros if it is not given.
template <class T>
std::vector<T> per_line(std::span<const Tensor> inputs, size_t i, const Shape& matrices,
                        Lines lines) {
  const size_t rank = matrices.rank();
  Shape all = matrices;
  all[lines == Lines::kRows ? rank - 1 : rank - 2] = 1;
  std::vector<T> values(static_cast<size_t>(all.count()));
  if (i >= inputs.size() || !inputs[i].defined()) return values;
  const Tensor given = converted(inputs[i], kDTypeOf<T>);
  const Shape from = upright(given.shape(), lines);
  for_each_run(all, std::array{strides_of(all), broadcast_strides(from, all)},
               [&](auto at, auto step, int64_t n) {
                 for (int64_t k = 0; k < n; ++k) {
                   values[static_cast<size_t>(at[0] + k)] =
                       given.data<T>()[static_cast<size_t>(at[1] + k * step[1])];
                 }
               });
  return values;
}

// sums = row * B, where b is the matrix B before its zero points are subtracted.
template <class A, class B>
void multiply_row(const A* row, int32_t a_zero, const B* b, std::span<const int32_t> b_zeros,
                  int64_t k, std::span<uint32_t> sums) {
  std::ranges::fill(sums, 0u);
  for (int64_t p = 0; p < k; ++p, b += sums.size()) {
    const auto factor = static_cast<uint32_t>(row[p] - a_zero);
    for (size_t j = 0; j < sums.size(); ++j) {
      sums[j] += factor * static_cast<uint32_t>(b[j] - b_zeros[j]);
    }
  }
}

// Calls finish(row, column, sums, first) for every row of the output: `row` counts the rows of all
// matrices of a, `column` is the first column of this matrix of b, and `first` the first element of
// the output.
template <class A, class B, class Finish>
void multiply(const Places& at, std::span<const Tensor> inputs, Finish finish) {
  const MatMulSizes sizes = matmul_sizes(inputs[at.a].shape(), inputs[at.b].shape());
  const auto a_zeros = per_line<int32_t>(inputs, at.a_zero_point, sizes.a_shape, Lines::kRows);
  const auto b_zeros = per_line<int32_t>(inputs, at.b_zero_point, sizes.b_shape, Lines::kColumns);
  const auto m = static_cast<size_t>(sizes.m), n = static_cast<size_t>(sizes.n);
  std::vector<uint32_t> sums(n);
  sizes.for_each_matrix([&](int64_t a_index, int64_t b_index, int64_t y_index) {
    const size_t column = static_cast<size_t>(b_index) * n;
    const B* b = inputs[at.b].data<B>().data() + b_index * sizes.k * sizes.n;
    for (size_t i = 0; i < m; ++i) {
      const size_t row = static_cast<size_t>(a_index) * m + i;
      const A* a = inputs[at.a].data<A>().data() + row * static_cast<size_t>(sizes.k);
      multiply_row(a, a_zeros[row], b, std::span(b_zeros).subspan(column, n), sizes.k, sums);
      finish(row, column, sums, (static_cast<size_t>(y_index) * m + i) * n);
    }
  });
}

template <class Finish>
void multiply(const Places& at, std::span<const Tensor> inputs, Finish finish) {
  visit<Bytes>(inputs[at.a].dtype(), [&]<class A>() {
    visit<Bytes>(inputs[at.b].dtype(), [&]<class B>() { multiply<A, B>(at, inputs, finish); });
  });
}

void reference_integer(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto y = outputs[0].data<int32_t>();
  multiply(kInteger, inputs, [&](size_t, size_t, std::span<const uint32_t> sums, size_t first) {
    std::ranges::transform(sums, y.subspan(first).begin(),
                           [](uint32_t sum) { return static_cast<int32_t>(sum); });
  });
}

void reference_qlinear(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const MatMulSizes sizes = matmul_sizes(inputs[kQLinear.a].shape(), inputs[kQLinear.b].shape());
  const auto a_scales = per_line<float>(inputs, kAScale, sizes.a_shape, Lines::kRows);
  const auto b_scales = per_line<float>(inputs, kBScale, sizes.b_shape, Lines::kColumns);
  const float y_scale = inputs[kYScale].data<float>()[0];
  visit<Bytes>(outputs[0].dtype(), [&]<class Y>() {
    const auto y = outputs[0].data<Y>();
    const int32_t y_zero = inputs[kYZeroPoint].data<Y>()[0];
    multiply(kQLinear, inputs,
             [&](size_t row, size_t column, std::span<const uint32_t> sums, size_t first) {
               for (size_t j = 0; j < sums.size(); ++j) {
                 const float scale = a_scales[row] * b_scales[column + j] / y_scale;
                 const auto sum = static_cast<float>(static_cast<int32_t>(sums[j]));
                 y[first + j] = quantize<Y>(sum * scale, y_zero);
               }
             });
  });
}

// The part of a parameter that a box of the matrices reads.
Region parameter_region(const Operand& parameter, const Region& matrices, Lines lines) {
  const Shape& shape = parameter.type.shape;
  if (shape.count() == 1) return Region::whole(shape);
  const Region box = broadcast_region(upright(shape, lines), matrices);
  if (shape.rank() != 1) return box;
  return {{box.begin[0]}, {box.end[0]}};
}

template <const Places& at>
std::optional<Tile> split_mat_mul_integer(const Node& node, std::span<const Operand> inputs,
                                          const Region& output) {
  const MatMulTile part = split_matmul(inputs[at.a].type.shape, inputs[at.b].type.shape, output);
  Tile tile{{}, output, node.attributes, {}};
  for (const Operand& input : inputs) tile.inputs.push_back(Region::whole(input.type.shape));
  tile.inputs[at.a] = part.a;
  tile.inputs[at.b] = part.b;
  const auto narrow = [&](size_t i, const Region& matrices, Lines lines) {
    if (i < inputs.size()) tile.inputs[i] = parameter_region(inputs[i], matrices, lines);
  };
  narrow(at.a_zero_point, part.a, Lines::kRows);
  narrow(at.b_zero_point, part.b, Lines::kColumns);
  if (&at == &kQLinear) {
    narrow(kAScale, part.a, Lines::kRows);
    narrow(kBScale, part.b, Lines::kColumns);
  }
  return tile;
}

template <const Places& at>
int64_t macs_of_mat_mul_integer(const Node&, std::span<const Operand> inputs,
                                std::span<const TensorType>) {
  return count_macs(matmul_sizes(inputs[at.a].type.shape, inputs[at.b].type.shape));
}

}  // namespace

SHOAL_RECORD(mat_mul_integer) = {.name = "MatMulInteger",
                                 .min_inputs = 2,
                                 .max_inputs = 4,
                                 .infer = infer_integer,
                                 .reference = reference_integer,
                                 .split = split_mat_mul_integer<kInteger>,
                                 .macs = macs_of_mat_mul_integer<kInteger>};

SHOAL_RECORD(q_linear_mat_mul) = {.name = "QLinearMatMul",
                                  .min_inputs = 8,
                                  .max_inputs = 8,
                                  .infer = infer_qlinear,
                                  .reference = reference_qlinear,
                                  .split = split_mat_mul_integer<kQLinear>,
                                  .macs = macs_of_mat_mul_integer<kQLinear>};

}  // namespace shoal::ops
