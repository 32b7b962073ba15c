// MatMul: products of matrices, as numpy.matmul. Leading axes are batches, which broadcast; a
// vector is a row on the left and a column on the right, whose axis the result does not have.
#include "shoal/graph/graph.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

using MatMulTypes = Types<float, double, Half, BFloat16, int32_t, uint32_t, int64_t, uint64_t>;

// a[batch.., m, k] times b[batch.., k, n]
struct Sizes {
  Shape a_batch, b_batch, batch;
  int64_t m, k, n;
};

Shape leading(const Shape& shape) {
  return shape.rank() < 2 ? Shape() : Shape(std::span(shape).first(shape.rank() - 2));
}

Result<Sizes> sizes_of(const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) return invalid("takes no scalars");
  const int64_t m = a.rank() == 1 ? 1 : a[a.rank() - 2], n = b.rank() == 1 ? 1 : b[b.rank() - 1];
  const int64_t k = a[a.rank() - 1];
  if (k != b[b.rank() == 1 ? 0 : b.rank() - 2]) {
    return invalid("matrices " + to_string(a) + " and " + to_string(b) + " do not multiply");
  }
  SHOAL_ASSIGN(Shape batch, broadcast(std::array{leading(a), leading(b)}));
  return Sizes{leading(a), leading(b), batch, m, k, n};
}

Result<std::vector<TensorType>> infer(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<MatMulTypes>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  const Shape &a = inputs[0].type.shape, &b = inputs[1].type.shape;
  SHOAL_ASSIGN(Sizes sizes, sizes_of(a, b));
  Shape shape = sizes.batch;
  if (a.rank() > 1) shape.push_back(sizes.m);
  if (b.rank() > 1) shape.push_back(sizes.n);
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// y[m, n] = a[m, k] b[k, n], a row at a time, so that the inner loop walks b and the row.
template <class T, class Sum>
void multiply(const T* a, const T* b, T* y, const Sizes& sizes, std::vector<Sum>& row) {
  for (int64_t i = 0; i < sizes.m; ++i) {
    std::ranges::fill(row, Sum{0});
    for (int64_t p = 0; p < sizes.k; ++p) {
      const auto factor = static_cast<Sum>(a[i * sizes.k + p]);
      const T* line = b + p * sizes.n;
      for (size_t j = 0; j < row.size(); ++j) row[j] += factor * static_cast<Sum>(line[j]);
    }
    std::ranges::transform(row, y + i * sizes.n, [](Sum sum) { return static_cast<T>(sum); });
  }
}

void reference(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const Sizes sizes = *sizes_of(inputs[0].shape(), inputs[1].shape());
  const std::array strides = {strides_of(sizes.batch),
                              broadcast_strides(sizes.a_batch, sizes.batch),
                              broadcast_strides(sizes.b_batch, sizes.batch)};
  visit<MatMulTypes>(inputs[0].dtype(), [&]<class T>() {
    std::vector<Modular<Compute<T>>> row(static_cast<size_t>(sizes.n));
    for_each_run(sizes.batch, strides, [&](auto at, auto step, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        multiply(inputs[0].data<T>().data() + (at[1] + i * step[1]) * sizes.m * sizes.k,
                 inputs[1].data<T>().data() + (at[2] + i * step[2]) * sizes.k * sizes.n,
                 outputs[0].data<T>().data() + (at[0] + i) * sizes.m * sizes.n, sizes, row);
      }
    });
  });
}

// The batches of the region, the rows of a and the columns of b; k is never cut.
std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  const Shape &a = inputs[0].type.shape, &b = inputs[1].type.shape;
  const Sizes sizes = *sizes_of(a, b);
  const size_t batch_rank = sizes.batch.rank();
  const Region batch{Shape(std::span(output.begin).first(batch_rank)),
                     Shape(std::span(output.end).first(batch_rank))};
  auto read = [&](const Shape& shape, const Shape& own_batch) {
    Region region = Region::whole(shape);
    const Region part = broadcast_region(own_batch, batch);
    std::ranges::copy(part.begin, region.begin.begin());
    std::ranges::copy(part.end, region.end.begin());
    return region;
  };
  Region left = read(a, sizes.a_batch), right = read(b, sizes.b_batch);
  if (a.rank() > 1) {
    left.begin[a.rank() - 2] = output.begin[batch_rank];
    left.end[a.rank() - 2] = output.end[batch_rank];
  }
  if (b.rank() > 1) {
    right.begin[b.rank() - 1] = output.begin[output.begin.rank() - 1];
    right.end[b.rank() - 1] = output.end[output.end.rank() - 1];
  }
  return Tile{{left, right}, output, node.attributes, {}};
}

int64_t count_macs(const Node&, std::span<const Operand> inputs,
                   std::span<const TensorType> outputs) {
  const Shape& a = inputs[0].type.shape;
  return outputs[0].shape.count() * a[a.rank() - 1];
}

}  // namespace

const Operator mat_mul = {.name = "MatMul",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .infer = infer,
                          .reference = reference,
                          .split = split,
                          .linear = true,
                          .macs = count_macs};

}  // namespace shoal::ops
