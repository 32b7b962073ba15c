// The flags of 'shoal train', group by group. Bounds here are for --help; fit::check() has the last
// word.
#include "train_flags.h"

#include <cstdlib>

namespace shoal::cli {
namespace {

using fit::TrainingOptions;

constexpr const char* kRule = "Optimiser";
constexpr const char* kLoss = "Loss";
constexpr const char* kImages = "Augmentation";
constexpr const char* kFiles = "Files";
constexpr const char* kTogether = "Cluster";
constexpr const char* kPrivacy = "Privacy";

void add_data(TrainFlags& f, Command& command, bool required) {
  TrainingOptions& o = f.options;
  Option* data = command.add_option("--data", o.data, "Folder with the data");
  Option* format = command.add_option("--format", o.format, "idx (MNIST), cifar, npy, or folder")
                       ->check(one_of({"idx", "cifar", "npy", "folder"}));
  if (required) {
    data->required();
    format->required();
  }
  command.add_option("--limit", o.limit, "Only this many images to learn from");
  command
      .add_option("--hold-out", o.hold_out, "Share to measure on, where no data is kept for that")
      ->check(in_range(0.0, 0.9))
      ->capture_default_str();
  command.add_option("--damaged", f.damaged, "Examples that cannot be read: refuse or skip")
      ->check(one_of({"refuse", "skip"}))
      ->capture_default_str();
  command.add_option("--loaders", o.loaders, "Threads that read and augment images")
      ->check(in_range(1, 64))
      ->capture_default_str();
}

void add_network(TrainFlags& f, Command& command) {
  TrainingOptions& o = f.options;
  command.add_flag("--bf16", o.bf16,
                   "Store activations for the backward pass as bfloat16, in half the memory");
  command.add_flag("--from-scratch", o.from_scratch,
                   "Begin with fresh weights; networks of the zoo do");
  command.add_option("--retarget", o.retarget, "Replace the last layer by one for so many classes")
      ->check(in_range(1, 1 << 20));
  command.add_option("--freeze", o.freeze, "Leave weights as they are whose names match: 'conv*'");
  command
      .add_option("--feature-cache", f.feature_cache_mb,
                  "MB for what a frozen part makes of images that are not augmented, computed once")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str();
}

void add_rule(TrainFlags& f, Command& command) {
  train::OptimizerOptions& rule = f.options.optimizer;
  command.add_option("--optimizer", f.optimizer, "sgd, adam or adamw")
      ->check(one_of({"sgd", "adam", "adamw"}))
      ->capture_default_str()
      ->group(kRule);
  command.add_option("--rate", rule.rate, "Learning rate (default: 0.02, with Adam 0.001)")
      ->check(positive())
      ->group(kRule);
  command.add_option("--momentum", rule.momentum, "Of SGD")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->group(kRule);
  command.add_flag("--nesterov", rule.nesterov, "Look ahead")->group(kRule);
  command.add_option("--weight-decay", rule.weight_decay, "Of weights, not of biases and norms")
      ->check(not_negative())
      ->group(kRule);
  command.add_option("--clip", rule.max_norm, "Shorten gradients that are longer than this")
      ->check(not_negative())
      ->group(kRule);
}

void add_schedule(TrainFlags& f, Command& command) {
  TrainingOptions& o = f.options;
  command.add_option("--schedule", f.schedule, "How the rate goes: constant, step or cosine")
      ->check(one_of({"constant", "step", "cosine"}))
      ->capture_default_str()
      ->group(kRule);
  command.add_option("--warm-up", o.warm_up, "Epochs in which the rate grows from zero")
      ->check(not_negative())
      ->group(kRule);
  command.add_option("--drop-every", o.drop_every, "Epochs between the drops of --schedule step")
      ->check(positive())
      ->capture_default_str()
      ->group(kRule);
  command.add_option("--drop", o.drop, "To which part the rate drops")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->group(kRule);
}

void add_loss(TrainingOptions& o, Command& command) {
  command.add_option("--smoothing", o.loss.smoothing, "Share of a label for the other classes")
      ->check(in_range(0.0, 1.0))
      ->group(kLoss);
  command.add_option("--focal", o.loss.focal, "Let what is known well count less: 2")
      ->check(not_negative())
      ->group(kLoss);
  command
      .add_option("--penalty", o.penalties,
                  "lasso, square or hoyer of elements, filters, channels, rows, columns, blocks or "
                  "outliers of clusters: 'lasso:filters:1e-4', 'hoyer:clusters4:1e-3:fc*'")
      ->check([](const std::string& text) {
        const auto penalty = train::parse_regularizer(text);
        return penalty.ok() ? "" : std::string(penalty.status().message());
      })
      ->group(kLoss);
  Option* teacher =
      command.add_option("--teacher", o.teacher, "Learn from the answers of this model, too")
          ->group(kLoss);
  Option* distill =
      command
          .add_option("--distill", o.loss.distill, "Share of the loss that is about the teacher")
          ->check(in_range(0.0, 1.0))
          ->needs(teacher)
          ->group(kLoss);
  teacher->needs(distill);
  command.add_option("--temperature", o.loss.temperature, "At which answers are compared")
      ->check(positive())
      ->capture_default_str()
      ->group(kLoss);
}

void add_images(Augment& augment, Command& command) {
  command.add_option("--shift", augment.shift, "Move images by up to this many pixels")
      ->check(in_range(0, 1 << 14))
      ->group(kImages);
  command.add_flag("--flip", augment.flip, "Mirror every second image")->group(kImages);
  command.add_option("--random-crop", augment.crop, "Cut out at least this share of each side")
      ->check(in_range(0.01, 1.0))
      ->group(kImages);
  command.add_option("--noise", augment.noise, "Deviation of noise; white is 1")
      ->check(in_range(0.0, 1.0))
      ->group(kImages);
}

void add_privacy(privacy::PrivacyOptions& o, Command& command) {
  Option* clip =
      command
          .add_option("--dp-clip", o.clip,
                      "Differential privacy: shorten the gradient of each example to this")
          ->check(positive())
          ->group(kPrivacy);
  Option* noise = command
                      .add_option("--dp-noise", o.noise,
                                  "Deviation of the noise in each step, in multiples of --dp-clip")
                      ->check(positive())
                      ->needs(clip)
                      ->group(kPrivacy);
  clip->needs(noise);
  command
      .add_option("--dp-delta", o.delta,
                  "Delta, for which epsilon is printed (default: 0.1 / training examples)")
      ->check(in_range(1e-30, 0.5))
      ->needs(noise)
      ->group(kPrivacy);
}

void add_files(TrainFlags& f, Command& command) {
  TrainingOptions& o = f.options;
  command.add_option("--out,-o", o.out, "The ONNX file to write; needed for one device alone")
      ->group(kFiles);
  command.add_option("--checkpoint", o.checkpoint, "Default: like --out, .safetensors")
      ->group(kFiles);
  command.add_option("--checkpoint-every", o.checkpoint_every, "Steps; default: every epoch")
      ->check(in_range(0, 1 << 30))
      ->group(kFiles);
  command.add_flag("--resume", o.resume, "Go on from the checkpoint, if there is one")
      ->group(kFiles);
  command
      .add_option("--report", f.report, "Write curves, confusions and mistakes to this HTML file")
      ->group(kFiles);
}

}  // namespace

void TogetherFlags::add_to(Command& command) {
  Option* cluster =
      command
          .add_flag("--cluster{own}", network,
                    "By the workers of this user's cluster, or of 'mpi', this machine as the hub")
          ->check(one_of({"own", "mpi"}))
          ->group(kTogether);
  command.add_option("--steps", steps, "Steps; 0: as many as the epochs have")
      ->check(not_negative())
      ->needs(cluster)
      ->group(kTogether);
  command
      .add_option("--codec", codec,
                  "How gradients travel, or with --federated what clients learned: f32, f16, int8, "
                  "1bit, tern, qsgd, powersgd, topk, drive, or auto")
      ->check(one_of(
          {"f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive", "auto"}))
      ->capture_default_str()
      ->group(kTogether);
  command
      .add_option("--micro-batches", micro_batches,
                  "Parts of a batch, of which shares consist: a power of two")
      ->check([](const std::string& text) {
        const auto n = std::strtoll(text.c_str(), nullptr, 10);
        return n >= 1 && n <= 4096 && (n & (n - 1)) == 0 ? "" : std::string("no power of two");
      })
      ->needs(cluster)
      ->capture_default_str()
      ->group(kTogether);
  command.add_flag("--all-workers", all_workers, "Also where one of them alone is faster")
      ->needs(cluster)
      ->group(kTogether);
  command
      .add_flag(
          "--measured-shares", [this] { fixed_shares = false; },
          "Follow measured speeds, also where a run with this codec is to be resumed")
      ->needs(cluster)
      ->group(kTogether);
  command
      .add_flag(
          "--fixed-shares", [this] { fixed_shares = true; },
          "Of all workers, as planned: codecs learn the same each time; default with checkpoints")
      ->needs(cluster)
      ->group(kTogether);
  command
      .add_option("--slack", slack,
                  "A step ends without workers that take so many times as long; 0: it waits")
      ->check(in_range(0.0, 1e6))
      ->needs(cluster)
      ->group(kTogether);
  command
      .add_option("--straggler", straggler,
                  "In each step another emulated worker takes so many times as long")
      ->check(in_range(1.0, 1000.0))
      ->needs(cluster)
      ->group(kTogether);
  command.add_flag("--let-sleep", lets_sleep, "Do not keep radios awake")
      ->needs(cluster)
      ->group(kTogether);
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
  add_data(*this, command, required);
  command.add_option("--epochs", options.epochs, "How often to go through the data")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--batch", options.batch, "Images per step")
      ->check(in_range(1, 4096))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Of weights, order and augmentation")
      ->capture_default_str();
  command.add_flag("--json", json, "Print one JSON object");
  add_rule(*this, command);
  add_schedule(*this, command);
  add_images(options.augment, command);
  preprocess.add_to(command);
}

void TrainFlags::add_to(Command& command) {
  add_recipe_to(command);
  command
      .add_option("--patience", options.patience,
                  "Stop after so many epochs without a better result, and keep the best")
      ->check(in_range(0, 1 << 20));
  command.add_option("--min-top1", min_top1, "Fail with exit code 9 below this many percent");
  together.add_to(command);
  federated.add_to(command);
  add_network(*this, command);
  add_loss(options, command);
  add_privacy(options.privacy, command);
  add_files(*this, command);
}

Result<TrainingOptions> TrainFlags::resolve(const Preprocess& preprocess_before) const {
  TrainingOptions all = options;
  all.model = model.model;
  all.memory_bytes = model.memory_limit();
  all.feature_cache_bytes = feature_cache_mb * 1'000'000;
  all.damaged = damaged == "skip" ? Damaged::kSkip : Damaged::kRefuse;
  all.optimizer.rule = *train::find_rule(optimizer);
  all.schedule = *train::find_schedule(schedule);
  if (all.checkpoint.empty()) {
    all.checkpoint = std::filesystem::path(all.out).replace_extension(".safetensors");
  }
  SHOAL_ASSIGN(all.preprocess, preprocess.resolve(preprocess_before));
  return all;
}

}  // namespace shoal::cli
