#include "shoal/model/passes/equal.h"

#include <algorithm>

namespace shoal::passes {
namespace {

void append_bytes(std::string& key, const void* data, size_t size) {
  key.append(static_cast<const char*>(data), size);
}

template <class T>
void append_number(std::string& key, T value) {
  append_bytes(key, &value, sizeof value);
}

// Prefixed by its length, so that two adjacent texts never read as another pair.
void append_text(std::string& key, std::string_view text) {
  append_number(key, text.size());
  key += text;
}

struct AppendAttribute {
  std::string& key;

  void operator()(int64_t value) const { append_number(key, value); }
  void operator()(float value) const { append_number(key, value); }
  void operator()(const std::string& value) const { append_text(key, value); }
  void operator()(const Tensor& value) const { append_key(key, value); }
  template <class T>
  void operator()(const std::vector<T>& list) const {
    append_number(key, list.size());
    for (const T& element : list) (*this)(element);
  }
};

// Constants are compared by address: passes share them, and comparing elements would read all
// weights once per pass.
bool same_value(const Graph& a, ValueId x, const Graph& b, ValueId y) {
  if (x == kNoValue || y == kNoValue) return x == y;
  if (a[x].name != b[y].name || a[x].type != b[y].type) return false;
  if (!a[x].constant || !b[y].constant)
    return a[x].constant.has_value() == b[y].constant.has_value();
  return a[x].constant->bytes().data() == b[y].constant->bytes().data();
}

bool same_values(const Graph& a, std::span<const ValueId> x, const Graph& b,
                 std::span<const ValueId> y) {
  return std::ranges::equal(x, y, [&](ValueId i, ValueId j) { return same_value(a, i, b, j); });
}

std::string key_of(const Attributes& attributes) {
  std::string key;
  append_key(key, attributes);
  return key;
}

}  // namespace

void append_key(std::string& key, const Tensor& tensor) {
  append_number(key, tensor.dtype());
  append_number(key, tensor.shape().rank());
  for (int64_t d : tensor.shape()) append_number(key, d);
  append_bytes(key, tensor.bytes().data(), tensor.bytes().size());
}

void append_key(std::string& key, const Attributes& attributes) {
  append_number(key, attributes.size());
  for (const auto& [name, value] : attributes) {
    append_text(key, name);
    append_number(key, value.index());
    std::visit(AppendAttribute{key}, value);
  }
}

bool same(const Graph& a, const Graph& b) {
  auto same_node = [&](const Node& x, const Node& y) {
    return x.op == y.op && same_values(a, x.inputs, b, y.inputs) &&
           same_values(a, x.outputs, b, y.outputs) && key_of(x.attributes) == key_of(y.attributes);
  };
  return same_values(a, a.inputs(), b, b.inputs()) && same_values(a, a.outputs(), b, b.outputs()) &&
         std::ranges::equal(a.nodes(), b.nodes(), same_node);
}

}  // namespace shoal::passes
