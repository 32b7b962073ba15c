// Writer of the protobuf wire format. The reader is wire.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/model/onnx/format/wire.h"

namespace shoal::onnx {

// The number of bytes of a number as a varint, the form of every tag and length.
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
    size_t at;  // stands before bytes_[at]
    Bytes payload;
  };

  void varint(uint64_t value);
  void tag(uint32_t field, WireType type);

  std::string bytes_;
  std::vector<View> views_;
  size_t viewed_ = 0;  // bytes in views_
};

}  // namespace shoal::onnx
