#include "shoal/report/html/markup.h"

#include <gtest/gtest.h>

namespace shoal::page {
namespace {

TEST(Markup, EscapesWhatHasAMeaning) {
  EXPECT_EQ(escaped("a<b & \"c\" > d"), "a&lt;b &amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escaped("one\n\ttwo gr\xC3\xB6"), "one\n\ttwo gr\xC3\xB6");
}

TEST(Markup, ReplacesWhatXmlForbids) {
  EXPECT_EQ(escaped(std::string("\0\x1b\xff", 3)), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace shoal::page
