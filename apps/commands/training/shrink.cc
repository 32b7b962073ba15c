#include "apps/commands/training/shrink.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "apps/commands/model_settings.h"
#include "apps/commands/recipe_file.h"
#include "shoal/engine/inputs/npy.h"
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

namespace shoal::shrink {
namespace {

Json json_of(const Figures& one) {
  return {{"ms", one.ms}, {"macs", one.size.macs}, {"top1", one.top1}};
}

Json json_of(const GroupLeft& group) {
  return {{"weights", group.weights},
          {"axis", group.axis},
          {"before", group.before},
          {"left", group.left}};
}

Json json_of(const RefusedAxis& axis) {
  return {{"weights", axis.weights},
          {"axis", axis.axis},
          {"indices", axis.indices},
          {"reason", axis.reason}};
}

Json json_of(const GroupSensitivity& group) {
  return {{"weights", group.weights},
          {"axis", group.axis},
          {"units", group.units},
          {"top1", group.top1}};
}

Json json_of(const BlockReport& block) {
  return {{"weights", block.weights},
          {"row", block.row},
          {"column", block.column},
          {"sparse_rows", block.rows},
          {"sparse_columns", block.columns}};
}

template <class T>
Json json_of(const std::vector<T>& all) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(json_of(one));
  return list;
}

Json json_of(const Sensitivity& sensitivity) {
  return {{"top1", sensitivity.top1},
          {"examples", sensitivity.examples},
          {"seconds", sensitivity.seconds},
          {"groups", json_of(sensitivity.groups)}};
}

Json json_of(const InEightBits& int8) {
  return {{"top1_real", int8.top1_real}, {"left", int8.left}, {"notes", int8.notes}};
}

template <class T>
Json json_of(const std::optional<T>& one) {
  return one ? json_of(*one) : Json();
}

// A network and its cost.
Facts row_of(const std::string& name, Fact score, const compress::Size& size, Fact ms) {
  return {shown("network", name), std::move(score),
          shown("MACs", fixed(static_cast<double>(size.macs) / 1e6, 3) + " M"),
          shown("parameters", std::to_string(size.parameters)), std::move(ms)};
}

std::string if_known(const std::optional<double>& number, int digits) {
  return number ? fixed(*number, digits) : "";
}

}  // namespace

Json to_json(const ShrinkResult& result, const ShrinkOptions& options) {
  std::error_code unknown;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(options.out, unknown));
  return {{"top1", result.small.top1},
          {"top1_dense_control", result.dense.top1},
          {"top1_scratch", result.top1_scratch},
          {"top1_random", result.top1_random},
          {"top1_before", result.top1_before},
          {"top1_removed", result.top1_removed},
          {"held_out_top1", result.held_out_top1},
          {"held_out_top1_dense_control", result.held_out_top1_control},
          {"macs", result.small.size.macs},
          {"macs_before", result.dense.size.macs},
          {"parameters", result.small.size.parameters},
          {"parameters_before", result.dense.size.parameters},
          {"bytes", bytes},
          {"ms", result.small.ms},
          {"ms_before", result.dense.ms},
          {"ms_predicted", result.ms_predicted},
          {"ms_predicted_before", result.ms_predicted_before},
          {"device", options.device.empty() ? "here" : options.device},
          {"epochs", result.epochs},
          {"seconds", result.seconds},
          {"choosing_seconds", result.choosing_seconds},
          {"removed", json_of(result.removed)},
          {"refused", json_of(result.refused)},
          {"int8", json_of(result.int8)},
          {"lost_to", result.lost_to()},
          {"missed", json_of(result.missed)},
          {"sensitivity", json_of(result.sensitivity)},
          {"front", json_of(result.front())}};
}

std::vector<Facts> rows_of(const ShrinkResult& result, const ShrinkOptions&) {
  std::vector<Facts> rows;
  const auto add = [&](const std::string& name, double top1, const Figures& figures) {
    rows.push_back(row_of(name, shown("top-1", fixed(top1, 2) + " %"), figures.size,
                          shown("ms", if_known(figures.ms, 3))));
  };
  add("smaller", result.small.top1, result.small);
  for (const Figures& one : result.missed) add("lost too much", one.top1, one);
  add("dense control", result.dense.top1, result.dense);
  if (result.top1_scratch) add("from scratch", *result.top1_scratch, result.small);
  if (result.top1_random) add("random removal", *result.top1_random, result.small);
  return rows;
}

std::vector<std::string> lines_of(const ShrinkResult& result, const ShrinkOptions& options) {
  if (!result.ms_predicted) return {};
  return {"predicted: " + fixed(*result.ms_predicted, 4) + " ms, " +
          fixed(*result.ms_predicted_before, 4) + " ms before" +
          (options.device.empty() ? "" : ", on " + options.device)};
}

Json to_json(const TPruneResult& result) {
  return {{"score", result.score},
          {"score_before", result.score_before},
          {"score_sparse", result.score_sparse},
          {"score_removed", result.score_removed},
          {"score_dense_control", result.score_control},
          {"macs", result.size.macs},
          {"macs_before", result.before.macs},
          {"parameters", result.size.parameters},
          {"parameters_before", result.before.parameters},
          {"ms", result.ms},
          {"ms_before", result.ms_before},
          {"removed", json_of(result.removed)},
          {"blocks", json_of(result.blocks)}};
}

std::vector<Facts> rows_of(const TPruneResult& result) {
  const auto row = [](const char* name, const std::optional<double>& score,
                      const compress::Size& size, const std::optional<double>& ms) {
    return row_of(name, shown("score", if_known(score, 2)), size, shown("ms", if_known(ms, 4)));
  };
  std::vector<Facts> rows = {row("smaller", result.score, result.size, result.ms),
                             row("as given", result.score_before, result.before, result.ms_before)};
  if (result.score_control) {
    rows.push_back(row("dense control", result.score_control, result.before, {}));
  }
  return rows;
}

std::vector<std::string> lines_of(const TPruneResult& result) {
  std::vector<std::string> lines;
  for (const GroupLeft& group : result.removed) {
    lines.push_back(group.weights + ": " + std::to_string(group.left) + " of " +
                    std::to_string(group.before) + " left");
  }
  return lines;
}

SettingList settings_of(TPruneSettings& s) {
  TPruneOptions& o = s.options;
  fit::TrainingOptions& recipe = o.recipe;
  const SettingList data = {
      {"inputs", s.inputs, "Examples along the first axis, .npy"},
      {"labels", s.labels, "Their labels, i64 .npy; none: the network's own answers"},
      {"test-inputs", s.test_inputs, "Examples that judge, .npy"},
      {"test-labels", s.test_labels, "Their labels, i64 .npy"}};
  const SettingList removal = {
      {"target", s.target, "How small: macs=0.5, parameters=0.3 or units=0.5"},
      Setting("penalty", s.penalty, "hoyer (structured Hoyer-square) or lasso")
          .one_of({"hoyer", "lasso"}),
      Setting("strength", o.sparse.strength, "Of the penalty; 0: none").not_negative(),
      Setting("sparse-epochs", o.sparse_epochs, "Epochs with the penalty").in(0, 1 << 20),
      {"control", o.control, "Let the dense network learn as long, too"}};
  const SettingList learning = {
      Setting("epochs", recipe.epochs, "Epochs after the removal").in(0, 1 << 20),
      Setting("batch", recipe.batch, "Examples a step").in(1, 1 << 20),
      Setting("optimizer", s.optimizer, "sgd, adam or adamw").one_of({"sgd", "adam", "adamw"}),
      Setting("rate", recipe.optimizer.rate, "Learning rate (default: 0.001)").positive(),
      Setting("clip", recipe.optimizer.max_norm, "Longest gradient").positive(),
      Setting("warm-up", recipe.warm_up, "Epochs in which the rate grows").not_negative(),
      {"freeze", recipe.freeze, "Leave weights as they are whose names match"},
      {"seed", recipe.seed, "Of the order of examples"}};
  const SettingList measuring = {
      Setting("measure", o.measure_seconds, "Seconds to measure each network; 0: none")
          .not_negative()};
  return joined({data, under("Removal", removal), under("Learning", learning), measuring});
}

Result<TPruneOptions> resolve(const TPruneSettings& settings) {
  TPruneOptions options = settings.options;
  SHOAL_ASSIGN(options.target, compress::parse_target(settings.target));
  options.sparse.penalty = settings.penalty == "lasso" ? train::Regularizer::Penalty::kLasso
                                                       : train::Regularizer::Penalty::kHoyer;
  options.recipe.optimizer.rule = *train::find_rule(settings.optimizer);
  return options;
}

Result<TPruneData> read_data(const TPruneSettings& settings) {
  TPruneData data;
  for (const auto& [path, tensor] :
       {std::pair{&settings.inputs, &data.inputs}, std::pair{&settings.labels, &data.labels},
        std::pair{&settings.test_inputs, &data.test_inputs},
        std::pair{&settings.test_labels, &data.test_labels}}) {
    if (path->empty()) continue;
    SHOAL_ASSIGN(*tensor, read_npy(*path));
  }
  return data;
}

}  // namespace shoal::shrink
