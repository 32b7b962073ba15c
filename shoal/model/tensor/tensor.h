// Tensor: a dense, row-major, host-visible array. No strides, no device pointers: packed layouts
// and GPU memory are private to the device that wants them.
//
//   Tensor x({DType::kF32, {1, 3, 224, 224}});   // zeros
//   x.data<float>()[0] = 1;
//   Tensor y = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
//   Tensor z = Tensor::view({DType::kF32, {n}}, bytes, owner);   // no copy
//
// Copies of a tensor share its elements. Threads may read the same elements at once. A thread that
// writes them needs exclusive access, to all copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/dtype.h"

#pragma GCC visibility push(default)

namespace shoal {

// Up to eight dimensions, stored inline.
class Shape {
 public:
  // The most dimensions a shape has.
  static constexpr size_t kMaxRank = 8;

  // The shape of a scalar: no dimensions, one element.
  Shape() = default;
  // REQUIRES: at most kMaxRank dimensions.
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }
  // `rank` equal dimensions. REQUIRES: rank <= kMaxRank.
  static Shape filled(size_t rank, int64_t dim) {
    Shape shape;
    for (size_t i = 0; i < rank; ++i) shape.push_back(dim);
    return shape;
  }

  // One more dimension, the innermost. REQUIRES: rank() < kMaxRank.
  void push_back(int64_t dim) {
    SHOAL_CHECK(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }

  // The number of dimensions.
  size_t rank() const { return rank_; }
  // Dimension i, the outermost first. REQUIRES: i < rank(), which is not checked.
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  // All dimensions, to iterate over.
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t* begin() { return dims_.data(); }
  int64_t* end() { return dims_.data() + rank_; }

  // The number of elements: the product of all dimensions. REQUIRES: the product does not overflow,
  // which check() makes sure of.
  int64_t count() const { return count(0, rank_); }
  // The product of the dimensions [from, to).
  int64_t count(size_t from, size_t to) const {
    int64_t n = 1;
    for (size_t i = from; i < to; ++i) n *= dims_[i];
    return n;
  }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<int64_t, kMaxRank> dims_{};  // zero beyond the rank, so that == may compare it all
  size_t rank_ = 0;
};

std::string to_string(const Shape& shape);  // "[1,3,224,224]"

// The type of a tensor: that of its elements, and its shape.
struct TensorType {
  DType dtype = DType::kF32;  // of the elements
  Shape shape;                // the outermost dimension first
  // The number of bytes of all elements. REQUIRES: check(*this).ok().
  size_t bytes() const { return static_cast<size_t>(shape.count()) * size_of(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

std::string to_string(const TensorType& type);  // "f32[1,3,224,224]"

// Refuses negative dimensions (kInvalidArgument) and tensors of more than 8 GB, overflow included
// (kExhausted). Empty tensors have a limit, too, because their other dimensions are multiplied. The
// dimensions of a type that passes may be counted and multiplied without further checks.
Status check(const TensorType& type);

// Elements and their type. Copying a Tensor shares its storage; clone() copies the elements.
class Tensor {
 public:
  // No tensor: stands for an input that was not given.
  Tensor() = default;
  // Elements are zero. REQUIRES: check(type).ok(). Throws std::bad_alloc if memory is short.
  explicit Tensor(TensorType type);

  // Elements are unspecified: for code that writes all of them. Otherwise as above.
  static Tensor uninitialized(TensorType type);

  // A view of elements, not a copy. `owner` is kept as long as any copy of the tensor; it may be
  // null if the memory outlives them all. The elements must not be written while the tensor is
  // read. `mapped`: they are part of a mapped file, which can be read again. REQUIRES:
  // check(type).ok(); type.bytes() bytes at `data`, aligned for one element.
  static Tensor view(TensorType type, const std::byte* data, std::shared_ptr<const void> owner,
                     bool mapped = false);

  // Copies the elements. REQUIRES: as many as shape.count().
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> elements);
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> elements) {
    return of<T>(shape, std::span<const T>(elements.begin(), elements.size()));
  }

  // False for a default-constructed tensor.
  bool defined() const { return data_ != nullptr; }
  // The type of the tensor; a scalar f32 if there is none.
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t count() const { return type_.shape.count(); }

  // All elements as bytes, in the machine's order; valid as long as any copy of this tensor.
  std::span<const std::byte> bytes() const { return {data_.get(), type_.bytes()}; }
  std::span<std::byte> bytes() { return {data_.get(), type_.bytes()}; }

  // All elements, the last dimension fastest; valid as long as any copy of this tensor. Aborts
  // unless dtype() is that of T. The elements of a view may be written only if its owner allows
  // that.
  template <class T>
  std::span<T> data() {
    SHOAL_CHECK(type_.dtype == kDTypeOf<T>);
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(count())};
  }
  template <class T>
  std::span<const T> data() const {
    SHOAL_CHECK(type_.dtype == kDTypeOf<T>);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(count())};
  }

  // The same elements, shared, under another shape. REQUIRES: shape.count() == count().
  Tensor reshaped(const Shape& shape) const;
  // A deep copy.
  Tensor clone() const;

  // For a device that has copied a mapped tensor: frees the memory; the elements are read from the
  // file again when touched. Does nothing to other tensors.
  void release_pages() const;

 private:
  TensorType type_;
  bool mapped_ = false;
  // Views of read-only memory are kept here too: only code that made a tensor writes into it.
  std::shared_ptr<std::byte> data_;
};

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> elements) {
  Tensor tensor({kDTypeOf<T>, shape});
  SHOAL_CHECK(elements.size() == tensor.data<T>().size());
  std::copy(elements.begin(), elements.end(), tensor.data<T>().begin());
  return tensor;
}

// The elements as int64. REQUIRES: the dtype is i32 or i64 (indices, axes, shapes).
std::vector<int64_t> to_ints(const Tensor& tensor);

// A half-open box [begin, end) of a tensor.
struct Region {
  Shape begin;  // the first element, along each dimension
  Shape end;    // one past the last

  // All of a tensor of this shape.
  static Region whole(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }
  // The extent of the box along each dimension.
  Shape shape() const;
  friend bool operator==(const Region&, const Region&) = default;
};

// The part of a tensor in a box, copied. REQUIRES: the box lies inside the tensor.
Tensor crop(const Tensor& whole, const Region& box);
// The elements at the given indices of each axis, copied unless they are all elements in order.
// REQUIRES: one list per axis, of indices inside the tensor.
Tensor take(const Tensor& whole, std::span<const std::vector<int64_t>> indices);
// Writes a tensor into a box of a larger one. REQUIRES: `part` has the box's shape and the dtype of
// `whole`, and the box lies inside it.
void paste(const Tensor& part, const Region& box, Tensor& whole);

}  // namespace shoal

#pragma GCC visibility pop
