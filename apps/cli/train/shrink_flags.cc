#include "shrink_flags.h"

namespace shoal::cli {

void ShrinkFlags::add_to(Command& command) {
  take(config::usual_shrink_recipe());
  train.given = command.given();
  train.add_recipe_to(command, TrainFlags::Source::kRecipeToo);
  const FlagGroup shrinking(command, "Shrinking"), files(command, "Files");
  shrinking.add(settings_of(*this));
  shrinking.add(Setting("variants", variants,
                        "So many widths that share their weights, from the network to the target; "
                        "--out is then a folder")
                    .in(2, 9));
  files.add_option("--out,--output,-o", train.options.out, "The ONNX file to write")->required();
  files.add_flag("--resume", options.resume,
                 "Go on with a run that was interrupted, if there is one");
  files.add_option("--recipe", recipe, "Take what is not given here from this file, in TOML",
                   existing_file());
  files.add_option("--write-recipe", write_recipe, "Write what it takes to repeat the run");
  files.add_option("--report,--html", train.report,
                   "Write networks, widths, the front and the sensitivity of layers to this HTML "
                   "file");
}

config::ShrinkRecipe ShrinkFlags::all() const {
  return {train.model.model, train.model, train, *this, preprocess_};
}

void ShrinkFlags::take(const config::ShrinkRecipe& all) {
  train.model.model = all.model;
  static_cast<config::DeviceSettings&>(train.model) = all.device;
  static_cast<config::TrainingSettings&>(train) = all.training;
  static_cast<config::ShrinkSettings&>(*this) = all.shrink;
  preprocess_ = all.preprocess;
}

Status ShrinkFlags::take_recipe() {
  config::ShrinkRecipe read = all();
  if (recipe.empty()) return require_source(read);
  SHOAL_TRY(config::read_shrink_recipe(recipe, read, train.given));
  take(read);
  return {};
}

Result<shrink::ShrinkOptions> ShrinkFlags::resolve() const {
  config::ShrinkRecipe given = all();
  SHOAL_ASSIGN(given.preprocess, train.preprocess.resolve(preprocess_));
  SHOAL_ASSIGN(shrink::ShrinkOptions resolved, config::resolve(given));
  resolved.sensitivity = !train.report.empty();
  return resolved;
}

}  // namespace shoal::cli
