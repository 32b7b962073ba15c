// shoal fit-cluster: a model that meets a time on several devices.
#include "apps/commands/training/fit_cluster.h"

#include "../exit_codes.h"
#include "learning.h"
#include "shoal/report/pages/search_page.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal fit-cluster resnet56.onnx --workers 4xnexus5/wifi-43.8 --target ms=0.5x --max-drop 1 \
                    --data cifar10 --format cifar --flip --shift 4 -o fitted.onnx
  shoal fit-cluster model.onnx --workers 3xpi4/gigabit --target ms=40 --data photos --format folder \
                    --report fitted.html -o fitted.onnx
  shoal fit-cluster model.onnx --workers 8xpi3/wifi-94 --target ms=0.5x --try branches --data photos \
                    --format folder -o fitted.onnx
                                           straight to one narrow branch for each device)";

struct FitFlags : fit_cluster::FitSettings {
  TrainFlags train;
};

Outcome fit_and_print(const FitFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions recipe, Exit::kUsage, flags.train.resolve());
  SHOAL_OR_EXIT(const fit_cluster::FitOptions options, Exit::kUsage,
                resolve(flags, std::move(recipe)));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  const auto result =
      fit_cluster::fit({*device, *device}, model, data, options, shrink_callbacks(line));
  const auto page = [&](const fit_cluster::FitResult& made) {
    return report::fit_cluster_page(flags.train.model.model + " on " + options.cluster, made);
  };
  const Outcome printed = print_result(result, flags.train.json, flags.train.report, page);
  if (!result.ok() || result->met()) return printed;
  return {Exit::kAccuracy, "nothing meets the target; no file was written"};
}

}  // namespace

void add_fit_cluster(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "fit-cluster", "Make a model meet a time on several devices",
                  kExamples, fit_and_print);
  flags.train.options = shrink::usual_recipe();
  flags.train.add_recipe_to(command);
  command.add(settings_of(flags));
  command.option("--workers")->required();
  command.add_option("--out,--output,-o", flags.options.out, "The ONNX file to write")->required();
  command.add_option("--report,--html", flags.train.report,
                     "Write what was tried to this HTML file");
}

}  // namespace shoal::cli
