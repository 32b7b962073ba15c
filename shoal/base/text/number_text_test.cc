#include "shoal/base/text/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal {
namespace {

TEST(NumberText, RoundsToAsManyDigitsAsAskedFor) {
  EXPECT_EQ(fixed(0.1234, 3), "0.123");
  EXPECT_EQ(fixed(-2.5, 1), "-2.5");
  EXPECT_EQ(fixed(99.96, 1), "100.0");
  EXPECT_EQ(fixed(3, 0), "3");
}

TEST(NumberText, HasRoomForTheLargestNumber) {
  EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 2).size(), 309u + 3u);
}

TEST(NumberText, PutsACommaBeforeEveryThreeDigits) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(61'100'840), "61,100,840");
  EXPECT_EQ(with_commas(-1'000'000), "-1,000,000");
}

TEST(NumberText, GivesBytesInTheLargestUnitBelowThem) {
  EXPECT_EQ(in_bytes(0), "0 B");
  EXPECT_EQ(in_bytes(999), "999 B");
  EXPECT_EQ(in_bytes(1000), "1.0 kB");
  EXPECT_EQ(in_bytes(12'800'000), "12.8 MB");
  EXPECT_EQ(in_bytes(5'000'000'000'000'000), "5000.0 TB");
}

TEST(NumberText, GivesLessThanASecondInMilliseconds) {
  EXPECT_EQ(in_seconds(0.0035), "3.5 ms");
  EXPECT_EQ(in_seconds(1.25), "1.25 s");
}

TEST(TimeText, IsInUtc) {
  using std::chrono::system_clock;
  EXPECT_EQ(in_utc(system_clock::from_time_t(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(in_utc(system_clock::from_time_t(1'709'251'199)), "2024-02-29T23:59:59Z");
}

}  // namespace
}  // namespace shoal
