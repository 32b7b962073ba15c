#include "train_flags.h"

#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

namespace shoal::cli {
namespace {

using train::OptimizerOptions;
using train::Regularizer;
using train::Schedule;

constexpr const char* kRule = "Optimiser";
constexpr const char* kImages = "Augmentation";
constexpr const char* kFiles = "Files";

std::function<bool(std::string_view)> matcher(std::vector<std::string> patterns) {
  return [patterns = std::move(patterns)](std::string_view name) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
    });
  };
}

// "lasso:filters:1e-4" or "lasso:filters:1e-4:conv*".
std::optional<Regularizer> parse_penalty(const std::string& text) {
  const std::map<std::string, Regularizer::Penalty> penalties = {
      {"lasso", Regularizer::Penalty::kLasso},
      {"square", Regularizer::Penalty::kSquare},
      {"hoyer", Regularizer::Penalty::kHoyer}};
  const std::map<std::string, Regularizer::Groups> groups = {
      {"elements", Regularizer::Groups::kElements}, {"filters", Regularizer::Groups::kFilters},
      {"channels", Regularizer::Groups::kChannels}, {"rows", Regularizer::Groups::kFilters},
      {"columns", Regularizer::Groups::kColumns},   {"blocks", Regularizer::Groups::kBlocks}};
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; words.size() < 3 && std::getline(stream, word, ':');) {
    words.push_back(word);
  }
  if (words.size() < 3 || !penalties.contains(words[0]) || !groups.contains(words[1])) return {};
  char* end = nullptr;
  const double strength = std::strtod(words[2].c_str(), &end);
  if (*end != '\0' || words[2].empty() || !(strength >= 0)) return {};
  Regularizer regularizer{
      .penalty = penalties.at(words[0]), .groups = groups.at(words[1]), .strength = strength};
  std::string pattern;
  if (std::getline(stream, pattern)) regularizer.applies = matcher({pattern});
  return regularizer;
}

void add_rule(TrainFlags& f, CLI::App& command) {
  command.add_option("--optimizer", f.optimizer, "sgd, adam or adamw")
      ->check(CLI::IsMember({"sgd", "adam", "adamw"}))
      ->capture_default_str()
      ->group(kRule);
  command
      .add_option_function<float>(
          "--rate",
          [&f](float rate) {
            f.rule.rate = rate;
            f.rate_given = true;
          },
          "Learning rate (default: 0.02, with Adam 0.001)")
      ->check(CLI::PositiveNumber)
      ->group(kRule);
  f.rule.momentum = 0.9f;
  command.add_option("--momentum", f.rule.momentum, "Of SGD")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->group(kRule);
  command.add_flag("--nesterov", f.rule.nesterov, "Look ahead")->group(kRule);
  command.add_option("--weight-decay", f.rule.weight_decay, "Of weights, not of biases and norms")
      ->check(CLI::NonNegativeNumber)
      ->group(kRule);
  command.add_option("--clip", f.rule.max_norm, "Shorten gradients that are longer than this")
      ->check(CLI::NonNegativeNumber)
      ->group(kRule);
  command.add_option("--schedule", f.schedule, "How the rate goes: constant, step or cosine")
      ->check(CLI::IsMember({"constant", "step", "cosine"}))
      ->capture_default_str()
      ->group(kRule);
  command.add_option("--warm-up", f.warm_up, "Epochs in which the rate grows from zero")
      ->check(CLI::NonNegativeNumber)
      ->group(kRule);
  command.add_option("--drop-every", f.drop_every, "Epochs between the drops of --schedule step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kRule);
  command.add_option("--drop", f.drop, "To which part the rate drops")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->group(kRule);
  command.add_option("--smoothing", f.loss.smoothing, "Share of a label for the other classes")
      ->check(CLI::Range(0.0, 1.0))
      ->group(kRule);
  command.add_option("--focal", f.loss.focal, "Let what is known well count less: 2")
      ->check(CLI::NonNegativeNumber)
      ->group(kRule);
  command
      .add_option("--penalty", f.penalties,
                  "lasso, square or hoyer of elements, filters, channels, rows, columns or blocks "
                  "of weights: 'lasso:filters:1e-4', 'hoyer:columns:1e-3:fc*'")
      ->check([](const std::string& text) {
        return parse_penalty(text) ? "" : "no penalty: " + text + "; should be lasso:filters:1e-4";
      })
      ->group(kRule);
  CLI::Option* teacher =
      command.add_option("--teacher", f.teacher, "Learn from the answers of this model, too")
          ->group(kRule);
  f.loss.temperature = 4;
  command.add_option("--distill", f.loss.distill, "Share of the loss that is about the teacher")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(teacher)
      ->group(kRule);
  command.add_option("--temperature", f.loss.temperature, "At which answers are compared")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kRule);
}

void add_images(TrainFlags& f, CLI::App& command) {
  command.add_option("--shift", f.augment.shift, "Move images by up to this many pixels")
      ->check(CLI::Range(0, 1 << 14))
      ->group(kImages);
  command.add_flag("--flip", f.augment.flip, "Mirror every second image")->group(kImages);
  command.add_option("--random-crop", f.augment.crop, "Cut out at least this share of each side")
      ->check(CLI::Range(0.01, 1.0))
      ->group(kImages);
  command.add_option("--noise", f.augment.noise, "Deviation of noise; white is 1")
      ->check(CLI::Range(0.0, 1.0))
      ->group(kImages);
}

void add_files(TrainFlags& f, CLI::App& command) {
  command.add_option("--out,-o", f.out, "The ONNX file to write")->required()->group(kFiles);
  command.add_option("--checkpoint", f.checkpoint, "Default: like --out, .safetensors")
      ->group(kFiles);
  command.add_option("--checkpoint-every", f.checkpoint_every, "Steps; default: every epoch")
      ->check(CLI::Range(0, 1 << 30))
      ->group(kFiles);
  command.add_flag("--resume", f.resume, "Go on from the checkpoint, if there is one")
      ->group(kFiles);
  command
      .add_option("--report", f.report, "Write curves, confusions and mistakes to this HTML file")
      ->group(kFiles);
}

int64_t steps(double epochs, size_t per_epoch) {
  return std::llround(epochs * static_cast<double>(per_epoch));
}

}  // namespace

void TrainFlags::add_to(CLI::App& command) {
  // Kernels that are chosen by measuring are not the same each time, and round differently.
  model.tune = "off";
  model.add_to(command, /*model_required=*/true, /*learns=*/true);
  command.add_option("--data", data, "Folder with the data")->required();
  command.add_option("--format", format, "idx (MNIST), cifar, npy, or folder")
      ->required()
      ->check(CLI::IsMember({"idx", "cifar", "npy", "folder"}));
  command.add_option("--epochs", epochs, "How often to go through the data")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--batch", batch, "Images per step")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("--seed", seed, "Of weights, order and augmentation")->capture_default_str();
  command.add_flag("--bf16", bf16,
                   "Keep activations for the way back as bfloat16, in half the memory");
  command.add_option("--limit", limit, "Only this many images to learn from");
  command.add_option("--hold-out", hold_out, "Share to measure on, where no data is kept for that")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command.add_option("--damaged", damaged, "Examples that cannot be read: refuse or skip")
      ->check(CLI::IsMember({"refuse", "skip"}))
      ->capture_default_str();
  command.add_option("--loaders", loaders, "Threads that read and augment images")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_flag("--from-scratch", from_scratch,
                   "Begin with fresh weights; networks of the zoo do");
  command.add_option("--retarget", retarget, "Replace the last layer by one for so many classes")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--freeze", freeze, "Leave weights as they are whose names match: 'conv*'");
  command
      .add_option("--feature-cache", feature_cache_mb,
                  "MB for what a frozen part makes of images that are not augmented, computed once")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--patience", patience,
                  "Stop after so many epochs without a better result, and keep the best")
      ->check(CLI::Range(0, 1 << 20));
  command.add_option("--min-top1", min_top1, "Fail with exit code 9 below this many percent");
  command.add_flag("--json", json, "Print one JSON object");
  add_rule(*this, command);
  add_images(*this, command);
  add_files(*this, command);
  preprocess.add_to(command);
}

train::TrainerOptions TrainFlags::trainer_options() const {
  train::TrainerOptions options{
      .optimizer = rule, .step = {.loss = loss, .frozen = {}}, .regularizers = {}};
  options.memory_bytes = model.memory_limit();
  options.bf16 = bf16;
  options.seed = seed;
  options.optimizer.rule = optimizer == "adam"    ? OptimizerOptions::Rule::kAdam
                           : optimizer == "adamw" ? OptimizerOptions::Rule::kAdamW
                                                  : OptimizerOptions::Rule::kSgd;
  if (!rate_given) options.optimizer.rate = optimizer == "sgd" ? 0.02f : 0.001f;
  options.step.frozen = matcher(freeze);
  for (const std::string& text : penalties) {
    options.regularizers.push_back(*parse_penalty(text));
  }
  return options;
}

train::Schedule TrainFlags::schedule_of(size_t per_epoch) const {
  return {.kind = schedule == "cosine" ? Schedule::Kind::kCosine
                  : schedule == "step" ? Schedule::Kind::kStep
                                       : Schedule::Kind::kConstant,
          .warm_up = steps(warm_up, per_epoch),
          .total = epochs * static_cast<int64_t>(per_epoch),
          .every = std::max<int64_t>(steps(drop_every, per_epoch), 1),
          .drop = drop};
}

BatchOptions TrainFlags::training_batches(int64_t classes) const {
  return {.batch = batch,
          .seed = seed,
          .shuffle = true,
          .augment = augment,
          .classes = classes,
          .damaged = damaged_examples()};
}

std::filesystem::path TrainFlags::checkpoint_path() const {
  if (!checkpoint.empty()) return checkpoint;
  return std::filesystem::path(out).replace_extension(".safetensors");
}

nlohmann::json TrainFlags::settings() const {
  return {{"model", model.model},
          {"format", format},
          {"limit", limit},
          {"hold_out", hold_out},
          {"augment", {augment.crop, augment.shift, augment.flip, augment.noise}},
          {"batch", batch},
          {"seed", seed},
          {"bf16", bf16},
          {"memory", bf16 ? model.memory_limit() : 0},  // of no influence otherwise
          {"from_scratch", from_scratch},
          {"retarget", retarget},
          {"freeze", freeze},
          {"optimizer", optimizer},
          {"rate", trainer_options().optimizer.rate},
          {"momentum", {rule.momentum, rule.nesterov}},
          {"weight_decay", rule.weight_decay},
          {"clip", rule.max_norm},
          {"penalty", penalties},
          {"schedule", {schedule, warm_up, drop_every, drop}},
          {"loss", {loss.smoothing, loss.focal, teacher, loss.distill, loss.temperature}}};
}

}  // namespace shoal::cli
