#include "shoal/model/onnx/format/wire.h"

#include <gtest/gtest.h>

#include "shoal/model/onnx/program/encode_testing.h"

namespace shoal::onnx {
namespace {

using testing::Message;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span<const char>(text)); }

// Walks all fields and says how it ended.
Status walk(const std::string& text) {
  Scan scan{.origin = bytes_of(text).data()};
  WireReader reader(bytes_of(text), scan);
  while (reader.next()) {
  }
  return reader.finish(0).status();
}

TEST(Wire, ReadsEveryKindOfField) {
  const std::string text =
      Message().integer(1, -5).real(2, 1.5f).text(3, "abc").integer(99, 1).bytes();
  Scan scan{.origin = bytes_of(text).data()};
  WireReader reader(bytes_of(text), scan);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 1u);
  EXPECT_EQ(reader.integer(), -5);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.real(), 1.5f);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.text(), "abc");
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.finish(0).ok());
}

TEST(Wire, RefusesBytesThatAreNoFields) {
  EXPECT_EQ(walk(std::string(11, '\xff')).code(), Code::kCorrupt);
  EXPECT_EQ(walk(std::string(1, '\0')).code(), Code::kCorrupt);  // field 0
  EXPECT_EQ(walk("\x0b").message(), "byte 0: protobuf groups do not occur in ONNX");
  EXPECT_EQ(walk("\x08").message(), "byte 0: a number is cut off or too long");
  EXPECT_EQ(walk(Message().key(1, 2).varint(9).raw("abc").bytes()).message(),
            "byte 0: a field of 9 bytes runs past the end");
  // A length of 2^64 - 1 must not wrap around.
  EXPECT_EQ(walk(Message().key(1, 2).varint(~uint64_t{0}).bytes()).code(), Code::kCorrupt);
}

TEST(Wire, RefusesAnotherWireTypeForAKnownField) {
  const std::string text = Message().text(1, "seven").bytes();
  Scan scan{.origin = bytes_of(text).data()};
  WireReader reader(bytes_of(text), scan);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.integer(), 0);
  EXPECT_EQ(reader.finish(0).status().message(), "byte 7: field 1 has the wrong wire type");
}

TEST(Wire, RefusesMessagesNestedTooDeep) {
  Message inner;
  for (int i = 0; i < 100; ++i) inner = Message().message(1, inner);
  Scan scan{.origin = bytes_of(inner.bytes()).data()};
  std::vector<WireReader> readers = {WireReader(bytes_of(inner.bytes()), scan)};
  while (readers.back().next()) readers.push_back(readers.back().message());
  const size_t depth = readers.size() - 2;
  EXPECT_EQ(depth, kLimits.max_message_depth);
  EXPECT_EQ(readers[depth].finish(0).status().code(), Code::kCorrupt);
}

TEST(Wire, CountsTheMemoryItFills) {
  const std::string text = Message().text(1, "a").text(1, "b").bytes();
  Scan scan{.origin = bytes_of(text).data(), .memory_left = 2 * sizeof(std::string_view)};
  WireReader reader(bytes_of(text), scan);
  std::vector<std::string_view> list;
  while (reader.next()) reader.append(list, reader.text());
  EXPECT_EQ(list.size(), 1u);
  EXPECT_EQ(reader.finish(0).status().code(), Code::kExhausted);
}

TEST(Wire, ReadsRepeatedNumbersPackedOrNot) {
  const std::string packed = Message().varint(1).varint(300).bytes();
  const std::string text = Message().text(1, packed).integer(1, 7).bytes();
  Scan scan{.origin = bytes_of(text).data()};
  WireReader reader(bytes_of(text), scan);
  std::vector<uint64_t> numbers;
  while (reader.next()) {
    Bytes elements = reader.elements(WireType::kVarint);
    uint64_t number = 0;
    while (!elements.empty() && take_varint(elements, number)) numbers.push_back(number);
  }
  EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 300, 7}));
}

}  // namespace
}  // namespace shoal::onnx
