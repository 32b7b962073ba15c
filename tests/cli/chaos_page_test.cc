// The page about a run of chaos.
#include "apps/cli/cluster/chaos_page.h"

#include <gtest/gtest.h>

namespace shoal::cli {
namespace {

TEST(ChaosPage, ShowsFiguresAndABarForEachKind) {
  chaos::ChaosReport report;
  report.answered = 1234;
  report.wrong = 2;
  report.faulty.add(12.5);
  report.kinds = {{"kill", 4}, {"<stop>", 2}};
  report.left_out = {"<worker>"};
  const std::string page = chaos_page("a<b", report);
  for (const char* text :
       {"<dd>1,234</dd>", "<h1>a&lt;b</h1>", "<td>during</td><td>1</td><td>12.5</td>",
        "width=\"400.00\"", "width=\"200.00\"", "&lt;stop&gt;", "&lt;worker&gt;"}) {
    EXPECT_NE(page.find(text), page.npos) << text << " in " << page;
  }
  EXPECT_EQ(page.find("<stop>"), page.npos);
}

TEST(ChaosPage, HasAPlaceForNothing) {
  const std::string page = chaos_page("", {});
  EXPECT_EQ(page.find("nan"), page.npos);
  EXPECT_EQ(page.find("<svg"), page.npos);
}

}  // namespace
}  // namespace shoal::cli
