#include "shoal/train/distributed/run/message_bytes.h"

#include "shoal/base/limits.h"

namespace shoal::learn {

void put_tensors(Writer& writer, const std::map<std::string, Tensor>& tensors) {
  writer.put(static_cast<uint64_t>(tensors.size()));
  for (const auto& [name, tensor] : tensors) {
    writer.put_long(std::as_bytes(std::span(name)));
    writer.put(static_cast<uint64_t>(tensor.dtype()));
    writer.put(static_cast<uint64_t>(tensor.shape().rank()));
    for (const int64_t dim : tensor.shape()) writer.put(dim);
    writer.put(tensor.bytes());
  }
}

namespace {

// Trainers have tensors of these types only. The size is checked before memory is taken: it must be
// the number of bytes present.
Tensor get_tensor(Reader& reader) {
  const auto dtype = reader.get<uint64_t>();
  const auto rank = reader.get<uint64_t>();
  const bool is_known =
      dtype == static_cast<uint64_t>(DType::kF32) || dtype == static_cast<uint64_t>(DType::kI64);
  if (!is_known || rank > Shape::kMaxRank) reader.refuse();
  TensorType type{static_cast<DType>(dtype), {}};
  for (uint64_t i = 0; reader.ok() && i < rank; ++i) type.shape.push_back(reader.get<int64_t>());
  if (reader.ok() && !check(type).ok()) reader.refuse();
  if (!reader.ok()) return {};
  const std::span<const std::byte> bytes = reader.get_bytes(type.bytes());
  if (!reader.ok()) return {};
  Tensor tensor = Tensor::uninitialized(type);
  std::ranges::copy(bytes, tensor.bytes().begin());
  return tensor;
}

}  // namespace

std::map<std::string, Tensor> get_tensors(Reader& reader) {
  std::map<std::string, Tensor> tensors;
  constexpr size_t kMostTensors = 1 << 16;
  const auto count = reader.get<uint64_t>();
  if (count > kMostTensors) reader.refuse();
  for (uint64_t i = 0; reader.ok() && i < count; ++i) {
    const std::span<const std::byte> name = reader.get_long();
    if (name.size() > kLimits.max_name_bytes) reader.refuse();
    Tensor tensor = get_tensor(reader);
    tensors[std::string(reinterpret_cast<const char*>(name.data()), name.size())] =
        std::move(tensor);
  }
  return tensors;
}

size_t kind_of(std::span<const std::byte>& bytes) {
  if (bytes.empty()) return static_cast<size_t>(-1);
  const auto kind = static_cast<size_t>(bytes[0]);
  bytes = bytes.subspan(1);
  return kind;
}

}  // namespace shoal::learn
