#include "shoal/base/checked.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Checked, RemembersAnOverflow) {
  EXPECT_EQ((Checked(6) * 7 - 2).get(), 40);
  EXPECT_FALSE((Checked(kMax) + 1).ok());
  EXPECT_FALSE((Checked(kMin) - 1 + 5).ok());
  EXPECT_FALSE((Checked(kMax) * 2 / 2).ok());
  EXPECT_EQ((Checked(kMax) + 1).value(), kMax);
}

TEST(Checked, TakesBadDivisionsForOverflows) {
  EXPECT_FALSE((Checked(1) / 0).ok());
  EXPECT_FALSE((Checked(kMin) / -1).ok());
  EXPECT_EQ((Checked(-7) / 2).get(), -3);
}

}  // namespace
}  // namespace shoal
