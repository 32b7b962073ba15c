// The ONNX messages as plain structs. Text and tensor data point into the file; fields that the
// engine does not use are skipped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/model/onnx/format/wire.h"

namespace shoal::onnx {

struct GraphProto;

struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  std::optional<Bytes> raw;
  // The typed fields, such as float_data: the field's number and its pieces, still encoded. A file
  // may cut a packed field into several pieces; unpacked elements are pieces of one.
  uint32_t typed_field = 0;
  std::vector<Bytes> typed;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
};

struct SparseTensorProto {
  TensorProto values;  // its name is the name of the whole
  TensorProto indices;
  std::vector<int64_t> dims;
};

// Names and numbers are those of AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

struct AttributeProto {
  using Value = std::variant<std::monostate, float, int64_t, std::string_view, std::vector<float>,
                             std::vector<int64_t>, std::vector<std::string_view>,
                             std::shared_ptr<const TensorProto>, std::shared_ptr<const GraphProto>,
                             std::shared_ptr<const SparseTensorProto>>;
  std::string_view name;
  std::string_view reference;  // in a function: the attribute of the call
  AttributeKind kind{};
  Value value;  // monostate: a kind that no operator here takes
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
};

struct DimensionProto {
  std::optional<int64_t> value;
  std::string_view symbol;
};

struct TypeProto {
  std::string_view kind = "undefined";  // "tensor", "sequence", ...
  int32_t element = 0;
  std::optional<std::vector<DimensionProto>> shape;  // nullopt: the rank is unknown
};

struct ValueInfoProto {
  std::string_view name;
  std::optional<TypeProto> type;
};

struct GraphProto {
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfoProto> inputs, outputs;
};

struct OpsetProto {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  std::vector<OpsetProto> opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer, producer_version;
  std::vector<OpsetProto> opsets;
  std::vector<std::pair<std::string_view, std::string_view>> properties;  // metadata_props
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
};

// Text and data of the result point into `file`, which must outlive it. Safe on any bytes: memory
// and depth are bounded by Limits.
Result<ModelProto> parse_model(Bytes file);

}  // namespace shoal::onnx
