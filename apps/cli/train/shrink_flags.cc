// The flags of 'shoal shrink'. Bounds here are for --help; shrink::check() has the last word.
#include "shrink_flags.h"

#include <algorithm>

namespace shoal::cli {
namespace {

// For the methods that let the network learn before anything goes.
void add_learning_first(const FlagGroup& shrinking, ShrinkFlags& flags) {
  shrinking.add_setting(
      "--sparse-epochs", flags.options.sparse_epochs,
      "Of --epochs, for lasso, hoyer and dpruner: those before anything goes; 0 for a "
      "third",
      in_range(0, 1000));
  shrinking.add_setting("--strength", flags.options.strength,
                        "Of the penalty of lasso and hoyer; 0 for the usual one", not_negative());
}

void add_files(Command& command, ShrinkFlags& flags) {
  const FlagGroup files(command, "Files");
  files.add_option("--out,-o", flags.train.options.out, "The ONNX file to write")->required();
  files.add_flag("--resume", flags.options.resume,
                 "Go on with a run that was interrupted, if there is one");
  files.add_option("--recipe", flags.recipe, "Take what is not given here from this file, in TOML",
                   existing_file());
  files.add_option("--write-recipe", flags.write_recipe, "Write what it takes to repeat the run");
  files.add_option("--report", flags.train.report,
                   "Write networks, widths, the front and the sensitivity of layers to this HTML "
                   "file");
}

}  // namespace

void ShrinkFlags::add_to(Command& command) {
  command_ = &command;
  take(config::usual_shrink_recipe());
  train.add_recipe_to(command, TrainFlags::Source::kRecipeToo);
  const FlagGroup shrinking(command, "Shrinking");
  shrinking.add_setting(
      "--target", target,
      "What stays of macs, parameters, bytes or units: a share, or above 1 a number; "
      "or the milliseconds of a run on --device: ms=0.2, ms=0.5x for half of what it "
      "takes now");
  shrinking
      .add_setting(
          "--method", method,
          "What goes first: taylor, magnitude or random; lasso, hoyer or dpruner, which "
          "learn that first; depth for residual blocks; svd or tucker for factors in place of "
          "layers; with \",int8\" behind it, 8-bit weights and activations at last, and bytes are "
          "those of the file")
      ->check([](const std::string& name) -> std::string {
        const std::vector<std::string> known = config::shrink_methods();
        return std::ranges::find(known, name) != known.end() ? "" : "no such method: " + name;
      });
  shrinking.add_setting("--blocks", options.blocks,
                        "So many residual blocks go first, then what --method says",
                        in_range(0, 1000));
  add_learning_first(shrinking, *this);
  shrinking.add_option(
      "--train-device", train_device,
      "What trains, where that is not --device, on which times are measured: opencl:0");
  shrinking.add_setting("--int8-epochs", options.int8_epochs,
                        "With int8: learn to be rounded for so many epochs, at a tenth of the rate",
                        in_range(0, 1000));
  shrinking.add_setting(
      "--teacher", teacher,
      "Whose answers it learns, too: dense (the model), control (the dense control, "
      "trained first) or none",
      one_of({"dense", "control", "none"}));
  shrinking.add_setting("--distill", distill, "Share of the loss that is about the teacher",
                        in_range(0.01, 1.0));
  shrinking.add_setting("--temperature", temperature, "At which answers are compared", positive());
  shrinking.add_setting("--distill-features", options.distill_features,
                        "How much it counts, besides, what the teacher computes at the end of each "
                        "size of its images",
                        not_negative());
  shrinking.add_flag("--controls", options.controls,
                     "Train the smaller network from scratch and after random removal, too");
  shrinking.add_flag("--no-norms", no_norms,
                     "Learn without batch norms behind convolutions that were given without");
  shrinking.add_flag("--no-refit", no_refit,
                     "Leave weights as they were where units that they read are removed");
  shrinking.add_setting("--seconds", options.measure_seconds,
                        "To measure the time of each network for", not_negative());
  shrinking.add_option("--max-drop", options.max_drop,
                       "Where the target costs more points, remove less, and end with exit code 9",
                       not_negative());
  shrinking.add_option(
      "--variants", variants,
      "So many widths that share their weights, from the network to the target; --out "
      "is then a folder",
      in_range(2, 9));
  add_files(command, *this);
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
  SHOAL_TRY(config::read_shrink_recipe(
      recipe, read, [&](const std::string& flag) { return command_->count(flag) > 0; }));
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
