#include "shoal/cluster/chaos/processes/chaos_facts.h"

#include <algorithm>
#include <utility>

#include "shoal/base/text/number_text.h"
#include "shoal/cluster/emulate/machines/dilation.h"
#include "shoal/report/html/markup.h"
#include "shoal/report/html/page.h"

namespace shoal::chaos {
namespace {

std::string count_of(uint64_t n) { return with_commas(static_cast<long long>(n)); }

std::string latencies(const ChaosReport& report) {
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
std::string faults(const ChaosReport& report) {
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

std::string liars(const ChaosReport& report) {
  std::string items;
  for (const std::string& name : report.left_out) {
    items += "<li>" + page::escaped(name) + ", because it lied; found after " +
             count_of(report.asked_until_left_out) +
             " requests; wrong since: " + count_of(report.wrong_after) + "</li>\n";
  }
  return items.empty() ? "" : page::card("Left out", "<ul>\n" + items + "</ul>\n");
}

}  // namespace

std::string chaos_page(const std::string& title, const ChaosReport& report) {
  const std::string figures =
      page::figures({{"faults", count_of(report.returns.count())},
                     {"answered meanwhile", count_of(report.answered)},
                     {"failed", count_of(report.failed)},
                     {"wrong", count_of(report.wrong)},
                     {"replayed", count_of(report.replayed)},
                     {"until the next answer", fixed(report.recovery_ms_max, 1), "ms at most"}});
  return page::html_page(title, figures + latencies(report) + faults(report) + liars(report));
}

namespace {

// The first column has no name.
Facts row_of(const char* what, const LatencyRecorder& ms) {
  return {shown(" ", what), shown("requests", std::to_string(ms.count())),
          shown("p50 ms", fixed(ms.quantile(0.5), 1)), shown("p99 ms", fixed(ms.quantile(0.99), 1)),
          shown("longest ms", fixed(ms.max(), 1))};
}

std::string counts_of(const ChaosReport& report) {
  return std::to_string(report.answered) + " answered, " + std::to_string(report.failed) +
         " failed, " + std::to_string(report.wrong) + " wrong";
}

std::string times_of(const char* what, const LatencyRecorder& took) {
  return std::string(what) + "p50 " + fixed(took.quantile(0.5), 1) + " ms, p99 " +
         fixed(took.quantile(0.99), 1) + " ms, longest " + fixed(took.max(), 1) + " ms";
}

}  // namespace

Verdict ChaosReport::verdict(bool finds_liars) const {
  if ((finds_liars ? wrong_after : wrong) > 0) return Verdict::wrong("answers are wrong");
  if (finds_liars && left_out.empty()) return Verdict::wrong("the worker that lies was not found");
  return failed > 0 ? Verdict::failed(first_failure) : Verdict();
}

Verdict OverloadReport::verdict() const {
  if (wrong > 0) return Verdict::wrong("answers are wrong");
  return failed > 0 ? Verdict::failed(first_failure) : Verdict();
}

Json to_json(const ChaosReport& report) {
  return {{"requests", report.requests},
          {"answered", report.answered},
          {"failed", report.failed},
          {"wrong", report.wrong},
          {"replayed", report.replayed},
          {"resent_to_dead", report.resent_to_dead},
          {"faults", report.returns.count()},
          {"kinds", report.kinds},
          {"at_points", report.at_points},
          {"calm_p50_ms", report.calm.quantile(0.5)},
          {"calm_p99_ms", report.calm.quantile(0.99)},
          {"p50_ms", report.faulty.quantile(0.5)},
          {"p99_ms", report.faulty.quantile(0.99)},
          {"after_p50_ms", report.after.quantile(0.5)},
          {"longest_ms", report.faulty.max()},
          {"recovery_ms_max", report.recovery_ms_max},
          {"return_ms_p50", report.returns.quantile(0.5)},
          {"return_ms_max", report.returns.max()},
          {"checked", report.checked},
          {"disputed", report.disputed},
          {"left_out", report.left_out},
          {"requests_until_left_out", report.asked_until_left_out},
          {"wrong_after", report.wrong_after}};
}

std::vector<Facts> rows_of(const ChaosReport& report) {
  return {row_of("before", report.calm), row_of("during", report.faulty),
          row_of("after", report.after)};
}

std::vector<std::string> lines_of(const ChaosReport& report) {
  std::vector<std::string> lines = {"faults: " + std::to_string(report.returns.count()) +
                                    "; answered meanwhile: " + std::to_string(report.answered) +
                                    ", failed " + std::to_string(report.failed) + ", wrong " +
                                    std::to_string(report.wrong) + ", replayed " +
                                    std::to_string(report.replayed)};
  if (report.checked > 0) {
    lines.push_back("checked: " + std::to_string(report.checked) + " requests, " +
                    std::to_string(report.disputed) + " of them disputed");
  }
  for (const std::string& name : report.left_out) {
    lines.push_back("left out: " + name + ", because it lied; found after " +
                    std::to_string(report.asked_until_left_out) +
                    " requests; wrong since: " + std::to_string(report.wrong_after));
  }
  return lines;
}

Json to_json(const OverloadReport& report, const FaultKinds& kinds) {
  uint64_t faults = 0;
  for (const auto& [kind, count] : kinds) faults += count;
  return {{"goodput", report.goodput()},
          {"capacity_per_s", report.capacity_per_s},
          {"faulty_capacity_per_s", report.faulty_capacity_per_s},
          {"offered_per_s", report.offered_per_s},
          {"answered_per_s", report.answered_per_s},
          {"answered", report.answered},
          {"refused", report.refused},
          {"late", report.late},
          {"failed", report.failed},
          {"wrong", report.wrong},
          {"timeout_ms", report.timeout_ms},
          {"calm_p50_ms", report.calm.quantile(0.5)},
          {"calm_p99_ms", report.calm.quantile(0.99)},
          {"p50_ms", report.accepted.quantile(0.5)},
          {"p99_ms", report.accepted.quantile(0.99)},
          {"refusal_ms_p50", report.refusals.quantile(0.5)},
          {"refusal_ms_p99", report.refusals.quantile(0.99)},
          {"recovery_s", report.recovery_s},
          {"faults", faults},
          {"kinds", kinds}};
}

std::vector<Facts> rows_of(const OverloadReport& report, const FaultKinds&) {
  return {row_of("calm", report.calm), row_of("accepted", report.accepted),
          row_of("refused", report.refusals)};
}

std::vector<std::string> lines_of(const OverloadReport& report, const FaultKinds&) {
  return {fixed(report.offered_per_s, 0) + " requests/s offered, " +
              fixed(report.answered_per_s, 0) + " answered: " + fixed(100 * report.goodput(), 0) +
              " % of the " + fixed(report.capacity_per_s, 0) + " without overload",
          "late " + std::to_string(report.late) + ", failed " + std::to_string(report.failed) +
              ", wrong " + std::to_string(report.wrong) + "; as before after " +
              fixed(report.recovery_s, 2) + " s"};
}

std::vector<std::string> lines_of(const ChaosProgress& progress) {
  std::vector<std::string> lines = {
      fixed(progress.seconds, 1) + " s  " +
      (progress.latest.empty() ? "calm so far" : "latest: " + progress.latest)};
  size_t longest = 0;
  for (const std::string& name : progress.names) longest = std::max(longest, name.size());
  for (size_t w = 0; w < progress.present.size(); ++w) {
    const std::string& name = progress.names[w];
    const bool is_victim = progress.victim == static_cast<int>(w);
    lines.push_back("  " + name + std::string(longest - name.size(), ' ') +
                    (progress.present[w] ? "  there" : "  lost ") +
                    (is_victim ? " " + progress.latest.substr(name.size()) : ""));
  }
  lines.push_back(counts_of(progress.report));
  lines.push_back(times_of("  calm         ", progress.report.calm));
  lines.push_back(times_of("  with faults  ", progress.report.faulty));
  return lines;
}

std::string line_of(const ChaosProgress& progress) {
  return fixed(progress.seconds, 1) + " s: " + progress.latest + "; " + counts_of(progress.report);
}

std::string FaultLines::next(const ChaosProgress& progress) {
  if (std::exchange(told_, progress.faults) == progress.faults) return "";
  return line_of(progress);
}

std::string note_lateness(const ChaosReport& report, double predicted_ms) {
  const double late = report.calm.quantile(0.5) / predicted_ms - 1;
  if (!(late > emulate::kGoodLateness)) return "";
  return "this machine is busy, or its network slower than the emulated one: without faults a "
         "request took " +
         fixed(100 * late, 0) + " % longer than predicted";
}

}  // namespace shoal::chaos
