// Encoding of graphs. A graph is a list of statements (input, weight, node) in the order of its
// values, so that a value's number is its place. Types of node outputs are not sent:
// Graph::add_node() infers them, and with them all that `infer` guarantees to devices. Weights
// above kInlineBytes travel apart, by hash.
#include "shoal/cluster/messages/wire.h"

#include <openssl/sha.h>

#include "messages.pb.h"
#include "shoal/base/limits.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/bools.h"

namespace shoal::cluster {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status corrupt(std::string message) { return Status(Code::kCorrupt, std::move(message)); }

void encode(const TensorType& type, message::Type& to) {
  to.set_dtype(static_cast<uint32_t>(type.dtype));
  for (int64_t dim : type.shape) to.add_dims(dim);
}

Result<TensorType> decode(const message::Type& from) {
  if (from.dims_size() > static_cast<int>(Shape::kMaxRank)) return corrupt("too many dimensions");
  // An unknown number must not become a DType: switches over it would fall through.
  if (!AllTypes::contains(static_cast<DType>(from.dtype()))) return corrupt("no such element type");
  TensorType type{static_cast<DType>(from.dtype()), {}};
  for (int64_t dim : from.dims()) type.shape.push_back(dim);
  SHOAL_TRY(check(type));
  return type;
}

void encode(const Tensor& tensor, message::Constant& to, const NameOf& name_of) {
  encode(tensor.type(), *to.mutable_type());
  if (tensor.bytes().size() <= kInlineBytes) {
    to.set_bytes(std::string(text_of(tensor.bytes())));
    return;
  }
  to.set_hash(name_of(tensor));
}

Result<Tensor> decode(const message::Constant& from, const Find& find) {
  SHOAL_ASSIGN(const TensorType type, decode(from.type()));
  if (!from.hash().empty()) {
    // The store looks hashes up as strings, and files are named after them.
    if (from.hash().size() != kHashBytes) return corrupt("a hash has the wrong length");
    Tensor tensor = find(from.hash(), type);
    if (!tensor.defined()) return Status(Code::kNotFound, "a weight is not here");
    if (!are_elements(type.dtype, tensor.bytes())) return corrupt("a bool is neither 0 nor 1");
    return tensor;
  }
  if (from.bytes().size() != type.bytes()) return corrupt("a constant has the wrong size");
  if (!are_elements(type.dtype, std::as_bytes(std::span(from.bytes())))) {
    return corrupt("a bool is neither 0 nor 1");
  }
  Tensor tensor(type);
  std::ranges::copy(std::as_bytes(std::span(from.bytes())), tensor.bytes().begin());
  return tensor;
}

void encode(const std::string& name, const Attribute& attribute, message::Attribute& to,
            const NameOf& name_of) {
  to.set_name(name);
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, int64_t>) {
          to.set_integer(value);
        } else if constexpr (std::is_same_v<T, float>) {
          to.set_real(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          to.set_text(value);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          for (int64_t x : value) to.mutable_integers()->add_list(x);
          // Sets the kind of an empty list, which the loop above has not touched.
          to.mutable_integers();
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          for (float x : value) to.mutable_reals()->add_list(x);
          to.mutable_reals();
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const std::string& x : value) to.mutable_texts()->add_list(x);
          to.mutable_texts();
        } else {
          encode(value, *to.mutable_tensor(), name_of);
        }
      },
      attribute);
}

Result<Attribute> decode(const message::Attribute& from, const Find& find) {
  switch (from.value_case()) {
    case message::Attribute::kInteger:
      return Attribute(int64_t{from.integer()});
    case message::Attribute::kReal:
      return Attribute(from.real());
    case message::Attribute::kText:
      return Attribute(from.text());
    case message::Attribute::kIntegers:
      return Attribute(
          std::vector<int64_t>(from.integers().list().begin(), from.integers().list().end()));
    case message::Attribute::kReals:
      return Attribute(std::vector<float>(from.reals().list().begin(), from.reals().list().end()));
    case message::Attribute::kTexts:
      return Attribute(
          std::vector<std::string>(from.texts().list().begin(), from.texts().list().end()));
    case message::Attribute::kTensor: {
      SHOAL_ASSIGN(Tensor tensor, decode(from.tensor(), find));
      return Attribute(std::move(tensor));
    }
    default:
      return corrupt("an attribute has no value");
  }
}

void encode(const Node& node, const Graph& graph, message::Node& to, const NameOf& name_of) {
  to.set_op(std::string(node.op->name));
  to.set_name(node.name);
  for (ValueId id : node.inputs) to.add_inputs(static_cast<int32_t>(id));
  for (ValueId id : node.outputs) to.add_outputs(graph[id].name);
  for (const auto& [name, attribute] : node.attributes) {
    encode(name, attribute, *to.add_attributes(), name_of);
  }
}

// Rebuilds a graph, statement by statement.
class Decoder {
 public:
  explicit Decoder(const Find& find) : find_(find) {}

  Result<Graph> run(const message::Graph& from) {
    // The same limits as for a file: a peer is trusted no more than that.
    if (static_cast<size_t>(from.statements_size()) > kLimits.max_values) {
      return corrupt("too many values");
    }
    for (const message::Statement& statement : from.statements()) SHOAL_TRY(add(statement));
    for (int32_t id : from.outputs()) {
      if (!is_value(id)) return corrupt("an output is no value");
      graph_.mark_output(ValueId{id});
    }
    return std::move(graph_);
  }

 private:
  // Only values stated so far: a graph from a peer has no cycles and no forward references.
  bool is_value(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < graph_.value_count();
  }

  Status add(const message::Statement& from) {
    switch (from.kind_case()) {
      case message::Statement::kInput: {
        SHOAL_TRY(check_name(from.input().name()));
        SHOAL_ASSIGN(const TensorType type, decode(from.input().type()));
        graph_.add_input(from.input().name(), type);
        return {};
      }
      case message::Statement::kWeight: {
        SHOAL_TRY(check_name(from.weight().name()));
        SHOAL_ASSIGN(Tensor tensor, decode(from.weight().constant(), find_));
        graph_.add_constant(from.weight().name(), std::move(tensor));
        return {};
      }
      case message::Statement::kNode:
        return add(from.node()).at("node " + from.node().name());
      default:
        return corrupt("an empty statement");
    }
  }

  Status add(const message::Node& from) {
    const Operator* op = ops::find(from.op());
    if (op == nullptr) return Status(Code::kUnsupported, "no operator " + from.op());
    std::vector<ValueId> inputs;
    for (int32_t id : from.inputs()) {
      // -1 is kNoValue: an optional input that is not given.
      if (id != -1 && !is_value(id)) return corrupt("an input is no value");
      inputs.push_back(ValueId{id});
    }
    Attributes attributes;
    for (const message::Attribute& attribute : from.attributes()) {
      SHOAL_ASSIGN(attributes[attribute.name()], decode(attribute, find_));
    }
    std::vector<std::string> outputs;
    for (const std::string& name : from.outputs()) {
      SHOAL_TRY(check_name(name));
      outputs.push_back(name);
    }
    return graph_
        .add_node(*op, std::move(inputs), std::move(attributes), std::move(outputs), from.name())
        .status();
  }

  static Status check_name(const std::string& name) {
    return name.size() <= kLimits.max_name_bytes ? Status() : corrupt("a name is too long");
  }

  const Find& find_;
  Graph graph_;
};

}  // namespace

Hash hash_of(std::span<const std::byte> bytes) {
  Hash hash(kHashBytes, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

void encode(const Graph& graph, message::Graph& to, const NameOf& name_of) {
  // Values are encoded in order; those that a node computes are encoded by the node, once.
  std::vector<const Node*> made_by(graph.value_count(), nullptr);
  for (const Node& node : graph.nodes()) made_by[static_cast<size_t>(node.outputs[0])] = &node;
  std::vector<bool> is_output(graph.value_count(), false);
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.outputs) is_output[static_cast<size_t>(id)] = true;
  }
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph[static_cast<ValueId>(v)];
    if (made_by[v] != nullptr) {
      encode(*made_by[v], graph, *to.add_statements()->mutable_node(), name_of);
    } else if (value.constant) {
      message::Statement::Weight* weight = to.add_statements()->mutable_weight();
      weight->set_name(value.name);
      encode(*value.constant, *weight->mutable_constant(), name_of);
    } else if (!is_output[v]) {
      message::Statement::Input* input = to.add_statements()->mutable_input();
      input->set_name(value.name);
      encode(value.type, *input->mutable_type());
    }
  }
  for (ValueId id : graph.outputs()) to.add_outputs(static_cast<int32_t>(id));
}

Result<Graph> decode(const message::Graph& from, const Find& find) {
  return Decoder(find).run(from);
}

Result<std::vector<Hash>> hashes_in(const message::Graph& from) {
  std::vector<Hash> hashes;
  const auto collect = [&](const message::Constant& constant) -> Status {
    if (constant.hash().empty()) return {};
    if (constant.hash().size() != kHashBytes) return corrupt("a hash has the wrong length");
    // Checked here, before memory is set aside for the weights that are to come.
    SHOAL_TRY(decode(constant.type()).status());
    hashes.push_back(constant.hash());
    return {};
  };
  for (const message::Statement& statement : from.statements()) {
    if (statement.has_weight()) SHOAL_TRY(collect(statement.weight().constant()));
    for (const message::Attribute& attribute : statement.node().attributes()) {
      if (attribute.has_tensor()) SHOAL_TRY(collect(attribute.tensor()));
    }
  }
  return hashes;
}

std::string to_bytes(const Graph& graph, const NameOf& name_of) {
  message::Graph message;
  encode(graph, message, name_of);
  return message.SerializeAsString();
}

Result<Graph> graph_from(std::string_view bytes, const Find& find) {
  message::Graph message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return corrupt("what came is no graph");
  }
  return decode(message, find);
}

void encode(const plan::Piece& piece, message::Piece& to) {
  to.set_value(static_cast<int32_t>(piece.value));
  for (int64_t x : piece.region.begin) to.add_begin(x);
  for (int64_t x : piece.region.end) to.add_end(x);
}

Result<plan::Piece> decode(const message::Piece& from) {
  if (from.begin_size() != from.end_size() ||
      from.begin_size() > static_cast<int>(Shape::kMaxRank) || from.value() < 0) {
    return corrupt("a piece is no box");
  }
  plan::Piece piece{ValueId{from.value()}, {}};
  for (int i = 0; i < from.begin_size(); ++i) {
    if (from.begin(i) < 0 || from.end(i) < from.begin(i) || from.end(i) > kLimits.max_dimension) {
      return corrupt("a piece is no box");
    }
    piece.region.begin.push_back(from.begin(i));
    piece.region.end.push_back(from.end(i));
  }
  // The product of the lengths must not overflow, whatever the element type turns out to be.
  SHOAL_TRY(check({DType::kU8, piece.region.shape()}));
  return piece;
}

}  // namespace shoal::cluster
