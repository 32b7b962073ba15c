// shoal fit-cluster: a model that meets a time on several devices.
#include "shoal/fit_cluster/fit_cluster.h"

#include <cstdio>
#include <string>
#include <vector>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "print_result.h"
#include "shoal/base/atomic_file.h"
#include "shoal/report/fit_cluster_page.h"
#include "shrink_progress.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

using fit_cluster::Attempt;
using fit_cluster::FitResult;

constexpr const char* kExamples = R"(
Examples:
  shoal fit-cluster resnet56.onnx --workers 4xnexus5/wifi-43.8 --target ms=0.5x --max-drop 1 \
                    --data cifar10 --format cifar --flip --shift 4 -o fitted.onnx
  shoal fit-cluster model.onnx --workers 3xpi4/gigabit --target ms=40 --data photos --format folder \
                    --report fitted.html -o fitted.onnx
  shoal fit-cluster model.onnx --workers 8xpi3/wifi-94 --target ms=0.5x --try branches --data photos \
                    --format folder -o fitted.onnx
                                           straight to one narrow branch for each device)";

struct FitFlags {
  TrainFlags train;
  fit_cluster::FitOptions options;
  std::string target = "ms=0.5x";
  std::vector<std::string> ways;
};

void add_to(FitFlags& f, Command& command) {
  f.train.options = shrink::usual_recipe();
  f.train.add_recipe_to(command);
  command.add_option("--workers", f.options.cluster, "The devices and their network")->required();
  command.add_setting("--target", f.target, "ms=40, or ms=0.5x for half of the best plan's time");
  command.add_setting("--max-drop", f.options.max_drop, "Points of accuracy that it may cost",
                      not_negative());
  train::Loss& loss = f.train.options.loss;
  command.add_setting("--distill", loss.distill, "Share of the loss that is about the teacher",
                      in_range(0.0, 1.0));
  command.add_setting("--temperature", loss.temperature, "At which answers are compared",
                      positive());
  command.add_flag("--keep-depth", f.options.keeps_depth,
                   "Branches have all residual blocks, and are narrower for it");
  command
      .add_option(
          "--try", f.ways,
          "After the plan, only these: messages, smaller, clusters, branches (default: all)")
      ->delimiter(',')
      ->check(one_of({"messages", "smaller", "clusters", "branches"}));
  command.add_option("--out,-o", f.options.out, "The ONNX file to write")->required();
  command.add_option("--report", f.train.report, "Write what was tried to this HTML file");
}

Json to_json(const FitResult& result) {
  Json attempts = Json::array();
  for (const Attempt& attempt : result.attempts) {
    attempts.push_back({{"name", attempt.name},
                        {"ms", attempt.ms},
                        {"bytes", attempt.bytes},
                        {"macs", attempt.macs},
                        {"top1", optional_json(attempt.top1)},
                        {"top1_dense_control", optional_json(attempt.top1_control)},
                        {"fast_enough", attempt.fast_enough},
                        {"accurate_enough", attempt.accurate_enough},
                        {"note", attempt.note}});
  }
  return {{"met", result.met()},
          {"ms_target", result.target_ms},
          {"top1_before", result.top1_before},
          {"attempts", attempts}};
}

void print_table(const FitResult& result) {
  Table table({"attempt", "ms", "bytes", "MACs", "top-1", "control", ""});
  for (const Attempt& attempt : result.attempts) {
    table.add({attempt.name, fixed(attempt.ms, 2), in_bytes(static_cast<long long>(attempt.bytes)),
               report::macs_of(attempt), report::top1_of(attempt), report::control_of(attempt),
               report::verdict_of(attempt)});
  }
  table.print();
  std::printf("wanted: %.2f ms; top-1 of the model as given: %.2f %%\n", result.target_ms,
              result.top1_before);
}

Outcome fit_and_print(const FitFlags& flags) {
  fit_cluster::FitOptions options = flags.options;
  SHOAL_OR_EXIT(options.recipe, Exit::kUsage, flags.train.resolve());
  options.recipe.checkpoint.clear();
  shrink::ShrinkOptions target;
  if (const Status set = shrink::set_target(flags.target, target); !set.ok()) {
    return fail(Exit::kUsage, set);
  }
  if (!target.time) return {Exit::kUsage, "--target is a time: ms=40 or ms=0.5x"};
  options.time = *target.time;
  if (!flags.ways.empty()) options.ways.clear();
  for (const std::string& way : flags.ways) options.ways.insert(*fit_cluster::find_way(way));
  if (const Status valid = fit_cluster::check(options); !valid.ok()) {
    return fail(Exit::kUsage, valid);
  }
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  const auto result =
      fit_cluster::fit({*device, *device}, model, data, options, shrink_callbacks(line));
  if (result.ok() && !flags.train.report.empty()) {
    const Status written = write_file(
        flags.train.report, report::fit_cluster_page(
                                flags.train.model.model + " on " + flags.options.cluster, *result));
    if (!written.ok()) return fail(Doing::kTrain, written);
  }
  const Outcome printed = print_result(result, flags.train.json, to_json, print_table);
  if (!result.ok() || result->met()) return printed;
  return {Exit::kAccuracy, "nothing meets the target; no file was written"};
}

}  // namespace

void add_fit_cluster(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "fit-cluster", "Make a model meet a time on several devices",
                  kExamples, fit_and_print);
  add_to(flags, command);
}

}  // namespace shoal::cli
