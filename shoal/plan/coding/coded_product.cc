// Coded products. A product is linear in its weights: with shares y_i = x * W_i,
//
//   sum_i c_i y_i = x * (sum_i c_i W_i),
//
// so a parity is one more product of the same input, whose weights are computed here, once. It is
// as large as the largest share. For integers, w - zero_point is summed, and the sum, up to 16
// bits, is written as 256 high + low with two signed digits; their products are added in 32 bits.
#include "shoal/plan/coding/coded_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/coding/erasure.h"
#include "shoal/plan/coding/products.h"

namespace shoal::plan {
namespace {

constexpr size_t kBias = 2;                                  // of products of reals
constexpr size_t kInputZeroPoint = 2, kWeightZeroPoint = 3;  // of those of integers

// A constant cut along the axis along which the product's blocks are.
struct CutConstant {
  size_t axis = 0;
  std::vector<Tensor> parts;  // by block
};

CutConstant cut(const Tensor& whole, size_t axis, const SplitProduct& split) {
  CutConstant parts{axis, {}};
  for (const Region& block : split.blocks) {
    Region box = Region::whole(whole.shape());
    box.begin[axis] = block.begin[split.axis];
    box.end[axis] = block.end[split.axis];
    parts.parts.push_back(crop(whole, box));
  }
  return parts;
}

// The axis of an input along which the product's blocks divide it; its rank if none does.
size_t axis_of(const Graph& graph, const Node& node, size_t input, const SplitProduct& split) {
  const Shape& shape = graph[node.inputs[input]].type.shape;
  const auto tile = node.op->split(node, graph.operands(node.inputs), split.blocks[0]);
  SHOAL_CHECK(tile.has_value());
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (tile->inputs[input].shape()[d] != shape[d]) return d;
  }
  return shape.rank();
}

// Zero points differ between channels, so sums of raw weights would have no common zero point.
Tensor subtract_zero_points(const Tensor& weights, size_t axis, const Tensor& zero_points) {
  Tensor wide({DType::kF32, weights.shape()});
  const Shape& shape = weights.shape();
  const int64_t inner = shape.count(axis + 1, shape.rank());
  const auto element = [](const Tensor& from, int64_t i) {
    const auto at = static_cast<size_t>(i);
    return static_cast<float>(from.dtype() == DType::kI8 ? from.data<int8_t>()[at]
                                                         : from.data<uint8_t>()[at]);
  };
  for (int64_t i = 0; i < weights.count(); ++i) {
    const int64_t channel =
        zero_points.defined() && zero_points.count() > 1 ? i / inner % shape[axis] : 0;
    wide.data<float>()[static_cast<size_t>(i)] =
        element(weights, i) - (zero_points.defined() ? element(zero_points, channel) : 0);
  }
  return wide;
}

bool has_input(const Node& node, size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoValue;
}

CutConstant cut_input(const Graph& graph, const Node& node, size_t input,
                      const SplitProduct& split) {
  const Tensor& whole = *graph[node.inputs[input]].constant;
  return cut(whole, axis_of(graph, node, input, split), split);
}

// The weights of a product of integers, by block.
struct IntegerWeights {
  CutConstant parts;
  std::vector<Tensor> zero_points;  // undefined if there are none
  std::vector<Tensor> differences;  // from them, as f32, which holds them exactly

  IntegerWeights(const Graph& graph, const Node& node, const SplitProduct& split)
      : parts(cut_input(graph, node, 1, split)), zero_points(split.blocks.size()) {
    if (has_input(node, kWeightZeroPoint)) {
      const Tensor& all = *graph[node.inputs[kWeightZeroPoint]].constant;
      zero_points = all.count() > 1 ? cut_input(graph, node, kWeightZeroPoint, split).parts
                                    : std::vector<Tensor>(split.blocks.size(), all);
    }
    for (size_t i = 0; i < parts.parts.size(); ++i) {
      differences.push_back(subtract_zero_points(parts.parts[i], parts.axis, zero_points[i]));
    }
  }
};

Status refused(const Graph& graph, const Node& node, const char* why) {
  return Status(Code::kUnsupported, place_of(graph, node) + " cannot be coded: " + why);
}

Tensor absolute(const Tensor& reals) {
  Tensor all = reals.clone();
  for (float& x : all.data<float>()) x = std::abs(x);
  return all;
}

// Sums of integers as two digits of eight bits: value = 256 high + low.
struct Digits {
  Tensor low, high;
};

Digits digits_of(const Tensor& sums) {
  Digits digits{Tensor({DType::kI8, sums.shape()}), Tensor({DType::kI8, sums.shape()})};
  for (size_t i = 0; i < sums.data<float>().size(); ++i) {
    const auto value = static_cast<int32_t>(sums.data<float>()[i]);
    // The low digit is signed, so the high one is rounded to nearest rather than down.
    const auto low = static_cast<int8_t>(value & 0xff);
    digits.low.data<int8_t>()[i] = low;
    digits.high.data<int8_t>()[i] = static_cast<int8_t>((value - low) / 256);
  }
  return digits;
}

// Appends the nodes of one coded product.
class Coder {
 public:
  Coder(const Graph& from, const Node& node, const SplitProduct& split,
        const std::vector<ValueId>& inputs, Graph& to)
      : from_(from), node_(node), split_(split), inputs_(inputs), to_(to) {}

  Result<CodedProduct> run(int parities) {
    const bool is_integer = from_[node_.outputs[0]].type.dtype == DType::kI32;
    const size_t blocks = split_.blocks.size();
    CodedProduct coded;
    coded.coefficients =
        is_integer ? integer_coefficients(blocks, parities) : real_coefficients(blocks, parities);
    SHOAL_TRY(is_integer ? add_integers(coded) : add_reals(coded));
    return coded;
  }

 private:
  std::string name(const char* role, size_t number) const {
    return from_[node_.outputs[0]].name + role + std::to_string(number);
  }
  ValueId constant(const char* role, Tensor tensor) {
    return to_.add_constant(from_[node_.outputs[0]].name + role, std::move(tensor));
  }

  Result<ValueId> add_product(ValueId weights, ValueId third, ValueId fourth, std::string output) {
    std::vector<ValueId> inputs = {inputs_[0], weights, third, fourth};
    while (inputs.back() == kNoValue) inputs.pop_back();
    return to_.add(*node_.op, std::move(inputs), node_.attributes, std::move(output));
  }

  // A slice and not a copy of the weights: the graph of a plan is a whole model, and the weights
  // would be in it twice. A part's graph crops them.
  Result<ValueId> slice_of_weights(size_t axis, size_t block) {
    const Region& box = split_.blocks[block];
    return append_slice(to_, inputs_[1], axis, box.begin[split_.axis], box.end[split_.axis]);
  }

  Status add_reals(CodedProduct& coded) {
    const bool has_bias = has_input(node_, kBias);
    const CutConstant weights = cut_input(from_, node_, 1, split_);
    const CutConstant bias = has_bias ? cut_input(from_, node_, kBias, split_) : CutConstant();
    for (size_t i = 0; i < weights.parts.size(); ++i) {
      const ValueId third = has_bias ? constant(".bias", bias.parts[i]) : kNoValue;
      SHOAL_ASSIGN(const ValueId w, slice_of_weights(weights.axis, i));
      SHOAL_ASSIGN(const ValueId part, add_product(w, third, kNoValue, name(".part", i)));
      coded.data.push_back(part);
    }
    for (size_t p = 0; p < coded.coefficients.size(); ++p) {
      const auto& c = coded.coefficients[p];
      const ValueId third =
          has_bias ? constant(".bias", parity_of(bias.parts, c, bias.axis)) : kNoValue;
      const ValueId w = constant(".weights", parity_of(weights.parts, c, weights.axis));
      SHOAL_ASSIGN(const ValueId parity, add_product(w, third, kNoValue, name(".parity", p)));
      coded.parity.push_back(parity);
    }
    return {};
  }

  Status add_integers(CodedProduct& coded) {
    const IntegerWeights weights(from_, node_, split_);
    const ValueId x_zero_point =
        has_input(node_, kInputZeroPoint) ? inputs_[kInputZeroPoint] : kNoValue;
    for (size_t i = 0; i < split_.blocks.size(); ++i) {
      const Tensor& zero = weights.zero_points[i];
      const ValueId fourth = zero.defined() ? constant(".zero_point", zero) : kNoValue;
      SHOAL_ASSIGN(const ValueId w, slice_of_weights(weights.parts.axis, i));
      SHOAL_ASSIGN(const ValueId part, add_product(w, x_zero_point, fourth, name(".part", i)));
      coded.data.push_back(part);
    }
    for (size_t p = 0; p < coded.coefficients.size(); ++p) {
      const Tensor sums = parity_of(weights.differences, coded.coefficients[p], weights.parts.axis);
      SHOAL_ASSIGN(const ValueId parity, add_digits(sums, x_zero_point, p));
      coded.parity.push_back(parity);
    }
    return {};
  }

  Result<ValueId> add_digits(const Tensor& sums, ValueId x_zero_point, size_t number) {
    const Digits digits = digits_of(sums);
    SHOAL_ASSIGN(const ValueId low, add_product(constant(".low", digits.low), x_zero_point,
                                                kNoValue, name(".low", number)));
    SHOAL_ASSIGN(ValueId high, add_product(constant(".high", digits.high), x_zero_point, kNoValue,
                                           name(".high", number)));
    const ValueId base = constant(".base", Tensor::of<int32_t>({}, {256}));
    SHOAL_ASSIGN(high, to_.add(ops::mul, {high, base}));
    return to_.add(ops::add, {low, high}, {}, name(".parity", number));
  }

  const Graph& from_;
  const Node& node_;
  const SplitProduct& split_;
  const std::vector<ValueId>& inputs_;
  Graph& to_;
};

}  // namespace

// Recovery from a parity of ones only adds and subtracts, which is exact modulo 2^32 whatever
// overflows. Other coefficients mean a division, which is exact only if no sum exceeds 32 bits. No
// sum of weights may exceed two digits.
Status check_exact(const Graph& graph, const Node& node, const SplitProduct& split, int parities) {
  constexpr float kMostOfDigits = 127 * 256;
  constexpr double kMostOfInput = 255;
  if (graph[node.outputs[0]].type.dtype != DType::kI32) return {};
  const IntegerWeights weights(graph, node, split);
  for (const std::vector<double>& c : integer_coefficients(split.blocks.size(), parities)) {
    std::vector<Tensor> parts;
    // Absolute values bound every partial sum, whatever the signs of the inputs.
    for (const Tensor& part : weights.differences) parts.push_back(absolute(part));
    const Tensor sums = parity_of(parts, c, weights.parts.axis);
    const Shape& shape = sums.shape();
    const int64_t inner = shape.count(weights.parts.axis + 1, shape.rank());
    std::vector<double> rows(static_cast<size_t>(shape[weights.parts.axis]));
    for (int64_t i = 0; i < sums.count(); ++i) {
      const float sum = sums.data<float>()[static_cast<size_t>(i)];
      if (sum > kMostOfDigits) return refused(graph, node, "sums of weights are too large");
      rows[static_cast<size_t>(i / inner) % rows.size()] += static_cast<double>(sum) * kMostOfInput;
    }
    const bool divides = std::ranges::any_of(c, [](double x) { return x != 1; });
    if (divides && *std::ranges::max_element(rows) > std::numeric_limits<int32_t>::max()) {
      return refused(graph, node, "sums of products may not fit 32 bits");
    }
  }
  return {};
}

Result<CodedProduct> append_coded(const Graph& from, const Node& node, const SplitProduct& split,
                                  const std::vector<ValueId>& inputs, int parities, Graph& graph) {
  return Coder(from, node, split, inputs, graph).run(parities);
}

namespace {

// The bound. A sum of K products in f32 has an error of about sqrt(K) u relative to its magnitude,
// with u = 2^-24: the K roundings are independent and as often up as down. (The worst case, K u, is
// never met: all roundings would have to go the same way.) Errors of a node's inputs pass through
// to its output with about their relative size, and add up along the longest path through the
// graph. Values that are rounded on purpose, to 16 or 8 bits, add half a step. Two computations are
// each off by that, and elements that are not the largest may lose as much again by cancellation:
// four times the sum is allowed.
constexpr double kSlack = 4;

// Half a step of the type, relative to the largest element.
double half_step(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kI8:
    case DType::kU8:
      return 0.5 / 127;
    default:
      return 0x1p-24;
  }
}

double error_of(const Graph& graph, const Node& node) {
  const TensorType& output = graph[node.outputs[0]].type;
  const auto count = static_cast<double>(std::max<int64_t>(1, output.shape.count()));
  const double terms = static_cast<double>(macs(graph, node)) / count;
  return half_step(output.dtype) + std::sqrt(terms) * 0x1p-24;
}

}  // namespace

double rounding_bound(const Graph& graph) {
  std::vector<double> errors(graph.value_count());
  double largest = 0x1p-24;
  for (const Node& node : graph.nodes()) {
    double error = 0;
    for (ValueId id : node.inputs) {
      if (id != kNoValue) error = std::max(error, errors[static_cast<size_t>(id)]);
    }
    error += error_of(graph, node);
    for (ValueId id : node.outputs) errors[static_cast<size_t>(id)] = error;
    largest = std::max(largest, error);
  }
  return kSlack * largest;
}

namespace {

// Decides for each segment whether to code it. A segment is coded if its products can be, and if
// all other products in it are at most a tenth of that work: every reader of a coded product
// decodes and then computes the rest of the segment itself, so the rest must be cheap.

// Work that every reader may have to repeat, as a part of the work that is coded.
constexpr double kMostLeftToReaders = 0.1;  // of multiply-accumulates

struct TileOf {
  const Tile* tile;
  int worker;
};

// The node's tiles in a segment, in the order of their first elements.
std::vector<TileOf> tiles_of(size_t node, const Segment& segment, const std::vector<Part>& parts) {
  std::vector<TileOf> tiles;
  for (size_t t = 0; t < parts.size(); ++t) {
    const auto it = std::ranges::find(parts[t].nodes, node, &PartNode::node);
    if (it != parts[t].nodes.end()) tiles.push_back({&it->tile, segment.tasks[t].worker});
  }
  std::ranges::sort(tiles, [](const TileOf& a, const TileOf& b) {
    return std::ranges::lexicographical_compare(a.tile->output.begin, b.tile->output.begin);
  });
  return tiles;
}

Result<SharedProduct> find_product(const Graph& graph, const Node& node,
                                   const std::vector<TileOf>& tiles, size_t spare,
                                   const std::vector<int>& workers) {
  std::vector<const Tile*> boxes;
  SharedProduct product;
  for (const TileOf& tile : tiles) {
    boxes.push_back(tile.tile);
    product.workers.push_back(tile.worker);
  }
  SHOAL_ASSIGN(product.split, find_split(graph, node, boxes));
  // A fused product is checked after lowering, when its integer sums are visible.
  if (is_plain(node)) {
    SHOAL_TRY(check_exact(graph, node, product.split, static_cast<int>(spare)));
  }
  std::vector<int> others = workers;
  std::erase_if(others, [&](int worker) {
    return std::ranges::find(product.workers, worker) != product.workers.end();
  });
  // A parity on a worker that also has a share would be lost together with it.
  if (others.size() >= spare) return product;
  return Status(Code::kUnsupported,
                place_of(graph, node) + " cannot be coded: no worker is left for a parity");
}

}  // namespace

CodedSegment find_coded_segment(const Graph& graph, const Segment& segment,
                                const std::vector<Part>& parts, size_t spare,
                                const std::vector<int>& workers) {
  CodedSegment coded;
  double coded_macs = 0, other_macs = 0;
  for (size_t i = segment.nodes.begin; i < segment.nodes.end; ++i) {
    const Node& node = graph.nodes()[i];
    const auto work = static_cast<double>(macs(graph, node));
    if (work == 0) continue;
    auto product = find_product(graph, node, tiles_of(i, segment, parts), spare, workers);
    (product.ok() ? coded_macs : other_macs) += work;
    if (product.ok()) {
      coded.products.emplace(i, *std::move(product));
    } else if (coded.why_not.empty()) {
      coded.why_not = product.status().message();
    }
  }
  if (coded.products.empty()) {
    coded.is_light = other_macs == 0;
    if (coded.is_light) coded.why_not = "there is no product in it";
  } else if (other_macs > kMostLeftToReaders * coded_macs) {
    coded.products.clear();
  } else {
    coded.why_not.clear();
  }
  return coded;
}

std::vector<CodedSegment> find_coded_segments(const Graph& graph, const Plan& plan,
                                              const Schedule& schedule, size_t spare,
                                              const std::vector<int>& workers) {
  std::vector<CodedSegment> coded;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    coded.push_back(find_coded_segment(graph, plan.segments[s], schedule.parts[s], spare, workers));
  }
  return coded;
}

}  // namespace shoal::plan
