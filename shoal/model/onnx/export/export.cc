// Writer of ONNX files.
#include "shoal/model/onnx/export/export.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "shoal/base/files/atomic_file.h"
#include "shoal/model/onnx/export/expand.h"
#include "shoal/model/onnx/export/sparse_storage.h"
#include "shoal/model/onnx/format/tensors.h"
#include "shoal/model/onnx/format/wire.h"
#include "shoal/model/ops/onnx_dtype.h"

namespace shoal::onnx {
namespace {

// The numbers of onnx.proto for the fields that are written here.
namespace model {
enum Field : uint32_t {
  kIrVersion = 1,
  kProducer = 2,
  kDoc = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kProperty = 14
};
}
namespace property {
enum Field : uint32_t { kKey = 1, kValue = 2 };
}
namespace opset_id {
enum Field : uint32_t { kDomain = 1, kVersion = 2 };
}
namespace graph_proto {
enum Field : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kSparseInitializer = 15
};
}
namespace sparse_proto {
enum Field : uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
}
namespace node_proto {
enum Field : uint32_t { kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5 };
}
namespace attribute_proto {
enum Field : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kType = 20
};
// Indexed by the alternatives of Attribute: AttributeProto.AttributeType.
constexpr int64_t kTypes[] = {2, 1, 3, 7, 6, 8, 4};
}  // namespace attribute_proto
namespace tensor_proto {
enum Field : uint32_t { kDims = 1, kDataType = 2, kName = 8, kRawData = 9, kDoc = 12 };
}
namespace type_info {
enum Field : uint32_t { kName = 1, kType = 2 };                // ValueInfoProto
enum TypeField : uint32_t { kTensorType = 1 };                 // TypeProto
enum TensorField : uint32_t { kElementType = 1, kShape = 2 };  // TypeProto.Tensor
enum ShapeField : uint32_t { kDim = 1 };                       // TensorShapeProto
enum DimField : uint32_t { kDimValue = 1, kDimSymbol = 2 };    // TensorShapeProto.Dimension
}  // namespace type_info

constexpr int64_t kIrVersion = 8;

// A cache line and the widest vector register: the alignment of a Tensor's own memory.
constexpr size_t kAlignment = 64;

// Protobuf libraries refuse to read larger files.
constexpr size_t kMaxFileBytes = std::numeric_limits<int32_t>::max();

// Spaces in doc_string, a field that readers ignore, move the data behind it to an aligned offset.
struct Padding {
  size_t spaces = 0;
  size_t size() const { return 1 + varint_size(spaces) + spaces; }  // doc_string with its tag
  void write(WireWriter& writer, uint32_t doc) const { writer.text(doc, std::string(spaces, ' ')); }
};

// The least padding that makes position(padding) a multiple of kAlignment. Each space moves the
// position by one, or once by two where a length prefix grows, so the search ends soon.
template <class F>
Padding align(F position) {
  Padding padding;
  while (position(padding) % kAlignment != 0) ++padding.spaces;
  return padding;
}

enum class Batch { kFixed, kOpen };
enum class Storage { kDense, kSparse };

WireWriter value_info(const Value& value, Batch batch) {
  WireWriter shape;
  for (size_t i = 0; i < value.type.shape.rank(); ++i) {
    WireWriter dim;
    if (i == 0 && batch == Batch::kOpen) {
      dim.text(type_info::kDimSymbol, "batch");
    } else {
      dim.integer(type_info::kDimValue, value.type.shape[i]);
    }
    shape.message(type_info::kDim, dim);
  }
  WireWriter tensor;
  tensor.integer(type_info::kElementType, ops::onnx_number_of(value.type.dtype));
  tensor.message(type_info::kShape, shape);
  WireWriter type;
  type.message(type_info::kTensorType, tensor);
  WireWriter info;
  info.text(type_info::kName, value.name);
  info.message(type_info::kType, type);
  return info;
}

WireWriter tensor_head(const TensorType& type) {
  WireWriter head;
  for (int64_t d : type.shape) head.integer(tensor_proto::kDims, d);
  head.integer(tensor_proto::kDataType, ops::onnx_number_of(type.dtype));
  return head;
}

// REQUIRES: `graph` begins at a multiple of kAlignment in the file, if that is to be readable.
void add_initializer(WireWriter& graph, const Value& value, Style style) {
  WireWriter tensor = tensor_head(value.constant->type());
  tensor.text(tensor_proto::kName, value.name);
  const auto elements = value.constant->bytes();
  if (style == Style::kCompact) {
    tensor.view(tensor_proto::kRawData, elements);
    graph.message(graph_proto::kInitializer, tensor);
    return;
  }
  const size_t raw = 1 + varint_size(elements.size()) + elements.size();
  const Padding padding = align([&](Padding p) {
    const size_t body = tensor.size() + p.size() + raw;
    return graph.size() + 1 + varint_size(body) + body - elements.size();
  });
  padding.write(tensor, tensor_proto::kDoc);
  tensor.view(tensor_proto::kRawData, elements);
  graph.message(graph_proto::kInitializer, tensor);
}

// A one-dimensional tensor, whose elements are copied: they lie nowhere else.
template <class T>
WireWriter list_message(const std::vector<T>& elements, std::string_view name) {
  const auto count = static_cast<int64_t>(elements.size());
  WireWriter tensor = tensor_head(TensorType{kDTypeOf<T>, {count}});
  if (!name.empty()) tensor.text(tensor_proto::kName, name);
  tensor.text(tensor_proto::kRawData,
              {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)});
  return tensor;
}

// Writes a constant as its numbers that are not 0 and where they lie, if that takes fewer bytes.
// -0 is such a number. False, and nothing is written, if not.
bool add_sparse_initializer(WireWriter& graph, const Value& value) {
  if (value.type.dtype != DType::kF32) return false;
  const auto elements = value.constant->data<float>();
  const auto is_zero = [](float x) { return std::bit_cast<uint32_t>(x) == 0; };
  const auto others =
      elements.size() - static_cast<size_t>(std::ranges::count_if(elements, is_zero));
  constexpr size_t kBytesOfEach = sizeof(float) + sizeof(int64_t);
  if (others * kBytesOfEach >= value.constant->bytes().size()) return false;
  std::vector<float> numbers;
  std::vector<int64_t> places;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (is_zero(elements[i])) continue;
    numbers.push_back(elements[i]);
    places.push_back(static_cast<int64_t>(i));
  }
  WireWriter tensor;
  tensor.message(sparse_proto::kValues, list_message(numbers, value.name));
  tensor.message(sparse_proto::kIndices, list_message(places, ""));
  for (int64_t d : value.type.shape) tensor.integer(sparse_proto::kDims, d);
  graph.message(graph_proto::kSparseInitializer, tensor);
  return true;
}

// Readers bound what sparse tensors may become, so that no more of them are written.
void add_initializers(WireWriter& message, const Graph& graph, Storage storage, Style style) {
  int64_t left = storage == Storage::kSparse ? kMostExpandedBytes : 0;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (!value.constant) continue;
    const auto bytes = static_cast<int64_t>(value.constant->bytes().size());
    if (bytes <= left && add_sparse_initializer(message, value)) {
      left -= bytes;
    } else {
      add_initializer(message, value, style);
    }
  }
}

struct AttributeWriter {
  WireWriter& writer;

  void operator()(int64_t value) const { writer.integer(attribute_proto::kInt, value); }
  void operator()(float value) const { writer.real(attribute_proto::kFloat, value); }
  void operator()(const std::string& value) const { writer.text(attribute_proto::kString, value); }
  void operator()(const std::vector<int64_t>& list) const {
    for (int64_t value : list) writer.integer(attribute_proto::kInts, value);
  }
  void operator()(const std::vector<float>& list) const {
    for (float value : list) writer.real(attribute_proto::kFloats, value);
  }
  void operator()(const std::vector<std::string>& list) const {
    for (const std::string& value : list) writer.text(attribute_proto::kStrings, value);
  }
  void operator()(const Tensor& value) const {
    WireWriter tensor = tensor_head(value.type());
    tensor.view(tensor_proto::kRawData, value.bytes());
    writer.message(attribute_proto::kTensor, tensor);
  }
};

WireWriter attribute_message(const std::string& name, const Attribute& value) {
  WireWriter message;
  message.text(attribute_proto::kName, name);
  std::visit(AttributeWriter{message}, value);
  message.integer(attribute_proto::kType, attribute_proto::kTypes[value.index()]);
  return message;
}

Result<WireWriter> node_message(const Graph& graph, const Node& node,
                                Style style = Style::kReadable) {
  auto attributes = opset_17_attributes(node);
  if (!attributes.ok()) return attributes.status().at(place_of(graph, node));
  WireWriter message;
  for (ValueId id : node.inputs) {
    message.text(node_proto::kInput, id == kNoValue ? std::string_view() : graph[id].name);
  }
  for (ValueId id : node.outputs) message.text(node_proto::kOutput, graph[id].name);
  const bool is_named = !node.name.empty() && style == Style::kReadable;
  if (is_named) message.text(node_proto::kName, node.name);
  message.text(node_proto::kOpType, node.op->name);
  for (const auto& [name, value] : *attributes) {
    message.message(node_proto::kAttribute, attribute_message(name, value));
  }
  return message;
}

// The types of values between inputs and outputs, for tools that show a model. They are left out
// where the batch is open: readers infer them.
void add_value_infos(WireWriter& message, const Graph& graph) {
  std::vector<bool> told(graph.value_count(), false);
  for (ValueId id : graph.outputs()) told[static_cast<size_t>(id)] = true;
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.outputs) {
      if (told[static_cast<size_t>(id)]) continue;
      message.message(graph_proto::kValueInfo, value_info(graph[id], Batch::kFixed));
    }
  }
}

Result<WireWriter> graph_message(const Graph& graph, Batch batch, Storage storage, Style style) {
  WireWriter message;
  message.text(graph_proto::kName, "shoal");
  for (const Node& node : graph.nodes()) {
    SHOAL_ASSIGN(const WireWriter written, node_message(graph, node, style));
    message.message(graph_proto::kNode, written);
  }
  for (ValueId id : graph.inputs()) {
    message.message(graph_proto::kInput, value_info(graph[id], batch));
  }
  for (ValueId id : graph.outputs()) {
    message.message(graph_proto::kOutput, value_info(graph[id], batch));
  }
  if (batch == Batch::kFixed && style == Style::kReadable) add_value_infos(message, graph);
  add_initializers(message, graph, storage, style);
  return message;
}

// Views the weights of the graph, which must outlive the result.
Result<WireWriter> model_message(const Graph& graph, const Properties& properties,
                                 Batch batch = Batch::kFixed, Storage storage = Storage::kDense,
                                 Style style = Style::kReadable) {
  SHOAL_ASSIGN(const WireWriter body, graph_message(graph, batch, storage, style));
  WireWriter opset;
  opset.text(opset_id::kDomain, "");
  opset.integer(opset_id::kVersion, kOpset);
  WireWriter message;
  message.integer(model::kIrVersion, kIrVersion);
  message.text(model::kProducer, "shoal");
  message.message(model::kOpsetImport, opset);
  for (const auto& [key, value] : properties) {
    WireWriter entry;
    entry.text(property::kKey, key);
    entry.text(property::kValue, value);
    message.message(model::kProperty, entry);
  }
  if (style == Style::kReadable) {
    // The graph is the last field, so padding before it aligns its first byte, and
    // add_initializer() counts from there.
    align([&](Padding p) {
      return message.size() + p.size() + 1 + varint_size(body.size());
    }).write(message, model::kDoc);
  }
  message.message(model::kGraph, body);
  if (message.size() > kMaxFileBytes) {
    return Status(Code::kUnsupported, "the model takes " + std::to_string(message.size() >> 20) +
                                          " MiB; an ONNX file holds at most 2 GiB");
  }
  return message;
}

Result<std::vector<std::byte>> bytes_of(const WireWriter& message) {
  std::vector<std::byte> bytes;
  bytes.reserve(message.size());
  SHOAL_TRY(message.for_each_piece([&](Bytes piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status();
  }));
  return bytes;
}

// Whether both graphs have the same nodes, as they are written, and the same constants. Types of
// computed values are not compared.
Result<bool> same_but_for_types(const Graph& a, const Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.value_count() != b.value_count()) return false;
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    SHOAL_ASSIGN(const WireWriter x, node_message(a, a.nodes()[i]));
    SHOAL_ASSIGN(const WireWriter y, node_message(b, b.nodes()[i]));
    if (*bytes_of(x) != *bytes_of(y)) return false;
  }
  for (size_t i = 0; i < a.value_count(); ++i) {
    const auto &x = a[static_cast<ValueId>(i)].constant, &y = b[static_cast<ValueId>(i)].constant;
    if (x.has_value() != y.has_value()) return false;
    if (x && (x->type() != y->type() || !std::ranges::equal(x->bytes(), y->bytes()))) return false;
  }
  return true;
}

Status write(const WireWriter& message, const std::filesystem::path& path) {
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  SHOAL_TRY(message.for_each_piece([&](Bytes piece) { return file.write(piece); }));
  return file.commit();
}

// "a" to "zz" and on, by number.
std::string letters(size_t number) {
  std::string name;
  for (++number; number > 0; number = (number - 1) / 26) {
    name.insert(name.begin(), static_cast<char>('a' + (number - 1) % 26));
  }
  return name;
}

// The graph as it is written in this style.
Result<Graph> styled(const Graph& graph, std::span<const std::string> output_names, Style style) {
  SHOAL_ASSIGN(Graph expanded, expand_own_operators(graph, output_names));
  if (style == Style::kReadable) return expanded;
  std::vector<bool> keeps(expanded.value_count(), false);
  for (ValueId id : expanded.inputs()) keeps[static_cast<size_t>(id)] = true;
  for (ValueId id : expanded.outputs()) keeps[static_cast<size_t>(id)] = true;
  size_t next = 0;
  for (size_t i = 0; i < keeps.size(); ++i) {
    if (!keeps[i]) expanded.rename(static_cast<ValueId>(i), letters(next++));
  }
  return expanded;
}

}  // namespace

Status write_onnx(const Graph& graph, const std::filesystem::path& path,
                  std::span<const std::string> output_names, const Properties& properties,
                  Style style) {
  SHOAL_ASSIGN(const Graph expanded, styled(graph, output_names, style));
  SHOAL_ASSIGN(const WireWriter message,
               model_message(expanded, properties, Batch::kFixed, Storage::kDense, style));
  return write(message, path);
}

Status write_onnx_for_any_batch(const Graph& one, const Graph& other,
                                const std::filesystem::path& path,
                                std::span<const std::string> output_names,
                                const Properties& properties, Style style) {
  SHOAL_ASSIGN(const Graph expanded, styled(one, output_names, style));
  SHOAL_ASSIGN(const Graph compared, styled(other, output_names, style));
  SHOAL_ASSIGN(const bool same, same_but_for_types(expanded, compared));
  if (!same) {
    return Status(Code::kUnsupported, "the model depends on the size of its batches");
  }
  SHOAL_ASSIGN(const WireWriter message,
               model_message(expanded, properties, Batch::kOpen, Storage::kDense, style));
  return write(message, path);
}

Result<std::vector<std::byte>> to_onnx(const Graph& graph,
                                       std::span<const std::string> output_names,
                                       const Properties& properties, Style style) {
  SHOAL_ASSIGN(const Graph expanded, styled(graph, output_names, style));
  SHOAL_ASSIGN(const WireWriter message,
               model_message(expanded, properties, Batch::kFixed, Storage::kDense, style));
  return bytes_of(message);
}

Status write_sparse_onnx(const Graph& graph, const std::filesystem::path& path,
                         std::span<const std::string> output_names) {
  SHOAL_ASSIGN(const Graph expanded, expand_own_operators(graph, output_names));
  SHOAL_ASSIGN(const WireWriter message,
               model_message(expanded, {}, Batch::kFixed, Storage::kSparse));
  return write(message, path);
}

Result<std::vector<std::byte>> to_sparse_onnx(const Graph& graph,
                                              std::span<const std::string> output_names) {
  SHOAL_ASSIGN(const Graph expanded, expand_own_operators(graph, output_names));
  SHOAL_ASSIGN(const WireWriter message,
               model_message(expanded, {}, Batch::kFixed, Storage::kSparse));
  return bytes_of(message);
}

}  // namespace shoal::onnx
