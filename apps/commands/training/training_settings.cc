// Bounds are for --help and files; fit::check() has the last word.
#include "apps/commands/training/training_settings.h"

#include <filesystem>

namespace shoal::config {
namespace {

SettingList data_settings(TrainingSettings& s) {
  fit::TrainingOptions& o = s.options;
  return {{"data", o.data, "Folder with the data"},
          Setting("format", o.format, "idx (MNIST), cifar, npy, or folder")
              .one_of({"idx", "cifar", "npy", "folder"})
              .or_none(),
          {"limit", o.limit, "Only this many images to learn from"},
          Setting("hold-out", o.hold_out, "Share to measure on, where no data is kept for that")
              .in(0, 0.9),
          Setting("damaged", s.damaged, "Examples that cannot be read: refuse or skip")
              .one_of({"refuse", "skip"}),
          Setting("loaders", o.loaders, "Threads that read and augment images")
              .in(1, 64)
              .of_this_machine()};
}

SettingList step_settings(fit::TrainingOptions& o) {
  return {Setting("epochs", o.epochs, "How often to go through the data").in(1, 1 << 20),
          Setting("batch", o.batch, "Images per step").in(1, 4096),
          {"seed", o.seed, "Of weights, order and augmentation"}};
}

SettingList rule_settings(TrainingSettings& s) {
  fit::TrainingOptions& o = s.options;
  train::OptimizerOptions& rule = o.optimizer;
  return {
      Setting("optimizer", s.optimizer, "sgd, adam or adamw").one_of({"sgd", "adam", "adamw"}),
      Setting("rate", rule.rate, "Learning rate (default: 0.02, with Adam 0.001)")
          .positive()
          .hiding_default()
          .or_none(),
      Setting("momentum", rule.momentum, "Of SGD").in(0, 1),
      {"nesterov", rule.nesterov, "Look ahead"},
      Setting("weight-decay", rule.weight_decay, "Of weights, not of biases and norms")
          .not_negative()
          .hiding_default(),
      Setting("clip", rule.max_norm, "Shorten gradients that are longer than this")
          .not_negative()
          .hiding_default(),
      Setting("schedule", s.schedule, "How the rate goes: constant, step or cosine")
          .one_of({"constant", "step", "cosine"}),
      Setting("warm-up", o.warm_up, "Epochs in which the rate grows from zero")
          .not_negative()
          .hiding_default(),
      Setting("drop-every", o.drop_every, "Epochs between the drops of --schedule step").positive(),
      Setting("drop", o.drop, "To which part the rate drops").in(0, 1)};
}

SettingList augment_settings(Augment& augment) {
  return {Setting("shift", augment.shift, "Move images by up to this many pixels").in(0, 1 << 14),
          {"flip", augment.flip, "Mirror every second image"},
          Setting("random-crop", augment.crop, "Cut out at least this share of each side")
              .in(0.01, 1)
              .hiding_default(),
          Setting("noise", augment.noise, "Deviation of noise; white is 1").in(0, 1)};
}

}  // namespace

SettingList recipe_settings(TrainingSettings& settings) {
  return joined({data_settings(settings), step_settings(settings.options),
                 under("Optimiser", rule_settings(settings)),
                 under("Augmentation", augment_settings(settings.options.augment))});
}

SettingList network_settings(TrainingSettings& s) {
  fit::TrainingOptions& o = s.options;
  return {
      {"bf16", o.bf16, "Store activations for the backward pass as bfloat16, in half the memory"},
      {"from-scratch", o.from_scratch, "Begin with fresh weights; networks of the zoo do"},
      Setting("retarget", o.retarget, "Replace the last layer by one for so many classes")
          .in(1, 1 << 20),
      {"freeze", o.freeze, "Leave weights as they are whose names match: 'conv*'"},
      Setting("feature-cache", s.feature_cache_mb,
              "MB for what a frozen part makes of images that are not augmented, computed once")
          .in(0, 1 << 20)};
}

SettingList loss_settings(fit::TrainingOptions& o) {
  return {
      Setting("smoothing", o.loss.smoothing, "Share of a label for the other classes").in(0, 1),
      Setting("focal", o.loss.focal, "Let what is known well count less: 2").not_negative(),
      Setting("penalty", o.penalties,
              "lasso, square or hoyer of elements, filters, channels, rows, columns, blocks or "
              "outliers of clusters: 'lasso:filters:1e-4', 'hoyer:clusters4:1e-3:fc*'")
          .parsed_by(train::parse_regularizer),
      Setting("teacher", o.teacher, "Learn from the answers of this model, too").with("distill"),
      Setting("distill", o.loss.distill, "Share of the loss that is about the teacher")
          .in(0, 1)
          .with("teacher"),
      Setting("temperature", o.loss.temperature, "At which answers are compared").positive()};
}

SettingList privacy_settings(privacy::PrivacyOptions& o) {
  return {
      Setting("dp-clip", o.clip,
              "Differential privacy: shorten the gradient of each example to this")
          .positive()
          .with("dp-noise"),
      Setting("dp-noise", o.noise, "Deviation of the noise in each step, in multiples of --dp-clip")
          .positive()
          .with("dp-clip"),
      Setting("dp-delta", o.delta,
              "Delta, for which epsilon is printed (default: 0.1 / training examples)")
          .in(1e-30, 0.5)
          .with("dp-noise")};
}

SettingList checkpoint_settings(fit::TrainingOptions& o) {
  return {
      {"checkpoint", o.checkpoint, "Default: like --out, .safetensors"},
      Setting("checkpoint-every", o.checkpoint_every, "Steps; default: every epoch").in(0, 1 << 30),
      {"resume", o.resume, "Go on from the checkpoint, if there is one"}};
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
  if (all.checkpoint.empty() && !all.out.empty()) {
    all.checkpoint = std::filesystem::path(all.out).replace_extension(".safetensors");
  }
  return all;
}

}  // namespace shoal::config
