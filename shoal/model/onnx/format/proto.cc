// Parser of the ONNX messages. Field numbers are those of onnx.proto. A scalar field that occurs
// twice keeps its last value, as protobuf defines.
#include "shoal/model/onnx/format/proto.h"

#include <cstring>
#include <string>

namespace shoal::onnx {
namespace {

// Far more than any model has. The engine's own limit is checked later, with a better message.
constexpr size_t kMaxDims = 1024;

void read_ints(WireReader& reader, std::vector<int64_t>& list) {
  Bytes packed = reader.elements(WireType::kVarint);
  while (!packed.empty()) {
    uint64_t value = 0;
    if (!take_varint(packed, value)) return reader.corrupt("a packed number is cut off");
    if (!reader.append(list, static_cast<int64_t>(value))) return;
  }
}

// The dimensions of a tensor. Unlike other lists this one has a fixed bound.
void read_dims(WireReader& reader, std::vector<int64_t>& dims) {
  read_ints(reader, dims);
  if (dims.size() > kMaxDims) {
    reader.fail(Status(Code::kUnsupported,
                       "a tensor has more than " + std::to_string(kMaxDims) + " dimensions"));
  }
}

// The length of a packed field is known, so its memory is charged at once and it is copied as a
// block.
void read_floats(WireReader& reader, std::vector<float>& list) {
  const Bytes packed = reader.elements(WireType::kFixed32);
  if (!reader.charge(packed.size())) return;
  const size_t old = list.size();
  list.resize(old + packed.size() / sizeof(float));
  if (!packed.empty()) std::memcpy(list.data() + old, packed.data(), packed.size());
}

Result<std::pair<std::string_view, std::string_view>> parse_entry(WireReader reader) {
  std::pair<std::string_view, std::string_view> entry;
  while (reader.next()) {
    if (reader.field() == 1) entry.first = reader.text();
    if (reader.field() == 2) entry.second = reader.text();
  }
  return reader.finish(entry);
}

// A tensor gives its elements in one field only; with two it would be open which one counts.
void read_typed(WireReader& reader, TensorProto& tensor, WireType element) {
  const Bytes piece = reader.elements(element);
  if (piece.empty()) return;
  if (tensor.typed_field != 0 && tensor.typed_field != reader.field()) {
    return reader.corrupt("a tensor has elements of two types");
  }
  tensor.typed_field = reader.field();
  reader.append(tensor.typed, piece);
}

Result<TensorProto> parse_tensor(WireReader reader) {
  TensorProto tensor;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // dims
        read_dims(reader, tensor.dims);
        break;
      case 2:  // data_type
        tensor.data_type = reader.small_integer();
        break;
      case 3:  // segment
        reader.fail(Status(Code::kUnsupported, "a tensor stored in segments"));
        break;
      case 4:  // float_data
        read_typed(reader, tensor, WireType::kFixed32);
        break;
      case 5:   // int32_data
      case 7:   // int64_data
      case 11:  // uint64_data
        read_typed(reader, tensor, WireType::kVarint);
        break;
      case 8:  // name
        tensor.name = reader.text();
        break;
      case 9:  // raw_data
        tensor.raw = reader.bytes();
        break;
      case 10:  // double_data
        read_typed(reader, tensor, WireType::kFixed64);
        break;
      case 13:  // external_data
        reader.append(tensor.external_data, parse_entry(reader.message()));
        break;
      case 14:  // data_location
        tensor.external = reader.integer() == 1;
        break;
      default:
        break;
    }
  }
  return reader.finish(std::move(tensor));
}

Result<SparseTensorProto> parse_sparse(WireReader reader) {
  SparseTensorProto sparse;
  while (reader.next()) {
    if (reader.field() == 1) reader.take(sparse.values, parse_tensor(reader.message()));
    if (reader.field() == 2) reader.take(sparse.indices, parse_tensor(reader.message()));
    if (reader.field() == 3) read_dims(reader, sparse.dims);
  }
  return reader.finish(std::move(sparse));
}

Result<GraphProto> parse_graph(WireReader reader);

// The alternative of type T, created if another one or none was there.
template <class T>
T& alternative(AttributeProto::Value& value) {
  if (T* held = std::get_if<T>(&value)) return *held;
  return value.emplace<T>();
}

template <class T>
void share(WireReader& reader, AttributeProto::Value& value, Result<T> parsed) {
  if (!parsed.ok()) return reader.fail(parsed.status());
  if (!reader.charge(sizeof(T))) return;
  value = std::make_shared<const T>(*std::move(parsed));
}

void read_attribute_value(WireReader& reader, AttributeProto::Value& value) {
  switch (reader.field()) {
    case 2:  // f
      value = reader.real();
      break;
    case 3:  // i
      value = reader.integer();
      break;
    case 4:  // s
      value = reader.text();
      break;
    case 5:  // t
      share(reader, value, parse_tensor(reader.message()));
      break;
    case 6:  // g
      share(reader, value, parse_graph(reader.message()));
      break;
    case 7:  // floats
      read_floats(reader, alternative<std::vector<float>>(value));
      break;
    case 8:  // ints
      read_ints(reader, alternative<std::vector<int64_t>>(value));
      break;
    case 9:  // strings
      reader.append(alternative<std::vector<std::string_view>>(value), reader.text());
      break;
    case 22:  // sparse_tensor
      share(reader, value, parse_sparse(reader.message()));
      break;
    default:
      break;
  }
}

// The value of an attribute that was left out of the file because it is the default of its kind: 0,
// "" or an empty list.
AttributeProto::Value default_value(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kFloat:
      return 0.0f;
    case AttributeKind::kInt:
      return int64_t{0};
    case AttributeKind::kString:
      return std::string_view();
    case AttributeKind::kTensor:
      return std::make_shared<const TensorProto>();
    case AttributeKind::kGraph:
      return std::make_shared<const GraphProto>();
    case AttributeKind::kFloats:
      return std::vector<float>();
    case AttributeKind::kInts:
      return std::vector<int64_t>();
    case AttributeKind::kStrings:
      return std::vector<std::string_view>();
    case AttributeKind::kSparseTensor:
      return std::make_shared<const SparseTensorProto>();
    default:
      return {};
  }
}

Result<AttributeProto> parse_attribute(WireReader reader) {
  AttributeProto attribute;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // name
        attribute.name = reader.text();
        break;
      case 20: {  // type
        const int64_t kind = reader.integer();
        if (kind < 1 || kind > 14) reader.corrupt("an attribute has no type");
        attribute.kind = static_cast<AttributeKind>(kind);
        break;
      }
      case 21:  // ref_attr_name
        attribute.reference = reader.text();
        break;
      default:
        read_attribute_value(reader, attribute.value);
        break;
    }
  }
  // A reference has no value here. Otherwise the value must be of the declared type, which IR
  // version 3 and later require.
  if (attribute.reference.empty()) {
    AttributeProto::Value fallback = default_value(attribute.kind);
    if (std::holds_alternative<std::monostate>(attribute.value)) {
      attribute.value = std::move(fallback);
    } else if (attribute.kind == AttributeKind{} || attribute.value.index() != fallback.index()) {
      reader.corrupt("an attribute's value does not have its type");
    }
  }
  return reader.finish(std::move(attribute));
}

Result<NodeProto> parse_node(WireReader reader) {
  NodeProto node;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // input
        reader.append(node.inputs, reader.text());
        break;
      case 2:  // output
        reader.append(node.outputs, reader.text());
        break;
      case 3:  // name
        node.name = reader.text();
        break;
      case 4:  // op_type
        node.op_type = reader.text();
        break;
      case 5:  // attribute
        reader.append(node.attributes, parse_attribute(reader.message()));
        break;
      case 7:  // domain
        node.domain = reader.text();
        break;
      case 8:  // overload
        node.overload = reader.text();
        break;
      default:
        break;
    }
  }
  if (node.op_type.empty()) reader.corrupt("a node without an operator");
  return reader.finish(std::move(node));
}

Result<DimensionProto> parse_dimension(WireReader reader) {
  DimensionProto dimension;
  while (reader.next()) {
    if (reader.field() == 1) dimension.value = reader.integer();
    if (reader.field() == 2) dimension.symbol = reader.text();
  }
  return reader.finish(dimension);
}

Result<std::vector<DimensionProto>> parse_shape(WireReader reader) {
  std::vector<DimensionProto> shape;
  while (reader.next()) {
    if (reader.field() == 1) reader.append(shape, parse_dimension(reader.message()));
  }
  return reader.finish(std::move(shape));
}

Result<TypeProto> parse_tensor_type(WireReader reader) {
  TypeProto type;
  type.kind = "tensor";
  while (reader.next()) {
    if (reader.field() == 1) type.element = reader.small_integer();
    if (reader.field() == 2) {
      reader.take(type.shape.emplace(), parse_shape(reader.message()));
    }
  }
  return reader.finish(std::move(type));
}

Result<TypeProto> parse_type(WireReader reader) {
  TypeProto type;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // tensor_type
        reader.take(type, parse_tensor_type(reader.message()));
        break;
      case 4:  // sequence_type
        type.kind = "sequence";
        break;
      case 5:  // map_type
        type.kind = "map";
        break;
      case 7:  // opaque_type
        type.kind = "opaque";
        break;
      case 8:  // sparse_tensor_type
        type.kind = "sparse tensor";
        break;
      case 9:  // optional_type
        type.kind = "optional";
        break;
      default:
        break;
    }
  }
  return reader.finish(std::move(type));
}

Result<ValueInfoProto> parse_value_info(WireReader reader) {
  ValueInfoProto info;
  while (reader.next()) {
    if (reader.field() == 1) info.name = reader.text();
    if (reader.field() == 2) reader.take(info.type.emplace(), parse_type(reader.message()));
  }
  return reader.finish(std::move(info));
}

Result<GraphProto> parse_graph(WireReader reader) {
  GraphProto graph;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // node
        reader.append(graph.nodes, parse_node(reader.message()));
        break;
      case 5:  // initializer
        reader.append(graph.initializers, parse_tensor(reader.message()));
        if (!graph.initializers.empty() && graph.initializers.back().name.empty()) {
          reader.corrupt("an initializer without a name");
        }
        break;
      case 11:  // input
        reader.append(graph.inputs, parse_value_info(reader.message()));
        break;
      case 12:  // output
        reader.append(graph.outputs, parse_value_info(reader.message()));
        break;
      case 15:  // sparse_initializer
        reader.append(graph.sparse_initializers, parse_sparse(reader.message()));
        break;
      default:
        break;
    }
  }
  return reader.finish(std::move(graph));
}

Result<OpsetProto> parse_opset(WireReader reader) {
  OpsetProto opset;
  while (reader.next()) {
    if (reader.field() == 1) opset.domain = reader.text();
    if (reader.field() == 2) opset.version = reader.integer();
  }
  return reader.finish(opset);
}

Result<FunctionProto> parse_function(WireReader reader) {
  FunctionProto function;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // name
        function.name = reader.text();
        break;
      case 4:  // input
        reader.append(function.inputs, reader.text());
        break;
      case 5:  // output
        reader.append(function.outputs, reader.text());
        break;
      case 7:  // node
        reader.append(function.nodes, parse_node(reader.message()));
        break;
      case 9:  // opset_import
        reader.append(function.opsets, parse_opset(reader.message()));
        break;
      case 10:  // domain
        function.domain = reader.text();
        break;
      case 11:  // attribute_proto
        reader.append(function.defaults, parse_attribute(reader.message()));
        break;
      case 13:  // overload
        function.overload = reader.text();
        break;
      default:
        break;
    }
  }
  return reader.finish(std::move(function));
}

}  // namespace

Result<ModelProto> parse_model(Bytes file) {
  Scan scan{.origin = file.data()};
  WireReader reader(file, scan);
  ModelProto model;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:  // ir_version
        model.ir_version = reader.integer();
        break;
      case 2:  // producer_name
        model.producer = reader.text();
        break;
      case 3:  // producer_version
        model.producer_version = reader.text();
        break;
      case 7:  // graph
        if (model.graph) reader.corrupt("a second graph");
        reader.take(model.graph.emplace(), parse_graph(reader.message()));
        break;
      case 8:  // opset_import
        reader.append(model.opsets, parse_opset(reader.message()));
        break;
      case 14:  // metadata_props
        reader.append(model.properties, parse_entry(reader.message()));
        break;
      case 25:  // functions
        reader.append(model.functions, parse_function(reader.message()));
        break;
      default:
        break;
    }
  }
  return reader.finish(std::move(model));
}

}  // namespace shoal::onnx
