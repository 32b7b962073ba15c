// tucker: a convolution becomes three smaller ones, without a function between them.
//
//   [N, C, k, k]  ->  [C', C, 1, 1],  [N', C', k, k] with the strides and padding,  [N, N', 1, 1]
//
// Multiply-accumulates at P positions of the input and Q of the output:
//   Q N C k²  ->  P C' C + Q N' C' k² + Q N N'
//
// With C' = C or N' = N the factor of that side is a change of basis only, and becomes part of the
// one in the middle.
#include <algorithm>
#include <memory>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/factors/factorise.h"
#include "shoal/shrink/compress/factors/low_rank.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {
namespace {

// Steps of the orthogonal iteration. Each takes two eigenvector decompositions per candidate.
constexpr int kSteps = 1;
// The time to take filters apart grows with the cube of their channels.
constexpr int64_t kMostChannels = 4096;

struct Filters {
  size_t outputs = 0;
  size_t inputs = 0;
  size_t taps = 0;
};

Filters filters_of(const Shape& weights) {
  return {static_cast<size_t>(weights[0]), static_cast<size_t>(weights[1]),
          static_cast<size_t>(weights.count(2, weights.rank()))};
}

Status accepts(const Node& node, const WeightedProduct& product) {
  const auto refusal = [](const char* why) { return Status(Code::kUnsupported, why); };
  if (node.op != &ops::conv) return refusal("it is no convolution; svd factorises it");
  if (node.integer("group", 1) != 1) return refusal("it is a convolution in groups");
  const Shape& shape = product.weights->shape();
  if (shape.count(2, shape.rank()) == 1) {
    return refusal("it is a convolution of one tap, which svd factorises");
  }
  if (std::max(shape[0], shape[1]) > kMostChannels)
    return refusal("it has more than 4096 channels");
  return {};
}

struct Work {
  Filters filters;
  double input_positions = 0;
  double output_positions = 0;

  double of_layer() const {
    return output_positions * static_cast<double>(filters.outputs * filters.inputs * filters.taps);
  }
  double of(const Ranks& ranks) const {
    const auto [outputs, inputs, taps] = filters;
    double sum = output_positions * static_cast<double>(ranks.outputs * ranks.inputs * taps);
    if (ranks.inputs < inputs) sum += input_positions * static_cast<double>(ranks.inputs * inputs);
    if (ranks.outputs < outputs) {
      sum += output_positions * static_cast<double>(ranks.outputs * outputs);
    }
    return sum;
  }
};

// What is lost is at most the sum of what either side loses.
std::vector<Candidate> candidates_of(const Tucker2& tensor, const Work& work, size_t block) {
  const std::vector<double> lost_outputs = lost_energy(tensor.output_values());
  const std::vector<double> lost_inputs = lost_energy(tensor.input_values());
  const Work weights{work.filters, 1, 1};  // each is used once at a position
  std::vector<Candidate> all;
  for (size_t outputs : rank_grid(work.filters.outputs, block)) {
    for (size_t inputs : rank_grid(work.filters.inputs, block)) {
      const Ranks ranks{outputs, inputs};
      all.push_back(
          {ranks, work.of(ranks), lost_outputs[outputs] + lost_inputs[inputs], weights.of(ranks)});
    }
  }
  return front(std::move(all), work.of_layer());
}

// An unfolding of `rows` x `columns` has min(rows, columns) singular values.
size_t estimated_rank(std::span<const double> values, size_t rows, size_t columns) {
  return evbmf_rank(values.first(std::min(rows, columns)), rows, columns);
}

Tensor weights_of(const Matrix& matrix, Shape shape) {
  Tensor tensor({DType::kF32, shape});
  std::ranges::transform(matrix.elements(), tensor.data<float>().begin(),
                         [](double x) { return static_cast<float>(x); });
  return tensor;
}

// The weights of a convolution of one tap.
Factor pointwise(const Matrix& matrix, size_t rank) {
  Shape shape = Shape::filled(rank, 1);
  shape[0] = static_cast<int64_t>(matrix.rows());
  shape[1] = static_cast<int64_t>(matrix.columns());
  return {&ops::conv, weights_of(matrix, shape), {}};
}

Result<std::vector<Factor>> factors_at(const Tucker2& tensor, const Node& node, Shape shape,
                                       const Ranks& ranks) {
  const Filters filters = filters_of(shape);
  SHOAL_ASSIGN(Tucker2::Factors parts, tensor.at(ranks.outputs, ranks.inputs, kSteps));
  std::vector<Factor> factors;
  if (ranks.inputs < filters.inputs) {
    factors.push_back(pointwise(parts.inputs, shape.rank()));
  } else {
    parts.core = times_inputs(parts.core, transposed(parts.inputs), filters.taps);
  }
  if (ranks.outputs == filters.outputs) parts.core = product(parts.outputs, parts.core);
  shape[0] = static_cast<int64_t>(ranks.outputs);
  shape[1] = static_cast<int64_t>(ranks.inputs);
  factors.push_back({&ops::conv, weights_of(parts.core, shape), node.attributes});
  if (ranks.outputs < filters.outputs) {
    factors.push_back(pointwise(parts.outputs, shape.rank()));
  }
  return factors;
}

Result<Factors> take_apart(const Graph& graph, const Node& node, std::optional<Whitening> whitening,
                           size_t block) {
  const Tensor& weights = *graph[node.inputs[1]].constant;
  const auto [outputs, inputs, taps] = filters_of(weights.shape());
  SHOAL_ASSIGN(Tucker2 tucker,
               Tucker2::of(Matrix::of(outputs, weights.data<float>()), taps, whitening));
  const auto tensor = std::make_shared<const Tucker2>(std::move(tucker));
  const auto positions = [&](ValueId id, size_t channels) {
    return static_cast<double>(graph[id].type.shape.count()) / static_cast<double>(channels);
  };
  Factors factors;
  const Work work{{outputs, inputs, taps},
                  positions(node.inputs[0], inputs),
                  positions(node.outputs[0], outputs)};
  factors.candidates = candidates_of(*tensor, work, block);
  if (!factors.candidates.empty()) {
    factors.start = first_with(factors.candidates,
                               {estimated_rank(tensor->output_values(), outputs, inputs * taps),
                                estimated_rank(tensor->input_values(), inputs, outputs * taps)});
  }
  factors.at = [tensor, &node, shape = weights.shape()](const Ranks& ranks) {
    return factors_at(*tensor, node, shape, ranks);
  };
  return factors;
}

}  // namespace

const Factorisation kTucker{accepts, take_apart};

Result<Compressed> tucker(const Graph& graph, const Context& context) {
  return factorised(graph, context, kTucker);
}

}  // namespace shoal::compress
