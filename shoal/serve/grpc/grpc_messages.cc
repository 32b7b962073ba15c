#include "shoal/serve/grpc/grpc_messages.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "shoal/base/text/printable.h"
#include "shoal/serve/protocol/datatype.h"
#include "shoal/serve/protocol/tensor_json.h"

namespace shoal::grpc_door {
namespace {

using Input = inference::ModelInferRequest::InferInputTensor;
using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

constexpr int kMostTensors = 256;  // of a message

Result<int64_t> integer(const inference::InferParameter& parameter) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (parameter.has_int64_param()) return parameter.int64_param();
  if (parameter.has_uint64_param()) {
    return static_cast<int64_t>(std::min(parameter.uint64_param(), kMost));
  }
  return invalid("a parameter is no number, or no integer where it must be one");
}

Status parse_number(const Parameters& parameters, const char* name, std::optional<double>& number) {
  const auto it = parameters.find(name);
  if (it == parameters.end()) return {};
  if (it->second.has_double_param()) {
    number = it->second.double_param();
    return {};
  }
  SHOAL_ASSIGN(const int64_t whole, integer(it->second));
  number = static_cast<double>(whole);
  return {};
}

Status parse_parameters(const Parameters& parameters, serve::InferRequest& request) {
  if (const auto it = parameters.find("timeout"); it != parameters.end()) {
    SHOAL_ASSIGN(request.timeout_us, integer(it->second));
  }
  if (const auto it = parameters.find("priority"); it != parameters.end()) {
    SHOAL_ASSIGN(const int64_t priority, integer(it->second));
    if (!std::in_range<uint32_t>(priority)) return invalid("priority is 1, 2 or 3");
    request.priority = static_cast<uint32_t>(priority);
  }
  SHOAL_TRY(parse_number(parameters, "latency_ms", request.wish.latency_ms));
  SHOAL_TRY(parse_number(parameters, "accuracy", request.wish.accuracy));
  SHOAL_TRY(parse_number(parameters, "confidence", request.wish.confidence));
  if (const auto it = parameters.find("exit"); it != parameters.end()) {
    SHOAL_ASSIGN(request.wish.exit, integer(it->second));
  }
  return check(request.wish);
}

Result<TensorType> type_of(const Input& input) {
  const auto dtype = serve::find_datatype(input.datatype());
  if (!dtype) {
    return Status(Code::kUnsupported, "datatype " + printable(input.datatype(), 64));
  }
  return serve::make_type(*dtype,
                          std::span(input.shape().data(), static_cast<size_t>(input.shape_size())));
}

Result<Tensor> raw_tensor(const TensorType& type, std::string raw) {
  const auto owner = std::make_shared<std::string>(std::move(raw));
  const serve::Body body{std::as_bytes(std::span(*owner)), owner, size_t{0}};
  return serve::BinaryPart(body).take(type, static_cast<int64_t>(owner->size()));
}

// Narrow integers travel as wider ones.
template <class T, class Values>
Result<Tensor> tensor_of(const TensorType& type, const Values& values) {
  if (static_cast<int64_t>(values.size()) != type.shape.count()) {
    return invalid("its contents have " + std::to_string(values.size()) + " elements, its shape " +
                   std::to_string(type.shape.count()));
  }
  Tensor tensor = Tensor::uninitialized(type);
  const std::span<T> elements = tensor.data<T>();
  for (int i = 0; i < values.size(); ++i) {
    const auto value = values[i];
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!std::in_range<T>(value)) return invalid("an element is out of the datatype's range");
    }
    elements[static_cast<size_t>(i)] = static_cast<T>(value);
  }
  return tensor;
}

Result<Tensor> typed_tensor(const TensorType& type, const inference::InferTensorContents& from) {
  switch (type.dtype) {
    case DType::kBool:
      return tensor_of<bool>(type, from.bool_contents());
    case DType::kI8:
      return tensor_of<int8_t>(type, from.int_contents());
    case DType::kI16:
      return tensor_of<int16_t>(type, from.int_contents());
    case DType::kI32:
      return tensor_of<int32_t>(type, from.int_contents());
    case DType::kI64:
      return tensor_of<int64_t>(type, from.int64_contents());
    case DType::kU8:
      return tensor_of<uint8_t>(type, from.uint_contents());
    case DType::kU16:
      return tensor_of<uint16_t>(type, from.uint_contents());
    case DType::kU32:
      return tensor_of<uint32_t>(type, from.uint_contents());
    case DType::kU64:
      return tensor_of<uint64_t>(type, from.uint64_contents());
    case DType::kF32:
      return tensor_of<float>(type, from.fp32_contents());
    case DType::kF64:
      return tensor_of<double>(type, from.fp64_contents());
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  return invalid("FP16 and BF16 are sent raw");
}

Result<Tensor> parse_input(const Input& input, std::string* raw) {
  SHOAL_ASSIGN(const TensorType type, type_of(input));
  if (raw == nullptr) return typed_tensor(type, input.contents());
  if (input.has_contents()) return invalid("it has contents, and raw contents too");
  return raw_tensor(type, std::move(*raw));
}

template <class Tensors>
void print_tensors(const std::vector<serve::TensorMetadata>& tensors, Tensors& messages) {
  for (const serve::TensorMetadata& tensor : tensors) {
    auto& message = *messages.Add();
    message.set_name(tensor.name);
    if (tensor.dtype) message.set_datatype(std::string(serve::datatype_of(*tensor.dtype)));
    message.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  }
}

void print(const serve::Total& total, inference::StatisticDuration& message) {
  message.set_count(total.count);
  message.set_ns(total.ns);
}

template <class Message>
void print(const serve::BatchTotals& totals, Message& message) {
  print(totals.input, *message.mutable_compute_input());
  print(totals.infer, *message.mutable_compute_infer());
  print(totals.output, *message.mutable_compute_output());
}

::grpc::StatusCode code_of(Code code) {
  switch (code) {
    case Code::kOk:
      return ::grpc::StatusCode::OK;
    case Code::kInvalidArgument:
    case Code::kCorrupt:
      return ::grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return ::grpc::StatusCode::NOT_FOUND;
    case Code::kUnsupported:
      return ::grpc::StatusCode::UNIMPLEMENTED;
    case Code::kExhausted:
      return ::grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::kUnavailable:
      return ::grpc::StatusCode::UNAVAILABLE;
    case Code::kDeadline:
      return ::grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::kCancelled:
      return ::grpc::StatusCode::CANCELLED;
    case Code::kInternal:
      break;
  }
  return ::grpc::StatusCode::INTERNAL;
}

}  // namespace

Result<serve::InferRequest> parse(inference::ModelInferRequest& message) {
  serve::InferRequest request;
  request.id = message.id();
  request.binary_outputs = true;
  SHOAL_TRY(parse_parameters(message.parameters(), request));
  if (message.inputs_size() > kMostTensors || message.outputs_size() > kMostTensors) {
    return invalid("there are too many tensors");
  }
  const int raw = message.raw_input_contents_size();
  if (raw != 0 && raw != message.inputs_size()) {
    return invalid("there are " + std::to_string(raw) + " raw contents for " +
                   std::to_string(message.inputs_size()) + " inputs");
  }
  for (int i = 0; i < message.inputs_size(); ++i) {
    const Input& input = message.inputs(i);
    auto tensor = parse_input(input, raw > 0 ? message.mutable_raw_input_contents(i) : nullptr);
    if (!tensor.ok()) return tensor.status().at("input " + printable(input.name(), 64));
    request.inputs.push_back({input.name(), *std::move(tensor), true});
  }
  for (const auto& output : message.outputs()) request.outputs.push_back({output.name(), true});
  return request;
}

void print(const serve::InferResponse& response, inference::ModelInferResponse& message) {
  message.set_model_name(response.model_name);
  message.set_model_version(response.model_version);
  message.set_id(response.id);
  for (const auto& [name, text] : response.parameters) {
    (*message.mutable_parameters())[name].set_string_param(text);
  }
  for (const serve::NamedTensor& output : response.outputs) {
    auto& tensor = *message.add_outputs();
    const Tensor& from = output.tensor;
    tensor.set_name(output.name);
    tensor.set_datatype(std::string(serve::datatype_of(from.dtype())));
    tensor.mutable_shape()->Add(from.shape().begin(), from.shape().end());
    const auto bytes = from.bytes();
    message.add_raw_output_contents(bytes.data(), bytes.size());
  }
}

void print(const serve::ModelMetadata& metadata, inference::ModelMetadataResponse& message) {
  message.set_name(metadata.name);
  message.add_versions(metadata.version);
  message.set_platform("onnx_onnxv1");
  print_tensors(metadata.inputs, *message.mutable_inputs());
  print_tensors(metadata.outputs, *message.mutable_outputs());
}

void print(const std::vector<serve::IndexEntry>& index,
           inference::RepositoryIndexResponse& message) {
  for (const serve::IndexEntry& entry : index) {
    auto& model = *message.add_models();
    model.set_name(entry.name);
    model.set_version(entry.version);
    model.set_state(entry.state);
    model.set_reason(entry.reason);
  }
}

void print(const std::vector<serve::NamedStatistics>& statistics,
           inference::ModelStatisticsResponse& message) {
  for (const serve::NamedStatistics& one : statistics) {
    auto& model = *message.add_model_stats();
    const serve::ModelStatistics& from = one.statistics;
    model.set_name(one.name);
    model.set_version(one.version);
    model.set_last_inference(from.last_inference_ms);
    model.set_inference_count(from.inferences);
    model.set_execution_count(from.executions);
    auto& requests = *model.mutable_inference_stats();
    print(from.success, *requests.mutable_success());
    print(from.fail, *requests.mutable_fail());
    print(from.queue, *requests.mutable_queue());
    print(from.compute, requests);
    for (const auto& [items, totals] : from.batches) {
      auto& batch = *model.add_batch_stats();
      batch.set_batch_size(static_cast<uint64_t>(items));
      print(totals, batch);
    }
  }
}

::grpc::Status print(const Status& status) {
  return {code_of(status.code()), std::string(status.message())};
}

}  // namespace shoal::grpc_door
