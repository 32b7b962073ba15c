// Operators that draw random numbers: Bernoulli, Multinomial, RandomNormal, RandomUniform and their
// Like forms. With a seed a node draws the same numbers at every run. ONNX leaves the generator
// open, so the numbers are not those of other engines. None can be split: a tile would draw other
// numbers.
#include "shoal/model/ops/array/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "shoal/base/limits.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {

std::mt19937 make_generator(const Node& node) {
  const auto seed = node.attributes.find("seed");
  if (seed != node.attributes.end()) {
    if (const auto* integer = std::get_if<int64_t>(&seed->second)) {
      return std::mt19937(static_cast<uint32_t>(*integer));
    }
    // ONNX declares `seed` as a float. Its bits are the seed, so that fractions differ too.
    if (const auto* real = std::get_if<float>(&seed->second)) {
      return std::mt19937(std::bit_cast<uint32_t>(*real));
    }
  }
  return std::mt19937(std::random_device{}());
}

namespace {

// The attribute `dtype`, or the fallback if there is none.
Result<DType> require_output_dtype(const Node& node, DType fallback) {
  if (!node.has("dtype")) return fallback;
  SHOAL_ASSIGN(const int64_t number, require_integer(node, "dtype"));
  return require_dtype(number);
}

Result<std::vector<TensorType>> make_type(DType dtype, const Shape& shape) {
  if (!Floats::contains(dtype)) {
    return invalid("does not draw elements of type " + std::string(name_of(dtype)));
  }
  return std::vector{TensorType{dtype, shape}};
}

Result<std::vector<TensorType>> infer_shape(const Node& node, std::span<const Operand>) {
  const std::vector<int64_t> dims = node.integers("shape");
  if (!node.has("shape")) return invalid("the attribute shape is missing");
  if (dims.size() > Shape::kMaxRank) return invalid("shape has more than 8 dimensions");
  SHOAL_ASSIGN(const DType dtype, require_output_dtype(node, DType::kF32));
  return make_type(dtype, Shape(dims));
}

Result<std::vector<TensorType>> infer_like(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const DType dtype, require_output_dtype(node, inputs[0].type.dtype));
  return make_type(dtype, inputs[0].type.shape);
}

// Fills with offset + factor * standard(generator).
template <class Distribution>
void draw(const Node& node, Distribution standard, double offset, double factor, Tensor& output) {
  std::mt19937 generator = make_generator(node);
  visit<Floats>(output.dtype(), [&]<class T>() {
    std::ranges::generate(output.data<T>(),
                          [&] { return convert<T>(offset + factor * standard(generator)); });
  });
}

void draw_uniform(const Node& node, std::span<const Tensor>, std::span<Tensor> outputs) {
  const double low = node.real("low", 0), high = node.real("high", 1);
  draw(node, std::uniform_real_distribution<double>(), low, high - low, outputs[0]);
}

void draw_normal(const Node& node, std::span<const Tensor>, std::span<Tensor> outputs) {
  draw(node, std::normal_distribution<double>(), node.real("mean", 0), node.real("scale", 1),
       outputs[0]);
}

Result<std::vector<TensorType>> infer_bernoulli(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_ASSIGN(const DType dtype, require_output_dtype(node, inputs[0].type.dtype));
  return std::vector{TensorType{dtype, inputs[0].type.shape}};
}

void draw_bernoulli(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::mt19937 generator = make_generator(node);
  std::uniform_real_distribution<double> uniform;
  visit<Floats>(inputs[0].dtype(), [&]<class P>() {
    visit<AllTypes>(outputs[0].dtype(), [&]<class Y>() {
      std::ranges::transform(inputs[0].data<P>(), outputs[0].data<Y>().begin(), [&](P p) {
        return convert<Y>(uniform(generator) < static_cast<double>(static_cast<Compute<P>>(p)));
      });
    });
  });
}

Result<std::vector<TensorType>> infer_multinomial(const Node& node,
                                                  std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_rank(inputs[0], 2));
  const Shape& shape = inputs[0].type.shape;  // [batch, classes]
  const int64_t samples = node.integer("sample_size", 1);
  if (shape[1] == 0) return invalid("there are no classes to draw from");
  if (samples < 1) return invalid("sample_size is " + std::to_string(samples));
  SHOAL_ASSIGN(const DType dtype, require_output_dtype(node, DType::kI32));
  if (!Indices::contains(dtype)) return invalid("dtype should be i32 or i64");
  return std::vector{TensorType{dtype, {shape[0], samples}}};
}

// exp(x_0), exp(x_0) + exp(x_1) and so on, up to a common factor: the largest x is subtracted, so
// exp cannot overflow. NaN and infinite logits count as impossible.
template <class T>
std::vector<double> cumulative_weights(std::span<const T> log_weights) {
  double top = -std::numeric_limits<double>::infinity();
  for (T x : log_weights) top = std::max(top, static_cast<double>(static_cast<Compute<T>>(x)));
  std::vector<double> weights;
  double sum = 0;
  for (T x : log_weights) {
    const double weight = std::exp(static_cast<double>(static_cast<Compute<T>>(x)) - top);
    weights.push_back(sum += weight > 0 ? weight : 0);
  }
  return weights;
}

void draw_multinomial(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::mt19937 generator = make_generator(node);
  std::uniform_real_distribution<double> uniform;
  const Shape& shape = inputs[0].shape();  // [batch, classes]
  const auto classes = static_cast<size_t>(shape[1]);
  const auto samples = static_cast<size_t>(outputs[0].shape()[1]);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    visit<Indices>(outputs[0].dtype(), [&]<class Y>() {
      for (size_t row = 0; row < static_cast<size_t>(shape[0]); ++row) {
        const auto weights =
            cumulative_weights<T>(inputs[0].data<T>().subspan(row * classes, classes));
        std::ranges::generate(outputs[0].data<Y>().subspan(row * samples, samples), [&] {
          const double at = uniform(generator) * weights.back();
          const auto drawn = std::ranges::upper_bound(weights, at) - weights.begin();
          // Rounding may put `at` on the sum itself, one past the last class.
          return static_cast<Y>(std::min<int64_t>(drawn, shape[1] - 1));
        });
      }
    });
  });
}

}  // namespace

SHOAL_RECORD(bernoulli) = {
    .name = "Bernoulli", .infer = infer_bernoulli, .reference = draw_bernoulli, .random = true};

SHOAL_RECORD(multinomial) = {.name = "Multinomial",
                             .infer = infer_multinomial,
                             .reference = draw_multinomial,
                             .random = true};

SHOAL_RECORD(random_normal) = {.name = "RandomNormal",
                               .min_inputs = 0,
                               .max_inputs = 0,
                               .infer = infer_shape,
                               .reference = draw_normal,
                               .random = true};

SHOAL_RECORD(random_normal_like) = {
    .name = "RandomNormalLike", .infer = infer_like, .reference = draw_normal, .random = true};

SHOAL_RECORD(random_uniform) = {.name = "RandomUniform",
                                .min_inputs = 0,
                                .max_inputs = 0,
                                .infer = infer_shape,
                                .reference = draw_uniform,
                                .random = true};

SHOAL_RECORD(random_uniform_like) = {
    .name = "RandomUniformLike", .infer = infer_like, .reference = draw_uniform, .random = true};

}  // namespace shoal::ops
