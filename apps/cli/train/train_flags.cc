// The flags of 'shoal train', group by group. Bounds here are for --help; fit::check() has the last
// word.
#include "train_flags.h"

#include <cstdlib>

namespace shoal::cli {
namespace {

using fit::TrainingOptions;

void add_data(TrainFlags& f, Command& command, bool required) {
  TrainingOptions& o = f.options;
  Option* data = command.add_option("--data", o.data, "Folder with the data");
  Option* format = command.add_option("--format", o.format, "idx (MNIST), cifar, npy, or folder",
                                      one_of({"idx", "cifar", "npy", "folder"}));
  if (required) {
    data->required();
    format->required();
  }
  command.add_option("--limit", o.limit, "Only this many images to learn from");
  command.add_setting("--hold-out", o.hold_out,
                      "Share to measure on, where no data is kept for that", in_range(0.0, 0.9));
  command.add_setting("--damaged", f.damaged, "Examples that cannot be read: refuse or skip",
                      one_of({"refuse", "skip"}));
  command.add_setting("--loaders", o.loaders, "Threads that read and augment images",
                      in_range(1, 64));
}

void add_network(TrainFlags& f, Command& command) {
  TrainingOptions& o = f.options;
  command.add_flag("--bf16", o.bf16,
                   "Store activations for the backward pass as bfloat16, in half the memory");
  command.add_flag("--from-scratch", o.from_scratch,
                   "Begin with fresh weights; networks of the zoo do");
  command.add_option("--retarget", o.retarget, "Replace the last layer by one for so many classes",
                     in_range(1, 1 << 20));
  command.add_option("--freeze", o.freeze, "Leave weights as they are whose names match: 'conv*'");
  command.add_setting(
      "--feature-cache", f.feature_cache_mb,
      "MB for what a frozen part makes of images that are not augmented, computed once",
      in_range(0, 1 << 20));
}

void add_rule(TrainFlags& f, const FlagGroup& rule) {
  train::OptimizerOptions& o = f.options.optimizer;
  rule.add_setting("--optimizer", f.optimizer, "sgd, adam or adamw",
                   one_of({"sgd", "adam", "adamw"}));
  rule.add_option("--rate", o.rate, "Learning rate (default: 0.02, with Adam 0.001)", positive());
  rule.add_setting("--momentum", o.momentum, "Of SGD", in_range(0.0, 1.0));
  rule.add_flag("--nesterov", o.nesterov, "Look ahead");
  rule.add_option("--weight-decay", o.weight_decay, "Of weights, not of biases and norms",
                  not_negative());
  rule.add_option("--clip", o.max_norm, "Shorten gradients that are longer than this",
                  not_negative());
}

void add_schedule(TrainFlags& f, const FlagGroup& rule) {
  TrainingOptions& o = f.options;
  rule.add_setting("--schedule", f.schedule, "How the rate goes: constant, step or cosine",
                   one_of({"constant", "step", "cosine"}));
  rule.add_option("--warm-up", o.warm_up, "Epochs in which the rate grows from zero",
                  not_negative());
  rule.add_setting("--drop-every", o.drop_every, "Epochs between the drops of --schedule step",
                   positive());
  rule.add_setting("--drop", o.drop, "To which part the rate drops", in_range(0.0, 1.0));
}

void add_loss(TrainingOptions& o, const FlagGroup& loss) {
  loss.add_option("--smoothing", o.loss.smoothing, "Share of a label for the other classes",
                  in_range(0.0, 1.0));
  loss.add_option("--focal", o.loss.focal, "Let what is known well count less: 2", not_negative());
  loss.add_option("--penalty", o.penalties,
                  "lasso, square or hoyer of elements, filters, channels, rows, columns, blocks or "
                  "outliers of clusters: 'lasso:filters:1e-4', 'hoyer:clusters4:1e-3:fc*'")
      ->check(parsed_by(train::parse_regularizer));
  Option* teacher =
      loss.add_option("--teacher", o.teacher, "Learn from the answers of this model, too");
  Option* distill =
      loss.add_option("--distill", o.loss.distill, "Share of the loss that is about the teacher",
                      in_range(0.0, 1.0))
          ->needs(teacher);
  teacher->needs(distill);
  loss.add_setting("--temperature", o.loss.temperature, "At which answers are compared",
                   positive());
}

void add_images(Augment& augment, const FlagGroup& images) {
  images.add_option("--shift", augment.shift, "Move images by up to this many pixels",
                    in_range(0, 1 << 14));
  images.add_flag("--flip", augment.flip, "Mirror every second image");
  images.add_option("--random-crop", augment.crop, "Cut out at least this share of each side",
                    in_range(0.01, 1.0));
  images.add_option("--noise", augment.noise, "Deviation of noise; white is 1", in_range(0.0, 1.0));
}

void add_privacy(privacy::PrivacyOptions& o, const FlagGroup& privacy) {
  Option* clip = privacy.add_option(
      "--dp-clip", o.clip, "Differential privacy: shorten the gradient of each example to this",
      positive());
  Option* noise =
      privacy
          .add_option("--dp-noise", o.noise,
                      "Deviation of the noise in each step, in multiples of --dp-clip", positive())
          ->needs(clip);
  clip->needs(noise);
  privacy
      .add_option("--dp-delta", o.delta,
                  "Delta, for which epsilon is printed (default: 0.1 / training examples)",
                  in_range(1e-30, 0.5))
      ->needs(noise);
}

void add_files(TrainFlags& f, const FlagGroup& files) {
  TrainingOptions& o = f.options;
  files.add_option("--out,-o", o.out, "The ONNX file to write; needed for one device alone");
  files.add_option("--checkpoint", o.checkpoint, "Default: like --out, .safetensors");
  files.add_option("--checkpoint-every", o.checkpoint_every, "Steps; default: every epoch",
                   in_range(0, 1 << 30));
  files.add_flag("--resume", o.resume, "Go on from the checkpoint, if there is one");
  files.add_option("--report", f.report, "Write curves, confusions and mistakes to this HTML file");
}

}  // namespace

void TogetherFlags::add_to(Command& command) {
  const FlagGroup all(command, "Cluster");
  Option* cluster =
      all.add_flag("--cluster{own}", network,
                   "By the workers of this user's cluster, or of 'mpi', this machine as the hub")
          ->check(one_of({"own", "mpi"}));
  const FlagGroup together(command, "Cluster", cluster);
  together.add_option("--steps", steps, "Steps; 0: as many as the epochs have", not_negative());
  all.add_setting(
      "--codec", codec,
      "How gradients travel, or with --federated what clients learned: f32, f16, int8, "
      "1bit, tern, qsgd, powersgd, topk, drive, or auto",
      one_of({"f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive", "auto"}));
  together
      .add_setting("--micro-batches", micro_batches,
                   "Parts of a batch, of which shares consist: a power of two")
      ->check([](const std::string& text) {
        const auto n = std::strtoll(text.c_str(), nullptr, 10);
        return n >= 1 && n <= 4096 && (n & (n - 1)) == 0 ? "" : std::string("no power of two");
      });
  together.add_flag("--all-workers", all_workers, "Also where one of them alone is faster");
  together.add_flag(
      "--measured-shares", [this] { fixed_shares = false; },
      "Follow measured speeds, also where a run with this codec is to be resumed");
  together.add_flag(
      "--fixed-shares", [this] { fixed_shares = true; },
      "Of all workers, as planned: codecs learn the same each time; default with checkpoints");
  together.add_option("--slack", slack,
                      "A step ends without workers that take so many times as long; 0: it waits",
                      in_range(0.0, 1e6));
  together.add_option("--straggler", straggler,
                      "In each step another emulated worker takes so many times as long",
                      in_range(1.0, 1000.0));
  together.add_flag("--let-sleep", lets_sleep, "Do not keep radios awake");
}

void TrainFlags::add_recipe_to(Command& command, Source source) {
  const bool required = source != Source::kRecipeToo;
  // Kernels that are chosen by measuring are not the same each time, and round differently.
  model.tune = "off";
  if (source == Source::kNoModel) {
    model.add_computing_to(command, /*learns=*/true);
  } else {
    model.add_to(command, required, /*learns=*/true);
  }
  add_data(*this, command, required && source != Source::kWorkersToo);
  command.add_setting("--epochs", options.epochs, "How often to go through the data",
                      in_range(1, 1 << 20));
  command.add_setting("--batch", options.batch, "Images per step", in_range(1, 4096));
  command.add_setting("--seed", options.seed, "Of weights, order and augmentation");
  command.add_flag("--json", json, "Print one JSON object");
  const FlagGroup rule(command, "Optimiser");
  add_rule(*this, rule);
  add_schedule(*this, rule);
  add_images(options.augment, FlagGroup(command, "Augmentation"));
  preprocess.add_to(command);
}

void TrainFlags::add_to(Command& command) {
  add_recipe_to(command, Source::kWorkersToo);
  command.add_option("--patience", options.patience,
                     "Stop after so many epochs without a better result, and keep the best",
                     in_range(0, 1 << 20));
  command.add_option("--min-top1", min_top1, "Fail with exit code 9 below this many percent");
  together.add_to(command);
  federated.add_to(command);
  add_network(*this, command);
  add_loss(options, FlagGroup(command, "Loss"));
  add_privacy(options.privacy, FlagGroup(command, "Privacy"));
  add_files(*this, FlagGroup(command, "Files"));
}

Result<TrainingOptions> TrainFlags::resolve(const Preprocess& preprocess_before) const {
  TrainingOptions all = config::resolve(*this, model.model, model);
  SHOAL_ASSIGN(all.preprocess, preprocess.resolve(preprocess_before));
  return all;
}

}  // namespace shoal::cli
