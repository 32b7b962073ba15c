#include "apps/commands/training/shrink_recipe.h"

#include <algorithm>
#include <utility>

#include "apps/commands/image_settings.h"
#include "apps/commands/recipe_file.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::config {
namespace {

constexpr std::string_view kInt8 = ",int8";

// All of them, with the name of the model and what only presets say of images.
SettingList settings_of(ShrinkRecipe& recipe, ImageSettings& image) {
  return joined({{{"model", recipe.model, ""}},
                 recipe_settings(recipe.training),
                 settings_of(recipe.device, /*learns=*/true),
                 settings_of(recipe.shrink),
                 settings_of(image),
                 {Setting("channels", image.image.channels, "").in(0, 3)}});
}

ImageSettings in_words(const Preprocess& image) {
  return {.image = image, .layout = image.nhwc ? "nhwc" : "nchw"};
}

void take(const ImageSettings& image, ShrinkRecipe& recipe) {
  recipe.preprocess = image.image;
  recipe.preprocess.nhwc = image.layout == "nhwc";
}

Status check_method(const std::string& name) {
  const std::vector<std::string> known = shrink_methods();
  return std::ranges::find(known, name) != known.end() ? Status()
                                                       : invalid("no such method: " + name);
}

}  // namespace

std::vector<std::string> shrink_methods() {
  std::vector<std::string> all;
  for (const char* first :
       {"taylor", "magnitude", "random", "lasso", "hoyer", "dpruner", "depth", "svd", "tucker"}) {
    all.emplace_back(first);
    all.push_back(first + std::string(kInt8));
  }
  return all;
}

SettingList settings_of(ShrinkSettings& s) {
  shrink::ShrinkOptions& o = s.options;
  return {
      {"target", s.target,
       "What stays of macs, parameters, bytes or units: a share, or above 1 a number; or the "
       "milliseconds of a run on --device: ms=0.2, ms=0.5x for half of what it takes now"},
      Setting("method", s.method,
              "What goes first: taylor, magnitude or random; lasso, hoyer or dpruner, which learn "
              "that first; depth for residual blocks; svd or tucker for factors in place of "
              "layers; with \",int8\" behind it, 8-bit weights and activations at last, and bytes "
              "are those of the file")
          .checked(check_method),
      Setting("blocks", o.blocks, "So many residual blocks go first, then what --method says")
          .in(0, 1000)
          .showing_default(),
      Setting(
          "sparse-epochs", o.sparse_epochs,
          "Of --epochs, for lasso, hoyer and dpruner: those before anything goes; 0 for a third")
          .in(0, 1000)
          .showing_default(),
      Setting("strength", o.strength, "Of the penalty of lasso and hoyer; 0 for the usual one")
          .not_negative()
          .showing_default(),
      {"train-device", s.train_device,
       "What trains, where that is not --device, on which times are measured: opencl:0"},
      Setting("int8-epochs", o.int8_epochs,
              "With int8: learn to be rounded for so many epochs, at a tenth of the rate")
          .in(0, 1000)
          .showing_default(),
      Setting("teacher", s.teacher,
              "Whose answers it learns, too: dense (the model), control (the dense control, "
              "trained first) or none")
          .one_of({"dense", "control", "none"}),
      Setting("distill", s.distill, "Share of the loss that is about the teacher").in(0.01, 1),
      Setting("temperature", s.temperature, "At which answers are compared").positive(),
      Setting("distill-features", o.distill_features,
              "How much it counts, besides, what the teacher computes at the end of each size of "
              "its images")
          .not_negative()
          .showing_default(),
      {"controls", o.controls,
       "Train the smaller network from scratch and after random removal, too"},
      {"no-norms", s.no_norms,
       "Learn without batch norms behind convolutions that were given without"},
      {"no-refit", s.no_refit, "Leave weights as they were where units that they read are removed"},
      Setting("seconds", o.measure_seconds, "To measure the time of each network for").in(0, 3600),
      Setting("max-drop", o.max_drop,
              "Where the target costs more points, remove less, and end with exit code 9")
          .in(0, 100)};
}

DeviceSettings ShrinkRecipe::training_device() const {
  DeviceSettings settings = device;
  if (!shrink.train_device.empty()) settings.device = shrink.train_device;
  return settings;
}

DeviceSettings ShrinkRecipe::measured_device() const {
  DeviceSettings settings = device;
  settings.tune = "fast";
  return settings;
}

ShrinkRecipe usual_shrink_recipe() {
  ShrinkRecipe recipe;
  recipe.training.options = shrink::usual_recipe();
  recipe.device.profiles = true;
  // Kernels that are chosen by measuring are not the same each time, and round differently.
  recipe.device.tune = "off";
  return recipe;
}

Result<shrink::ShrinkOptions> resolve(const ShrinkRecipe& recipe) {
  const ShrinkSettings& words = recipe.shrink;
  shrink::ShrinkOptions all = words.options;
  SHOAL_TRY(shrink::set_target(words.target, all));
  all.device = recipe.device.profile();
  all.int8 = words.method.ends_with(kInt8);
  const size_t behind = all.int8 ? kInt8.size() : 0;
  all.importance = *shrink::find_importance(
      std::string_view(words.method).substr(0, words.method.size() - behind));
  all.teacher = *shrink::find_teacher(words.teacher);
  all.norms = !words.no_norms;
  all.refit = !words.no_refit;
  all.out = recipe.training.options.out;
  all.steps = std::filesystem::path(all.out).replace_extension(".steps");
  all.recipe = resolve(recipe.training, recipe.model, recipe.device);
  all.recipe.preprocess = recipe.preprocess;
  all.recipe.checkpoint.clear();
  all.recipe.loss.distill = all.teacher == shrink::Teacher::kNone ? 0 : words.distill;
  all.recipe.loss.temperature = words.temperature;
  return all;
}

Status require_source(const ShrinkRecipe& recipe) {
  const fit::TrainingOptions& options = recipe.training.options;
  for (const auto& [what, missing] :
       {std::pair("a model", recipe.model.empty()), std::pair("--data", options.data.empty()),
        std::pair("--format", options.format.empty())}) {
    if (missing) return invalid(std::string(what) + " is required, here or in the recipe");
  }
  return {};
}

Status parse_shrink_recipe(std::string_view text, const std::string& name, ShrinkRecipe& recipe,
                           const std::set<std::string_view>& others) {
  ImageSettings image = in_words(recipe.preprocess);
  SHOAL_TRY(parse_recipe(text, name, settings_of(recipe, image), others));
  take(image, recipe);
  return require_source(recipe);
}

Status read_shrink_recipe(const std::filesystem::path& path, ShrinkRecipe& recipe,
                          const GivenFlags& given) {
  ImageSettings image = in_words(recipe.preprocess);
  SettingList all = settings_of(recipe, image);
  for (Setting& setting : all) {
    if (setting.name == "channels") continue;  // of presets only
    setting.given = given(setting.name == "model" ? setting.name : "--" + setting.name);
  }
  SHOAL_TRY(read_recipe(path, all));
  take(image, recipe);
  return require_source(recipe);
}

Result<std::string> to_recipe(ShrinkRecipe recipe, const shrink::ShrinkOptions& options,
                              int threads) {
  recipe.device.threads = threads;
  recipe.training.options.optimizer.rate = fit::trainer_options(options.recipe).optimizer.rate;
  ImageSettings image = in_words(options.recipe.preprocess);
  return to_recipe(settings_of(recipe, image));
}

}  // namespace shoal::config
