// Tensors in the JSON of requests and answers: {"name","shape","datatype","parameters","data"}.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/text/json_text.h"
#include "shoal/serve/protocol/infer.h"

namespace shoal::serve {

// The elements that follow the JSON, taken tensor by tensor.
class BinaryPart {
 public:
  // The bytes of `body` after its JSON; none if all is JSON. REQUIRES: json_bytes, if given, is at
  // most the body's size.
  explicit BinaryPart(const Body& body);

  // A tensor of the next `size` bytes. kInvalidArgument if that is not its type's size, if fewer
  // are left, or if a BOOL is neither 0 nor 1.
  Result<Tensor> take(const TensorType& type, int64_t size);
  Status end() const;  // nothing is left

 private:
  std::span<const std::byte> rest_;
  std::shared_ptr<const void> owner_;
};

Result<NamedTensor> parse_tensor(JsonText& json, BinaryPart& binary);

// Appends a tensor to `message`: its object to the JSON, and its elements there or after it.
void print_tensor(const NamedTensor& tensor, Message& message);

// The type of a valid tensor, or an error.
Result<TensorType> make_type(DType dtype, std::span<const int64_t> dims);

}  // namespace shoal::serve
