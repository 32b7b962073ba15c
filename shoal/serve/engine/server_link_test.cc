#include "shoal/serve/engine/server_link.h"

#include <gtest/gtest.h>

namespace shoal::serve {
namespace {

using std::chrono::milliseconds;

TEST(Link, AsksAfterPausesThatDoubleUntilItIsReached) {
  Link link;
  Time now{};
  EXPECT_FALSE(link.is_up());
  EXPECT_TRUE(link.should_ask(now));
  EXPECT_FALSE(link.should_ask(now)) << "it was asked, and has not answered";
  link.note(true, now);
  EXPECT_TRUE(link.is_up());
  EXPECT_FALSE(link.should_ask(now));
  Duration pause = Link::kFirstPause;
  for (int i = 0; i < 12; ++i) {
    link.note(false, now);
    EXPECT_FALSE(link.is_up());
    EXPECT_FALSE(link.should_ask(now + pause - milliseconds(1))) << i;
    now += pause;
    EXPECT_TRUE(link.should_ask(now)) << i;
    pause = std::min(2 * pause, Link::kLongestPause);
  }
  EXPECT_EQ(pause, Link::kLongestPause);
  link.note(true, now);
  link.note(false, now);
  EXPECT_TRUE(link.should_ask(now + Link::kFirstPause)) << "pauses begin anew";
}

}  // namespace
}  // namespace shoal::serve
