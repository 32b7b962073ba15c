#include "shoal/model/onnx/format/tensors.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include "shoal/base/checked.h"
#include "shoal/base/text/printable.h"
#include "shoal/model/ops/narrow_type.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/tensor/bools.h"

namespace shoal::onnx {
namespace {

// The types of TensorProto.DataType that no DType stands for or holds.
std::string_view name_of_unsupported(int64_t number) {
  switch (number) {
    case 8:
      return "string";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    default:
      return {};
  }
}

}  // namespace

Result<DType> element_type(int64_t number) {
  if (const auto dtype = ops::dtype_of_onnx(number)) return *dtype;
  if (const ops::NarrowType* narrow = ops::find_narrow_type(number)) return narrow->held;
  const std::string_view name = name_of_unsupported(number);
  if (name.empty()) {
    return Status(Code::kCorrupt, "element type " + std::to_string(number) + " does not exist");
  }
  return Status(Code::kUnsupported, "elements of type " + std::string(name) + " are not supported");
}

namespace {

// Below this, releasing pages costs more than it saves.
constexpr size_t kReleaseBytes = size_t{64} << 10;

Status corrupt(std::string message) { return Status(Code::kCorrupt, std::move(message)); }

Result<TensorType> type_of(std::span<const int64_t> dims, int32_t data_type) {
  SHOAL_ASSIGN(const DType dtype, element_type(data_type));
  if (dims.size() > Shape::kMaxRank) {
    return Status(Code::kUnsupported, "rank " + std::to_string(dims.size()) + " is more than " +
                                          std::to_string(Shape::kMaxRank));
  }
  const TensorType type{dtype, Shape(dims)};
  SHOAL_TRY(check(type));
  return type;
}

// Memory that is not zeroed first: zeros that are overwritten at once would be a second pass over
// all weights.
Tensor copy_of(TensorType type, Bytes bytes) {
  constexpr std::align_val_t alignment{64};
  std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(::operator new(std::max<size_t>(bytes.size(), 1), alignment)),
      [](std::byte* p) { ::operator delete(p, alignment); });
  if (!bytes.empty()) std::memcpy(memory.get(), bytes.data(), bytes.size());
  const std::byte* data = memory.get();
  return Tensor::view(type, data, std::move(memory));
}

// The typed field of TensorProto that holds elements of this type.
uint32_t typed_field_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 4;  // float_data
    case DType::kI64:
      return 7;  // int64_data
    case DType::kF64:
      return 10;  // double_data
    case DType::kU32:
    case DType::kU64:
      return 11;  // uint64_data
    default:
      return 5;  // int32_data, also for the bits of the 16-bit floats
  }
}

bool is_fixed_width(uint32_t field) { return field == 4 || field == 10; }

Result<Tensor> decode_fixed(TensorType type, std::span<const Bytes> pieces) {
  Tensor tensor(type);
  std::span<std::byte> left = tensor.bytes();
  for (Bytes piece : pieces) {
    if (piece.size() > left.size()) return corrupt("has more elements than its shape");
    if (!piece.empty()) std::memcpy(left.data(), piece.data(), piece.size());
    left = left.subspan(piece.size());
  }
  if (!left.empty()) return corrupt("has fewer elements than its shape");
  return tensor;
}

// Converts the integer that carries an element: the bits of a float, 0 or 1 for a bool, else the
// number.
template <class T>
Status store(uint64_t number, T& element) {
  using Carrier = std::conditional_t<std::is_same_v<T, bool>, uint8_t,
                                     std::conditional_t<std::is_integral_v<T>, T, uint16_t>>;
  const auto carried = static_cast<Carrier>(number);
  // Varints of signed types are sign-extended to 64 bits, so this compares the numbers.
  if (static_cast<uint64_t>(carried) != number || (std::is_same_v<T, bool> && number > 1)) {
    return corrupt("an element does not fit its type");
  }
  element = std::bit_cast<T>(carried);
  return {};
}

template <class T>
Status decode_varints(std::span<const Bytes> pieces, std::span<T> elements) {
  size_t n = 0;
  for (Bytes piece : pieces) {
    while (!piece.empty()) {
      uint64_t number = 0;
      if (!take_varint(piece, number)) return corrupt("an element is cut off");
      if (n == elements.size()) return corrupt("has more elements than its shape");
      SHOAL_TRY(store(number, elements[n++]));
    }
  }
  return n == elements.size() ? Status() : corrupt("has fewer elements than its shape");
}

Result<Tensor> decode(TensorType type, const TensorProto& proto) {
  const uint32_t field = typed_field_of(type.dtype);
  if (!proto.typed.empty() && proto.typed_field != field) {
    return corrupt("its elements are stored as another type");
  }
  size_t encoded = 0;
  for (Bytes piece : proto.typed) encoded += piece.size();
  // Every element takes at least one byte, so a huge shape without data is refused before memory is
  // allocated.
  if (static_cast<size_t>(type.shape.count()) > encoded) {
    return corrupt("has fewer elements than its shape");
  }
  if (is_fixed_width(field)) return decode_fixed(type, proto.typed);
  Tensor tensor(type);
  Status status;
  visit<Types<Half, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
              uint64_t, bool>>(
      type.dtype, [&]<class T>() { status = decode_varints(proto.typed, tensor.data<T>()); });
  if (!status.ok()) return status;
  return tensor;
}

// Elements of a narrow type, still packed: an integer for every byte.
Result<std::vector<uint8_t>> decode_bytes(const TensorProto& proto, size_t count) {
  size_t encoded = 0;
  for (Bytes piece : proto.typed) encoded += piece.size();
  if (proto.typed_field != 5 || encoded < count) {
    return corrupt("its elements are missing, or stored as another type");
  }
  std::vector<uint8_t> bytes(count);
  SHOAL_TRY(decode_varints(proto.typed, std::span(bytes)));
  return bytes;
}

Tensor unpacked(const ops::NarrowType& narrow, TensorType type, Bytes bytes) {
  Tensor tensor(type);
  ops::unpack(narrow, bytes, tensor);
  return tensor;
}

Result<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    return corrupt("\"" + printable(text) + "\" is not an offset or a length");
  }
  return number;
}

}  // namespace

TensorLoader::TensorLoader(std::shared_ptr<const void> owner, const MappedFile* mapping,
                           std::filesystem::path folder)
    : owner_(std::move(owner)),
      mapping_(mapping),
      folder_(std::move(folder)),
      expanded_left_(kMostExpandedBytes) {}

Result<std::shared_ptr<const MappedFile>> TensorLoader::external_file(std::string_view location) {
  if (folder_.empty()) return Status(Code::kUnsupported, "external data needs a model in a file");
  if (auto it = files_.find(location); it != files_.end()) return it->second;
  // A NUL would end the name early for the system, after the checks have seen all of it.
  if (location.find('\0') != std::string_view::npos) return corrupt("a file name contains a NUL");
  auto file = MappedFile::open_inside(folder_, std::filesystem::path(location));
  if (!file.ok()) return file.status().at("external data " + printable(location));
  files_.emplace(location, *file);
  return file;
}

Result<TensorLoader::Source> TensorLoader::external(const TensorProto& proto, size_t size) {
  std::string_view location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const auto& [key, value] : proto.external_data) {
    if (key == "location") location = value;
    if (key == "offset") {
      SHOAL_ASSIGN(offset, parse_number(value));
    }
    if (key == "length") {
      SHOAL_ASSIGN(length, parse_number(value));
    }
  }
  if (length && *length != static_cast<int64_t>(size)) {
    return corrupt("external data of " + std::to_string(*length) + " bytes, needs " +
                   std::to_string(size));
  }
  SHOAL_ASSIGN(auto file, external_file(location));
  const Checked end = Checked(offset) + static_cast<int64_t>(size);
  if (!end.ok() || end.value() > static_cast<int64_t>(file->bytes().size())) {
    return corrupt("external data ends past the end of " + printable(location));
  }
  return Source{file->bytes().subspan(static_cast<size_t>(offset), size), file, file.get()};
}

Result<Tensor> TensorLoader::read(const TensorProto& proto) {
  SHOAL_ASSIGN(const TensorType type, type_of(proto.dims, proto.data_type));
  const ops::NarrowType* narrow = ops::find_narrow_type(proto.data_type);
  const size_t size =
      narrow == nullptr ? type.bytes() : ops::packed_bytes(*narrow, type.shape.count());
  Source source{proto.raw.value_or(Bytes()), owner_, mapping_};
  if (proto.external) {
    SHOAL_ASSIGN(source, external(proto, size));
  } else if (!proto.raw && narrow != nullptr && size > 0) {
    SHOAL_ASSIGN(const std::vector<uint8_t> bytes, decode_bytes(proto, size));
    return unpacked(*narrow, type, std::as_bytes(std::span(bytes)));
  } else if (!proto.raw) {
    return decode(type, proto);
  } else if (!proto.typed.empty()) {
    return corrupt("has its elements twice");
  }
  if (source.bytes.size() != size) {
    return corrupt("has " + std::to_string(source.bytes.size()) + " bytes, its type " +
                   to_string(type) + " needs " + std::to_string(size));
  }
  if (narrow != nullptr) return unpacked(*narrow, type, source.bytes);
  if (!are_elements(type.dtype, source.bytes)) return corrupt("a bool is neither 0 nor 1");
  if (source.bytes.empty()) return Tensor(type);
  const std::byte* data = source.bytes.data();
  // Elements are read through T*, so they must be aligned for T. Others are copied.
  if (reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) == 0) {
    return Tensor::view(type, data, std::move(source.owner), source.mapping != nullptr);
  }
  Tensor copy = copy_of(type, source.bytes);
  if (source.mapping != nullptr && source.bytes.size() >= kReleaseBytes) {
    source.mapping->release(source.bytes);
  }
  return copy;
}

Result<Tensor> TensorLoader::load(const TensorProto& proto) {
  if (auto it = loaded_.find(&proto); it != loaded_.end()) return it->second;
  auto tensor = read(proto);
  if (!tensor.ok()) {
    return proto.name.empty() ? tensor : tensor.status().at(printable(proto.name));
  }
  loaded_.emplace(&proto, *tensor);
  return tensor;
}

// Indices are [nnz], into the flattened tensor, or [nnz, rank]. Each is checked: they come from the
// file.
Result<Tensor> TensorLoader::expand(const SparseTensorProto& proto) {
  SHOAL_ASSIGN(const TensorType type, type_of(proto.dims, proto.values.data_type));
  if (static_cast<int64_t>(type.bytes()) > expanded_left_) {
    return Status(Code::kExhausted, "a sparse tensor is too large to expand");
  }
  expanded_left_ -= static_cast<int64_t>(type.bytes());
  // Not by load(): a sparse tensor and its values have one address, so one place in the cache.
  SHOAL_ASSIGN(const Tensor values, read(proto.values));
  SHOAL_ASSIGN(const Tensor indices, read(proto.indices));
  const auto rank = static_cast<int64_t>(type.shape.rank());
  const Shape flat = values.shape();
  const bool linear = indices.shape() == flat;
  if (flat.rank() != 1 || indices.dtype() != DType::kI64 ||
      (!linear && indices.shape() != Shape{flat[0], rank})) {
    return corrupt("the indices of a sparse tensor do not go with its values");
  }
  Tensor dense(type);
  const size_t size = size_of(type.dtype);
  const std::span<const int64_t> index = indices.data<int64_t>();
  for (size_t i = 0; i < static_cast<size_t>(flat[0]); ++i) {
    int64_t at = linear ? index[i] : 0;
    if (linear && (at < 0 || at >= type.shape.count())) return corrupt("an index is out of range");
    for (size_t d = 0; !linear && d < type.shape.rank(); ++d) {
      const int64_t one = index[i * type.shape.rank() + d];
      if (one < 0 || one >= type.shape[d]) return corrupt("an index is out of range");
      at = at * type.shape[d] + one;
    }
    std::memcpy(dense.bytes().data() + static_cast<size_t>(at) * size,
                values.bytes().data() + i * size, size);
  }
  return dense;
}

Result<Tensor> TensorLoader::load(const SparseTensorProto& proto) {
  if (auto it = loaded_.find(&proto); it != loaded_.end()) return it->second;
  auto tensor = expand(proto);
  if (tensor.ok()) loaded_.emplace(&proto, *tensor);
  return tensor;
}

}  // namespace shoal::onnx
