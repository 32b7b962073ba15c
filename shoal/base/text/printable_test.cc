#include "shoal/base/text/printable.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Printable, KeepsUtf8AndShowsControlCharacters) {
  EXPECT_EQ(printable("conv_1 größe 層"), "conv_1 größe 層");
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
}

TEST(Printable, ShowsWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");           // cut short
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1: starts an escape sequence
}

TEST(Printable, CutsAtTheLimit) { EXPECT_EQ(printable("abcdef", 3), "abc..."); }

TEST(ValidUtf8, KeepsWhatIs) {
  for (const char* text : {"", "plain\n\x1b[0m",
                           "Gr\xC3\xB6\xC3\x9F"
                           "e",
                           "\xF0\x9F\x90\x9F"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(ValidUtf8, ReplacesEveryByteThatIsNot) {
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8("\xC3"), "\xEF\xBF\xBD") << "cut off";
  EXPECT_EQ(valid_utf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
}

}  // namespace
}  // namespace shoal
