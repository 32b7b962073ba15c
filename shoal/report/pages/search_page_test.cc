// The pages about searches and about models that meet a time.
#include "shoal/report/pages/search_page.h"

#include <gtest/gtest.h>

namespace shoal::report {
namespace {

TEST(SearchPage, HasARowAndAPointForEachNetwork) {
  search::SearchResult result;
  result.found = {{.name = "<a>", .ms = 1.5, .top1 = 80, .macs = 2'000'000, .on_front = true},
                  {.name = "b", .ms = 2, .top1 = 70}};
  result.drawn = 1234;
  result.fastest_ms = 1.25;
  const std::string page = search_page(result);
  for (const char* text : {"<td>&lt;a&gt;</td><td>80.00 %</td><td>1.500</td><td>2,000,000</td>",
                           "<td>b</td>", "<dd>1,234</dd>", "1.250 <small>ms"}) {
    EXPECT_NE(page.find(text), page.npos) << text << " in " << page;
  }
  EXPECT_EQ(page.find("<a>"), page.npos);
}

TEST(FitClusterPage, SaysWhatEachAttemptLacked) {
  using fit_cluster::Attempt;
  const Attempt slow{.name = "plan"}, refused{.name = "smaller", .note = "no memory"},
      wrong{.name = "int8", .top1 = 61.5, .fast_enough = true},
      right{.name = "f16", .top1 = 99, .fast_enough = true, .accurate_enough = true};
  const std::string page =
      fit_cluster_page("a<b", {.target_ms = 12.345, .attempts = {slow, refused, wrong, right}});
  for (const char* text : {"<h1>a&lt;b</h1>", "12.35 <small>ms a request", "<td>61.50 %</td>",
                           "<td>meets the target</td>"}) {
    EXPECT_NE(page.find(text), page.npos) << text << " in " << page;
  }
}

}  // namespace
}  // namespace shoal::report
