#include <array>

#include "draws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

const DTypes kBytes = {DType::kI8, DType::kU8};

Tensor random_bytes(Rng& rng, DType dtype, const Shape& shape) {
  return random_tensor(rng, dtype, shape, {{}, -20, 20});
}

Tensor random_scales(Rng& rng, const Shape& shape) { return random_tensor(rng, shape, 0.1f, 2); }

// One for the tensor, or one per index of an axis.
struct Parameters {
  Shape shape;
  Attributes attributes;
};

Parameters random_parameters(Rng& rng, const Shape& x) {
  if (x.rank() == 0 || toss(rng)) return {};
  const int64_t axis = random_int(rng, 0, static_cast<int64_t>(x.rank()) - 1);
  return {{x[static_cast<size_t>(axis)]}, {{"axis", axis}}};
}

Case quantize_linear(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4);
  const Parameters parameters = random_parameters(rng, shape);
  Case c{{random_tensor(rng, shape, -50, 50), random_scales(rng, parameters.shape)},
         parameters.attributes};
  if (toss(rng)) c.inputs.push_back(random_bytes(rng, random_dtype(rng, kBytes), parameters.shape));
  return c;
}

Case dequantize_linear(Rng& rng) {
  const Shape shape = random_shape(rng, 0, 4);
  const Parameters parameters = random_parameters(rng, shape);
  const DType dtype = random_dtype(rng, {DType::kI8, DType::kU8, DType::kI32});
  Case c{{random_bytes(rng, dtype, shape), random_scales(rng, parameters.shape)},
         parameters.attributes};
  if (toss(rng)) c.inputs.push_back(random_bytes(rng, dtype, parameters.shape));
  return c;
}

// a and b of a product, in all the forms it takes, and the shapes of their parameters.
struct Factors {
  Shape a, b, rows, columns;
};

Factors random_factors(Rng& rng) {
  const int64_t m = random_int(rng, 1, 5), k = random_int(rng, 1, 5), n = random_int(rng, 1, 5);
  const Shape batch = random_shape(rng, 0, 2, 3);
  Factors f{toss(rng) ? batch : Shape{}, toss(rng) ? shrunk(rng, batch) : Shape{}, {}, {}};
  f.rows = f.a;
  f.columns = f.b;
  for (int64_t d : {m, k}) f.a.push_back(d);
  for (int64_t d : {k, n}) f.b.push_back(d);
  for (int64_t d : {m, int64_t{1}}) f.rows.push_back(d);
  for (int64_t d : {int64_t{1}, n}) f.columns.push_back(d);
  if (toss(rng)) f.rows = {m};
  if (toss(rng)) f.columns = {n};
  if (toss(rng)) f.rows = {};
  if (toss(rng)) f.columns = {};
  if (random_int(rng, 0, 4) == 0) f.a = {k}, f.rows = {};
  if (random_int(rng, 0, 4) == 0) f.b = {k}, f.columns = {};
  return f;
}

Case mat_mul_integer(Rng& rng) {
  const Factors f = random_factors(rng);
  const DType a = random_dtype(rng, kBytes), b = random_dtype(rng, kBytes);
  Case c{{random_bytes(rng, a, f.a), random_bytes(rng, b, f.b), Tensor(), Tensor()}};
  if (toss(rng)) c.inputs[2] = random_bytes(rng, a, f.rows);
  if (toss(rng)) c.inputs[3] = random_bytes(rng, b, f.columns);
  return c;
}

Case q_linear_mat_mul(Rng& rng) {
  const Factors f = random_factors(rng);
  const DType a = random_dtype(rng, kBytes), b = random_dtype(rng, kBytes);
  return {{random_bytes(rng, a, f.a), random_scales(rng, f.rows), random_bytes(rng, a, f.rows),
           random_bytes(rng, b, f.b), random_scales(rng, f.columns),
           random_bytes(rng, b, f.columns), Tensor::of<float>({}, {40.0f}),
           random_bytes(rng, random_dtype(rng, kBytes), {})}};
}

// x, w and attributes of a small convolution of one to three spatial axes.
struct Layer {
  Shape x, w;
  Attributes attributes;
};

Layer random_layer(Rng& rng) {
  const int64_t groups = random_int(rng, 1, 2), channels = random_int(rng, 1, 2);
  Layer layer{{random_int(rng, 1, 2), groups * channels},
              {groups * random_int(rng, 1, 3), channels},
              {{"group", groups}}};
  std::vector<int64_t> strides, dilations, pads;
  for (int64_t axes = random_int(rng, 1, 3); axes > 0; --axes) {
    layer.x.push_back(random_int(rng, 5, 7));
    layer.w.push_back(random_int(rng, 1, 3));
    strides.push_back(random_int(rng, 1, 2));
    dilations.push_back(random_int(rng, 1, 2));
    pads.insert(pads.end(), {random_int(rng, 0, 1), random_int(rng, 0, 1)});
  }
  layer.attributes["strides"] = strides;
  layer.attributes["dilations"] = dilations;
  if (toss(rng)) {
    layer.attributes["pads"] = pads;
  } else {
    layer.attributes["auto_pad"] = std::string(toss(rng) ? "SAME_UPPER" : "SAME_LOWER");
  }
  return layer;
}

Shape one_or_per_channel(Rng& rng, const Layer& layer) {
  return toss(rng) ? Shape{layer.w[0]} : Shape{};
}

Case conv_integer(Rng& rng) {
  const Layer layer = random_layer(rng);
  const DType x = random_dtype(rng, kBytes), w = random_dtype(rng, kBytes);
  Case c{{random_bytes(rng, x, layer.x), random_bytes(rng, w, layer.w), Tensor(), Tensor()},
         layer.attributes};
  if (toss(rng)) c.inputs[2] = random_bytes(rng, x, {});
  if (toss(rng)) c.inputs[3] = random_bytes(rng, w, one_or_per_channel(rng, layer));
  return c;
}

Case q_linear_conv(Rng& rng, const Layer& layer) {
  const DType x = random_dtype(rng, kBytes), w = random_dtype(rng, kBytes);
  const Shape parameters = one_or_per_channel(rng, layer);
  Case c{{random_bytes(rng, x, layer.x), random_scales(rng, {}), random_bytes(rng, x, {}),
          random_bytes(rng, w, layer.w), random_scales(rng, parameters),
          random_bytes(rng, w, parameters), Tensor::of<float>({}, {30.0f}),
          random_bytes(rng, random_dtype(rng, kBytes), {})},
         layer.attributes};
  if (toss(rng)) {
    c.inputs.push_back(random_tensor(rng, DType::kI32, {layer.w[0]}, {{}, -500, 500}));
  }
  return c;
}

// What an activation leaves of the range, if there is one.
void add_random_bounds(Rng& rng, Case& c, DType dtype) {
  if (toss(rng)) return;
  c.attributes["low"] = random_int(rng, dtype == DType::kU8 ? 0 : -30, 5);
  c.attributes["high"] = random_int(rng, 5, 40);
}

Case q_linear_add(Rng& rng) {
  const DType dtype = random_dtype(rng, kBytes);
  const Shape shape = random_shape(rng, 0, 4);
  Case c;
  for (const Shape& term : {toss(rng) ? shape : shrunk(rng, shape), shape}) {
    c.inputs.push_back(random_bytes(rng, dtype, term));
    c.inputs.push_back(random_scales(rng, {}));
    c.inputs.push_back(random_bytes(rng, dtype, {}));
  }
  c.inputs.push_back(random_scales(rng, {}));
  c.inputs.push_back(random_bytes(rng, dtype, {}));
  add_random_bounds(rng, c, dtype);
  return c;
}

Case q_linear_global_average_pool(Rng& rng) {
  const DType dtype = random_dtype(rng, kBytes);
  Shape shape = random_shape(rng, 1, 3);
  shape.push_back(random_int(rng, 1, 40));
  if (shape.rank() < 3) shape.push_back(3);
  return {{random_bytes(rng, dtype, shape), random_scales(rng, {}), random_bytes(rng, dtype, {}),
           random_scales(rng, {}), random_bytes(rng, dtype, {})}};
}

Case q_gemm(Rng& rng) {
  const int64_t m = random_int(rng, 1, 5), k = random_int(rng, 1, 70), n = random_int(rng, 1, 40);
  const bool turned = toss(rng);
  const DType a = random_dtype(rng, kBytes), b = random_dtype(rng, kBytes);
  const Shape columns = toss(rng) ? Shape{n} : Shape{};
  Case c{{random_bytes(rng, a, {m, k}), random_scales(rng, {}), random_bytes(rng, a, {}),
          random_bytes(rng, b, turned ? Shape{n, k} : Shape{k, n}), random_scales(rng, columns),
          random_bytes(rng, b, columns), Tensor()},
         {{"transB", int64_t{turned}}}};
  if (toss(rng)) c.inputs[6] = random_tensor(rng, DType::kI32, {n}, {{}, -500, 500});
  if (toss(rng)) return c;
  const DType y = random_dtype(rng, kBytes);
  c.inputs.push_back(Tensor::of<float>({}, {100.0f}));
  c.inputs.push_back(random_bytes(rng, y, {}));
  add_random_bounds(rng, c, y);
  return c;
}

Shape output_of(const Layer& layer) {
  Node node{&ops::conv, {}, {ValueId{0}}, layer.attributes, {}};
  const Operand x{true, {DType::kF32, layer.x}, nullptr}, w{true, {DType::kF32, layer.w}, nullptr};
  return (*ops::conv.infer(node, std::array{x, w}))[0].shape;
}

Case fused_q_linear_conv(Rng& rng) {
  const Layer layer = random_layer(rng);
  Case c = q_linear_conv(rng, layer);
  const DType dtype = c.inputs[7].dtype();
  add_random_bounds(rng, c, dtype);
  if (toss(rng)) return c;
  c.inputs.resize(9);
  c.inputs.push_back(random_bytes(rng, dtype, output_of(layer)));
  for (int i = 0; i < 2; ++i) {  // of the residual, and of the sum
    c.inputs.push_back(random_scales(rng, {}));
    c.inputs.push_back(random_bytes(rng, dtype, {}));
  }
  return c;
}

Case lookup(Rng& rng) {
  return {{random_tensor(rng, random_dtype(rng, kBytes), random_shape(rng, 0, 4), {{}, -128, 127}),
           random_tensor(rng, random_dtype(rng, kBytes), {256}, {{}, -128, 127})}};
}

}  // namespace

std::vector<Source> quantize_cases() {
  return {{&ops::conv_integer, conv_integer},
          {&ops::dequantize_linear, dequantize_linear},
          {&ops::fused_q_linear_conv, fused_q_linear_conv},
          {&ops::lookup, lookup},
          {&ops::mat_mul_integer, mat_mul_integer},
          {&ops::q_gemm, q_gemm},
          {&ops::q_linear_add, q_linear_add},
          {&ops::q_linear_conv, [](Rng& rng) { return q_linear_conv(rng, random_layer(rng)); }},
          {&ops::q_linear_global_average_pool, q_linear_global_average_pool},
          {&ops::q_linear_mat_mul, q_linear_mat_mul},
          {&ops::quantize_linear, quantize_linear}};
}

}  // namespace shoal::laws
