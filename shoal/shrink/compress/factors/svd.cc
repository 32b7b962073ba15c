// svd: y = W x, W [m, n], is approximated by y = L (R x), L [m, k], R [k, n], with k (m + n)
// instead of m n multiply-accumulates, which pays for k < m n / (m + n). For Gemm, MatMul and
// convolutions of one tap, whose first factor keeps strides and padding.
#include <algorithm>
#include <memory>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/factors/factorise.h"
#include "shoal/shrink/compress/factors/low_rank.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {
namespace {

// The time to take a matrix apart grows with the cube of its shorter side. So long are those of
// VGG-16's largest layers.
constexpr int64_t kLongestSide = 4096;

struct Sides {
  size_t outputs = 0;
  size_t inputs = 0;
};

Sides sides_of(const WeightedProduct& product) {
  const auto outputs = static_cast<size_t>(product.weights->shape()[product.channel_axis]);
  return {outputs, static_cast<size_t>(product.weights->count()) / outputs};
}

Status accepts(const Node& node, const WeightedProduct& product) {
  const Shape& shape = product.weights->shape();
  if (node.op == &ops::conv && node.integer("group", 1) != 1) {
    return Status(Code::kUnsupported, "it is a convolution in groups");
  }
  if (node.op == &ops::conv && shape.count(2, shape.rank()) != 1) {
    return Status(Code::kUnsupported,
                  "it is a convolution of several taps, which tucker factorises");
  }
  if (std::min(shape[0], shape[1]) > kLongestSide) {
    return Status(Code::kUnsupported, "its weights have more than 4096 rows and columns");
  }
  return {};
}

// [outputs, inputs], however the node has them.
Matrix matrix_of(const WeightedProduct& product) {
  const Sides sides = sides_of(product);
  const auto elements = product.weights->data<float>();
  return product.channel_axis == 0 ? Matrix::of(sides.outputs, elements)
                                   : transposed(Matrix::of(sides.inputs, elements));
}

// A matrix [outputs, inputs] as weights that lie as those of `product`.
Tensor weights_like(const WeightedProduct& product, const Matrix& matrix) {
  Shape shape = product.weights->shape();
  shape[product.channel_axis] = static_cast<int64_t>(matrix.rows());
  shape[1 - product.channel_axis] = static_cast<int64_t>(matrix.columns());
  const Matrix laid = product.channel_axis == 0 ? matrix : transposed(matrix);
  Tensor tensor({DType::kF32, shape});
  std::ranges::transform(laid.elements(), tensor.data<float>().begin(),
                         [](double x) { return static_cast<float>(x); });
  return tensor;
}

std::vector<Candidate> candidates_of(const LowRank& matrix, const Sides& sides, double positions,
                                     size_t block) {
  const std::vector<double> lost = lost_energy(matrix.singular_values());
  const auto per_rank = static_cast<double>(sides.outputs + sides.inputs);
  std::vector<Candidate> all;
  for (size_t rank : rank_grid(std::min(sides.outputs, sides.inputs), block)) {
    const double weights = static_cast<double>(rank) * per_rank;
    all.push_back({{rank, rank}, positions * weights, lost[rank], weights});
  }
  return front(std::move(all),
               positions * static_cast<double>(sides.outputs) * static_cast<double>(sides.inputs));
}

Result<Factors> take_apart(const Graph& graph, const Node& node, std::optional<Whitening> whitening,
                           size_t block) {
  const WeightedProduct product = *product_of(graph, node);
  const Sides sides = sides_of(product);
  SHOAL_ASSIGN(LowRank low_rank, LowRank::of(matrix_of(product), std::move(whitening)));
  const auto matrix = std::make_shared<const LowRank>(std::move(low_rank));
  Factors factors;
  const double positions = static_cast<double>(graph[node.outputs[0]].type.shape.count()) /
                           static_cast<double>(sides.outputs);
  factors.candidates = candidates_of(*matrix, sides, positions, block);
  if (!factors.candidates.empty()) {
    const size_t rank = evbmf_rank(matrix->singular_values(), sides.outputs, sides.inputs);
    factors.start = first_with(factors.candidates, {rank, rank});
  }
  factors.at = [matrix, product, &node](const Ranks& ranks) -> Result<std::vector<Factor>> {
    const LowRank::Factors pair = matrix->at(ranks.outputs);
    // Of a convolution, the second factor has no strides or padding left to do.
    const Attributes second = node.op == &ops::conv ? Attributes() : node.attributes;
    return std::vector<Factor>{{node.op, weights_like(product, pair.right), node.attributes},
                               {node.op, weights_like(product, pair.left), second}};
  };
  return factors;
}

}  // namespace

const Factorisation kSvd{accepts, take_apart};

Result<Compressed> svd(const Graph& graph, const Context& context) {
  return factorised(graph, context, kSvd);
}

}  // namespace shoal::compress
