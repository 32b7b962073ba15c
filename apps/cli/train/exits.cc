// shoal exits: a classifier that may answer early.
#include "apps/commands/training/exits.h"

#include "../exit_codes.h"
#include "learning.h"
#include "shoal/engine/session/model.h"
#include "shoal/shrink/exits/learning/add_exits.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal exits resnet56.onnx --at auto:2 --data cifar10 --format cifar --flip --shift 4 -o multi.onnx
  shoal exits lenet.onnx --at conv1.tanh.pool,conv2.tanh.pool --data mnist --format idx --head pool -o multi.onnx
  shoal exits model.onnx --data photos --format folder --joint 5 --joint-rate 0.005 -o multi.onnx
                                           then the whole network learns with its exits
  shoal exits model.onnx --data photos --format folder --precision 0.95 --stages folder -o multi.onnx
  shoal eval multi.onnx --exits calibrated --data photos --format folder     how early it answers)";

struct ExitsFlags : exits::ExitsSettings {
  TrainFlags train;
};

Outcome add_and_print(const ExitsFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions recipe, Exit::kUsage, flags.train.resolve());
  SHOAL_OR_EXIT(const exits::ExitsOptions options, Exit::kUsage, resolve(flags, std::move(recipe)));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  const auto result =
      exits::add_exits(*device, model, data, options, line.callbacks<exits::ExitsCallbacks>());
  return print_result(result, flags.train.json);
}

}  // namespace

void add_exits(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "exits", "Let a classifier answer early where it can", kExamples, add_and_print);
  flags.train.add_recipe_to(command);
  command.add(under("Exits", exit_settings(flags)));
  command.add(under("Calibration", calibration_settings(flags)));
  const FlagGroup files(command, "Files");
  files.add_option("--out,--output,-o", flags.options.out, "The ONNX file to write")->required();
  files.add_option("--stages", flags.options.stages,
                   "A folder for the stages as files of their own");
}

}  // namespace shoal::cli
