#include "shoal/report/pages/fit_cluster_page.h"

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/page.h"
#include "shoal/shrink/fit_cluster/fit_cluster_facts.h"

namespace shoal::report {

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
