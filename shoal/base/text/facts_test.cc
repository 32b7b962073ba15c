#include "shoal/base/text/facts.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Facts, AreOneObjectForScripts) {
  const Facts facts = {{"n", 3, "count"},
                       {"ms", 0.25, "ms", 1, " ms"},
                       {"name", std::string("a"), "who"},
                       {"hash", "ff"},
                       counted("bytes", 12345, "bytes"),
                       sized("memory", 2'500'000, "memory"),
                       shown("only people", "see this")};
  EXPECT_EQ(object_of(facts).dump(),
            R"({"bytes":12345,"hash":"ff","memory":2500000,"ms":0.25,"n":3,"name":"a"})");
}

TEST(Facts, HaveCellsForPeople) {
  const Fact fact("ms", 0.26, "took", 1, " ms");
  EXPECT_EQ(fact.column, "took");
  EXPECT_EQ(fact.cell, "0.3 ms");
  EXPECT_EQ(counted("n", 12345, "n").cell, "12,345");
  EXPECT_EQ(sized("n", 2'500'000, "n").cell, in_bytes(2'500'000));
  EXPECT_EQ(Fact("hash", "ff").column, "");
}

TEST(Facts, OfRowsAreAList) {
  EXPECT_EQ(list_of({{{"n", 1}}, {{"n", 2}, shown("x", "y")}}).dump(), R"([{"n":1},{"n":2}])");
  EXPECT_EQ(list_of({}).dump(), "[]");
}

}  // namespace
}  // namespace shoal
