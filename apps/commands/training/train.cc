// Bounds are for --help and files; fit::check() has the last word.
#include "apps/commands/training/train.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "shoal/base/machine/machine.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

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

namespace shoal::fit {

Facts facts_of(const TrainingResult& result) {
  const auto& epochs = result.progress.results;
  const double loss = epochs.empty() ? 0 : epochs.back().loss;
  const double peak = static_cast<double>(peak_memory_bytes()) / (1 << 20);
  return {{"epochs", epochs.size(), "epochs"},
          {"loss", loss, "loss", 4},
          {"top1", result.evaluation.top1(), "held-out top-1", 2, " %"},
          {"seconds", result.progress.seconds, "seconds", 1},
          {"images_per_s", result.images_per_second, "images/s", 0},
          {"peak_rss_mb", peak, "peak RSS MB", 1},
          {"held_out_loss", result.evaluation.loss()}};
}

Facts facts_of(const privacy::PrivacySpent& spent, double images_per_second) {
  char delta[16];
  std::snprintf(delta, sizeof delta, "%.2g", spent.delta);
  const bool known = images_per_second > 0 && spent.plain_images_per_second > 0;
  return {
      {"epsilon", spent.epsilon, "epsilon", 3},
      {"delta", spent.delta, "delta", delta},
      {"dp_steps", spent.steps, "steps"},
      {"dp_sample_rate", spent.sample_rate, "sampled", fixed(100 * spent.sample_rate, 3) + " %"},
      {"dp_clipped", spent.clipped, "gradients clipped", fixed(100 * spent.clipped, 1) + " %"},
      {"images_per_s_without_dp", spent.plain_images_per_second, "cost",
       known ? fixed(spent.plain_images_per_second / images_per_second, 1) + " x the time"
             : "not measured"}};
}

Json to_json(const TrainingResult& result) {
  Json object = object_of(facts_of(result));
  if (result.privacy) {
    object.update(object_of(facts_of(*result.privacy, result.images_per_second)));
  }
  return object;
}

std::string text_of(const StepReport& report) {
  return "loss " + fixed(report.loss, 4) + ", top-1 " + fixed(report.top1, 2) + " %";
}

std::string text_of_epoch(const TrainingProgress& progress) {
  const EpochResult& last = progress.results.back();
  return "epoch " + std::to_string(progress.results.size()) + ": loss " + fixed(last.loss, 4) +
         ", top-1 " + fixed(last.top1, 2) + " %; held out: loss " + fixed(last.held_out_loss, 4) +
         ", top-1 " + fixed(last.held_out_top1, 2) + " %";
}

}  // namespace shoal::fit

namespace shoal::federated {
namespace {

// The cost of hiding what a client sends, beside sending it openly.
void add_secret(const Figures& figures, Facts& facts) {
  const SecretCost& cost = figures.secret;
  const auto rounds = static_cast<double>(std::max<int64_t>(figures.rounds, 1));
  const double times = cost.plain_bytes > 0 ? cost.bytes / cost.plain_bytes : 0;
  facts.push_back({"secure_traffic", times, "secure traffic", 3, " x"});
  facts.push_back({"secure_client_ms", 1e3 * cost.client_seconds / rounds, "client ms/round", 1});
  facts.push_back({"secure_server_ms", 1e3 * cost.server_seconds / rounds, "server ms/round", 1});
  facts.push_back({"secure_bytes", cost.bytes / rounds});
  facts.push_back({"secure_clamped", figures.clamped});
}

Fact top1_of(const Figures& figures) {
  const bool is_known = std::ranges::any_of(
      figures.history, [](const RoundReport& round) { return round.top1 >= 0; });
  if (!is_known) return {"top1", Json(nullptr), "held-out top-1", "unknown"};
  return {"top1", figures.evaluation.top1(), "held-out top-1", 2, " %"};
}

}  // namespace

Facts facts_of(const Figures& figures, const RunFacts& run) {
  Json top1s = Json::array();
  for (const RoundReport& round : figures.history) {
    top1s.push_back(round.top1 < 0 ? Json(nullptr) : Json(round.top1));
  }
  Facts facts = {
      {"rounds", figures.rounds, "rounds"},
      {"loss", figures.loss, "loss", 4},
      top1_of(figures),
      {"invited", figures.invited, "invited"},
      {"reported", figures.reported, "reported"},
      {"stragglers", figures.stragglers, "stragglers"},
      {"left", figures.left, "left"},
      counted("bytes", figures.bytes, "bytes"),
      {"seconds", run.seconds, "seconds", 1},
      {"peak_rss_mb", static_cast<double>(peak_memory_bytes()) / (1 << 20), "peak RSS MB", 1},
      {"best_top1", figures.best_top1},
      {"strategy", run.strategy},
      {"clients", run.clients},
      {"per_round", run.per_round},
      {"failed", figures.failed},
      {"codec", std::string(learn::name_of(figures.codec))},
      {"report_bytes", figures.report_bytes},
      {"training_share", figures.training_share},
      {"bookkeeping_share", figures.bookkeeping_share},
      {"weights_sha256", run.weights_sha256},
      {"top1_by_round", top1s}};
  if (run.secret) add_secret(figures, facts);
  return facts;
}

std::string text_of(const RoundReport& round) {
  const std::string top1 = round.top1 < 0 ? "" : "; held out: top-1 " + fixed(round.top1, 2) + " %";
  return "round " + std::to_string(round.round) + ": loss " + fixed(round.loss, 4) + "; " +
         std::to_string(round.reported) + " of " + std::to_string(round.invited) + " reported, " +
         std::to_string(round.stragglers) + " late, " + std::to_string(round.left) + " left" + top1;
}

}  // namespace shoal::federated

namespace shoal::learn {
namespace {

Status check_micro_batches(const std::string& text) {
  const auto n = std::strtoll(text.c_str(), nullptr, 10);
  return n >= 1 && n <= 4096 && (n & (n - 1)) == 0 ? Status() : invalid("no power of two");
}

std::vector<std::string> codec_words() {
  std::vector<std::string> words;
  for (const CodecKind kind : all_codecs()) words.emplace_back(name_of(kind));
  words.emplace_back("auto");
  return words;
}

}  // namespace

SettingList settings_of(TogetherSettings& s) {
  const Setting codec =
      Setting("codec", s.codec,
              "How gradients travel, or with --federated what clients learned: f32, f16, int8, "
              "1bit, tern, qsgd, powersgd, topk, drive, or auto")
          .one_of(codec_words());
  const SettingList others = {
      Setting("micro-batches", s.micro_batches,
              "Parts of a batch, of which shares consist: a power of two")
          .checked(check_micro_batches),
      {"all-workers", s.all_workers, "Also where one of them alone is faster"},
      {"measured-shares", s.measured,
       "Follow measured speeds, also where a run with this codec is to be resumed"},
      {"fixed-shares", s.fixed,
       "Of all workers, as planned: codecs learn the same each time; default with checkpoints"},
      Setting("slack", s.slack,
              "A step ends without workers that take so many times as long; 0: it waits")
          .in(0, 1e6),
      Setting("straggler", s.straggler,
              "In each step another emulated worker takes so many times as long")
          .in(1, 1000)
          .hiding_default(),
      {"let-sleep", s.let_sleep, "Do not keep radios awake"}};
  const Setting steps =
      Setting("steps", s.steps, "Steps; 0: as many as the epochs have").not_negative();
  return joined({needing("cluster", {steps}), {codec}, needing("cluster", others)});
}

}  // namespace shoal::learn

namespace shoal::federated {
namespace {

SettingList settings_of_rounds(ScenarioSettings& s) {
  return {
      Setting("mu", s.mu, "Pull of FedProx towards the server's weights; default: 1")
          .not_negative()
          .hiding_default(),
      Setting("evaluate-every", s.options.evaluate_every, "Rounds between two evaluations")
          .positive()
          .hiding_default(),
      Setting("target-top1", s.options.target_top1,
              "End with the round that reaches this many percent")
          .in(0, 100),
      Setting("least", s.least, "On workers: clients without whose reports a round changes nothing")
          .positive(),
      {"secure-sum", s.secure_sum,
       "An honest server sees the sum of what clients send, and no client's part"},
      Setting("secure-range", s.secure_range,
              "Of --secure-sum: changes of a weight in a round beyond it are clamped")
          .positive()};
}

SettingList settings_of_clients(ScenarioSettings& s) {
  Population& clients = s.options.population;
  return {
      Setting("clients", clients.clients, "Simulated clients").positive(),
      Setting("per-round", s.options.per_round, "Clients that a round invites").positive(),
      Setting("split", s.split, "Their data: iid, or a few classes each and of few clients most")
          .one_of({"iid", "classes"}),
      Setting("classes-per-client", s.options.shards.classes, "Of --split classes").positive(),
      Setting("stragglers", clients.stragglers, "Share that does part of its epochs in time")
          .in(0, 1),
      Setting("present", clients.present, "Share that is there; clients join and leave").in(0, 1),
      Setting("leaving", clients.leaving, "Share that leaves within a round")
          .in(0, 1)
          .showing_default(),
      Setting("step-seconds", clients.step_seconds, "Virtual, of the fastest client").positive(),
      Setting("slowest", clients.slowest, "How many times slower the slowest client is").in(1, 1e6),
      Setting("deadline", s.deadline,
              "Of a round, in seconds, virtual ones of simulated clients; 0: none, or 600 on "
              "workers")
          .not_negative()
          .showing_default()};
}

}  // namespace

SettingList settings_of(ScenarioSettings& s) {
  const SettingList first = {
      Setting("strategy", s.strategy, "fedavg, fedprox, fedadam, fedavgm, median or trimmed")
          .one_of(strategy_names()),
      Setting("rounds", s.options.rounds, "Rounds").positive(),
      Setting("local-epochs", s.epochs, "Of a client in a round").positive()};
  // Workers that train together may take several steps, too.
  const Setting local_steps =
      Setting("local-steps", s.options.local_steps,
              "Steps of a client in a round, in place of epochs; or with --cluster, of a worker "
              "before it sends what it learned")
          .positive();
  const Setting on(
      "federated", s.on,
      "By clients that keep their data: simulated ones, or with --cluster workers that "
      "have some; as in the scenario of FedProx, unless flags say otherwise");
  return joined({{on},
                 needing("federated", first),
                 {local_steps},
                 needing("federated", joined({settings_of_rounds(s), settings_of_clients(s)}))});
}

}  // namespace shoal::federated
