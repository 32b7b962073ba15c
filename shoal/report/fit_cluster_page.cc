#include "shoal/report/fit_cluster_page.h"

#include "shoal/base/number_text.h"
#include "shoal/page/page.h"

namespace shoal::report {

using fit_cluster::Attempt;

std::string top1_of(const Attempt& attempt) {
  return attempt.top1 ? fixed(*attempt.top1, 2) + " %" : "";
}

std::string verdict_of(const Attempt& attempt) {
  if (attempt.meets()) return "meets the target";
  if (!attempt.note.empty()) return attempt.note;
  return attempt.fast_enough ? "loses too much" : "too slow";
}

std::string fit_cluster_page(const std::string& title, const fit_cluster::FitResult& result) {
  std::string rows = page::header_row({"attempt", "ms", "bytes", "top-1", "verdict"});
  for (const Attempt& attempt : result.attempts) {
    rows += page::row({attempt.name, fixed(attempt.ms, 2),
                       with_commas(static_cast<long long>(attempt.bytes)), top1_of(attempt),
                       verdict_of(attempt)});
  }
  return page::html_page(title,
                         page::figures({{"wanted", fixed(result.target_ms, 2), "ms a request"},
                                        {"top-1 as given", fixed(result.top1_before, 2), "%"}}) +
                             page::card("Attempts", page::table("Attempts", rows)));
}

}  // namespace shoal::report
