#include "shoal/ops/recurrent/recurrent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

template <class T>
struct ActivationKind {
  std::string_view name;
  T (*function)(T x, T alpha, T beta);
  std::optional<float> alpha = {};  // the default; none: there is no such parameter
  std::optional<float> beta = {};
};

template <class T>
constexpr std::array<ActivationKind<T>, 11> kActivations = {{
    {"Relu", [](T x, T, T) { return std::max(x, T{0}); }},
    {"Tanh", [](T x, T, T) { return std::tanh(x); }},
    {"Sigmoid", [](T x, T, T) { return 1 / (1 + std::exp(-x)); }},
    {"Affine", [](T x, T alpha, T beta) { return alpha * x + beta; }, 1.0f, 0.0f},
    {"LeakyRelu", [](T x, T alpha, T) { return x >= 0 ? x : alpha * x; }, 0.01f},
    {"ThresholdedRelu", [](T x, T alpha, T) { return x >= alpha ? x : T{0}; }, 1.0f},
    {"ScaledTanh", [](T x, T alpha, T beta) { return alpha * std::tanh(beta * x); }, 1.0f, 1.0f},
    {"HardSigmoid", [](T x, T alpha, T beta) { return std::clamp(alpha * x + beta, T{0}, T{1}); },
     0.2f, 0.5f},
    {"Elu", [](T x, T alpha, T) { return x >= 0 ? x : alpha * std::expm1(x); }, 1.0f},
    {"Softsign", [](T x, T, T) { return x / (1 + std::abs(x)); }},
    {"Softplus", [](T x, T, T) { return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x))); }},
}};

template <class T>
const ActivationKind<T>* find_activation(std::string_view name) {
  auto it = std::ranges::find(kActivations<T>, name, &ActivationKind<T>::name);
  return it == kActivations<T>.end() ? nullptr : &*it;
}

int64_t directions_of(const Node& node) {
  return node.text("direction", "forward") == "bidirectional" ? 2 : 1;
}

// The names for all directions.
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
  // RNN's default in ONNX lists two for one direction, so more are no mistake.
  if (names.size() < needed) {
    return invalid("names " + std::to_string(names.size()) + " activations, needs " +
                   std::to_string(needed));
  }
  for (const std::string& name : names) {
    if (find_activation<float>(name) == nullptr) {
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

// [rows, columns] at `from`, transposed.
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

template <class T>
std::vector<Activation<T>> activations_of(const RecurrentKind& kind, const Node& node, size_t d) {
  const auto alphas = attribute<std::vector<float>>(node.attributes, "activation_alpha", {});
  const auto betas = attribute<std::vector<float>>(node.attributes, "activation_beta", {});
  const T clip =
      node.has("clip") ? static_cast<T>(node.real("clip", 0)) : std::numeric_limits<T>::infinity();
  size_t next_alpha = 0, next_beta = 0;
  // Only functions with a parameter take one from the list.
  auto take = [](std::optional<float> fallback, std::span<const float> list, size_t& next) {
    if (!fallback) return T{0};
    return static_cast<T>(next < list.size() ? list[next++] : *fallback);
  };
  std::vector<Activation<T>> all;
  for (const std::string& name : activation_names(kind, node)) {
    const ActivationKind<T>& found = *find_activation<T>(name);
    all.push_back({found.function, take(found.alpha, alphas, next_alpha),
                   take(found.beta, betas, next_beta), clip});
  }
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(d * kind.activations.size());
  return {first, first + static_cast<std::ptrdiff_t>(kind.activations.size())};
}

template <class T>
RecurrentWeights<T> recurrent_weights(std::span<const Tensor> inputs, int64_t d) {
  const Shape& w = inputs[1].shape();
  const int64_t width = w[1], input = w[2], hidden = inputs[2].shape()[2];
  auto slice = [&](size_t i, int64_t at, int64_t n) {
    if (i >= inputs.size() || !inputs[i].defined()) return std::vector<T>(static_cast<size_t>(n));
    const T* from = inputs[i].data<T>().data() + at;
    return std::vector<T>(from, from + n);
  };
  return {transposed(inputs[1].data<T>().data() + d * width * input, width, input),
          transposed(inputs[2].data<T>().data() + d * width * hidden, width, hidden),
          slice(3, 2 * d * width, width), slice(3, (2 * d + 1) * width, width),
          slice(7, 3 * d * hidden, 3 * hidden)};
}

std::vector<int64_t> sequence_lengths(std::span<const Tensor> inputs, const RecurrentSizes& sizes) {
  if (inputs.size() <= 4 || !inputs[4].defined()) {
    return std::vector<int64_t>(static_cast<size_t>(sizes.batch), sizes.steps);
  }
  std::vector<int64_t> lengths = to_ints(inputs[4]);
  for (int64_t& length : lengths) length = std::clamp(length, int64_t{0}, sizes.steps);
  return lengths;
}

bool is_reverse(const Node& node, int64_t d) {
  return d == 1 || node.text("direction", "forward") == "reverse";
}

template std::vector<Activation<float>> activations_of(const RecurrentKind&, const Node&, size_t);
template std::vector<Activation<double>> activations_of(const RecurrentKind&, const Node&, size_t);
template RecurrentWeights<float> recurrent_weights(std::span<const Tensor>, int64_t);
template RecurrentWeights<double> recurrent_weights(std::span<const Tensor>, int64_t);

}  // namespace shoal::ops
