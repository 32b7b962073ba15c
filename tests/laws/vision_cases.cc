#include <algorithm>

#include "laws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

template <class T>
const T& one_of(Rng& rng, const std::vector<T>& choices) {
  return choices[static_cast<size_t>(random_int(rng, 0, static_cast<int64_t>(choices.size()) - 1))];
}

Tensor floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

// Every mode, up or down, by sizes or by scales, with some axes left alone.
Case resize(Rng& rng) {
  const Shape shape = random_shape(rng, 1, 4, 7);
  std::vector<float> scales, roi(2 * shape.rank());
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const bool same = random_int(rng, 0, 2) == 0;
    sizes.push_back(same ? shape[d] : random_int(rng, 1, 12));
    scales.push_back(same ? 1 : static_cast<float>(random_int(rng, 4, 11)) / 4);
    roi[d] = static_cast<float>(random_int(rng, -1, 2)) / 5;
    roi[shape.rank() + d] = static_cast<float>(random_int(rng, 2, 6)) / 5;
  }
  const bool by_sizes = random_int(rng, 0, 1) != 0;
  const auto coordinates = one_of<std::string>(
      rng, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
            "asymmetric", by_sizes ? "tf_crop_and_resize" : "half_pixel"});
  return {{random_tensor(rng, shape), floats(roi), by_sizes ? Tensor() : floats(scales),
           by_sizes ? ints(sizes) : Tensor()},
          {{"mode", one_of<std::string>(rng, {"nearest", "linear", "cubic"})},
           {"coordinate_transformation_mode", coordinates},
           {"nearest_mode",
            one_of<std::string>(rng, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})},
           {"antialias", random_int(rng, 0, 1)},
           {"exclude_outside", random_int(rng, 0, 1)},
           {"extrapolation_value", 0.5f}}};
}

Tensor lengths(Rng& rng, int64_t batch, int64_t steps) {
  Tensor tensor({DType::kI32, {batch}});
  for (int32_t& n : tensor.data<int32_t>()) n = static_cast<int32_t>(random_int(rng, 0, steps));
  return tensor;
}

// `gates` is 1 for RNN, 3 for GRU, 4 for LSTM.
Case recurrent(Rng& rng, int64_t gates) {
  const int64_t steps = random_int(rng, 1, 4), batch = random_int(rng, 1, 4);
  const int64_t input = random_int(rng, 1, 5), hidden = random_int(rng, 1, 5);
  const auto direction = one_of<std::string>(rng, {"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t layout = random_int(rng, 0, 1);
  const Shape state = layout ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  auto maybe = [&](const Shape& shape) {
    return random_int(rng, 0, 1) ? random_tensor(rng, shape) : Tensor();
  };
  Case c{{random_tensor(rng, layout ? Shape{batch, steps, input} : Shape{steps, batch, input}),
          random_tensor(rng, {directions, gates * hidden, input}),
          random_tensor(rng, {directions, gates * hidden, hidden}),
          maybe({directions, 2 * gates * hidden}),
          random_int(rng, 0, 1) ? lengths(rng, batch, steps) : Tensor(), maybe(state)},
         {{"direction", direction}, {"layout", layout}},
         gates == 4 ? size_t{3} : size_t{2}};
  if (random_int(rng, 0, 1)) {
    // Two lists: HardSigmoid takes an alpha and a beta, Elu an alpha, and Tanh none.
    const std::string first = one_of<std::string>(rng, {"HardSigmoid", "Elu", "Softplus"});
    const size_t others = gates == 1 ? 0 : static_cast<size_t>(gates) - 2;
    std::vector<std::string> functions;
    for (int64_t d = 0; d < directions; ++d) {
      functions.push_back(first);
      functions.insert(functions.end(), others, "Tanh");
    }
    c.attributes["activations"] = std::move(functions);
    c.attributes["activation_alpha"] = std::vector<float>{0.4f, 0.6f};
    c.attributes["activation_beta"] = std::vector<float>{0.3f};
  }
  if (gates == 3) c.attributes["linear_before_reset"] = random_int(rng, 0, 1);
  if (gates == 4) c.inputs.insert(c.inputs.end(), {maybe(state), maybe({directions, 3 * hidden})});
  return c;
}

// Boxes of four numbers, some of them partly outside the image.
Tensor boxes(Rng& rng, int64_t count, int64_t columns, int64_t images) {
  Tensor tensor = random_tensor(rng, {count, columns}, -2, 9);
  if (columns == 5) {
    for (int64_t r = 0; r < count; ++r) {
      tensor.data<float>()[static_cast<size_t>(5 * r)] =
          static_cast<float>(random_int(rng, 0, images - 1));
    }
  }
  return tensor;
}

Case roi_align(Rng& rng) {
  const Shape image = random_shape(rng, 4, 4, 7);
  const int64_t count = random_int(rng, 1, 4);
  std::vector<int64_t> images;
  for (int64_t r = 0; r < count; ++r) images.push_back(random_int(rng, 0, image[0] - 1));
  return {{random_tensor(rng, image), boxes(rng, count, 4, image[0]), ints(images)},
          {{"mode", one_of<std::string>(rng, {"avg", "max"})},
           {"coordinate_transformation_mode",
            one_of<std::string>(rng, {"half_pixel", "output_half_pixel"})},
           {"output_height", random_int(rng, 1, 3)},
           {"output_width", random_int(rng, 1, 3)},
           {"sampling_ratio", random_int(rng, 0, 2)}}};
}

Case max_roi_pool(Rng& rng) {
  const Shape image = random_shape(rng, 4, 4, 7);
  return {{random_tensor(rng, image), boxes(rng, random_int(rng, 1, 4), 5, image[0])},
          {{"pooled_shape", std::vector{random_int(rng, 1, 3), random_int(rng, 1, 3)}}}};
}

Case grid_sample(Rng& rng) {
  const Shape image = random_shape(rng, 4, 5, 5);
  Shape grid{image[0]};
  for (size_t d = 2; d < image.rank(); ++d) grid.push_back(random_int(rng, 1, 4));
  grid.push_back(static_cast<int64_t>(image.rank()) - 2);
  return {{random_tensor(rng, image), random_tensor(rng, grid, -2, 2)},
          {{"mode", one_of<std::string>(rng, {"bilinear", "nearest", "bicubic"})},
           {"padding_mode", one_of<std::string>(rng, {"zeros", "border", "reflection"})},
           {"align_corners", random_int(rng, 0, 1)}}};
}

// As many blocks as fit an image of random size.
Case col2_im(Rng& rng) {
  const auto rank = static_cast<size_t>(random_int(rng, 1, 3));
  const auto block = random_ints(rng, rank, 1, 3), strides = random_ints(rng, rank, 1, 3);
  const auto dilations = random_ints(rng, rank, 1, 2), pads = random_ints(rng, 2 * rank, 0, 2);
  std::vector<int64_t> image;
  Shape x{random_int(rng, 1, 3), random_int(rng, 1, 4), 1};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t spare = random_int(rng, 0, 5), padding = pads[d] + pads[rank + d];
    const int64_t extent = (block[d] - 1) * dilations[d] + 1;
    image.push_back(std::max<int64_t>(extent + spare - padding, 1));
    x[1] *= block[d];
    x[2] *= (image[d] + padding - extent) / strides[d] + 1;
  }
  return {{random_tensor(rng, x), ints(image), ints(block)},
          {{"strides", strides}, {"dilations", dilations}, {"pads", pads}}};
}

Tensor scalar(int64_t value) { return Tensor::of<int64_t>({}, {value}); }

Case dft(Rng& rng) {
  Shape shape = random_shape(rng, 1, 4, 9);
  const int64_t axis = random_int(rng, 0, static_cast<int64_t>(shape.rank()) - 1);
  const bool onesided = random_int(rng, 0, 1) != 0;
  shape.push_back(onesided ? 1 : random_int(rng, 1, 2));
  Case c{{random_tensor(rng, shape)},
         {{"axis", axis},
          {"onesided", int64_t{onesided}},
          {"inverse", onesided ? 0 : random_int(rng, 0, 1)}}};
  if (random_int(rng, 0, 1) != 0) c.inputs.push_back(scalar(random_int(rng, 1, 12)));
  return c;
}

Case stft(Rng& rng) {
  const int64_t length = random_int(rng, 1, 9), signal = random_int(rng, length, 30);
  const int64_t onesided = random_int(rng, 0, 1);
  const Shape shape{random_int(rng, 1, 3), signal, onesided ? 1 : random_int(rng, 1, 2)};
  const bool window = random_int(rng, 0, 1) != 0;
  return {{random_tensor(rng, shape), scalar(random_int(rng, 1, 5)),
           window ? random_tensor(rng, {length}) : Tensor(), scalar(length)},
          {{"onesided", onesided}}};
}

}  // namespace

std::vector<Source> vision_cases() {
  return {{&ops::dft, dft},
          {&ops::stft, stft},
          {&ops::roi_align, roi_align},
          {&ops::max_roi_pool, max_roi_pool},
          {&ops::grid_sample, grid_sample},
          {&ops::col2_im, col2_im},
          {&ops::resize, resize},
          {&ops::rnn, [](Rng& rng) { return recurrent(rng, 1); }},
          {&ops::gru, [](Rng& rng) { return recurrent(rng, 3); }},
          {&ops::lstm, [](Rng& rng) { return recurrent(rng, 4); }}};
}

}  // namespace shoal::laws
