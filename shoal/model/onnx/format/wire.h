// The protobuf wire format, read in place: nothing is copied, every length is checked against the
// message around it, and memory that a file causes to be allocated is counted. Not thread-safe; the
// bytes must outlive the readers and everything they return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/limits.h"
#include "shoal/base/status.h"

namespace shoal::onnx {

using Bytes = std::span<const std::byte>;

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// The state that all readers of one file share.
struct Scan {
  const std::byte* origin = nullptr;  // the begin of the file, for offsets in messages
  size_t memory_left = kLimits.max_structure_bytes;  // a two-byte message may become a big struct
};

// Walks the fields of one message:
//   while (reader.next()) switch (reader.field()) { case 1: name = reader.text(); break; ... }
//   return reader.finish(name);
// A failure ends the walk, and finish() returns it; fields that no case reads are skipped.
class WireReader {
 public:
  WireReader(Bytes message, Scan& scan, size_t depth = 0)
      : at_(message.data()), end_(at_ + message.size()), scan_(&scan), depth_(depth) {}

  bool next();
  uint32_t field() const { return field_; }

  // The value of the field. kCorrupt if its wire type is not the function's.
  int64_t integer();
  int32_t small_integer();  // int32 and enums: out of range is corrupt
  float real();
  Bytes bytes();
  std::string_view text();
  WireReader message();

  // The bytes of the elements in one occurrence of a repeated scalar, packed or not.
  Bytes elements(WireType element);

  // Appends to a vector and charges the memory account of the file. Twice the size is charged,
  // because a growing vector allocates up to twice what it needs.
  template <class T>
  bool append(std::vector<T>& list, T value) {
    if (!charge(2 * sizeof(T))) return false;
    list.push_back(std::move(value));
    return true;
  }
  template <class T>
  void append(std::vector<T>& list, Result<T> value) {
    value.ok() ? void(append(list, *std::move(value))) : fail(value.status());
  }
  // Takes the value of a nested message.
  template <class T>
  void take(T& target, Result<T> value) {
    value.ok() ? void(target = *std::move(value)) : fail(value.status());
  }
  bool charge(size_t memory);

  void fail(Status status);
  void corrupt(std::string_view what);

  template <class T>
  Result<T> finish(T value) {
    if (!status_.ok()) return status_;
    return value;
  }

 private:
  bool expect(WireType type);

  const std::byte* at_;
  const std::byte* end_;
  Scan* scan_;
  size_t depth_;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;  // the value of a varint
  Bytes bytes_;          // the field's value as it lies in the file
  Status status_;
};

// Takes a varint off the front of `bytes`; false, and `bytes` unchanged, if there is none.
bool take_varint(Bytes& bytes, uint64_t& value);

// Writer of the protobuf wire format. The reader is wire.h.

// The size of a number as a varint, the encoding of every tag and length.
size_t varint_size(uint64_t value);

// One message: small fields as bytes, and views of long payloads, which stay where they are until
// the message is written. So half a gigabyte of weights is not copied on its way to a file.
class WireWriter {
 public:
  void integer(uint32_t field, int64_t value);
  void real(uint32_t field, float value);
  void text(uint32_t field, std::string_view value);
  void message(uint32_t field, const WireWriter& value);
  void view(uint32_t field, Bytes payload);  // REQUIRES: it outlives this message

  size_t size() const { return bytes_.size() + viewed_; }

  // Calls f(span of bytes) for one piece after the other, until one returns an error. Pieces may be
  // empty.
  template <class F>
  auto for_each_piece(F f) const -> decltype(f(Bytes())) {
    const Bytes bytes = std::as_bytes(std::span(bytes_));
    size_t done = 0;
    for (const View& view : views_) {
      if (auto status = f(bytes.subspan(done, view.at - done)); !status.ok()) return status;
      if (auto status = f(view.payload); !status.ok()) return status;
      done = view.at;
    }
    return f(bytes.subspan(done));
  }

 private:
  struct View {
    size_t at;  // is placed before bytes_[at]
    Bytes payload;
  };

  void varint(uint64_t value);
  void tag(uint32_t field, WireType type);

  std::string bytes_;
  std::vector<View> views_;
  size_t viewed_ = 0;  // bytes in views_
};

}  // namespace shoal::onnx
