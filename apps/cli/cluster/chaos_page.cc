#include "chaos_page.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/markup.h"
#include "shoal/report/html/page.h"

namespace shoal::cli {
namespace {

std::string count_of(uint64_t n) { return with_commas(static_cast<long long>(n)); }

std::string latencies(const chaos::ChaosReport& report) {
  std::string rows = page::header_row({"faults", "requests", "p50 ms", "p99 ms", "longest ms"});
  const auto add = [&](const char* what, const LatencyRecorder& ms) {
    rows += page::row({what, count_of(ms.count()), fixed(ms.quantile(0.5), 1),
                       fixed(ms.quantile(0.99), 1), fixed(ms.max(), 1)});
  };
  add("before", report.calm);
  add("during", report.faulty);
  add("after", report.after);
  return page::card("Latency before, during and after faults", page::table("Latency", rows));
}

// A bar for each kind, as long as there were many.
std::string faults(const chaos::ChaosReport& report) {
  constexpr double kLabels = 130, kWidth = 400, kLane = 22;
  uint64_t most = 1;
  for (const auto& [kind, count] : report.kinds) most = std::max(most, count);
  std::string bars;
  double y = 0;
  for (const auto& [kind, count] : report.kinds) {
    const double length = kWidth * static_cast<double>(count) / static_cast<double>(most);
    bars += page::svg_text(kLabels - 8, y + 15, kind, " text-anchor=\"end\"") +
            page::svg_bar(kLabels, y + 3, length, kLane - 6, "f1") +
            page::svg_text(kLabels + length + 8, y + 15, count_of(count), " class=\"soft\"");
    y += kLane;
  }
  if (bars.empty()) return "";
  return page::card("Faults by kind",
                    page::picture("Faults by kind", kLabels + kWidth + 70, y, bars));
}

std::string liars(const chaos::ChaosReport& report) {
  std::string items;
  for (const std::string& name : report.left_out) {
    items += "<li>" + page::escaped(name) + ", because it lied; found after " +
             count_of(report.asked_until_left_out) +
             " requests; wrong since: " + count_of(report.wrong_after) + "</li>\n";
  }
  return items.empty() ? "" : page::card("Left out", "<ul>\n" + items + "</ul>\n");
}

}  // namespace

std::string chaos_page(const std::string& title, const chaos::ChaosReport& report) {
  const std::string figures =
      page::figures({{"faults", count_of(report.returns.count())},
                     {"answered meanwhile", count_of(report.answered)},
                     {"failed", count_of(report.failed)},
                     {"wrong", count_of(report.wrong)},
                     {"replayed", count_of(report.replayed)},
                     {"until the next answer", fixed(report.recovery_ms_max, 1), "ms at most"}});
  return page::html_page(title, figures + latencies(report) + faults(report) + liars(report));
}

}  // namespace shoal::cli
