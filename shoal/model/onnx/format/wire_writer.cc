// Writer of the protobuf wire format: see wire_writer.h.
#include "shoal/model/onnx/format/wire_writer.h"

#include <bit>

namespace shoal::onnx {

size_t varint_size(uint64_t value) {
  return static_cast<size_t>(std::bit_width(value | 1) + 6) / 7;
}

void WireWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void WireWriter::tag(uint32_t field, WireType type) {
  varint(field << 3 | static_cast<uint32_t>(type));
}

void WireWriter::integer(uint32_t field, int64_t value) {
  tag(field, WireType::kVarint);
  varint(static_cast<uint64_t>(value));
}

void WireWriter::real(uint32_t field, float value) {
  tag(field, WireType::kFixed32);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
}

void WireWriter::text(uint32_t field, std::string_view value) {
  tag(field, WireType::kBytes);
  varint(value.size());
  bytes_ += value;
}

void WireWriter::message(uint32_t field, const WireWriter& value) {
  tag(field, WireType::kBytes);
  varint(value.size());
  for (const View& view : value.views_) {
    // Offsets of views count the bytes before them, so those of a nested message move by the bytes
    // that are here already.
    views_.push_back({bytes_.size() + view.at, view.payload});
  }
  bytes_ += value.bytes_;
  viewed_ += value.viewed_;
}

void WireWriter::view(uint32_t field, Bytes payload) {
  tag(field, WireType::kBytes);
  varint(payload.size());
  views_.push_back({bytes_.size(), payload});
  viewed_ += payload.size();
}

}  // namespace shoal::onnx
