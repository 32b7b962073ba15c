#include <gtest/gtest.h>

#include "shoal/base/text/number_text.h"

namespace shoal {
namespace {

TEST(ByteSize, IsANumberAndAUnitOfThousands) {
  EXPECT_EQ(parse_byte_size("200MB"), 200'000'000);
  EXPECT_EQ(parse_byte_size("1.5GB"), 1'500'000'000);
  EXPECT_EQ(parse_byte_size("8kB"), 8'000);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MB", "200", "200 MB", "200mb", "200MBs", "-1MB", "0MB", "nanMB",
                           "infGB", "1e300GB", "plenty", "low"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace shoal
