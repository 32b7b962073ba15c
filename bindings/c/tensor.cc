// Tensors for C.
#include <cstddef>
#include <cstdint>

#include "handles.h"

namespace shoal::c {
namespace {

static_assert(SHOAL_F32 == static_cast<int>(DType::kF32));
static_assert(SHOAL_F64 == static_cast<int>(DType::kF64));
static_assert(SHOAL_F16 == static_cast<int>(DType::kF16));
static_assert(SHOAL_BF16 == static_cast<int>(DType::kBF16));
static_assert(SHOAL_I8 == static_cast<int>(DType::kI8));
static_assert(SHOAL_U8 == static_cast<int>(DType::kU8));
static_assert(SHOAL_I16 == static_cast<int>(DType::kI16));
static_assert(SHOAL_U16 == static_cast<int>(DType::kU16));
static_assert(SHOAL_I32 == static_cast<int>(DType::kI32));
static_assert(SHOAL_U32 == static_cast<int>(DType::kU32));
static_assert(SHOAL_I64 == static_cast<int>(DType::kI64));
static_assert(SHOAL_U64 == static_cast<int>(DType::kU64));
static_assert(SHOAL_BOOL == static_cast<int>(DType::kBool));

// All arguments come from C: nothing about them is known to be true.
Result<TensorType> type_of(shoal_dtype dtype, size_t rank, const int64_t* shape) {
  if (dtype < 0 || dtype >= static_cast<shoal_dtype>(kDTypeCount)) {
    return invalid(std::to_string(dtype) + " is no element type");
  }
  if (rank > Shape::kMaxRank) {
    return invalid("a tensor has at most " + std::to_string(Shape::kMaxRank) + " dimensions");
  }
  if (rank > 0) SHOAL_TRY(require(shape, "shape"));
  const TensorType type{static_cast<DType>(dtype), Shape(std::span(shape, rank))};
  SHOAL_TRY(check(type));
  return type;
}

Status create(shoal_dtype dtype, size_t rank, const int64_t* shape, shoal_tensor** out) {
  SHOAL_TRY(require(out, "out"));
  SHOAL_ASSIGN(const TensorType type, type_of(dtype, rank, shape));
  *out = new shoal_tensor{Tensor(type), true};
  return {};
}

// The owner of elements that lie in the caller's memory.
struct Owner {
  shoal_release release = nullptr;
  void* context = nullptr;

  ~Owner() {
    if (release != nullptr) release(context);
  }
};

Status wrap(const TensorType& type, const void* data, size_t bytes, shoal_release release,
            void* context, shoal_tensor** out) {
  SHOAL_TRY(require(out, "out"));
  if (type.bytes() > 0) SHOAL_TRY(require(data, "data"));
  // A view needs a pointer that is not null, though none of no elements reads through it.
  alignas(std::max_align_t) static constexpr std::byte kNoElements{};
  if (data == nullptr) data = &kNoElements;
  if (bytes != type.bytes()) {
    return invalid(to_string(type) + " takes " + std::to_string(type.bytes()) + " bytes, not " +
                   std::to_string(bytes));
  }
  if (reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) != 0) {
    return invalid("data is not aligned for an element of " + to_string(type));
  }
  // Armed when nothing can throw any more: release is not called on failure.
  auto tensor = std::make_unique<shoal_tensor>();
  auto owner = std::make_shared<Owner>();
  tensor->tensor = Tensor::view(type, static_cast<const std::byte*>(data), owner);
  owner->release = release;
  owner->context = context;
  *out = tensor.release();
  return {};
}

}  // namespace
}  // namespace shoal::c

shoal_status* shoal_tensor_create(shoal_dtype dtype, size_t rank, const int64_t* shape,
                                  shoal_tensor** out) {
  return shoal::c::guarded([&] { return shoal::c::create(dtype, rank, shape, out); });
}

shoal_status* shoal_tensor_wrap(shoal_dtype dtype, size_t rank, const int64_t* shape,
                                const void* data, size_t bytes, shoal_release release,
                                void* context, shoal_tensor** out) {
  return shoal::c::guarded([&]() -> shoal::Status {
    SHOAL_ASSIGN(const auto type, shoal::c::type_of(dtype, rank, shape));
    return shoal::c::wrap(type, data, bytes, release, context, out);
  });
}

shoal_dtype shoal_tensor_dtype(const shoal_tensor* tensor) {
  return tensor == nullptr ? shoal_dtype{SHOAL_F32}
                           : static_cast<shoal_dtype>(tensor->tensor.dtype());
}

size_t shoal_tensor_rank(const shoal_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.shape().rank();
}

const int64_t* shoal_tensor_shape(const shoal_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->tensor.shape().begin();
}

const void* shoal_tensor_data(const shoal_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->tensor.bytes().data();
}

void* shoal_tensor_mutable_data(shoal_tensor* tensor) {
  return tensor == nullptr || !tensor->writable ? nullptr : tensor->tensor.bytes().data();
}

size_t shoal_tensor_bytes(const shoal_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.bytes().size();
}

void shoal_tensor_free(shoal_tensor* tensor) { delete tensor; }
