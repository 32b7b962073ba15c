// shoal exits: a classifier that may answer early. Bounds of flags are for --help; exits::check()
// has the last word.
#include "../exit_codes.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/exits/add_exits.h"
#include "shoal/exits/exit_words.h"
#include "shoal/exits/facts.h"
#include "shoal/models/model.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal exits resnet56.onnx --at auto:2 --data cifar10 --format cifar --flip --shift 4 -o multi.onnx
  shoal exits lenet.onnx --at pool1,pool2 --data mnist --format idx --head pool -o multi.onnx
  shoal exits model.onnx --data photos --format folder --joint 5 --joint-rate 0.005 -o multi.onnx
                                           then the whole network learns with its exits
  shoal exits model.onnx --data photos --format folder --precision 0.95 --stages folder -o multi.onnx
  shoal eval multi.onnx --exits calibrated --data photos --format folder     how early it answers)";

struct ExitsFlags {
  TrainFlags train;
  exits::ExitsOptions options;  // what needs no further reading
  std::vector<std::string> at = {"auto"};
  std::string head = "conv";
  double max_drop = -1;  // negative: thresholds are for a precision

  void add_to(Command& command);
  // All options. Saves the preset if --save-preset was given. kInvalidArgument for "auto:x".
  Result<exits::ExitsOptions> resolve() const;
};

void ExitsFlags::add_to(Command& command) {
  const FlagGroup exits(command, "Exits"), calibration(command, "Calibration"),
      files(command, "Files");
  train.options.loss.distill = 0;
  train.options.loss.temperature = 4;
  train.add_recipe_to(command);
  exits.add_setting("--at", at, "Values to add exits at, or auto:2 for two at even shares of work")
      ->delimiter(',');
  exits.add_setting("--head", head,
                    "What an exit has before its last layer: conv (strided convolutions) or pool",
                    one_of({"conv", "pool"}));
  exits.add_flag("--aggregate,!--no-aggregate", options.head.aggregate,
                 "Exits read the features of the exit before them, too (default)");
  exits.add_setting("--joint", options.joint_epochs,
                    "Epochs in which the whole network learns, after the exits have learned alone",
                    in_range(0, 1 << 20));
  exits.add_option("--joint-rate", options.joint_rate, "Learning rate in these (default: --rate)",
                   positive());
  exits
      .add_option("--weights", options.joint_weights,
                  "How much each exit counts in these, the last classifier last (default: 1)")
      ->delimiter(',');
  exits.add_option("--self-distill", options.self_distill,
                   "Share of an exit's loss in these that is about the last classifier's answers",
                   in_range(0.0, 1.0));
  exits.add_option("--distill", train.options.loss.distill,
                   "Share of the loss that is about the answers of the model as it was given",
                   in_range(0.0, 1.0));
  exits.add_setting("--temperature", train.options.loss.temperature,
                    "At which answers are compared", positive());
  exits.add_option("--focal", train.options.loss.focal, "Let what is known well count less: 2",
                   not_negative());
  exits.add_setting("--feature-cache", train.feature_cache_mb,
                    "MB for the features of images that are not augmented, computed once",
                    in_range(0, 1 << 20));
  Option* wanted =
      calibration.add_setting("--precision", options.wanted.precision,
                              "Share of right answers of an exit", in_range(0.01, 0.9999));
  calibration.add_setting("--risk", options.wanted.risk, "That it does not hold on other images",
                          in_range(0.0001, 0.5));
  calibration
      .add_option("--max-drop", max_drop,
                  "Instead: lose at most so many points against the last classifier",
                  not_negative())
      ->excludes(wanted);
  files.add_option("--out,-o", options.out, "The ONNX file to write")->required();
  files.add_option("--stages", options.stages, "A folder for the stages as files of their own");
}

Result<exits::ExitsOptions> ExitsFlags::resolve() const {
  exits::ExitsOptions all = options;
  SHOAL_TRY(exits::set_places(at, all));
  SHOAL_ASSIGN(all.recipe, train.resolve());
  all.recipe.checkpoint.clear();
  all.recipe.out = all.out;
  using Kind = exits::HeadOptions::Kind;
  all.head.kind = head == "pool" ? Kind::kPool : Kind::kConv;
  all.head.seed = all.recipe.seed;
  if (max_drop >= 0) all.max_drop = max_drop;
  return all;
}

Outcome add_and_print(const ExitsFlags& flags) {
  SHOAL_OR_EXIT(const exits::ExitsOptions options, Exit::kUsage, flags.resolve());
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
  flags.add_to(command);
}

}  // namespace shoal::cli
