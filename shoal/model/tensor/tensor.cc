// Tensors: storage, shapes and boxes.
#include "shoal/model/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include "shoal/base/checked.h"
#include "shoal/base/files/file.h"
#include "shoal/base/limits.h"
#include "shoal/base/machine/pages.h"

namespace shoal {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector register

void* zeroed(size_t bytes) {
  // Large blocks come zeroed from the system. Writing zeros as well would touch every page twice,
  // which took as long as filling VGG-16 with weights.
  return std::calloc(bytes, 1);
}

std::shared_ptr<std::byte> allocate(size_t size, void* (*get)(size_t)) {
  size_t space = size + kAlignment - 1;
  void* const block = get(space);
  if (block == nullptr) throw std::bad_alloc();  // as `new` does
  std::shared_ptr<void> owner(block, std::free);
  prefer_huge_pages(block, space);
  void* aligned = block;
  SHOAL_CHECK(std::align(kAlignment, size, aligned, space) != nullptr);
  return {std::move(owner), static_cast<std::byte*>(aligned)};
}

// Calls f(offset in the whole, offset in the box, length) for every row of `box`, in elements.
template <class F>
void for_each_row(const Shape& whole, const Region& box, F f) {
  const size_t rank = whole.rank();
  if (rank == 0) return f(size_t{0}, size_t{0}, size_t{1});
  const Shape inner = box.shape();
  if (inner.count() == 0) return;
  const auto length = static_cast<size_t>(inner[rank - 1]);
  Shape at = box.begin;
  for (size_t row = 0;; ++row) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset = offset * whole[d] + at[d];
    f(static_cast<size_t>(offset), row * length, length);
    size_t d = rank - 1;
    while (d > 0 && ++at[d - 1] == box.end[d - 1]) --d, at[d] = box.begin[d];
    if (d == 0) return;
  }
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.rank(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + to_string(type.shape);
}

// Called on every type that comes from a file, before anything is allocated or multiplied.
Status check(const TensorType& type) {
  Checked extent(1);
  bool empty = false;
  for (int64_t d : type.shape) {
    if (d < 0 || d > kLimits.max_dimension) {
      return invalid("dimension " + std::to_string(d) + " is out of range");
    }
    empty |= d == 0;
    extent = extent * std::max<int64_t>(d, 1);  // a dimension of 0 must not hide an overflow
  }
  const Checked bytes = extent * static_cast<int64_t>(size_of(type.dtype));
  const bool fits = empty ? extent.value() <= kLimits.max_empty_extent
                          : bytes.value() <= kLimits.max_tensor_bytes;
  if (bytes.ok() && fits) return {};
  return Status(Code::kExhausted, "a tensor of shape " + to_string(type.shape) +
                                      " is larger than the limit of " +
                                      std::to_string(kLimits.max_tensor_bytes >> 20) + " MiB");
}

// At least one byte, so that an empty tensor is defined: data() is not null.
Tensor::Tensor(TensorType type)
    : type_(type), data_(allocate(std::max<size_t>(type.bytes(), 1), zeroed)) {}

Tensor Tensor::uninitialized(TensorType type) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.data_ = allocate(std::max<size_t>(type.bytes(), 1), &std::malloc);
  return tensor;
}

// The owner keeps the memory alive. const is cast away because a Tensor has one pointer; only code
// that made the elements writes to them.
Tensor Tensor::view(TensorType type, const std::byte* data, std::shared_ptr<const void> owner,
                    bool mapped) {
  Tensor tensor;
  tensor.mapped_ = mapped;
  tensor.type_ = type;
  tensor.data_ = std::shared_ptr<std::byte>(std::const_pointer_cast<void>(std::move(owner)),
                                            const_cast<std::byte*>(data));
  return tensor;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  SHOAL_CHECK(shape.count() == count());
  Tensor tensor = *this;
  tensor.type_.shape = shape;
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy = uninitialized(type_);
  std::ranges::copy(bytes(), copy.bytes().begin());
  return copy;
}

void Tensor::release_pages() const {
  if (mapped_) MappedFile::release(bytes());
}

std::vector<int64_t> to_ints(const Tensor& tensor) {
  std::vector<int64_t> ints;
  visit<Indices>(tensor.dtype(),
                 [&]<class T>() { ints.assign(tensor.data<T>().begin(), tensor.data<T>().end()); });
  return ints;
}

Shape Region::shape() const {
  Shape shape = end;
  for (size_t d = 0; d < shape.rank(); ++d) shape[d] -= begin[d];
  return shape;
}

Tensor crop(const Tensor& whole, const Region& box) {
  Tensor part({whole.dtype(), box.shape()});
  const size_t size = size_of(whole.dtype());
  for_each_row(whole.shape(), box, [&](size_t from, size_t to, size_t n) {
    std::memcpy(part.bytes().data() + to * size, whole.bytes().data() + from * size, n * size);
  });
  return part;
}

Tensor take(const Tensor& whole, std::span<const std::vector<int64_t>> indices) {
  SHOAL_CHECK(indices.size() == whole.shape().rank());
  Tensor taken = whole;
  for (size_t d = 0; d < indices.size(); ++d) {
    std::vector<int64_t> all(static_cast<size_t>(taken.shape()[d]));
    std::iota(all.begin(), all.end(), int64_t{0});
    if (indices[d] == all) continue;
    Shape shape = taken.shape();
    const auto outer = static_cast<size_t>(shape.count(0, d));
    const size_t step =
        static_cast<size_t>(shape.count(d + 1, shape.rank())) * size_of(taken.dtype());
    shape[d] = std::ssize(indices[d]);
    Tensor part = Tensor::uninitialized({taken.dtype(), shape});
    std::byte* to = part.bytes().data();
    for (size_t o = 0; o < outer; ++o) {
      const std::byte* from = taken.bytes().data() + o * all.size() * step;
      for (int64_t i : indices[d]) {
        std::memcpy(to, from + static_cast<size_t>(i) * step, step);
        to += step;
      }
    }
    taken = std::move(part);
  }
  return taken;
}

void paste(const Tensor& part, const Region& box, Tensor& whole) {
  SHOAL_CHECK(part.shape() == box.shape() && part.dtype() == whole.dtype());
  const size_t size = size_of(whole.dtype());
  for_each_row(whole.shape(), box, [&](size_t to, size_t from, size_t n) {
    std::memcpy(whole.bytes().data() + to * size, part.bytes().data() + from * size, n * size);
  });
}

}  // namespace shoal
