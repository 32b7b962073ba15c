// Shapes as texts, and inputs made from shapes. Texts come from a command line and declarations
// from a file: both are checked before a Shape or a tensor is made of them.
#include "shoal/engine/session/input_shapes.h"

#include <charconv>
#include <random>

#include "shoal/model/tensor/random_tensor.h"

namespace shoal {
namespace {

Status no_shape(const std::string& text) {
  return invalid("a shape is written NAME=1x3x224x224, not " + text);
}

Result<Shape> parse_shape(std::string_view dims, const std::string& text) {
  Shape shape;
  const char* at = dims.data();
  const char* const end = at + dims.size();
  while (at < end) {
    int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    // from_chars refuses numbers beyond int64. A ninth dimension would not fit into a Shape.
    if (error != std::errc() || dim < 0 || shape.rank() == Shape::kMaxRank) return no_shape(text);
    shape.push_back(dim);
    if (next == end) break;
    if (*next != 'x' || next + 1 == end) return no_shape(text);
    at = next + 1;
  }
  return shape;
}

Result<TensorType> type_of(const TensorInfo& input, const InputShapes& shapes) {
  TensorType type{*input.dtype, {}};
  if (const auto given = shapes.find(input.name); given != shapes.end()) {
    type.shape = given->second;
  } else {
    if (input.sizes().size() > Shape::kMaxRank) {
      return invalid("input " + input.name + " has too many dimensions");
    }
    for (int64_t dim : input.sizes()) type.shape.push_back(dim < 0 ? 1 : dim);
  }
  SHOAL_TRY(check(type));
  return type;
}

}  // namespace

Result<InputShapes> parse_input_shapes(std::span<const std::string> texts) {
  InputShapes shapes;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos) return no_shape(text);
    SHOAL_ASSIGN(const Shape shape, parse_shape(std::string_view(text).substr(equals + 1), text));
    if (!shapes.emplace(text.substr(0, equals), shape).second) {
      return invalid("there are two shapes of input " + text.substr(0, equals));
    }
  }
  return shapes;
}

Result<Session::Tensors> random_inputs(const Session& session, const InputShapes& shapes) {
  std::mt19937 rng(1);
  Session::Tensors inputs;
  for (const TensorInfo& input : session.inputs()) {
    if (input.optional && !shapes.contains(input.name)) continue;
    SHOAL_ASSIGN(const TensorType type, type_of(input, shapes));
    inputs[input.name] = random_tensor(type, rng);
  }
  // A name that no input has is likely misspelt.
  for (const auto& [name, shape] : shapes) {
    if (!inputs.contains(name)) return invalid("the model has no input " + name);
  }
  SHOAL_TRY(session.accepts(inputs));
  return inputs;
}

}  // namespace shoal
