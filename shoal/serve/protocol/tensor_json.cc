#include "shoal/serve/protocol/tensor_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "shoal/base/text/printable.h"
#include "shoal/serve/protocol/datatype.h"

namespace shoal::serve {
namespace {

// A tensor's object while it is read: members come in any order.
struct TensorFields {
  std::string name;
  std::optional<std::string> datatype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<int64_t> binary_size;
  std::optional<JsonText> data;  // where it begins, if it came before the type
  std::optional<Tensor> tensor;
};

Result<TensorType> type_of(const TensorFields& fields) {
  if (!fields.datatype || !fields.shape) return invalid("a tensor needs a datatype and a shape");
  const auto dtype = find_datatype(*fields.datatype);
  if (dtype) return make_type(*dtype, *fields.shape);
  if (*fields.datatype == "BYTES") {
    return Status(Code::kUnsupported, "tensors of BYTES are not supported");
  }
  return invalid("there is no datatype " + printable(*fields.datatype, 64));
}

bool is_json_type(DType dtype) { return dtype != DType::kF16 && dtype != DType::kBF16; }

template <class T>
Status parse_element(JsonText& json, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    // NumPy's tolist() gives words; some clients send numbers.
    if (json.next_is('0') || json.next_is('1')) {
      uint8_t number = 0;
      SHOAL_TRY(json.number(number));
      if (number > 1) return invalid("a BOOL is true, false, 0 or 1");
      value = number == 1;
      return {};
    }
    SHOAL_ASSIGN(value, json.boolean());
    return {};
  } else {
    return json.number(value);
  }
}

using JsonTypes = Types<float, double, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                        int64_t, uint64_t, bool>;

// `data` is flat or nested, row by row.
Result<Tensor> parse_data(JsonText& json, const TensorType& type) {
  if (!is_json_type(type.dtype)) {
    return invalid(std::string(datatype_of(type.dtype)) + " cannot be sent as JSON");
  }
  // An element takes two bytes at least, with its comma: a short text asks for no large memory.
  const auto count = static_cast<size_t>(type.shape.count());
  if (count > json.left() / 2 + 1) return invalid("data has fewer elements than its shape");
  Tensor tensor = Tensor::uninitialized(type);
  size_t done = 0;
  Status status;
  visit<JsonTypes>(type.dtype, [&]<class T>() {
    const std::span<T> elements = tensor.data<T>();
    status = json.nested_list([&]() -> Status {
      if (done == elements.size()) return invalid("data has more elements than its shape");
      return parse_element(json, elements[done++]);
    });
  });
  SHOAL_TRY(status);
  if (done != count) return invalid("data has fewer elements than its shape");
  return tensor;
}

Status parse_parameters(JsonText& json, TensorFields& fields) {
  return json.object([&](const std::string& key) -> Status {
    if (key != "binary_data_size") return json.skip();
    SHOAL_ASSIGN(fields.binary_size, json.integer());
    return {};
  });
}

Status parse_member(JsonText& json, const std::string& key, TensorFields& fields) {
  if (key == "name") {
    SHOAL_ASSIGN(fields.name, json.text());
  } else if (key == "datatype") {
    SHOAL_ASSIGN(fields.datatype, json.text());
  } else if (key == "shape") {
    SHOAL_TRY(json.integers(fields.shape.emplace()));
  } else if (key == "parameters") {
    return parse_parameters(json, fields);
  } else if (key != "data") {
    return json.skip();
  } else if (fields.datatype && fields.shape) {
    SHOAL_ASSIGN(const TensorType type, type_of(fields));
    SHOAL_ASSIGN(fields.tensor, parse_data(json, type));
  } else {
    fields.data = json;
    return json.skip();
  }
  return {};
}

void append_integer(std::string& text, int64_t number) { text += std::to_string(number); }

template <class T>
void append_element(std::string& text, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? "true" : "false";
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        text += "null";
        return;
      }
    }
    // The shortest text that reads back as the same T.
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  }
}

void append_elements(std::string& text, const Tensor& tensor) {
  text += '[';
  visit<JsonTypes>(tensor.dtype(), [&]<class T>() {
    const char* separator = "";
    for (T element : tensor.data<T>()) {
      text += separator;
      append_element(text, element);
      separator = ",";
    }
  });
  text += ']';
}

}  // namespace

Result<TensorType> make_type(DType dtype, std::span<const int64_t> dims) {
  if (dims.size() > Shape::kMaxRank) {
    return invalid("a shape has at most " + std::to_string(Shape::kMaxRank) + " dimensions");
  }
  TensorType type{dtype, Shape(dims)};
  SHOAL_TRY(check(type));
  return type;
}

BinaryPart::BinaryPart(const Body& body)
    : rest_(body.bytes.subspan(body.json_bytes.value_or(body.bytes.size()))), owner_(body.owner) {}

Result<Tensor> BinaryPart::take(const TensorType& type, int64_t size) {
  const size_t bytes = type.bytes();
  if (size < 0 || static_cast<size_t>(size) != bytes) {
    return invalid("binary_data_size is " + std::to_string(size) + ", and " + to_string(type) +
                   " has " + std::to_string(bytes) + " bytes");
  }
  if (bytes > rest_.size()) return invalid("the body is shorter than its tensors");
  const std::span<const std::byte> elements = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  const auto is_bool = [](std::byte b) { return b <= std::byte{1}; };
  if (type.dtype == DType::kBool && !std::ranges::all_of(elements, is_bool)) {
    return invalid("a BOOL is 0 or 1");
  }
  if (reinterpret_cast<uintptr_t>(elements.data()) % size_of(type.dtype) == 0 && bytes > 0) {
    return Tensor::view(type, elements.data(), owner_);
  }
  Tensor tensor = Tensor::uninitialized(type);
  if (bytes > 0) std::memcpy(tensor.bytes().data(), elements.data(), bytes);
  return tensor;
}

Status BinaryPart::end() const {
  return rest_.empty() ? Status() : invalid("the body is longer than its tensors");
}

Result<NamedTensor> parse_tensor(JsonText& json, BinaryPart& binary) {
  TensorFields fields;
  SHOAL_TRY(json.object([&](const std::string& key) { return parse_member(json, key, fields); }));
  const auto at = [&](const Status& status) {
    return status.at("tensor " + printable(fields.name, 64));
  };
  const Result<TensorType> type = type_of(fields);
  if (!type.ok()) return at(type.status());
  const bool has_data = fields.tensor || fields.data;
  if (has_data == fields.binary_size.has_value()) {
    return at(invalid("either data or binary_data_size is needed"));
  }
  if (fields.tensor) return NamedTensor{std::move(fields.name), *std::move(fields.tensor), false};
  Result<Tensor> tensor =
      fields.data ? parse_data(*fields.data, *type) : binary.take(*type, *fields.binary_size);
  if (!tensor.ok()) return at(tensor.status());
  return NamedTensor{std::move(fields.name), *std::move(tensor), fields.binary_size.has_value()};
}

void print_tensor(const NamedTensor& tensor, Message& message) {
  std::string& text = message.json;
  text += "{\"name\":" + json_text(valid_utf8(tensor.name)) + ",\"datatype\":\"";
  text += datatype_of(tensor.tensor.dtype());
  text += "\",\"shape\":[";
  const char* separator = "";
  for (int64_t dim : tensor.tensor.shape()) {
    text += separator;
    append_integer(text, dim);
    separator = ",";
  }
  text += ']';
  if (tensor.binary || !is_json_type(tensor.tensor.dtype())) {
    text += ",\"parameters\":{\"binary_data_size\":";
    append_integer(text, static_cast<int64_t>(tensor.tensor.bytes().size()));
    text += "}}";
    message.tensors.push_back(tensor.tensor);
    return;
  }
  text += ",\"data\":";
  append_elements(text, tensor.tensor);
  text += '}';
}

}  // namespace shoal::serve
