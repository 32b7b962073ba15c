#include "shoal/train_cluster/train_cluster.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "shoal/cluster/running_hash.h"
#include "shoal/data/batches.h"
#include "shoal/fit/derived_options.h"
#include "shoal/fit/evaluate_graph.h"
#include "shoal/fit/network.h"
#include "shoal/fit/training_data.h"
#include "shoal/models/model.h"
#include "shoal/net/hex.h"
#include "shoal/train/step_graph.h"

namespace shoal::train_cluster {
namespace {

using learn::CodecKind;

// Control part, framing and the fields of a message, besides the gradients.
constexpr double kMessageBytes = 100;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Batches of the data set, cut into micro-batches. Keeps the last few batches: all workers need
// parts of one.
class Source {
 public:
  Source(const Batches& batches, int64_t count) : batches_(batches), count_(count) {}

  Result<learn::MicroBatch> at(int64_t step, int64_t number) {
    SHOAL_ASSIGN(const Batch* batch, batch_of(step));
    return learn::MicroBatch{part(batch->images, number), {part(batch->labels, number)}};
  }

 private:
  Result<const Batch*> batch_of(int64_t step) {
    constexpr size_t kKept = 4;
    if (const auto found = kept_.find(step); found != kept_.end()) return &found->second;
    const auto per_epoch = static_cast<int64_t>(batches_.per_epoch());
    SHOAL_ASSIGN(Batch batch, batches_.at(static_cast<uint64_t>(step / per_epoch),
                                          static_cast<size_t>(step % per_epoch)));
    if (kept_.size() >= kKept) kept_.erase(kept_.begin());
    return &(kept_[step] = std::move(batch));
  }

  Tensor part(const Tensor& whole, int64_t number) const {
    Region region = Region::whole(whole.shape());
    const int64_t size = whole.shape()[0] / count_;
    region.begin[0] = number * size;
    region.end[0] = (number + 1) * size;
    return crop(whole, region);
  }

  const Batches& batches_;
  const int64_t count_;
  std::map<int64_t, Batch> kept_;
};

std::vector<CodecKind> codecs_of(const Options& options) {
  if (options.codec) return {*options.codec};
  return {CodecKind::kF32, CodecKind::kF16, CodecKind::kInt8, CodecKind::kOneBit};
}

learn::CodecOptions codec_options(const Options& options, CodecKind kind) {
  learn::CodecOptions codec{.kind = kind, .seed = options.fit.seed};
  if (kind == CodecKind::kTopK) codec.momentum = options.fit.optimizer.momentum;
  return codec;
}

Result<double> message_bytes(const learn::CodecOptions& codec, const Graph& network,
                             const train::StepGraph& step) {
  learn::StepTypes types;
  for (const ValueId id : step.parameters) types.gradients.push_back(network[id].type);
  for (const ValueId id : step.statistics) types.statistics.push_back(network[id].type);
  SHOAL_ASSIGN(const learn::StepCodec made, learn::StepCodec::create(codec, std::move(types)));
  return static_cast<double>(made.bytes()) + kMessageBytes;
}

// Which workers train, with which codec, and what that should take.
struct Decision {
  std::vector<int> workers;
  CodecKind codec = CodecKind::kF32;
  double step_seconds = 0;
  double single_seconds = 0;
  bool together = false;
};

struct Networks {
  Graph micro;            // for a micro-batch
  train::StepGraph step;  // of that
  Graph whole_step;       // of a whole batch, as one device alone would compute it
};

Result<Networks> open_networks(const Model& model, const Options& options) {
  Networks networks;
  const auto batch = static_cast<int64_t>(options.fit.batch);
  SHOAL_ASSIGN(LoadedGraph micro,
               fit::network_to_train(model, options.fit, batch >> options.levels));
  SHOAL_ASSIGN(LoadedGraph whole, fit::network_to_train(model, options.fit, batch));
  networks.micro = std::move(micro.graph);
  const train::StepOptions how = fit::trainer_options(options.fit).step;
  SHOAL_ASSIGN(networks.step, train::make_step_graph(networks.micro, how));
  SHOAL_ASSIGN(train::StepGraph step, train::make_step_graph(whole.graph, how));
  networks.whole_step = std::move(step.graph);
  return networks;
}

Result<Decision> decide(cluster::ClusterConnection& connection, const Networks& networks,
                        const Options& options) {
  SHOAL_ASSIGN(plan::ClusterProfile profile, connection.profile(networks.micro));
  const Graph graphs[] = {networks.step.graph, networks.whole_step};
  const auto times = connection.time(graphs);
  const auto batch = static_cast<int64_t>(options.fit.batch);
  learn::TrainingSite site{
      .workers = {}, .hub = profile.coordinator, .overlaps = false, .staggers = true};
  learn::TrainingJob job{
      .batch = batch, .unit = batch >> options.levels, .may_keep_awake = options.keep_awake};
  std::vector<int> numbers;
  Decision decision;
  decision.single_seconds = 1e300;
  for (size_t w = 0; w < times.size(); ++w) {
    if (!times[w]) continue;
    numbers.push_back(static_cast<int>(w));
    site.workers.push_back({.name = connection.workers()[w].name,
                            .times = {{job.unit, (*times[w])[0]}},
                            .link = profile.links[w]});
    decision.single_seconds = std::min(decision.single_seconds, (*times[w])[1]);
  }
  for (const ValueId id : networks.step.parameters) {
    job.gradient_bytes += static_cast<double>(networks.micro[id].type.bytes());
  }
  for (const CodecKind kind : codecs_of(options)) {
    SHOAL_ASSIGN(job.messages[kind],
                 message_bytes(codec_options(options, kind), networks.micro, networks.step));
  }
  SHOAL_ASSIGN(const learn::Schedule found, learn::schedule(site, job));
  options.on_note(describe(found, site));
  learn::TrainingPlan plan = found.plan;
  decision.together = found.together && found.step_seconds < decision.single_seconds;
  if (!decision.together && options.all_workers) {
    for (size_t i = 0; i < plan.shares.size(); ++i) {
      plan.shares[i] = batch / static_cast<int64_t>(plan.shares.size());
    }
    plan.codec = codecs_of(options).front();
    plan.keeps_awake = options.keep_awake;
  }
  decision.codec = plan.codec;
  decision.step_seconds = learn::predict_step(site, job, plan);
  for (size_t i = 0; i < plan.shares.size(); ++i) {
    if (plan.shares[i] > 0) decision.workers.push_back(numbers[i]);
  }
  return decision;
}

}  // namespace

std::string sha256_of(const std::map<std::string, Tensor>& learned) {
  cluster::RunningHash hash;
  for (const auto& [name, tensor] : learned) hash.add(tensor.bytes());
  const cluster::Hash digest = hash.finish();
  return net::to_hex(std::as_bytes(std::span(digest)));
}

Status check(const Options& options) {
  SHOAL_TRY(fit::check(options.fit));
  if (options.steps < 0) return invalid("a number of steps is not negative");
  if (options.levels < 0 || options.levels > 12 ||
      options.fit.batch % (size_t{1} << options.levels) != 0) {
    return invalid("a batch of " + std::to_string(options.fit.batch) + " does not consist of " +
                   std::to_string(int64_t{1} << std::clamp(options.levels, 0, 62)) +
                   " equal micro-batches");
  }
  const bool is_possible = options.fit.penalties.empty() && options.fit.teacher.empty() &&
                           options.fit.patience == 0 && !options.fit.resume;
  if (is_possible) return {};
  return Status(Code::kUnsupported,
                "penalties, a teacher, patience and resuming do not work in a cluster");
}

Result<Figures> train(cluster::ClusterConnection& connection, Device& device,
                      const Options& options) {
  SHOAL_TRY(check(options));
  SHOAL_ASSIGN(const fit::TrainingData data, fit::open_training_data(options.fit));
  SHOAL_ASSIGN(const Model model, open_model(options.fit.model, {.seed = options.fit.seed}));
  SHOAL_ASSIGN(const Networks networks, open_networks(model, options));
  SHOAL_ASSIGN(const Decision decision, decide(connection, networks, options));

  const int64_t classes = fit::classes_of(networks.micro);
  const Batches::Prepare prepare = fit::images_for(networks.micro, options.fit.preprocess);
  const Batches batches(*data.training, prepare, fit::training_batches(options.fit, classes));
  if (batches.per_epoch() == 0) return invalid("there are not enough examples for a batch");
  train::Schedule rate = fit::schedule_of(options.fit, batches.per_epoch());
  if (options.steps > 0) rate.total = options.steps;

  cluster::Lesson lesson{.network = networks.micro,
                         .trainer = fit::trainer_options(options.fit),
                         .exchange = {codec_options(options, decision.codec), options.levels}};
  if (decision.codec == CodecKind::kTopK) lesson.trainer.optimizer.momentum = 0;
  Source source(batches, lesson.exchange.micro_batches());
  const double dilation = connection.dilation();
  cluster::TrainingRunOptions how{.hub = {.steps = rate.total},
                                  .rate = [&](int64_t step) { return factor_at(rate, step); },
                                  .workers = decision.workers,
                                  .ahead = options.ahead ? rate.total : 0,
                                  .begins = options.begins,
                                  .on_step = options.on_step,
                                  .cancelled = options.cancelled};
  // A worker that is there but does not answer is given ten times what the slowest step takes.
  how.hub.drop_after = std::max<std::chrono::nanoseconds>(
      how.hub.drop_after,
      std::chrono::nanoseconds(static_cast<int64_t>(
          1e10 * dilation * std::max(decision.single_seconds, decision.step_seconds))));
  std::shared_ptr<void> awake;
  if (options.keep_awake) awake = connection.coordinator().stay_awake();
  SHOAL_ASSIGN(const cluster::TrainingRun run,
               cluster::run_training(
                   connection.coordinator(), device, lesson,
                   [&](int64_t step, int64_t number) { return source.at(step, number); }, how));
  awake.reset();

  Figures figures{.steps = std::ssize(run.losses),
                  .predicted_seconds = decision.step_seconds,
                  .single_seconds = decision.single_seconds,
                  .bytes = std::max(run.sent_bytes, run.received_bytes),
                  .example_bytes = run.example_bytes,
                  .workers = run.workers,
                  .together = decision.together,
                  .codec = decision.codec,
                  .weights_sha256 = sha256_of(run.learned),
                  .loss = run.losses.empty() ? 0 : run.losses.back(),
                  .differing = run.differing,
                  .lost = run.lost};
  // One worker alone needs no hub: what it computes is what a step takes.
  const std::vector<double>& times = run.workers > 1 ? run.step_seconds : run.computed_seconds;
  figures.step_seconds =
      median({times.begin() + (times.size() > 1 ? 1 : 0), times.end()}) / dilation;
  fit::TrainingOptions by_micro = options.fit;
  by_micro.batch >>= options.levels;
  const Batches held_out(*data.held_out, prepare, fit::evaluation_batches(by_micro, classes));
  SHOAL_ASSIGN(figures.evaluation, fit::evaluate(device, run.network, held_out));
  const bool is_done = figures.steps == rate.total;
  if (is_done && !options.fit.out.empty()) {
    SHOAL_TRY(fit::export_network(model, options.fit, run.learned));
  }
  return figures;
}

}  // namespace shoal::train_cluster
