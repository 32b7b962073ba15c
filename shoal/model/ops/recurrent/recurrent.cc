#include "shoal/model/ops/recurrent/recurrent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Functions that ONNX defines for recurrent operators only. ThresholdedRelu passes x = alpha here;
// the operator of that name does not.
template <class T>
T affine(T x, T alpha, T beta) {
  return alpha * x + beta;
}
template <class T>
T scaled_tanh(T x, T alpha, T beta) {
  return alpha * std::tanh(beta * x);
}
template <class T>
T threshold(T x, T alpha, T) {
  return x >= alpha ? x : T{0};
}

struct OwnFunction {
  std::string_view name;
  Elementwise function;
};

constexpr OwnFunction kOwnFunctions[] = {
    {"Affine",
     {.f32 = affine<float>, .f64 = affine<double>, .parameters = {{{"alpha", 1}, {"beta", 0}}}}},
    {"ScaledTanh",
     {.f32 = scaled_tanh<float>,
      .f64 = scaled_tanh<double>,
      .parameters = {{{"alpha", 1}, {"beta", 1}}}}},
    {"ThresholdedRelu",
     {.f32 = threshold<float>, .f64 = threshold<double>, .parameters = {{{"alpha", 1}}}}},
};

struct NamedFunction {
  const Operator* op;
  const Elementwise* function;
};

// ONNX lists eight further functions, all of them operators. Here any operator with a function of
// one element is accepted.
std::optional<NamedFunction> find_function(std::string_view name) {
  const auto own = std::ranges::find(kOwnFunctions, name, &OwnFunction::name);
  if (own != std::end(kOwnFunctions)) return NamedFunction{nullptr, &own->function};
  const Operator* op = find(name);
  if (op == nullptr || op->elementwise.f32 == nullptr) return std::nullopt;
  return NamedFunction{op, &op->elementwise};
}

int64_t directions_of(const Node& node) {
  return node.text("direction", "forward") == "bidirectional" ? 2 : 1;
}

// The names for all directions, one direction after the other.
std::vector<std::string> activation_names(const RecurrentKind& kind, const Node& node) {
  auto names = attribute<std::vector<std::string>>(node.attributes, "activations", {});
  if (!names.empty()) return names;
  for (int64_t d = directions_of(node); d > 0; --d) {
    names.insert(names.end(), kind.activations.begin(), kind.activations.end());
  }
  return names;
}

Status require_activations(const RecurrentKind& kind, const Node& node) {
  const std::vector<std::string> names = activation_names(kind, node);
  const size_t needed = kind.activations.size() * static_cast<size_t>(directions_of(node));
  // More names than needed are no error: ONNX's default for RNN lists two for one direction.
  if (names.size() < needed) {
    return invalid("names " + std::to_string(names.size()) + " activations, needs " +
                   std::to_string(needed));
  }
  for (const std::string& name : names) {
    if (!find_function(name)) {
      return Status(Code::kUnsupported, "activation '" + name + "' is unknown");
    }
  }
  if (node.has("clip") && !(node.real("clip", 0) > 0)) return invalid("clip should be positive");
  return {};
}

Status require_words(const Node& node) {
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return invalid("direction '" + direction + "' is unknown");
  }
  const int64_t layout = node.integer("layout", 0);
  if (layout != 0 && layout != 1) return invalid("layout should be 0 or 1");
  return {};
}

Status require_shape(std::span<const Operand> inputs, size_t i, const Shape& shape) {
  if (i >= inputs.size() || !inputs[i].given || inputs[i].type.shape == shape) return {};
  return invalid("input " + std::to_string(i) + " has shape " + to_string(inputs[i].type.shape) +
                 ", should have " + to_string(shape));
}

Shape y_shape(const RecurrentSizes& s) {
  return s.batch_first ? Shape{s.batch, s.steps, s.directions, s.hidden}
                       : Shape{s.steps, s.directions, s.batch, s.hidden};
}

Shape state_shape(const RecurrentSizes& s) {
  return s.batch_first ? Shape{s.batch, s.directions, s.hidden}
                       : Shape{s.directions, s.batch, s.hidden};
}

Status require_types(std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].given) continue;
    if (i == 4) {
      SHOAL_TRY(require<Indices>(inputs[i]));
    } else {
      SHOAL_TRY(require_same_type(std::array{inputs[0], inputs[i]}));
    }
  }
  return {};
}

Status require_shapes(const RecurrentKind& kind, const Node& node, std::span<const Operand> inputs,
                      const RecurrentSizes& s) {
  const int64_t width = kind.gates * s.hidden;
  if (node.integer("hidden_size", s.hidden) != s.hidden) {
    return invalid("hidden_size is not that of the weights");
  }
  SHOAL_TRY(require_shape(inputs, 1, {s.directions, width, s.input}));
  SHOAL_TRY(require_shape(inputs, 2, {s.directions, width, s.hidden}));
  SHOAL_TRY(require_shape(inputs, 3, {s.directions, 2 * width}));
  SHOAL_TRY(require_shape(inputs, 4, {s.batch}));
  SHOAL_TRY(require_shape(inputs, 5, state_shape(s)));
  SHOAL_TRY(require_shape(inputs, 6, state_shape(s)));
  return require_shape(inputs, 7, {s.directions, 3 * s.hidden});
}

// The matrix [rows, columns] at `from`, transposed.
template <class T>
std::vector<T> transposed(const T* from, int64_t rows, int64_t columns) {
  std::vector<T> result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result[static_cast<size_t>(j * rows + i)] = from[i * columns + j];
    }
  }
  return result;
}

}  // namespace

RecurrentSizes recurrent_sizes(const Node& node, const Shape& x, const Shape& r) {
  const bool batch_first = node.integer("layout", 0) == 1;
  return {
      x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], x[2], r[2], directions_of(node), batch_first};
}

Result<std::vector<TensorType>> infer_recurrent(const RecurrentKind& kind, const Node& node,
                                                std::span<const Operand> inputs) {
  SHOAL_TRY(require_types(inputs));
  SHOAL_TRY(require_words(node));
  SHOAL_TRY(require_activations(kind, node));
  SHOAL_TRY(require_rank(inputs[0], 3));
  SHOAL_TRY(require_rank(inputs[2], 3));
  const RecurrentSizes s = recurrent_sizes(node, inputs[0].type.shape, inputs[2].type.shape);
  SHOAL_TRY(require_shapes(kind, node, inputs, s));
  std::vector<TensorType> types(node.outputs.size(), {inputs[0].type.dtype, state_shape(s)});
  types[0].shape = y_shape(s);
  return types;
}

// The batch is cut, in whichever axis it lies. Steps depend on each other, and both directions have
// the same sequences.
std::optional<Tile> split_recurrent(const Node& node, std::span<const Operand> inputs,
                                    const Region& output) {
  const RecurrentSizes s = recurrent_sizes(node, inputs[0].type.shape, inputs[2].type.shape);
  const size_t y_axis = s.batch_first ? 0 : 2;
  auto part = [&](const Shape& shape, size_t axis) {
    Region region = Region::whole(shape);
    region.begin[axis] = output.begin[y_axis];
    region.end[axis] = output.end[y_axis];
    return region;
  };
  Tile tile{{}, part(y_shape(s), y_axis), node.attributes, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].type.shape;
    // X, sequence_lens, initial_h and initial_c have the batch; W, R, B and P are shared by all
    // sequences.
    const bool has_batch = i == 0 || (i >= 4 && i <= 6);
    const size_t axis = s.batch_first || i == 4 ? 0 : 1;
    tile.inputs.push_back(!inputs[i].given ? Region{}
                          : has_batch      ? part(shape, axis)
                                           : Region::whole(shape));
  }
  return tile;
}

int64_t recurrent_macs(const Node& node, std::span<const Operand> inputs,
                       std::span<const TensorType>) {
  const RecurrentSizes s = recurrent_sizes(node, inputs[0].type.shape, inputs[2].type.shape);
  return s.steps * s.batch * inputs[1].type.shape.count() +
         s.steps * s.batch * inputs[2].type.shape.count();
}

std::vector<RecurrentActivation> activations_of(const RecurrentKind& kind, const Node& node,
                                                int64_t direction) {
  const auto alphas = attribute<std::vector<float>>(node.attributes, "activation_alpha", {});
  const auto betas = attribute<std::vector<float>>(node.attributes, "activation_beta", {});
  const float limit = node.real("clip", std::numeric_limits<float>::infinity());
  size_t next_alpha = 0, next_beta = 0;
  // ONNX lists parameters only for the functions that have them, so the others must not take one.
  auto take = [](const ElementParameter& parameter, std::span<const float> list, size_t& next) {
    const bool listed = !parameter.attribute.empty() && next < list.size();
    return listed ? list[next++] : parameter.value;
  };
  std::vector<RecurrentActivation> all;
  for (const std::string& name : activation_names(kind, node)) {
    const NamedFunction found = *find_function(name);
    const auto& [alpha, beta] = found.function->parameters;
    all.push_back({found.op, found.function, take(alpha, alphas, next_alpha),
                   take(beta, betas, next_beta), limit});
  }
  const auto count = std::ssize(kind.activations);
  return {all.begin() + direction * count, all.begin() + (direction + 1) * count};
}

template <class T>
RecurrentWeights<T> recurrent_weights(std::span<const Tensor> inputs, int64_t d) {
  const Shape& w = inputs[1].shape();
  const int64_t width = w[1], input = w[2], hidden = inputs[2].shape()[2];
  auto rows = [&](size_t i, int64_t at, int64_t n) {
    if (i >= inputs.size() || !inputs[i].defined()) return std::vector<T>(static_cast<size_t>(n));
    const T* from = inputs[i].data<T>().data() + at;
    return std::vector<T>(from, from + n);
  };
  return {transposed(inputs[1].data<T>().data() + d * width * input, width, input),
          transposed(inputs[2].data<T>().data() + d * width * hidden, width, hidden),
          rows(3, 2 * d * width, width), rows(3, (2 * d + 1) * width, width),
          rows(7, 3 * d * hidden, 3 * hidden)};
}

std::vector<int64_t> sequence_lengths(std::span<const Tensor> inputs, const RecurrentSizes& sizes) {
  if (inputs.size() <= 4 || !inputs[4].defined()) {
    return std::vector<int64_t>(static_cast<size_t>(sizes.batch), sizes.steps);
  }
  std::vector<int64_t> lengths = to_ints(inputs[4]);
  // Lengths are data. One out of range is clamped, so that no step outside of x is read.
  for (int64_t& length : lengths) length = std::clamp(length, int64_t{0}, sizes.steps);
  return lengths;
}

bool is_reverse(const Node& node, int64_t d) {
  return d == 1 || node.text("direction", "forward") == "reverse";
}

template RecurrentWeights<float> recurrent_weights(std::span<const Tensor>, int64_t);
template RecurrentWeights<double> recurrent_weights(std::span<const Tensor>, int64_t);

}  // namespace shoal::ops
