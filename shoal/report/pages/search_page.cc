#include "shoal/report/pages/search_page.h"

#include <vector>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/page.h"

namespace shoal::report {

std::string search_page(const search::SearchResult& result) {
  std::vector<page::CostPoint> points;
  std::string rows = page::header_row({"network", "top-1", "ms", "MACs", "parameters"});
  for (const search::Found& one : result.found) {
    points.push_back(
        {.cost = one.ms, .top1 = one.top1, .on_front = one.on_front, .name = one.name});
    rows += page::row({one.name, fixed(one.top1, 2) + " %", fixed(one.ms, 3), with_commas(one.macs),
                       with_commas(one.parameters)});
  }
  const std::string figures =
      page::figures({{"networks drawn", with_commas(static_cast<long long>(result.drawn))},
                     {"simulated", with_commas(static_cast<long long>(result.simulated))},
                     {"the fastest", fixed(result.fastest_ms, 3), "ms"},
                     {"with stages", fixed(result.staged_ms, 3), "ms"}});
  return page::html_page(
      "Networks for several units",
      figures +
          page::card("Front",
                     "<p>Top-1 on held-out images and simulated time of those that learned; "
                     "in blue what no other one beats in both.</p>\n" +
                         page::front_picture(points, "ms")) +
          page::card("Networks", page::table("Networks", rows)));
}

}  // namespace shoal::report
