#include "shoal/shrink/branches/branch_facts.h"

#include <algorithm>

#include "shoal/shrink/branches/advice.h"

namespace shoal::branch {
namespace {

double ms(const plan::Prediction& made) { return made.timeline.seconds * 1e3; }

std::string millions(int64_t count) { return fixed(static_cast<double>(count) / 1e6, 3) + " M"; }

}  // namespace

Json to_json(const BranchReport& report) {
  const BranchSizes& sizes = report.sizes;
  Json json = {{"branches", report.branches},
               {"messages", report.times ? report.times->messages : 2 * report.branches},
               {"parameters", sizes.parameters},
               {"parameters_dense", sizes.parameters_dense},
               {"macs", sizes.macs},
               {"macs_dense", sizes.macs_dense},
               {"fatten", sizes.fatten},
               {"merge", sizes.merge == Merge::kSum ? "sum" : "concat"},
               {"whole", sizes.whole},
               {"advice", advice(report.learned, report.times)}};
  if (report.times) {
    json.update({{"ms", ms(report.times->branches)},
                 {"ms_ordinary", ms(report.times->ordinary)},
                 {"ordinary", report.times->ordinary.name},
                 {"wire_bytes", report.times->branches.timeline.wire_bytes}});
  }
  if (report.learned) {
    json.update({{"top1", report.learned->top1},
                 {"top1_dense_control", report.learned->top1_dense},
                 {"top1_same_macs", report.learned->top1_same_macs},
                 {"top1_lost", report.learned->top1_lost},
                 {"macs_same", report.learned->macs_same},
                 {"seconds", report.learned->seconds}});
  }
  return json;
}

std::vector<Facts> rows_of(const BranchReport& report) {
  const BranchSizes& sizes = report.sizes;
  const LearnResult learned = report.learned.value_or(LearnResult{});
  const auto time = [&](plan::Prediction Comparison::*made) {
    return report.times ? fixed(ms((*report.times).*made), 1) + " ms" : "";
  };
  const auto row = [&](const std::string& network, double top1, const std::string& parameters,
                       int64_t macs, const std::string& predicted) {
    return Facts{shown("network", network),
                 shown("top-1", report.learned ? fixed(top1, 2) + " %" : ""),
                 shown("parameters", parameters), shown("MACs", millions(macs)),
                 shown("predicted", predicted)};
  };
  std::vector<Facts> rows = {
      row(std::to_string(report.branches) + " branches", learned.top1, millions(sizes.parameters),
          sizes.macs, time(&Comparison::branches)),
      row("dense", learned.top1_dense, millions(sizes.parameters_dense), sizes.macs_dense,
          time(&Comparison::ordinary))};
  if (report.learned) {
    rows.push_back(row("same work", learned.top1_same_macs, "", learned.macs_same, ""));
  }
  return rows;
}

std::vector<std::string> lines_of(const BranchReport& report) {
  std::vector<std::string> lines;
  if (report.learned) {
    lines.push_back("one branch lost: top-1 " +
                    fixed(std::ranges::min(report.learned->top1_lost), 2) + " % at worst");
  }
  for (const std::string& layer : report.sizes.whole) {
    lines.push_back("whole in every branch: " + layer);
  }
  if (!report.no_times.empty()) lines.push_back("no predicted times: " + report.no_times);
  std::ranges::copy(advice(report.learned, report.times), std::back_inserter(lines));
  return lines;
}

}  // namespace shoal::branch
