// The flags of 'shoal shrink'. Bounds here are for --help; shrink::check() has the last word.
#include "shrink_flags.h"

#include <algorithm>

#include "shoal/cpu/instruction_set.h"
#include "shoal/fit/derived_options.h"

namespace shoal::cli {
namespace {

constexpr std::string_view kInt8 = ",int8";

std::vector<std::string> methods() {
  std::vector<std::string> all;
  for (const char* first :
       {"taylor", "magnitude", "random", "lasso", "hoyer", "dpruner", "depth", "svd", "tucker"}) {
    all.emplace_back(first);
    all.push_back(first + std::string(kInt8));
  }
  return all;
}

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

void ShrinkFlags::set_usual() {
  train.options = shrink::usual_recipe();
  train.model.model.clear();
  train.model.profiles = true;
  train.model.tune = "off";
}

void ShrinkFlags::add_to(Command& command) {
  command_ = &command;
  set_usual();
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
          "layers; with \",int8\" behind it, 8-bit weights and activations at last")
      ->check([](const std::string& name) -> std::string {
        const std::vector<std::string> known = methods();
        return std::ranges::find(known, name) != known.end() ? "" : "no such method: " + name;
      });
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

ModelFlags ShrinkFlags::training_device() const {
  ModelFlags flags = train.model;
  if (!train_device.empty()) flags.device = train_device;
  return flags;
}

Result<shrink::ShrinkOptions> ShrinkFlags::resolve() const {
  shrink::ShrinkOptions all = options;
  SHOAL_TRY(shrink::set_target(target, all));
  all.device = train.model.profile();
  all.int8 = method.ends_with(kInt8);
  const size_t behind = all.int8 ? kInt8.size() : 0;
  all.importance =
      *shrink::find_importance(std::string_view(method).substr(0, method.size() - behind));
  all.teacher = *shrink::find_teacher(teacher);
  all.norms = !no_norms;
  all.refit = !no_refit;
  all.sensitivity = !train.report.empty();
  all.out = train.options.out;
  all.steps = std::filesystem::path(all.out).replace_extension(".steps");
  SHOAL_ASSIGN(all.recipe, train.resolve(preprocess_));
  all.recipe.checkpoint.clear();
  all.recipe.loss.distill = all.teacher == shrink::Teacher::kNone ? 0 : distill;
  all.recipe.loss.temperature = temperature;
  return all;
}

std::vector<config::Setting> ShrinkFlags::settings() {
  ModelFlags& model = train.model;
  fit::TrainingOptions& o = train.options;
  std::vector<std::string> instruction_sets;
  for (std::string_view set : cpu::instruction_sets()) instruction_sets.emplace_back(set);
  instruction_sets.emplace_back();  // the best
  return {{"model", &model.model},
          {"data", &o.data},
          {"format", &o.format},
          {"limit", &o.limit},
          {"hold-out", &o.hold_out},
          {"damaged", &train.damaged, {"refuse", "skip"}},
          {"device", &model.device},
          {"train-device", &train_device},
          {"threads", &model.threads, {}, 0, 1024},
          {"tune", &model.tune, {"off", "fast", "full"}},
          {"instructions", &model.instructions, instruction_sets},
          {"kernel", &model.kernel},
          {"target", &target},
          {"method", &method, methods()},
          {"sparse-epochs", &options.sparse_epochs},
          {"strength", &options.strength},
          {"int8-epochs", &options.int8_epochs},
          {"teacher", &teacher, {"dense", "control", "none"}},
          {"distill", &distill, {}, 0.01, 1},
          {"temperature", &temperature},
          {"no-norms", &no_norms},
          {"no-refit", &no_refit},
          {"controls", &options.controls},
          {"seconds", &options.measure_seconds, {}, 0, 3600},
          {"max-drop", &options.max_drop, {}, 0, 100},
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
          {"resize", &preprocess_.resize, {}, 0, 1 << 14},
          {"crop", &preprocess_.crop, {}, 0, 1 << 14},
          {"stretch", &preprocess_.stretch},
          {"channels", &preprocess_.channels, {}, 0, 3},
          {"mean", &preprocess_.mean},
          {"std", &preprocess_.std},
          {"scale", &preprocess_.scale},
          {"bgr", &preprocess_.bgr},
          {"layout", &layout_, {"nchw", "nhwc"}}};
}

Status ShrinkFlags::take_recipe() {
  if (!recipe.empty()) {
    std::vector<config::Setting> all = settings();
    for (config::Setting& setting : all) {
      if (setting.name == "channels") continue;  // of presets only
      const std::string name(setting.name);
      setting.given = command_->count(name == "model" ? name : "--" + name) > 0;
    }
    SHOAL_TRY(config::read_recipe(recipe, all));
    preprocess_.nhwc = layout_ == "nhwc";
  }
  return require_source();
}

Status ShrinkFlags::take_text(std::string_view text, const std::string& name,
                              const std::set<std::string_view>& others) {
  SHOAL_TRY(config::parse_recipe(text, name, settings(), others));
  preprocess_.nhwc = layout_ == "nhwc";
  return require_source();
}

Status ShrinkFlags::require_source() const {
  for (const auto& [what, missing] : {std::pair("a model", train.model.model.empty()),
                                      std::pair("--data", train.options.data.empty()),
                                      std::pair("--format", train.options.format.empty())}) {
    if (missing) return invalid(std::string(what) + " is required, here or in the recipe");
  }
  return {};
}

Result<std::string> recipe_of(ShrinkFlags flags, const shrink::ShrinkOptions& options,
                              int threads) {
  flags.train.model.threads = threads;
  flags.train.options.optimizer.rate = fit::trainer_options(options.recipe).optimizer.rate;
  flags.preprocess_ = options.recipe.preprocess;
  flags.layout_ = flags.preprocess_.nhwc ? "nhwc" : "nchw";
  return config::to_recipe(flags.settings());
}

}  // namespace shoal::cli
