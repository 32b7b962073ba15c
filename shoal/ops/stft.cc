// STFT: the Fourier transform of frames of a signal [batch, length, 1 or 2] that begin every
// frame_step elements, each weighed by a window.
#include <array>

#include "shoal/ops/convert.h"
#include "shoal/ops/fourier.h"
#include "shoal/ops/record.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

struct Frames {
  int64_t step, length, count;
};

bool is_given(std::span<const Operand> inputs, size_t i) {
  return i < inputs.size() && inputs[i].given;
}

Result<Frames> frames_of(std::span<const Operand> inputs) {
  Frames frames{};
  SHOAL_ASSIGN(frames.step, require_length(inputs[1], "frame_step"));
  if (is_given(inputs, 3)) {
    SHOAL_ASSIGN(frames.length, require_length(inputs[3], "frame_length"));
  } else if (is_given(inputs, 2)) {
    frames.length = inputs[2].type.shape[0];
  } else {
    return invalid("needs a window or a frame_length");
  }
  const int64_t signal = inputs[0].type.shape[1];
  SHOAL_TRY(require_length(frames.length, "a frame's length").status());
  if (frames.length > signal) {
    return invalid("a frame of " + std::to_string(frames.length) +
                   " does not fit the signal's length " + std::to_string(signal));
  }
  frames.count = (signal - frames.length) / frames.step + 1;
  return frames;
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_rank(inputs[0], 3));
  const Shape& signal = inputs[0].type.shape;
  if (signal[2] != 1 && signal[2] != 2) return invalid("needs a last axis of 1 or 2");
  if (is_given(inputs, 2)) {
    SHOAL_TRY(require_same_type(std::array{inputs[0], inputs[2]}));
    SHOAL_TRY(require_rank(inputs[2], 1));
  }
  SHOAL_ASSIGN(Frames frames, frames_of(inputs));
  if (is_given(inputs, 2) && inputs[2].type.shape[0] != frames.length) {
    return invalid("the window is not as long as a frame");
  }
  const bool onesided = node.integer("onesided", 1) != 0;
  if (onesided && signal[2] == 2) {
    return Status(Code::kUnsupported, "onesided is only for real signals");
  }
  return std::vector{TensorType{
      inputs[0].type.dtype, {signal[0], frames.count, frequencies(frames.length, onesided), 2}}};
}

template <class T>
void transform(const Tensor& signal, const Tensor& window, int64_t step, int64_t length,
               Tensor& y) {
  const Shape &in = signal.shape(), &out = y.shape();  // [b, t, parts], [b, frame, frequency, 2]
  const int64_t parts = in[2];
  const T* weights = window.defined() ? window.data<T>().data() : nullptr;
  T* to = y.data<T>().data();
  Fourier fourier(static_cast<size_t>(length));
  std::vector<Complex> line(static_cast<size_t>(length));
  for (int64_t b = 0; b < out[0]; ++b) {
    for (int64_t f = 0; f < out[1]; ++f) {
      const T* from = signal.data<T>().data() + (b * in[1] + f * step) * parts;
      for (int64_t t = 0; t < length; ++t, from += parts) {
        const double weight = weights == nullptr ? 1 : static_cast<double>(weights[t]);
        const double imaginary = parts == 2 ? static_cast<double>(from[1]) : 0;
        line[static_cast<size_t>(t)] = weight * Complex(static_cast<double>(from[0]), imaginary);
      }
      fourier.transform(line, false);
      for (int64_t k = 0; k < out[2]; ++k) {
        *to++ = convert<T>(line[static_cast<size_t>(k)].real());
        *to++ = convert<T>(line[static_cast<size_t>(k)].imag());
      }
    }
  }
}

void reference(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Tensor window = inputs.size() > 2 ? inputs[2] : Tensor();
  const bool given = inputs.size() > 3 && inputs[3].defined();
  const int64_t length = given ? to_ints(inputs[3])[0] : window.shape()[0];
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    transform<T>(inputs[0], window, to_ints(inputs[1])[0], length, outputs[0]);
  });
}

// Some frames need the signal from the first one's begin to the last one's end.
std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  auto types = node.op->infer(node, inputs);
  auto frames = frames_of(inputs);
  if (!types.ok() || !frames.ok()) return std::nullopt;
  Region signal = Region::whole(inputs[0].type.shape), y = output;
  signal.begin[0] = output.begin[0];
  signal.end[0] = output.end[0];
  signal.begin[1] = output.begin[1] * frames->step;
  signal.end[1] = (output.end[1] - 1) * frames->step + frames->length;
  for (size_t d = 2; d < 4; ++d) {
    y.begin[d] = 0;
    y.end[d] = (*types)[0].shape[d];
  }
  Tile tile{{signal}, y, node.attributes, {}};
  for (const Operand& input : inputs.subspan(1)) {
    tile.inputs.push_back(input.given ? Region::whole(input.type.shape) : Region{});
  }
  return tile;
}

}  // namespace

SHOAL_RECORD(stft) = {.name = "STFT",
                      .min_inputs = 2,
                      .max_inputs = 4,
                      .value_inputs = 0b1010,
                      .infer = infer,
                      .reference = reference,
                      .split = split,
                      .linear = true};

}  // namespace shoal::ops
