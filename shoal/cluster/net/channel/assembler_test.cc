#include "shoal/cluster/net/channel/assembler.h"

#include <gtest/gtest.h>

#include "shoal/base/limits.h"
#include "shoal/cluster/net/peers_testing.h"

namespace shoal::net {
namespace {

constexpr size_t kMostPayload = 1000;

Data chunk(ChunkType type, size_t length, const Data& body = {}) {
  Data data(kChunkHeaderBytes);
  encode({type, static_cast<uint32_t>(length)}, std::span(data).first<kChunkHeaderBytes>());
  data.insert(data.end(), body.begin(), body.end());
  return data;
}

Data frame(uint64_t payload, const Data& control = {}) {
  Data body(kFramePrefixBytes);
  encode_u64(payload, std::span(body).first<kFramePrefixBytes>());
  body.insert(body.end(), control.begin(), control.end());
  return chunk(ChunkType::kFrame, body.size(), body);
}

Data data(const Data& body) { return chunk(ChunkType::kData, body.size(), body); }

Data operator+(Data a, const Data& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Feeds bytes in steps of at most `step`, and collects frames until they end or an error comes.
struct Outcome {
  Status status;
  std::vector<Frame> frames;
};

Outcome assemble(const Data& bytes, size_t step, const Place& place = {}) {
  Assembler assembler(kMostPayload);
  Outcome outcome;
  for (Bytes left(bytes); !left.empty() && outcome.status.ok();) {
    const auto want = assembler.want();
    EXPECT_FALSE(want.empty());
    const size_t n = std::min({want.size(), left.size(), step});
    std::ranges::copy(left.first(n), want.begin());
    left = left.subspan(n);
    auto got = assembler.got(n, place);
    outcome.status = got.status();
    if (got.ok() && *got) outcome.frames.push_back(**std::move(got));
  }
  return outcome;
}

Code code_of(const Data& bytes) { return assemble(bytes, bytes.size()).status.code(); }

TEST(Assembler, PutsFramesTogetherWhateverTheStep) {
  const Data payload = random_bytes(700, 1);
  const Data half(payload.begin(), payload.begin() + 300);
  const Data rest(payload.begin() + 300, payload.end());
  const Data stream = chunk(ChunkType::kPing, 0) + frame(700, bytes_of("one")) + data(half) +
                      chunk(ChunkType::kUrgent, 6, bytes_of("urgent")) + data(rest) +
                      frame(0, bytes_of("two")) + chunk(ChunkType::kUrgent, 0) + frame(0);
  for (const size_t step : {1u, 2u, 3u, 7u, 64u, 10'000u}) {
    const Outcome outcome = assemble(stream, step);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    ASSERT_EQ(outcome.frames.size(), 5u);
    EXPECT_EQ(text_of(outcome.frames[0].control), "urgent");
    EXPECT_EQ(text_of(outcome.frames[1].control), "one");
    EXPECT_TRUE(equal(outcome.frames[1].payload.bytes, payload));
    EXPECT_EQ(text_of(outcome.frames[2].control), "two");
  }
}

TEST(Assembler, ForgetsAFrameThatIsAbandoned) {
  const Outcome outcome =
      assemble(frame(700, bytes_of("one")) + data(Data(300)) + chunk(ChunkType::kAbandon, 0) +
                   frame(2, bytes_of("two")) + data(Data(2)),
               64);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  ASSERT_EQ(outcome.frames.size(), 1u);
  EXPECT_EQ(text_of(outcome.frames[0].control), "two");
}

TEST(Assembler, AllocatesNothingBeyondTheLimits) {
  const auto never = [](Bytes, size_t) -> Result<Buffer> {
    ADD_FAILURE() << "asked for memory";
    return Buffer{};
  };
  for (const uint64_t size : {uint64_t{kMostPayload} + 1, uint64_t{1} << 40, ~uint64_t{0}})
    EXPECT_EQ(assemble(frame(size), 64, never).status.code(), Code::kCorrupt) << size;
  EXPECT_EQ(code_of(chunk(ChunkType::kFrame, kLimits.max_control_bytes + 9)), Code::kCorrupt);
  EXPECT_EQ(code_of(chunk(ChunkType::kFrame, 0xffffffff)), Code::kCorrupt);
  EXPECT_EQ(code_of(chunk(ChunkType::kUrgent, kMaxUrgentBytes + 1)), Code::kCorrupt);
}

TEST(Assembler, RefusesWhatIsNoSequenceOfChunks) {
  EXPECT_EQ(code_of(Data(8)), Code::kCorrupt) << "type 0";
  EXPECT_EQ(code_of(Data(8, std::byte{6})), Code::kCorrupt) << "unknown type";
  Data reserved = chunk(ChunkType::kPing, 0);
  reserved[2] = std::byte{1};
  EXPECT_EQ(code_of(reserved), Code::kCorrupt);
  EXPECT_EQ(code_of(chunk(ChunkType::kPing, 1)), Code::kCorrupt);
  EXPECT_EQ(code_of(chunk(ChunkType::kAbandon, 0)), Code::kCorrupt) << "nothing to abandon";
  EXPECT_EQ(code_of(frame(5) + chunk(ChunkType::kAbandon, 1)), Code::kCorrupt);
  EXPECT_EQ(code_of(chunk(ChunkType::kFrame, kFramePrefixBytes - 1)), Code::kCorrupt);
  EXPECT_EQ(code_of(frame(5) + frame(5)), Code::kCorrupt) << "a frame in a frame";
  EXPECT_EQ(code_of(data(Data(5))), Code::kCorrupt) << "data without a frame";
  EXPECT_EQ(code_of(frame(0) + data(Data(5))), Code::kCorrupt);
  EXPECT_EQ(code_of(frame(5) + data(Data(6))), Code::kCorrupt) << "too much data";
  EXPECT_EQ(code_of(frame(5) + data({})), Code::kCorrupt) << "data that is none";
}

TEST(Assembler, DropsWhatHasNoPlaceAndGoesOn) {
  Assembler assembler(kMostPayload);
  const Data stream = frame(500) + data(Data(500)) + frame(3, bytes_of("next")) + data(Data(3));
  int errors = 0;
  std::vector<Frame> frames;
  const Place place = [&](Bytes control, size_t size) -> Result<Buffer> {
    if (control.empty()) return Status(Code::kExhausted, "no room");
    return Buffer::allocate(size);
  };
  for (Bytes left(stream); !left.empty();) {
    const auto want = assembler.want();
    const size_t n = std::min(want.size(), left.size());
    std::ranges::copy(left.first(n), want.begin());
    left = left.subspan(n);
    auto got = assembler.got(n, place);
    if (!got.ok()) {
      EXPECT_EQ(got.status().code(), Code::kExhausted);
      ++errors;
    } else if (*got) {
      frames.push_back(**std::move(got));
    }
  }
  EXPECT_EQ(errors, 1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(text_of(frames[0].control), "next");
}

}  // namespace
}  // namespace shoal::net
