// Bounds are for --help; check() has the last word.
#include "apps/commands/training/branch.h"

#include <algorithm>
#include <utility>

#include "shoal/base/text/number_text.h"

namespace shoal::branch {
namespace {

double ms(const plan::Prediction& made) { return made.timeline.seconds * 1e3; }

std::string millions(int64_t count) { return fixed(static_cast<double>(count) / 1e6, 3) + " M"; }

}  // namespace

SettingList settings_of(BranchSettings& s) {
  return {
      {"branches", s.branches,
       "How many; auto: as few as fit the memory of a worker, powers of two"},
      Setting("widths", s.widths,
              "In place of --branches: their widths in relation to each other, 1,2,4; auto: one "
              "for each worker, so that all end together")
          .not_with("branches"),
      {"fatten", s.fatten,
       "Widen branches by so many percent; auto: in steps of 10 until --max-drop is met"},
      Setting("max-drop", s.max_drop,
              "Points that --fatten auto may lose against the dense control, on held-out images")
          .not_negative(),
      Setting("merge", s.merge,
              "How branches are joined: sum, concat, or auto: sum after a stack of fully connected "
              "layers")
          .one_of({"auto", "sum", "concat"}),
      Setting("branch-dropout", s.options.dropout,
              "Probability to learn without a branch, so that it may be lost")
          .in(0, 0.9),
      Setting("distill", s.distill, "Share of the loss that is about the dense control").in(0, 1),
      Setting("temperature", s.temperature, "At which answers are compared").positive()};
}

Result<LearnOptions> resolve(const BranchSettings& settings, fit::TrainingOptions recipe) {
  LearnOptions all = settings.options;
  if (!recipe.data.empty() && recipe.format.empty()) return invalid("data needs format");
  all.out = recipe.out;
  all.recipe = std::move(recipe);
  all.recipe.checkpoint.clear();
  all.recipe.loss.distill = settings.distill;
  all.recipe.loss.temperature = settings.temperature;
  all.branches.merge = settings.merge == "sum"      ? Merge::kSum
                       : settings.merge == "concat" ? Merge::kConcat
                                                    : Merge::kAuto;
  SHOAL_TRY(set_fatten(settings.fatten, settings.max_drop, all));
  return all;
}

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

std::vector<std::string> advice(const std::optional<LearnResult>& learned,
                                const std::optional<Comparison>& times) {
  std::vector<std::string> lines;
  if (times && !times->branches_are_faster()) {
    lines.push_back("The ordinary plan of the network as it is takes " +
                    fixed(ms(times->ordinary), 1) + " ms, the branches " +
                    fixed(ms(times->branches), 1) + " ms: branches do not pay here.");
  }
  const double better = learned ? learned->top1_same_macs - learned->top1 : 0;
  if (better > 0) {
    lines.push_back("A single network of the same work is better by " + fixed(better, 2) +
                    " points.");
  }
  return lines;
}

}  // namespace shoal::branch
