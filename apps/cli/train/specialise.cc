// shoal specialise: a small network for the classes that are seen now.
#include "shoal/catalog/specialise.h"

#include <filesystem>
#include <optional>
#include <string>

#include "../exit_codes.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/catalog/facts.h"
#include "shoal/models/model.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

using catalog::SpecialiseOptions;

constexpr const char* kExamples = R"(
Examples:
  shoal specialise lenet.onnx --data mnist --format idx --classes 0,3,5 -o special.onnx
  shoal specialise lenet.onnx --data mnist --format idx --classes 1,2,4 --cache features -o special.onnx
                                           features are computed once, for all classes to come
  shoal specialise small.onnx --general lenet.onnx --at head --data mnist --format idx --classes 0,3,5 \
               -o special.onnx             a small network in front of a larger one
  shoal specialise lenet.onnx --data mnist --format idx --classes 0,3,5 --controls -o special.onnx
                                           beside the time that all layers take to learn)";

struct SpecialiseFlags {
  TrainFlags train;
  SpecialiseOptions options;
  std::string general;

  void add_to(Command& command) {
    const FlagGroup special(command, "Specialising"), files(command, "Files");
    train.add_recipe_to(command);
    special.add_option("--classes", options.classes, "The classes that are seen now: 0,3,5")
        ->delimiter(',')
        ->required();
    special.add_setting("--other", options.other, "Share of images of other classes",
                        in_range(0.0, 0.9));
    special.add_setting("--at", options.at,
                        "The value whose features it reads; auto: after a third of the work; head: "
                        "before the last layer");
    special.add_option("--general", general,
                       "The model that answers where it is not sure (default: the model itself)");
    special.add_setting("--max-drop", options.max_drop,
                        "Points that the two together may lose, on held-out images",
                        not_negative());
    special.add_flag("--controls", options.controls,
                     "Compare with learning without a cache, and with learning of all layers");
    files.add_option("--cache", options.cache,
                     "A folder for features (default: like --out, .features)");
    files.add_option("--out,-o", train.options.out, "The ONNX file to write")->required();
  }

  Result<SpecialiseOptions> resolve() const {
    SpecialiseOptions all = options;
    SHOAL_ASSIGN(all.recipe, train.resolve());
    all.out = train.options.out;
    if (all.cache.empty()) {
      all.cache = std::filesystem::path(all.out).replace_extension(".features");
    }
    return all;
  }
};

Outcome specialise_and_print(const SpecialiseFlags& flags) {
  SHOAL_OR_EXIT(const SpecialiseOptions options, Exit::kUsage, flags.resolve());
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
  flags.add_to(command);
}

}  // namespace shoal::cli
