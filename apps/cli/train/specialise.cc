// shoal specialise: a small network for the classes that are seen now.
#include "shoal/catalog/specialise.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cancel_on_signals.h"
#include "network_line.h"
#include "print_result.h"
#include "shoal/models/model.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

using catalog::SpecialiseOptions;
using catalog::SpecialiseResult;

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

double share(double part, int64_t whole) {
  return whole > 0 ? part / static_cast<double>(whole) : 0;
}

Json to_json(const SpecialiseResult& result) {
  Json json = {{"top1", result.top1},
               {"top1_general", result.top1_general},
               {"top1_cascade", result.cascade.top1},
               {"cascade_cost", share(result.cascade.mean_macs, result.macs_general)},
               {"answered", result.cascade.share[0]},
               {"precision", result.cascade.precision[0]},
               {"threshold", result.threshold},
               {"held_out_top1_cascade", result.held_out.top1},
               {"held_out_cascade_cost", share(result.held_out.mean_macs, result.macs_general)},
               {"at", result.at},
               {"macs", result.macs},
               {"macs_general", result.macs_general},
               {"warm", result.warm},
               {"seconds_features", result.seconds_features},
               {"seconds_head", result.seconds_head},
               {"seconds_rest", result.seconds_rest},
               {"seconds", result.seconds_features + result.seconds_head}};
  if (!result.controls) return json;
  json["seconds_cold"] = result.seconds_features + result.seconds_head;
  json["seconds_warm"] = result.controls->seconds_warm;
  json["seconds_full"] = result.controls->seconds_full;
  json["top1_full"] = result.controls->top1_full;
  json["weights_error"] = result.controls->weights_error;
  return json;
}

void print_table(const SpecialiseResult& result) {
  Table table({"network", "top-1", "MACs", "answers"});
  const auto millions = [](double macs) { return fixed(macs / 1e6, 3) + " M"; };
  table.add({"special", fixed(result.top1, 2) + " %", millions(static_cast<double>(result.macs)),
             fixed(100 * result.cascade.share[0], 1) + " %"});
  table.add({"general", fixed(result.top1_general, 2) + " %",
             millions(static_cast<double>(result.macs_general)),
             fixed(100 * result.cascade.share[1], 1) + " %"});
  table.add(
      {"cascade", fixed(result.cascade.top1, 2) + " %", millions(result.cascade.mean_macs), ""});
  table.print();
  std::printf("features: %.2f s%s, head: %.2f s\n", result.seconds_features,
              result.warm ? " from the cache" : "", result.seconds_head);
  if (!result.controls) return;
  std::printf("from the cache: %.2f s; all layers: %.2f s, top-1 %.2f %%; weights differ by %.1e\n",
              result.controls->seconds_warm, result.controls->seconds_full,
              result.controls->top1_full, result.controls->weights_error);
}

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
  return print_result(result, flags.train.json, to_json, print_table);
}

}  // namespace

void add_specialise(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "specialise", "Make a small network for a few of a model's classes",
                  kExamples, specialise_and_print);
  flags.add_to(command);
}

}  // namespace shoal::cli
