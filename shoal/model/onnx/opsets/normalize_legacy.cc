// Operators of ONNX's first releases that later ones dropped. Models converted from Caffe2 and
// CoreML still have them.
#include <algorithm>

#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {
namespace {

using Terms = Result<std::vector<Term>>;
using Ints = std::vector<int64_t>;

Status require_f32(const Term& x) {
  return x.type.dtype == DType::kF32 ? Status() : invalid("takes elements of type f32");
}

Term scalar(float value) { return Term::of(Tensor::of<float>({}, {value})); }

// y = scale * x + offset, by a Mul and an Add.
Terms scale_and_shift(Draft draft, float scale, Term offset, Emitter& emitter) {
  SHOAL_TRY(require_f32(draft.input(0)));
  SHOAL_ASSIGN(Term scaled, emitter.emit_one("Mul", {draft.input(0), scalar(scale)}));
  return emitter.emit_last(std::move(draft), "Add", {std::move(scaled), std::move(offset)});
}

Terms affine(Draft draft, int64_t, Emitter& emitter) {
  const float alpha = draft.take<float>("alpha").value_or(1);
  const float beta = draft.take<float>("beta").value_or(0);
  return scale_and_shift(std::move(draft), alpha, scalar(beta), emitter);
}

// y = scale * x + bias[c], where x is [n, c, h, w].
Terms image_scaler(Draft draft, int64_t, Emitter& emitter) {
  const float scale = draft.take<float>("scale").value_or(1);
  const auto bias = draft.take<std::vector<float>>("bias").value_or(std::vector<float>());
  const auto channels = static_cast<int64_t>(bias.size());
  if (draft.input(0).rank() != 4 || draft.input(0).type.shape[1] != channels) {
    return invalid("has " + std::to_string(channels) + " biases for an input " +
                   to_string(draft.input(0).type));
  }
  Tensor offset = Tensor::of<float>({1, channels, 1, 1}, std::span<const float>(bias));
  return scale_and_shift(std::move(draft), scale, Term::of(std::move(offset)), emitter);
}

// Cuts left, top, right and bottom off the images; `scale` gives the height and width to keep,
// instead of the last two.
Terms crop(Draft draft, int64_t, Emitter& emitter) {
  const Ints border = draft.take<Ints>("border").value_or(Ints());
  const Ints size = draft.take<Ints>("scale").value_or(Ints());
  const Term& x = draft.input(0);
  if (x.rank() != 4 || border.size() != 4 || (!size.empty() && size.size() != 2)) {
    return invalid("needs an input of rank 4, a border of 4 and a scale of 2 or none");
  }
  const int64_t height = x.type.shape[2], width = x.type.shape[3];
  for (int64_t b : border) {
    if (b < 0 || b > std::max(height, width)) return invalid("the border is out of range");
  }
  const int64_t top = border[1], left = border[0];
  const int64_t rows = size.empty() ? height - top - border[3] : size[0];
  const int64_t columns = size.empty() ? width - left - border[2] : size[1];
  if (rows <= 0 || columns <= 0 || rows > height - top || columns > width - left) {
    return invalid("nothing is left of " + to_string(x.type));
  }
  draft.op = "Slice";
  draft.inputs = {x, Term::ints({top, left}), Term::ints({top + rows, left + columns}),
                  Term::ints({2, 3})};
  return emitter.emit(std::move(draft));
}

}  // namespace

std::span<const RewriteEntry> legacy_rewrites() {
  static const std::vector<RewriteEntry> table = {
      {"Affine", 1, kEver, affine, {"Mul", "Add"}},
      {"Crop", 1, kEver, crop, {"Slice"}},
      {"ImageScaler", 1, kEver, image_scaler, {"Mul", "Add"}},
  };
  return table;
}

}  // namespace shoal::onnx
