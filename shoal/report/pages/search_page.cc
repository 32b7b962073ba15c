
#include "shoal/report/pages/search_page.h"

#include <vector>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/page.h"

namespace shoal::report {
namespace {

std::string percent(const std::optional<double>& top1) {
  return top1 ? fixed(*top1, 2) + " %" : "";
}

}  // namespace

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

std::string top1_of(const fit_cluster::Attempt& attempt) { return percent(attempt.top1); }
std::string control_of(const fit_cluster::Attempt& attempt) {
  return percent(attempt.top1_control);
}

std::string macs_of(const fit_cluster::Attempt& attempt) {
  return attempt.macs > 0 ? fixed(static_cast<double>(attempt.macs) / 1e6, 1) + " M" : "";
}

std::string verdict_of(const fit_cluster::Attempt& attempt) {
  if (attempt.meets()) return "meets the target";
  if (!attempt.note.empty()) return attempt.note;
  return attempt.fast_enough ? "loses too much" : "too slow";
}

std::string fit_cluster_page(const std::string& title, const fit_cluster::FitResult& result) {
  std::string rows =
      page::header_row({"attempt", "ms", "bytes", "MACs", "top-1", "its control", "verdict"});
  for (const fit_cluster::Attempt& attempt : result.attempts) {
    rows += page::row({attempt.name, fixed(attempt.ms, 2),
                       with_commas(static_cast<long long>(attempt.bytes)), macs_of(attempt),
                       top1_of(attempt), control_of(attempt), verdict_of(attempt)});
  }
  return page::html_page(title,
                         page::figures({{"wanted", fixed(result.target_ms, 2), "ms a request"},
                                        {"top-1 as given", fixed(result.top1_before, 2), "%"}}) +
                             page::card("Attempts", page::table("Attempts", rows)));
}

}  // namespace shoal::report
