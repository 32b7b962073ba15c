#include "shoal/base/terminal/table.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

std::string printed(const Table& table) {
  testing::internal::CaptureStdout();
  table.print();
  return testing::internal::GetCapturedStdout();
}

TEST(Table, PutsNumbersToTheRightAndTextToTheLeft) {
  Table table({"model", "ms", "note"});
  table.add({"a", "1.5", "x"});
  table.add({"longer", "-10.25", "12 or so"});
  EXPECT_EQ(printed(table),
            "model       ms  note\n"
            "a          1.5  x\n"
            "longer  -10.25  12 or so\n");
}

TEST(Table, TakesAColumnForTextIfOneCellIs) {
  Table table({"value"});
  table.add({"1"});
  table.add({"none"});
  EXPECT_EQ(printed(table), "value\n1\nnone\n");
}

TEST(Table, LeavesEmptyCellsToNumbers) {
  Table table({"a", "bbbb"});
  table.add({"", "1"});
  table.add({"x", ""});
  EXPECT_EQ(printed(table), "a  bbbb\n      1\nx\n") << "no space at the end of a line";
}

TEST(Table, DrawsALineAcross) {
  Table table({"aa", "bb"});
  table.add({"x", "1"});
  table.add_rule();
  table.add({"y", "22"});
  EXPECT_EQ(printed(table), "aa  bb\nx    1\n------\ny   22\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"name", "n"});
  table.add(
      {"gr\xC3\xB6\xC3\x9F"
       "e",
       "1"});
  table.add({"plain", "2"});
  EXPECT_EQ(printed(table),
            "name   n\ngr\xC3\xB6\xC3\x9F"
            "e  1\nplain  2\n");
}

TEST(Table, HasNoColourInAFile) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(use_colour());
  testing::internal::GetCapturedStdout();
}

TEST(Table, OfFactsHasThoseWithColumns) {
  const Facts facts = {
      {"name", "net", "model", "net"}, {"runs", 3, "runs"}, counted("bytes", 1234567, "bytes"),
      {"ms", 1.25, "ms", 1, " ms"},    {"hash", "ab"},      {"equal", true, "weights", "same"}};
  EXPECT_EQ(printed(table_of({facts})),
            "model  runs      bytes      ms  weights\n"
            "net       3  1,234,567  1.2 ms  same\n");
}

TEST(Table, OfNoFactsHasTheColumnsThatAreGiven) {
  EXPECT_EQ(printed(table_of({}, {"a", "b"})), "a  b\n");
  EXPECT_EQ(printed(table_of({{shown("c", "1")}}, {"a", "b"})), "c\n1\n");
}

}  // namespace
}  // namespace shoal
