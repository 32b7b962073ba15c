// shoal specialise: a small network for the classes that are seen now.
#include <optional>
#include <string>

#include "../exit_codes.h"
#include "apps/commands/catalog/catalog.h"
#include "learning.h"
#include "shoal/engine/session/model.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal specialise lenet.onnx --data mnist --format idx --classes 0,3,5 -o special.onnx
  shoal specialise lenet.onnx --data mnist --format idx --classes 1,2,4 --cache features -o special.onnx
                                           features are computed once, for all classes to come
  shoal specialise small.onnx --general lenet.onnx --at head --data mnist --format idx --classes 0,3,5 \
               -o special.onnx             a small network in front of a larger one
  shoal specialise lenet.onnx --data mnist --format idx --classes 0,3,5 --controls -o special.onnx
                                           beside the time that all layers take to learn)";

struct SpecialiseFlags : catalog::SpecialiseSettings {
  TrainFlags train;
};

Outcome specialise_and_print(const SpecialiseFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions recipe, Exit::kUsage, flags.train.resolve());
  const catalog::SpecialiseOptions options = resolve(flags, std::move(recipe));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.train.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  std::optional<Model> general;
  if (!flags.general.empty()) {
    SHOAL_OR_EXIT(general, Exit::kModel, open_model_with_warning(flags.general));
  }
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  const fit::TrainingCallbacks callbacks{
      .on_step = [&line](const fit::StepReport& step) { line.show("learns", step); },
      .on_note = [&line](const std::string& note) { line.note(note); },
      .cancel = cancel_on_signals()};
  const auto result =
      catalog::specialise(*device, model, general ? &*general : nullptr, data, options, callbacks);
  return print_result(result, flags.train.json);
}

}  // namespace

void add_specialise(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "specialise", "Make a small network for a few of a model's classes",
                  kExamples, specialise_and_print);
  flags.train.add_recipe_to(command);
  command.add(under("Specialising", settings_of(flags)));
  command.option("--classes")->required();
  const FlagGroup files(command, "Files");
  files.add_option("--cache", flags.options.cache,
                   "A folder for features (default: like --out, .features)");
  files.add_option("--out,--output,-o", flags.train.options.out, "The ONNX file to write")
      ->required();
}

}  // namespace shoal::cli
