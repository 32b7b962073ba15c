// Inference requests and answers of the Open Inference Protocol over HTTP: JSON or, with the binary
// tensor extension, JSON followed by the elements of tensors, in order and without gaps
// (github.com/kserve/open-inference-protocol, the REST specification; Triton's description of the
// binary data extension). Values and pure functions; parsed messages may be hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/serve/protocol/wish.h"

namespace shoal::serve {

// A message as it was received. `owner` keeps the bytes.
struct Body {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  // Bytes of JSON before those of tensors (Inference-Header-Content-Length). nullopt: all is JSON.
  std::optional<size_t> json_bytes;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
  bool binary = false;  // its elements follow the JSON
};

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;  // nothing: as the request says
};

struct InferRequest {
  std::string id;
  int64_t timeout_us = 0;  // 0: none
  uint32_t priority = 0;   // 0: as usual; 1 goes first
  Wish wish = {};
  bool binary_outputs = false;
  std::vector<NamedTensor> inputs;
  std::vector<WantedOutput> outputs;  // empty: all
};

struct InferResponse {
  std::string model_name;
  std::string model_version;
  std::string id;
  std::vector<NamedTensor> outputs;
  std::map<std::string, std::string> parameters = {};
};

// Tensors view the body if its alignment allows, and are copied otherwise. Fails with kCorrupt or
// kInvalidArgument, and with kUnsupported for tensors of BYTES. Unknown members are ignored. If
// `json_bytes` is 0, see parse_raw_request().
Result<InferRequest> parse_infer_request(const Body& body);
Result<InferResponse> parse_infer_response(const Body& body);

// A body with only the elements of one input. At most one of the input's dimensions is open (below
// 0), and follows from the size.
Result<InferRequest> parse_raw_request(const Body& body, const std::string& name, DType dtype,
                                       std::span<const int64_t> dims);

// A message to be sent: JSON, then the bytes of tensors. Tensors are shared, not copied.
struct Message {
  std::string json;
  std::vector<Tensor> tensors;  // empty: it is all JSON
};

Message print(const InferRequest& request);
// Numbers that JSON cannot represent (NaN, infinity) become null. FP16 and BF16 are always binary.
Message print(const InferResponse& response);

}  // namespace shoal::serve
