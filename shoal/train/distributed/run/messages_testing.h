// Helpers for tests of messages.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::learn::testing {

// Checks that a message survives decoding and encoding, and that truncated or longer bytes are
// refused.
template <class Messages, class Decode>
void expect_whole(const Messages& messages, const Decode& decode) {
  for (const auto& message : messages) {
    std::vector<std::byte> bytes = encode(message);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded.ok()) << message.index();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(encode(*decoded), bytes) << message.index();
    for (size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(decode(std::span(bytes).first(i)).status().code(), Code::kCorrupt);
    }
    bytes.push_back(std::byte{0});
    EXPECT_EQ(decode(bytes).status().code(), Code::kCorrupt);
  }
}

}  // namespace shoal::learn::testing
