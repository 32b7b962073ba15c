// GradientCodec: gradients of a network as few bytes, and back.
//
// A codec is encode, decode and a state. The state is the error that encode() carries from step to
// step, and what the codec remembers besides; it belongs to a checkpoint, or a resumed run learns
// other weights. Each sender has a codec of its own: every worker for its gradient, and the hub for
// the merged one.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {

// Not thread-safe.
class GradientCodec {
 public:
  // For gradients of these types, in this order. Fails with kInvalidArgument for options out of
  // range, and kUnsupported for a type that is not f32 or has no elements.
  static Result<GradientCodec> create(const CodecOptions& options,
                                      std::span<const TensorType> types);

  // The size of every message: it depends on options and types alone.
  size_t bytes() const { return bytes_; }
  const CodecOptions& options() const { return options_; }

  // Encodes the gradients and what is carried along; what the receiver will lack is carried on.
  // Fails with kInvalidArgument where an element is no number or larger than 1e12; then the state
  // is as it was. REQUIRES: the types are those of create(), `to` has bytes().
  Status encode(std::span<const Tensor> gradients, std::span<std::byte> to);
  // kCorrupt for bytes that no encode() writes; `to` is then unspecified. All that is decoded is
  // finite. REQUIRES: the types of `to` are those of create().
  Status decode(std::span<const std::byte> from, std::span<Tensor> to);

  // Adds gradients that came too late for their step to what is carried along. Fails as encode().
  Status carry(std::span<const Tensor> gradients);
  // The Euclidean norm of what is carried along: what is lost if this sender is.
  double carried_norm() const;

  // The state between two steps, by name; its tensors share memory with the codec. And going on
  // from such a state: kCorrupt, and nothing changes, where it is of another codec or network.
  std::map<std::string, Tensor> state() const;
  Status restore(const std::map<std::string, Tensor>& state);

 private:
  struct Slot {
    TensorType type;
    std::unique_ptr<TensorCodec> codec;
    Tensor error;  // undefined where nothing was carried yet, and the codec has none of its own
  };
  Status check_elements(std::span<const Tensor> gradients) const;
  static Tensor& error_of(Slot& slot);

  CodecOptions options_;
  std::vector<Slot> slots_;
  size_t bytes_ = 0;
  int64_t steps_ = 0;  // done: the position in the random stream
  Workspace workspace_;
};

}  // namespace shoal::learn
