#include "shoal/model/onnx/format/wire.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>

namespace shoal::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

template <class T>
T load(const std::byte* from) {
  T value;
  // memcpy: values in a file are not aligned.
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace

bool take_varint(Bytes& bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<uint64_t>(bytes[i]);
    if (i == 9 && byte > 1) return false;  // the tenth byte holds one bit
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes = bytes.subspan(i + 1);
      return true;
    }
  }
  return false;
}

// The first failure is kept, and the reader is put at its end, so that every loop over fields
// stops.
void WireReader::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  at_ = end_;
}

void WireReader::corrupt(std::string_view what) {
  const auto offset = static_cast<size_t>(at_ - scan_->origin);
  fail(Status(Code::kCorrupt, "byte " + std::to_string(offset) + ": " + std::string(what)));
}

bool WireReader::charge(size_t memory) {
  if (memory > scan_->memory_left) {
    fail(Status(Code::kExhausted, "the model has more parts than the limit allows"));
    return false;
  }
  scan_->memory_left -= memory;
  return true;
}

bool WireReader::next() {
  if (at_ == end_) return false;
  Bytes rest(at_, end_);
  uint64_t key = 0;
  // Protobuf has no field 0, and numbers of 29 bits.
  if (!take_varint(rest, key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) {
    corrupt("is not a protobuf field");
    return false;
  }
  field_ = static_cast<uint32_t>(key >> 3);
  type_ = static_cast<WireType>(key & 7);
  uint64_t length = 0;
  switch (type_) {
    case WireType::kVarint: {
      // The encoded bytes are kept, too, for a repeated field that is not packed.
      const Bytes before = rest;
      if (!take_varint(rest, number_)) return corrupt("a number is cut off or too long"), false;
      bytes_ = before.first(before.size() - rest.size());
      at_ = rest.data();
      return true;
    }
    case WireType::kFixed64:
      length = 8;
      break;
    case WireType::kFixed32:
      length = 4;
      break;
    case WireType::kBytes:
      if (!take_varint(rest, length)) return corrupt("a length is cut off or too long"), false;
      break;
    default:
      return corrupt("protobuf groups do not occur in ONNX"), false;
  }
  if (length > rest.size()) {
    return corrupt("a field of " + std::to_string(length) + " bytes runs past the end"), false;
  }
  bytes_ = rest.first(length);
  at_ = bytes_.data() + bytes_.size();
  return true;
}

bool WireReader::expect(WireType type) {
  if (status_.ok() && type_ != type) {
    corrupt("field " + std::to_string(field_) + " has the wrong wire type");
  }
  return status_.ok();
}

int64_t WireReader::integer() {
  return expect(WireType::kVarint) ? static_cast<int64_t>(number_) : 0;
}

int32_t WireReader::small_integer() {
  const int64_t value = integer();
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    corrupt("field " + std::to_string(field_) + " does not fit in 32 bits");
    return 0;
  }
  return static_cast<int32_t>(value);
}

float WireReader::real() { return expect(WireType::kFixed32) ? load<float>(bytes_.data()) : 0.0f; }

Bytes WireReader::bytes() { return expect(WireType::kBytes) ? bytes_ : Bytes(); }

std::string_view WireReader::text() {
  const Bytes text = bytes();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// The depth bounds the recursion of the parsers, and so the stack.
WireReader WireReader::message() {
  const Bytes inner = bytes();
  if (depth_ + 1 > kLimits.max_message_depth) {
    corrupt("messages are nested more than " + std::to_string(kLimits.max_message_depth) + " deep");
  }
  return {status_.ok() ? inner : Bytes(), *scan_, depth_ + 1};
}

Bytes WireReader::elements(WireType element) {
  // Readers must accept both forms of a repeated scalar, whatever the schema says.
  if (type_ == element) return bytes_;
  const Bytes packed = bytes();
  const size_t size = element == WireType::kFixed32 ? 4 : element == WireType::kFixed64 ? 8 : 1;
  if (packed.size() % size != 0) corrupt("a packed field ends inside an element");
  return status_.ok() ? packed : Bytes();
}

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
