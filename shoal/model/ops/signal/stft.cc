// STFT: y[b, f, k] = sum_t w_t x[b, f * frame_step + t] exp(-2 pi i k t / n), the Fourier transform
// of frames of a signal [batch, length, 1 or 2], each weighed by a window w. With onesided only k
// <= n / 2 is given. frame_step and frame_length decide the shape, so they must be constants.
#include <array>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"
#include "shoal/model/ops/signal/fourier.h"

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

Result<std::vector<TensorType>> infer_stft(const Node& node, std::span<const Operand> inputs) {
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

void reference_stft(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Tensor window = inputs.size() > 2 ? inputs[2] : Tensor();
  const bool given = inputs.size() > 3 && inputs[3].defined();
  const int64_t length = given ? to_ints(inputs[3])[0] : window.shape()[0];
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    transform<T>(inputs[0], window, to_ints(inputs[1])[0], length, outputs[0]);
  });
}

// Frames overlap: a range of frames reads the signal from the begin of the first to the end of the
// last. Frequencies stay whole.
std::optional<Tile> split_stft(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
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

// The gradient of the frames before the transform, [batch, frame, length, parts]: the conjugate
// transform, as in dft.cc. The inverse divides by the length, which is undone.
ValueId gradient_of_frames(Chain& chain, ValueId dy, int64_t length, int64_t parts) {
  const auto list = [&](int64_t element) { return chain.list(std::span(&element, 1)); };
  const ValueId back = chain.add(dft, {dy, chain.constant(Tensor::of<int64_t>({}, {length}))},
                                 {{"axis", int64_t{2}}, {"inverse", int64_t{1}}});
  const ValueId scaled = chain.add(mul, {back, chain.scalar(static_cast<double>(length))});
  return chain.add(slice, {scaled, list(0), list(parts), list(3)});
}

// Adds the gradients of all frames up where they overlap, which is Col2Im along one axis.
ValueId gradient_of_signal(Chain& chain, const Frames& frames, ValueId dframes,
                           const Shape& signal) {
  const auto list = [&](int64_t element) { return chain.list(std::span(&element, 1)); };
  const ValueId columns = chain.reshape(chain.transpose(dframes, {0, 3, 2, 1}),
                                        {signal[0], signal[2] * frames.length, frames.count});
  const ValueId added = chain.add(col2_im, {columns, list(signal[1]), list(frames.length)},
                                  {{"strides", std::vector<int64_t>{frames.step}}});
  return chain.transpose(added, {0, 2, 1});
}

// [frame, length]: the element of the signal that each element of a frame is.
Tensor places_of(const Frames& frames) {
  Tensor places({DType::kI64, {frames.count, frames.length}});
  int64_t* place = places.data<int64_t>().data();
  for (int64_t f = 0; f < frames.count; ++f) {
    for (int64_t t = 0; t < frames.length; ++t) *place++ = f * frames.step + t;
  }
  return places;
}

Result<std::vector<ValueId>> gradient(const Node& node, std::span<const ValueId> outputs,
                                      Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape signal = chain.shape_of(node.inputs[0]);
  const std::vector<Operand> operands = graph.operands(node.inputs);
  SHOAL_ASSIGN(const Frames frames, frames_of(operands));
  ValueId dframes = gradient_of_frames(chain, outputs[0], frames.length, signal[2]);
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  if (is_given(operands, 2)) {
    const ValueId places = chain.constant(places_of(frames));
    const ValueId cut = chain.add(gather, {node.inputs[0], places}, {{"axis", int64_t{1}}});
    const ValueId sums =
        chain.reduce_sum(chain.add(mul, {cut, dframes}), std::array<int64_t, 3>{0, 1, 3});
    gradients[2] = chain.reshape(sums, {frames.length});
    dframes = chain.add(mul, {dframes, chain.reshape(node.inputs[2], {frames.length, 1})});
  }
  gradients[0] = gradient_of_signal(chain, frames, dframes, signal);
  return chain.finish(std::move(gradients));
}

}  // namespace

SHOAL_RECORD(stft) = {.name = "STFT",
                      .min_inputs = 2,
                      .max_inputs = 4,
                      .value_inputs = 0b1010,
                      .infer = infer_stft,
                      .reference = reference_stft,
                      .split = split_stft,
                      .linear = true,
                      .gradient = gradient};

}  // namespace shoal::ops
