#include "laws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

Attributes random_window(Rng& rng, size_t rank, int64_t group) {
  static const char* const kPads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  Attributes attributes{{"strides", random_ints(rng, rank, 1, 3)},
                        {"dilations", random_ints(rng, rank, 1, 2)},
                        {"group", group}};
  const int64_t way = random_int(rng, 0, 6);
  if (way < 4) {
    attributes["auto_pad"] = std::string(kPads[way]);
  } else {
    attributes["pads"] = random_ints(rng, 2 * rank, 0, 3);
  }
  return attributes;
}

Case conv(Rng& rng) {
  const auto rank = static_cast<size_t>(random_int(rng, 1, 3));
  const int64_t group = random_int(rng, 1, 3);
  const int64_t in = random_int(rng, 1, 3), out = random_int(rng, 1, 3);
  Shape x{random_int(rng, 1, 2), group * in}, w{group * out, in};
  for (size_t d = 0; d < rank; ++d) {
    x.push_back(random_int(rng, 5, 8));
    w.push_back(random_int(rng, 1, 3));
  }
  Case c{{random_tensor(rng, x), random_tensor(rng, w)}, random_window(rng, rank, group)};
  if (random_int(rng, 0, 1) != 0) c.inputs.push_back(random_tensor(rng, {group * out}));
  return c;
}

// An image and the gradient of what Conv makes of it. Some last steps reach no output.
Case conv_weights_backward(Rng& rng) {
  const auto rank = static_cast<size_t>(random_int(rng, 1, 3));
  const int64_t group = random_int(rng, 1, 3), n = random_int(rng, 1, 3);
  const int64_t in = random_int(rng, 1, 3), out = random_int(rng, 1, 3);
  const std::vector<int64_t> kernel = random_ints(rng, rank, 1, 3);
  const std::vector<int64_t> strides = random_ints(rng, rank, 1, 3);
  const std::vector<int64_t> dilations = random_ints(rng, rank, 1, 2);
  const std::vector<int64_t> pads = random_ints(rng, 2 * rank, 0, 3);
  Shape x{n, group * in}, dy{n, group * out};
  for (size_t d = 0; d < rank; ++d) {
    x.push_back(random_int(rng, 5, 8));
    const int64_t room = x[d + 2] + pads[d] + pads[rank + d] - (kernel[d] - 1) * dilations[d] - 1;
    dy.push_back(room / strides[d] + 1);
  }
  Tensor image = random_tensor(rng, x), gradient = random_tensor(rng, dy);
  return {{std::move(image), std::move(gradient)},
          {{"kernel_shape", kernel},
           {"strides", strides},
           {"dilations", dilations},
           {"pads", pads},
           {"group", group}},
          static_cast<size_t>(random_int(rng, 1, 2))};
}

// auto_pad, output_shape and output_padding beside explicit pads; none larger than the kernel
// reach.
Case conv_transpose(Rng& rng) {
  const auto rank = static_cast<size_t>(random_int(rng, 1, 3));
  const int64_t group = random_int(rng, 1, 3);
  const int64_t in = random_int(rng, 1, 3), out = random_int(rng, 1, 3);
  Shape x{random_int(rng, 1, 2), group * in}, w{group * in, out};
  for (size_t d = 0; d < rank; ++d) {
    x.push_back(random_int(rng, 3, 5));
    w.push_back(random_int(rng, 1, 3));
  }
  Attributes attributes{{"strides", random_ints(rng, rank, 1, 3)},
                        {"dilations", random_ints(rng, rank, 1, 2)},
                        {"group", group}};
  switch (random_int(rng, 0, 4)) {
    case 0:
      attributes["auto_pad"] = std::string("SAME_UPPER");
      break;
    case 1:
      attributes["auto_pad"] = std::string("SAME_LOWER");
      break;
    case 2:
      attributes["output_shape"] = random_ints(rng, rank, 2, 3);
      break;
    case 3:
      attributes["output_padding"] = random_ints(rng, rank, 0, 2);
      break;
    default:
      attributes["pads"] = random_ints(rng, 2 * rank, 0, 1);
  }
  Case c{{random_tensor(rng, x), random_tensor(rng, w)}, attributes};
  if (random_int(rng, 0, 1) != 0) c.inputs.push_back(random_tensor(rng, {group * out}));
  return c;
}

Case deform_conv(Rng& rng) {
  const int64_t n = random_int(rng, 1, 2), groups = random_int(rng, 1, 2),
                k = random_int(rng, 1, 3);
  const int64_t c = 2 * groups, m = groups * random_int(rng, 1, 2), size = random_int(rng, k, 6);
  const int64_t offsets = random_int(rng, 1, 2), out = size - k + 1;
  Case one{{random_tensor(rng, {n, c, size, size}), random_tensor(rng, {m, c / groups, k, k}),
            random_tensor(rng, {n, offsets * k * k * 2, out, out}, -2, 2), random_tensor(rng, {m}),
            random_tensor(rng, {n, offsets * k * k, out, out})},
           {{"group", groups}, {"offset_group", offsets}}};
  one.inputs.resize(static_cast<size_t>(random_int(rng, 3, 5)));
  return one;
}

}  // namespace

std::vector<Source> conv_cases() {
  return {{&ops::conv, conv},
          {&ops::conv_transpose, conv_transpose},
          {&ops::conv_weights_backward, conv_weights_backward},
          {&ops::deform_conv, deform_conv}};
}

}  // namespace shoal::laws
