#include "shoal/model/graph/text.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "shoal/model/graph/text_names.h"

namespace shoal {
namespace {

// Enough for shapes, axes and scalars, which are what a reader looks for. Weights would fill the
// screen.
constexpr int64_t kMaxPrintedElements = 16;

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
      // Names come from files: control characters must not reach a terminal, nor break a line in
      // two.
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string name_text(std::string_view name) {
  return is_bare_name(name) ? std::string(name) : in_quotes(name);
}

// The shortest decimal that reads back as the same number.
template <class T>
std::string number_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return "nan";  // one spelling, whatever the sign and the payload
    }
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
  }
}

// A float attribute must not read back as an integer.
std::string float_text(float value) {
  std::string text = number_text(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

template <class List, class F>
std::string list_text(const List& list, char open, char close, F element_text) {
  std::string text(1, open);
  for (const auto& element : list) {
    if (text.size() > 1) text += ',';
    text += element_text(element);
  }
  return text + close;
}

// A multiplicative hash, eight bytes a step. It shows that weights differ and is no protection
// against forgery; half a gigabyte of weights takes a fraction of a second.
uint32_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = bytes.size();
  for (size_t at = 0; at < bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>(hash);
}

std::string elements_text(const Tensor& tensor, char open, char close) {
  std::string text;
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    text = list_text(tensor.data<T>(), open, close,
                     [](T x) { return number_text(static_cast<Compute<T>>(x)); });
  });
  return text;
}

std::string hash_text(const Tensor& tensor) {
  char buffer[16];
  char* const end = std::to_chars(buffer, buffer + sizeof buffer, hash_of(tensor.bytes()), 16).ptr;
  return "#" + std::string(buffer, end);
}

std::string constant_text(const Tensor& tensor) {
  return tensor.count() <= kMaxPrintedElements ? elements_text(tensor, '[', ']')
                                               : hash_text(tensor);
}

struct AttributeText {
  std::string operator()(int64_t value) const { return number_text(value); }
  std::string operator()(float value) const { return float_text(value); }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(const std::vector<int64_t>& list) const {
    return list_text(list, '[', ']', number_text<int64_t>);
  }
  std::string operator()(const std::vector<float>& list) const {
    return list.empty() ? "floats[]" : list_text(list, '[', ']', float_text);
  }
  std::string operator()(const std::vector<std::string>& list) const {
    return list.empty() ? "strings[]" : list_text(list, '[', ']', in_quotes);
  }
  std::string operator()(const Tensor& tensor) const {
    return to_string(tensor.type()) + (tensor.count() <= kMaxPrintedElements
                                           ? elements_text(tensor, '{', '}')
                                           : "{" + hash_text(tensor) + "}");
  }
};

std::string values_text(const Graph& graph, std::span<const ValueId> ids) {
  std::string text;
  for (ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += id == kNoValue ? "_" : name_text(graph[id].name);
  }
  return text;
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string text = values_text(graph, node.outputs) + " = " + std::string(node.op->name) + "(" +
                     values_text(graph, node.inputs) + ")";
  for (const auto& [key, value] : node.attributes) {
    text += " " + name_text(key) + "=" + to_text(value);
  }
  return node.name.empty() ? text : text + " @" + name_text(node.name);
}

}  // namespace

std::string to_text(const Attribute& attribute) { return std::visit(AttributeText(), attribute); }

std::string to_text(const Graph& graph) {
  std::string text;
  for (ValueId id : graph.inputs()) {
    text += "input " + name_text(graph[id].name) + " " + to_string(graph[id].type) + "\n";
  }
  // The parser wants every name defined above its use, so constants come before all nodes.
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (!value.constant) continue;
    text += "const " + name_text(value.name) + " " + to_string(value.type) + " = " +
            constant_text(*value.constant) + "\n";
  }
  for (const Node& node : graph.nodes()) text += node_text(graph, node) + "\n";
  for (ValueId id : graph.outputs()) text += "output " + name_text(graph[id].name) + "\n";
  return text;
}

}  // namespace shoal
