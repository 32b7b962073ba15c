// shoal branch: a classifier as narrow branches, one for each machine.
#include <algorithm>
#include <cstdio>

#include "../table.h"
#include "apps/flags/json.h"
#include "branch_flags.h"
#include "cancel_on_signals.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/branch/advice.h"
#include "shoal/models/model.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal branch zoo:lenet5 --branches 8 --data mnist --format idx -o lcp.onnx
  shoal branch model.onnx --branches 4 --fatten auto --data photos --format folder -o lcp.onnx
                                           as wide as it takes to lose at most 1 point
  shoal branch model.onnx --worker pi3 --data photos --format folder -o lcp.onnx
                                           as few branches as fit the memory of a Pi 3
  shoal branch model.onnx --widths auto --cluster devices.toml --data photos --format folder -o lcp.onnx
                                           one for each device, wider for faster ones
  shoal branch zoo:vgg16 --branches 8      without data: what it would cost, and how fast it would be
  shoal plan lcp.onnx --workers 8 --device pi3     where the branches go)";

double ms(const plan::Prediction& made) { return made.timeline.seconds * 1e3; }

Json to_json(const branch::BranchReport& report) {
  const branch::BranchSizes& sizes = report.sizes;
  Json json = {{"branches", report.branches},
               {"messages", report.times ? report.times->messages : 2 * report.branches},
               {"parameters", sizes.parameters},
               {"parameters_dense", sizes.parameters_dense},
               {"macs", sizes.macs},
               {"macs_dense", sizes.macs_dense},
               {"fatten", sizes.fatten},
               {"merge", sizes.merge == branch::Merge::kSum ? "sum" : "concat"},
               {"whole", sizes.whole},
               {"advice", branch::advice(report.learned, report.times)}};
  if (report.times) {
    json["ms"] = ms(report.times->branches);
    json["ms_ordinary"] = ms(report.times->ordinary);
    json["ordinary"] = report.times->ordinary.name;
    json["wire_bytes"] = report.times->branches.timeline.wire_bytes;
  }
  if (!report.learned) return json;
  const branch::LearnResult& result = *report.learned;
  json["top1"] = result.top1;
  json["top1_dense_control"] = result.top1_dense;
  json["top1_same_macs"] = result.top1_same_macs;
  json["top1_lost"] = result.top1_lost;
  json["macs_same"] = result.macs_same;
  json["seconds"] = result.seconds;
  return json;
}

std::string millions(int64_t count) { return fixed(static_cast<double>(count) / 1e6, 3) + " M"; }

void print_table(const branch::BranchReport& report) {
  const branch::BranchSizes& sizes = report.sizes;
  const branch::LearnResult learned = report.learned.value_or(branch::LearnResult{});
  const auto percent = [&](double top1) {
    return report.learned ? fixed(top1, 2) + " %" : std::string();
  };
  const auto time = [&](plan::Prediction branch::Comparison::*made) {
    return report.times ? fixed(ms((*report.times).*made), 1) + " ms" : std::string();
  };
  Table table({"network", "top-1", "parameters", "MACs", "predicted"});
  table.add({std::to_string(report.branches) + " branches", percent(learned.top1),
             millions(sizes.parameters), millions(sizes.macs),
             time(&branch::Comparison::branches)});
  table.add({"dense", percent(learned.top1_dense), millions(sizes.parameters_dense),
             millions(sizes.macs_dense), time(&branch::Comparison::ordinary)});
  if (report.learned) {
    table.add({"same work", percent(learned.top1_same_macs), "", millions(learned.macs_same), ""});
  }
  table.print();
  if (report.learned) {
    std::printf("one branch lost: top-1 %.2f %% at worst\n",
                *std::ranges::min_element(learned.top1_lost));
  }
  for (const std::string& layer : sizes.whole) {
    std::printf("whole in every branch: %s\n", layer.c_str());
  }
  if (!report.no_times.empty()) std::printf("no predicted times: %s\n", report.no_times.c_str());
  for (const std::string& line : branch::advice(report.learned, report.times))
    std::printf("%s\n", line.c_str());
}

Outcome branch_and_print(const BranchFlags& flags) {
  if (flags.train.model.model.empty()) return {Exit::kUsage, "a model is required"};
  SHOAL_OR_EXIT(const branch::LearnOptions options, Exit::kUsage, flags.resolve());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  std::function<Result<fit::JudgedData>()> open_data;
  if (!options.recipe.data.empty())
    open_data = [&] { return fit::open_judged_data(options.recipe); };
  NetworkLine line;
  const auto made = branch::report_branches(
      *device, model, options, flags, [&](size_t count) { return flags.cluster_for(count); },
      open_data,
      {.on_step = [&line](const branch::LearnStep& step) { line.show(step.network, step.step); },
       .on_note = [&line](const std::string& note) { line.note(note); },
       .cancel = cancel_on_signals()});
  return print_result(made, flags.train.json, to_json, print_table);
}

}  // namespace

void add_branch(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "branch", "Make a classifier of narrow branches, one for each machine",
      kExamples, branch_and_print);
  flags.add_to(command);
}

}  // namespace shoal::cli
