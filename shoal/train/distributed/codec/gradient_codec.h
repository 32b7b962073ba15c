// GradientCodec: encodes the gradients of a network in few bytes, and decodes them.
//
// encode() carries its error from step to step; a checkpoint needs this state, or a resumed run
// learns other weights. Each sender has its own codec: every worker for its gradient, the hub for
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
  // For gradients of these types, in order. kInvalidArgument for options out of range, kUnsupported
  // for a type that is not f32 or has no elements.
  static Result<GradientCodec> create(const CodecOptions& options,
                                      std::span<const TensorType> types);

  // The size of every message: it depends on options and types alone.
  size_t bytes() const { return bytes_; }
  const CodecOptions& options() const { return options_; }

  // Encodes the gradients plus the carried error, and carries the new error on. kInvalidArgument,
  // and the state is unchanged, if an element is NaN or larger than 1e12. REQUIRES: the types are
  // those of create(), `to` has bytes().
  Status encode(std::span<const Tensor> gradients, std::span<std::byte> to);
  // kCorrupt for bytes that no encode() writes; `to` is then unspecified. Decoded values are
  // finite. REQUIRES: the types of `to` are those of create().
  Status decode(std::span<const std::byte> from, std::span<Tensor> to);

  // Adds gradients that came too late for their step to the carried error. Fails as encode().
  Status carry(std::span<const Tensor> gradients);
  // The Euclidean norm of the carried error, which is lost with this sender.
  double carried_norm() const;

  // The state between two steps, by name; its tensors share memory with the codec. Restoring fails
  // with kCorrupt, and changes nothing, for a state of another codec or network.
  std::map<std::string, Tensor> state() const;
  Status restore(const std::map<std::string, Tensor>& state);

 private:
  struct Slot {
    TensorType type;
    std::unique_ptr<TensorCodec> codec;
    Tensor error;  // undefined before the first encode(), or if the codec keeps its own
  };
  Status check_elements(std::span<const Tensor> gradients) const;
  static Tensor& error_of(Slot& slot);

  CodecOptions options_;
  std::vector<Slot> slots_;
  size_t bytes_ = 0;
  int64_t steps_ = 0;  // completed; the position in the random stream
  Workspace workspace_;
};

}  // namespace shoal::learn
