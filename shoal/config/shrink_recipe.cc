#include "shoal/config/shrink_recipe.h"

#include <utility>

#include "shoal/config/recipe_file.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/fit/derived_options.h"

namespace shoal::config {
namespace {

constexpr std::string_view kInt8 = ",int8";

// All of them. `layout` stands for Preprocess::nhwc.
std::vector<Setting> settings_of(ShrinkRecipe& recipe, std::string& layout) {
  DeviceSettings& device = recipe.device;
  TrainingSettings& train = recipe.training;
  fit::TrainingOptions& o = train.options;
  ShrinkSettings& shrink = recipe.shrink;
  Preprocess& image = recipe.preprocess;
  std::vector<std::string> instruction_sets;
  for (std::string_view set : cpu::instruction_sets()) instruction_sets.emplace_back(set);
  instruction_sets.emplace_back();  // the best
  return {{"model", &recipe.model},
          {"data", &o.data},
          {"format", &o.format},
          {"limit", &o.limit},
          {"hold-out", &o.hold_out},
          {"damaged", &train.damaged, {"refuse", "skip"}},
          {"device", &device.device},
          {"train-device", &shrink.train_device},
          {"threads", &device.threads, {}, 0, 1024},
          {"tune", &device.tune, {"off", "fast", "full"}},
          {"instructions", &device.instructions, instruction_sets},
          {"kernel", &device.kernel},
          {"target", &shrink.target},
          {"method", &shrink.method, shrink_methods()},
          {"blocks", &shrink.options.blocks},
          {"sparse-epochs", &shrink.options.sparse_epochs},
          {"strength", &shrink.options.strength},
          {"int8-epochs", &shrink.options.int8_epochs},
          {"teacher", &shrink.teacher, {"dense", "control", "none"}},
          {"distill", &shrink.distill, {}, 0.01, 1},
          {"temperature", &shrink.temperature},
          {"distill-features", &shrink.options.distill_features},
          {"no-norms", &shrink.no_norms},
          {"no-refit", &shrink.no_refit},
          {"controls", &shrink.options.controls},
          {"seconds", &shrink.options.measure_seconds, {}, 0, 3600},
          {"max-drop", &shrink.options.max_drop, {}, 0, 100},
          {"epochs", &o.epochs},
          {"batch", &o.batch, {}, 1, 4096},
          {"seed", &o.seed},
          {"optimizer", &train.optimizer, {"sgd", "adam", "adamw"}},
          {"rate", &o.optimizer.rate},
          {"momentum", &o.optimizer.momentum},
          {"nesterov", &o.optimizer.nesterov},
          {"weight-decay", &o.optimizer.weight_decay},
          {"clip", &o.optimizer.max_norm},
          {"schedule", &train.schedule, {"constant", "step", "cosine"}},
          {"warm-up", &o.warm_up},
          {"drop-every", &o.drop_every},
          {"drop", &o.drop},
          {"shift", &o.augment.shift, {}, 0, 1 << 14},
          {"flip", &o.augment.flip},
          {"random-crop", &o.augment.crop},
          {"noise", &o.augment.noise},
          {"resize", &image.resize, {}, 0, 1 << 14},
          {"crop", &image.crop, {}, 0, 1 << 14},
          {"stretch", &image.stretch},
          {"channels", &image.channels, {}, 0, 3},
          {"mean", &image.mean},
          {"std", &image.std},
          {"scale", &image.scale},
          {"bgr", &image.bgr},
          {"layout", &layout, {"nchw", "nhwc"}}};
}

std::string layout_of(const Preprocess& image) { return image.nhwc ? "nhwc" : "nchw"; }

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

fit::TrainingOptions resolve(const TrainingSettings& settings, const std::string& model,
                             const DeviceSettings& device) {
  fit::TrainingOptions all = settings.options;
  all.model = model;
  all.memory_bytes = device.memory_limit();
  all.feature_cache_bytes = settings.feature_cache_mb * 1'000'000;
  all.damaged = settings.damaged == "skip" ? Damaged::kSkip : Damaged::kRefuse;
  all.optimizer.rule = *train::find_rule(settings.optimizer);
  all.schedule = *train::find_schedule(settings.schedule);
  if (all.checkpoint.empty()) {
    all.checkpoint = std::filesystem::path(all.out).replace_extension(".safetensors");
  }
  return all;
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
  std::string layout = layout_of(recipe.preprocess);
  SHOAL_TRY(parse_recipe(text, name, settings_of(recipe, layout), others));
  recipe.preprocess.nhwc = layout == "nhwc";
  return require_source(recipe);
}

Status read_shrink_recipe(const std::filesystem::path& path, ShrinkRecipe& recipe,
                          const std::function<bool(const std::string& flag)>& given) {
  std::string layout = layout_of(recipe.preprocess);
  std::vector<Setting> all = settings_of(recipe, layout);
  for (Setting& setting : all) {
    if (setting.name == "channels") continue;  // of presets only
    const std::string name(setting.name);
    setting.given = given(name == "model" ? name : "--" + name);
  }
  SHOAL_TRY(read_recipe(path, all));
  recipe.preprocess.nhwc = layout == "nhwc";
  return require_source(recipe);
}

Result<std::string> to_recipe(ShrinkRecipe recipe, const shrink::ShrinkOptions& options,
                              int threads) {
  recipe.device.threads = threads;
  recipe.training.options.optimizer.rate = fit::trainer_options(options.recipe).optimizer.rate;
  recipe.preprocess = options.recipe.preprocess;
  std::string layout = layout_of(recipe.preprocess);
  return to_recipe(settings_of(recipe, layout));
}

}  // namespace shoal::config
