// The format: a magic number, a version, the length of a header, the header, elements. The header
// is the text of a Python dictionary. It is not evaluated: the three entries are searched for, and
// anything unusual is refused.
#include "shoal/engine/inputs/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/model/tensor/bools.h"

namespace shoal {
namespace {

struct Descriptor {
  std::string_view text;
  DType dtype;
};

// The first spelling of a type is the one we write; '|' means that byte order does not matter.
constexpr std::array kDescriptors = {
    Descriptor{"<f4", DType::kF32}, Descriptor{"<f8", DType::kF64},  Descriptor{"<f2", DType::kF16},
    Descriptor{"|i1", DType::kI8},  Descriptor{"|u1", DType::kU8},   Descriptor{"<i2", DType::kI16},
    Descriptor{"<u2", DType::kU16}, Descriptor{"<u2", DType::kBF16}, Descriptor{"<i4", DType::kI32},
    Descriptor{"<u4", DType::kU32}, Descriptor{"<i8", DType::kI64},  Descriptor{"<u8", DType::kU64},
    Descriptor{"|b1", DType::kBool}};

Status corrupt(std::string message) { return Status(Code::kCorrupt, std::move(message)); }

// The text after `'key':` in the header, a Python dictionary that NumPy always writes the same way.
Result<std::string_view> entry(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == header.npos) return corrupt("npy header has no " + std::string(key));
  std::string_view rest = header.substr(at + key.size());
  const size_t begin = rest.find_first_not_of(" :");
  if (begin == rest.npos) return corrupt("npy header ends early");
  return rest.substr(begin);
}

Result<Shape> parse_shape(std::string_view text) {
  const size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == text.npos) return corrupt("npy shape is no tuple");
  Shape shape;
  const char* at = text.data() + 1;
  const char* end = text.data() + close;
  // Separators are skipped wherever they are: "(3,)" is a tuple of one.
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc()) return corrupt("npy shape holds something that is no number");
    if (shape.rank() == Shape::kMaxRank) {
      return Status(Code::kUnsupported, "npy array has more than eight dimensions");
    }
    shape.push_back(dim);
    at = next;
  }
  return shape;
}

Result<TensorType> parse_header(std::string_view header) {
  SHOAL_ASSIGN(std::string_view order, entry(header, "'fortran_order'"));
  if (!order.starts_with("False")) {
    return Status(Code::kUnsupported,
                  "npy array is in Fortran order; save it with np.ascontiguousarray");
  }
  SHOAL_ASSIGN(std::string_view type_text, entry(header, "'descr'"));
  SHOAL_ASSIGN(std::string_view shape_text, entry(header, "'shape'"));
  if (!type_text.starts_with('\'')) return corrupt("npy descr is no string");
  const std::string_view name = type_text.substr(1, type_text.find('\'', 1) - 1);
  const auto* known = std::ranges::find(kDescriptors, name, &Descriptor::text);
  if (known == kDescriptors.end()) {
    return Status(Code::kUnsupported,
                  "npy element type " + std::string(name) + " is not supported");
  }
  SHOAL_ASSIGN(Shape shape, parse_shape(shape_text));
  const TensorType type{known->dtype, shape};
  SHOAL_TRY(check(type));
  return type;
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("\x93NUMPY") || text.size() < 12) return corrupt("not an npy file");
  const bool wide = text[6] >= 2;  // version 2 and 3 have a 32-bit header length
  uint32_t length = 0;
  std::memcpy(&length, text.data() + 8, wide ? 4 : 2);
  const size_t start = wide ? 12 : 10;
  if (length > text.size() - start) return corrupt("npy header ends early");
  SHOAL_ASSIGN(TensorType type, parse_header(text.substr(start, length)));
  // Bytes after the elements are ignored, as NumPy does.
  const std::span<const std::byte> data = bytes.subspan(start + length);
  if (data.size() < type.bytes()) {
    return corrupt("npy file holds " + std::to_string(data.size()) + " bytes of elements, needs " +
                   std::to_string(type.bytes()));
  }
  if (!are_elements(type.dtype, data.first(type.bytes()))) {
    return corrupt("a bool is neither 0 nor 1");
  }
  Tensor tensor(type);
  std::ranges::copy(data.first(type.bytes()), tensor.bytes().begin());
  return tensor;
}

Result<Tensor> read_npy(const std::filesystem::path& path) {
  SHOAL_ASSIGN(auto file, MappedFile::open(path));
  auto tensor = parse_npy(file->bytes());
  if (!tensor.ok()) return tensor.status().at(path.string());
  return tensor;
}

Status write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const auto* descriptor = std::ranges::find(kDescriptors, tensor.dtype(), &Descriptor::dtype);
  std::string shape;
  for (int64_t d : tensor.shape()) shape += std::to_string(d) + ", ";
  std::string header = "{'descr': '" + std::string(descriptor->text) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // elements start at a multiple of 64
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  SHOAL_TRY(file.write(std::as_bytes(std::span("\x93NUMPY\x01", 8))));
  SHOAL_TRY(file.write(std::as_bytes(std::span(&length, 1))));
  SHOAL_TRY(file.write(std::as_bytes(std::span(header))));
  SHOAL_TRY(file.write(tensor.bytes()));
  return file.commit();
}

}  // namespace shoal
