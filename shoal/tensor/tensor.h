// Tensor: a dense, row-major, host-visible array. No strides, no device pointers:
// packed layouts and GPU memory are private to the backend that wants them.
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
#include "shoal/tensor/dtype.h"

namespace shoal {

// Up to eight dimensions, by value, off the heap.
class Shape {
 public:
  static constexpr size_t kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }
  static Shape filled(size_t rank, int64_t dim) {
    Shape shape;
    for (size_t i = 0; i < rank; ++i) shape.push_back(dim);
    return shape;
  }

  void push_back(int64_t dim) {
    SHOAL_CHECK(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }

  size_t rank() const { return rank_; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  int64_t* begin() { return dims_.data(); }
  int64_t* end() { return dims_.data() + rank_; }

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

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  size_t bytes() const { return static_cast<size_t>(shape.count()) * size_of(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

std::string to_string(const TensorType& type);  // "f32[1,3,224,224]"

// Refuses negative dimensions and what exceeds Limits, overflow included. Whatever passes may be
// counted and multiplied without further checks.
Status check(const TensorType& type);

// Copying a Tensor shares its storage; clone() copies the elements.
class Tensor {
 public:
  Tensor() = default;                // no tensor: an input that was not given
  explicit Tensor(TensorType type);  // elements are zero

  // Elements that someone else keeps: `owner` lives as long as any copy of the tensor.
  // `mapped` says that they are part of a mapped file, which can be read again.
  static Tensor view(TensorType type, const std::byte* data, std::shared_ptr<const void> owner,
                     bool mapped = false);

  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> elements);
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> elements) {
    return of<T>(shape, std::span<const T>(elements.begin(), elements.size()));
  }

  bool defined() const { return data_ != nullptr; }
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t count() const { return type_.shape.count(); }

  std::span<const std::byte> bytes() const { return {data_.get(), type_.bytes()}; }
  std::span<std::byte> bytes() { return {data_.get(), type_.bytes()}; }

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

  // The same elements under another shape of the same count.
  Tensor reshaped(const Shape& shape) const;
  Tensor clone() const;

  // For who has made a copy of his own of a mapped tensor: frees the memory, not the elements,
  // which come back from the file when touched. Does nothing to other tensors.
  void release_pages() const;

 private:
  TensorType type_;
  bool mapped_ = false;
  // Views of read-only memory are kept here too: whoever writes made the tensor himself.
  std::shared_ptr<std::byte> data_;
};

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> elements) {
  Tensor tensor({kDTypeOf<T>, shape});
  SHOAL_CHECK(elements.size() == tensor.data<T>().size());
  std::copy(elements.begin(), elements.end(), tensor.data<T>().begin());
  return tensor;
}

// The elements as int64; the dtype is i32 or i64 (indices, axes, shapes).
std::vector<int64_t> to_ints(const Tensor& tensor);

// A half-open box [begin, end) of a tensor.
struct Region {
  Shape begin;
  Shape end;

  static Region whole(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }
  Shape shape() const;
  friend bool operator==(const Region&, const Region&) = default;
};

Tensor crop(const Tensor& whole, const Region& box);
void paste(const Tensor& part, const Region& box, Tensor& whole);

}  // namespace shoal
