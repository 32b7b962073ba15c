// The fields of messages between hubs and workers: integers and doubles of 8 bytes, little-endian;
// bytes and names with their length first. Bytes from a peer are untrusted: memory is taken for the
// bytes present, not for the length they claim.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/model/tensor/tensor.h"

namespace shoal::learn {

// Writes a message: a byte for its kind, then its fields.
class Writer {
 public:
  explicit Writer(size_t kind) { bytes_.push_back(static_cast<std::byte>(kind)); }
  template <class T>
  Writer& put(T x) {
    static_assert(sizeof(T) == 8);
    return put(std::as_bytes(std::span(&x, 1)));
  }
  Writer& put(std::span<const std::byte> bytes) {
    const size_t at = bytes_.size();
    bytes_.resize(at + bytes.size());
    std::ranges::copy(bytes, bytes_.begin() + static_cast<int64_t>(at));
    return *this;
  }
  Writer& put_long(std::span<const std::byte> bytes) {
    return put(static_cast<uint64_t>(bytes.size())).put(bytes);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// After the first missing field, all fields are zero and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  T get() {
    static_assert(sizeof(T) == 8);
    T x{};
    const std::span<const std::byte> from = get_bytes(sizeof(T));
    if (!from.empty()) std::memcpy(&x, from.data(), sizeof(T));
    return x;
  }
  std::span<const std::byte> get_bytes(uint64_t count) {
    if (count > left_.size()) ok_ = false;
    if (!ok_) return {};
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }
  std::span<const std::byte> get_long() { return get_bytes(get<uint64_t>()); }
  void refuse() { ok_ = false; }
  bool ok() const { return ok_; }
  bool is_done() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

void put_tensors(Writer& writer, const std::map<std::string, Tensor>& tensors);
// Tensors of f32 and i64.
std::map<std::string, Tensor> get_tensors(Reader& reader);

// Removes the kind from the bytes; -1 if they are empty.
size_t kind_of(std::span<const std::byte>& bytes);

}  // namespace shoal::learn
