#include "shoal/cluster/training/train_cluster.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/text/json.h"
#include "shoal/cluster/training/training_inputs.h"
#include "shoal/cluster/training/training_observer.h"
#include "shoal/train/distributed/schedule/training_scheduler.h"
#include "shoal/train/run/loop/checkpoint.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::train_cluster {
namespace {

using learn::CodecKind;

// Control part, framing and the fields of a message, besides the gradients.
constexpr double kMessageBytes = 100;

// One that learns about as well as f32 for each number of bits. With one bit, that is drive: 1bit's
// errors come many steps late, which costs a ConvNet 7 points (docs/measurements/training.md).
std::vector<CodecKind> codecs_of(const Options& options) {
  if (options.codec) return {*options.codec};
  return {CodecKind::kF32, CodecKind::kF16, CodecKind::kInt8, CodecKind::kDrive};
}

Result<double> message_bytes(const learn::CodecOptions& codec, const Graph& network,
                             const train::StepGraph& step) {
  learn::StepTypes types;
  for (const ValueId id : step.parameters) types.gradients.push_back(network[id].type);
  for (const ValueId id : step.statistics) types.statistics.push_back(network[id].type);
  SHOAL_ASSIGN(const learn::StepCodec made, learn::StepCodec::create(codec, std::move(types)));
  return static_cast<double>(made.bytes(false)) + kMessageBytes;  // as most steps are
}

// Which workers train, with which codec, and what that should take.
struct Decision {
  std::vector<int> workers;
  std::map<int, plan::LinkProfile> links;  // of all that are there
  std::map<int, int64_t> planned;          // as HubOptions has them
  CodecKind codec = CodecKind::kF32;
  double step_seconds = 0;
  double single_seconds = 0;
  bool together = false;
};

// Whether the result depends on which worker computes what: a codec loses something of each share,
// and local steps follow the gradient of each share alone.
bool depends_on_shares(const Options& options, CodecKind codec) {
  return codec != CodecKind::kF32 || options.local_steps > 1;
}

bool has_fixed_shares(const Options& options, CodecKind codec) {
  const bool has_checkpoint = !options.fit.checkpoint.empty();
  return options.fixed_shares.value_or(has_checkpoint && depends_on_shares(options, codec));
}

// Shares of all workers by their speeds, which are rounded to a power of two of the fastest one's:
// devices that are alike have equal shares, however they were measured this time.
std::map<int, int64_t> plan_shares(const learn::TrainingSite& site, const learn::TrainingJob& job,
                                   const std::vector<int>& numbers, learn::TrainingPlan& plan) {
  std::vector<double> seconds;
  for (const learn::TrainingDevice& one : site.workers) seconds.push_back(one.times[0].second);
  const double fastest = std::ranges::min(seconds);
  std::map<int, int64_t> planned;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double times = std::exp2(std::round(std::log2(seconds[i] / fastest)));
    seconds[i] = times;
    planned[numbers[i]] = static_cast<int64_t>(1000 * times);
  }
  plan.shares = learn::shares_of(seconds, job.batch / job.unit);
  for (int64_t& share : plan.shares) share *= job.unit;
  return planned;
}

struct Networks {
  const Graph& micro;     // for a micro-batch
  train::StepGraph step;  // of that
  // What workers are timed with: the step, and that of a whole batch, as one device alone would
  // compute it. Only the first where memory is limited: the second has all of its activations.
  std::vector<Graph> timed;
};

Result<Networks> make_steps(const Setup& setup, const Options& options) {
  const train::StepOptions how = fit::trainer_options(options.fit).step;
  SHOAL_ASSIGN(train::StepGraph of_micro, train::make_step_graph(setup.network(), how));
  std::vector<Graph> timed{of_micro.graph};
  if (options.fit.memory_bytes == 0) {
    const auto batch = static_cast<int64_t>(options.fit.batch);
    SHOAL_ASSIGN(const LoadedGraph whole, fit::network_to_train(setup.model(), options.fit, batch));
    SHOAL_ASSIGN(train::StepGraph of_whole, train::make_step_graph(whole.graph, how));
    timed.push_back(std::move(of_whole.graph));
  }
  return Networks{setup.network(), std::move(of_micro), std::move(timed)};
}

// Of a step of a worker alone.
double seconds_alone(const std::vector<double>& times, int64_t micro_batches) {
  return times.size() > 1 ? times[1] : times[0] * static_cast<double>(micro_batches);
}

// By the scheduler, or as the options say.
Status choose(const learn::TrainingSite& site, const learn::TrainingJob& job,
              const std::vector<int>& numbers, const Options& options, Decision& decision) {
  SHOAL_ASSIGN(const learn::Schedule found, learn::schedule(site, job));
  options.on_note(describe(found, site));
  learn::TrainingPlan plan = found.plan;
  decision.together = found.together && found.step_seconds < decision.single_seconds;
  const CodecKind wanted = options.codec.value_or(plan.codec);
  if (has_fixed_shares(options, wanted)) {
    decision.planned = plan_shares(site, job, numbers, plan);
    plan.codec = wanted;
    plan.keeps_awake = options.keep_awake;
  } else if (!decision.together && options.all_workers) {
    std::ranges::fill(plan.shares, job.batch / std::ssize(plan.shares));
    plan.codec = codecs_of(options).front();
    plan.keeps_awake = options.keep_awake;
  }
  plan.local_steps = job.most_local_steps;
  decision.codec = plan.codec;
  decision.step_seconds = learn::predict_step(site, job, plan);
  for (size_t i = 0; i < plan.shares.size(); ++i) {
    if (plan.shares[i] > 0) decision.workers.push_back(numbers[i]);
  }
  return {};
}

Result<Decision> decide(cluster::ClusterConnection& connection, const Networks& networks,
                        const Options& options) {
  SHOAL_ASSIGN(plan::ClusterProfile profile, connection.profile(networks.micro));
  const auto times = connection.time(networks.timed);
  const auto batch = static_cast<int64_t>(options.fit.batch);
  learn::TrainingSite site{
      .workers = {}, .hub = profile.coordinator, .overlaps = false, .staggers = true};
  learn::TrainingJob job{.batch = batch,
                         .unit = batch >> options.levels,
                         .most_local_steps = options.local_steps,
                         .may_keep_awake = options.keep_awake};
  std::vector<int> numbers;
  Decision decision;
  decision.single_seconds = 1e300;
  for (size_t w = 0; w < times.size(); ++w) {
    if (!times[w]) continue;
    numbers.push_back(static_cast<int>(w));
    decision.links[numbers.back()] = profile.links[w];
    site.workers.push_back({.name = connection.workers()[w].name,
                            .times = {{job.unit, (*times[w])[0]}},
                            .link = profile.links[w]});
    decision.single_seconds =
        std::min(decision.single_seconds, seconds_alone(*times[w], batch / job.unit));
  }
  for (const ValueId id : networks.step.parameters) {
    job.gradient_bytes += static_cast<double>(networks.micro[id].type.bytes());
  }
  for (const CodecKind kind : codecs_of(options)) {
    SHOAL_ASSIGN(job.messages[kind],
                 message_bytes(codec_options(options, kind), networks.micro, networks.step));
  }
  SHOAL_TRY(choose(site, job, numbers, options, decision));
  return decision;
}

// As fit::settings_of(), with the settings that matter in a cluster besides. With an exact codec
// the result does not depend on which worker computes what.
std::string settings_of(const Options& options, CodecKind codec, int64_t steps) {
  Json settings = *Json::parse(fit::settings_of(options.fit));
  settings["micro_batches"] = int64_t{1} << options.levels;
  settings["codec"] = name_of(codec);
  settings["steps"] = steps;
  settings["local_steps"] = options.local_steps;
  return settings.dump();
}

// Checkpoints of a run to the file that the options name, and from it.
void use_checkpoints(const Options& options, const std::string& settings, size_t per_epoch,
                     cluster::TrainingRunOptions& run) {
  if (options.fit.checkpoint.empty()) return;
  const int64_t every = options.fit.checkpoint_every;
  const int64_t steps = every > 0 ? every : static_cast<int64_t>(per_epoch);
  run.save_every = std::max<int64_t>(steps / options.local_steps, 1);
  run.on_checkpoint = [&options, settings](const learn::HubSession::State& state) {
    return fit::write_checkpoint(
        options.fit.checkpoint, {.progress = {}, .settings = settings, .state = state, .best = {}});
  };
}

Result<learn::HubSession::State> read_state(const Options& options, const std::string& settings) {
  const std::filesystem::path& path = options.fit.checkpoint;
  if (!options.fit.resume) return learn::HubSession::State();
  if (path.empty()) return invalid("resume needs a checkpoint to go on from");
  std::error_code unknown;  // reading the file says more
  if (!std::filesystem::exists(path, unknown) && !unknown) {
    options.on_note("no checkpoint " + path.string() + " yet: begins anew");
    return learn::HubSession::State();
  }
  SHOAL_ASSIGN(fit::Checkpoint read, fit::read_checkpoint(path, settings));
  return std::move(read.state);
}

}  // namespace

Result<Options> resolve(const learn::TogetherSettings& settings, fit::TrainingOptions fit,
                        int64_t local_steps) {
  Options options;
  options.fit = std::move(fit);
  options.steps = settings.steps;
  options.local_steps = std::max<int64_t>(local_steps, 1);
  options.levels = settings.levels();
  options.codec = learn::find_codec(settings.codec);  // nothing: "auto"
  options.keep_awake = !settings.let_sleep;
  options.all_workers = settings.all_workers;
  options.fixed_shares = settings.fixed_shares();
  options.slack = settings.slack;
  SHOAL_TRY(check(options));
  return options;
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
  if (options.local_steps < 1 || options.local_steps > 1 << 20) {
    return invalid("local steps are at least one");
  }
  const bool is_possible =
      options.fit.penalties.empty() && options.fit.teacher.empty() && options.fit.patience == 0;
  if (is_possible) return {};
  return Status(Code::kUnsupported, "penalties, a teacher and patience do not work in a cluster");
}

namespace {

// With fixed shares those of the checkpoint, even if they are not here yet.
void use_plan(const Decision& decision, const Options& options, size_t workers,
              cluster::TrainingRunOptions& run) {
  run.workers = decision.workers;
  run.hub.fixed_shares = has_fixed_shares(options, decision.codec);
  if (!run.hub.fixed_shares) return;
  constexpr std::chrono::seconds kMostAbsence{10};
  run.return_timeout = kMostAbsence;
  run.repeats = run.save_every > 0 && depends_on_shares(options, decision.codec);
  run.hub.planned = decision.planned;
  if (!options.fixed_shares) {
    options.on_note("shares stay as planned: a run that is resumed learns the same weights");
  }
  if (run.resume.empty()) return;
  run.workers = learn::HubSession::workers_in(run.resume);
  std::erase_if(run.workers, [&](int worker) { return static_cast<size_t>(worker) >= workers; });
}

// What people see of the run before it begins.
learn::RunRecord make_record(const Options& options, const Decision& decision, int64_t steps,
                             const std::vector<int>& workers,
                             const cluster::ClusterConnection& connection) {
  learn::RunRecord record{.steps = steps,
                          .batch = static_cast<int64_t>(options.fit.batch),
                          .micro_batches = int64_t{1} << options.levels,
                          .local_steps = options.local_steps,
                          .codec = std::string(name_of(decision.codec)),
                          .predicted_seconds = decision.step_seconds,
                          .single_seconds = decision.single_seconds};
  for (const int worker : workers) {
    learn::RunRecord::Device& device = record.devices[worker];
    device.name = connection.workers()[static_cast<size_t>(worker)].name;
    if (const auto link = decision.links.find(worker); link != decision.links.end()) {
      device.link = link->second;
    }
  }
  return record;
}

Result<cluster::TrainingRunOptions> run_options(const Options& options, const Decision& decision,
                                                const Setup& setup,
                                                const cluster::ClusterConnection& connection) {
  const train::Schedule& rate = setup.rate();
  const std::string settings = settings_of(options, decision.codec, rate.total);
  cluster::TrainingRunOptions how;
  const int64_t local = options.local_steps;
  how.hub.steps = rate.total / local;
  how.hub.slack = options.slack;
  // A worker that is there but does not answer is given ten times what the slowest step takes.
  const double longest = 10 * connection.dilation() * static_cast<double>(local) *
                         std::max(decision.single_seconds, decision.step_seconds);
  how.hub.drop_after = std::max<std::chrono::nanoseconds>(
      how.hub.drop_after, std::chrono::nanoseconds(static_cast<int64_t>(1e9 * longest)));
  how.rate = [rate, local](int64_t round) { return factor_at(rate, round * local); };
  how.ahead = options.ahead ? how.hub.steps : 0;
  how.on_step = [local, then = options.on_step](int64_t round, double loss) {
    then((round + 1) * local - 1, loss);
  };
  how.cancelled = options.cancelled;
  use_checkpoints(options, settings, setup.steps_per_epoch(), how);
  SHOAL_ASSIGN(how.resume, read_state(options, settings));
  use_plan(decision, options, connection.workers().size(), how);
  return how;
}

Figures figures_of(const cluster::TrainingRun& run, const Decision& decision, int64_t local,
                   double dilation) {
  const auto steps = static_cast<double>(local);  // of one of the run's
  Figures figures{.steps = local * (run.first_step + std::ssize(run.losses)),
                  .resumed_at = local * run.first_step,
                  .predicted_seconds = decision.step_seconds,
                  .single_seconds = decision.single_seconds,
                  .bytes = std::max(run.sent_bytes, run.received_bytes) / steps,
                  .example_bytes = run.example_bytes / steps,
                  .workers = run.workers,
                  .together = decision.together,
                  .codec = decision.codec,
                  .weights_sha256 = sha256_of(run.learned),
                  .loss = run.losses.empty() ? 0 : run.losses.back(),
                  .differing = run.differing,
                  .lost = run.lost,
                  .lost_norms = run.lost_norms};
  // One worker alone needs no hub: its computing time is the time of a step.
  const std::vector<double>& times = run.workers > 1 ? run.step_seconds : run.computed_seconds;
  figures.step_seconds = median_step(times) / (dilation * steps);
  figures.mean_seconds = mean_step(times) / (dilation * steps);
  return figures;
}

Result<Figures> train_with(cluster::ClusterConnection& connection, Device& device,
                           const Options& options, Setup& setup) {
  SHOAL_ASSIGN(const Networks networks, make_steps(setup, options));
  SHOAL_ASSIGN(const Decision decision, decide(connection, networks, options));
  const cluster::TrainingSetup given{.network = setup.network(),
                                     .trainer = setup.trainer(decision.codec),
                                     .exchange = setup.exchange(decision.codec)};
  SHOAL_ASSIGN(cluster::TrainingRunOptions how, run_options(options, decision, setup, connection));
  Observer observer(options,
                    make_record(options, decision, setup.rate().total, how.workers, connection),
                    connection.dilation());
  observer.watch(how);
  std::shared_ptr<void> awake;
  if (options.keep_awake) awake = connection.coordinator().stay_awake();
  SHOAL_ASSIGN(
      const cluster::TrainingRun run,
      cluster::run_training(
          connection.coordinator(), device, given,
          [&](int64_t step, int64_t number) { return setup.examples(step, number); }, how));
  awake.reset();

  Figures figures = figures_of(run, decision, options.local_steps, connection.dilation());
  SHOAL_ASSIGN(figures.evaluation, setup.evaluate(device, run.network));
  SHOAL_ASSIGN(figures.record, observer.finish(figures, device, setup));
  const bool is_done = figures.steps == setup.rate().total;
  if (is_done && !options.fit.out.empty()) {
    SHOAL_TRY(fit::export_network(setup.model(), options.fit, run.learned));
  }
  return figures;
}

}  // namespace

Result<Figures> train(cluster::ClusterConnection& connection, Device& device,
                      const Options& options) {
  SHOAL_ASSIGN(const std::unique_ptr<Setup> setup, Setup::open(options));
  return train_with(connection, device, options, *setup);
}

Result<Figures> train(cluster::ClusterConnection& connection, Device& device, const Model& model,
                      fit::TrainingData data, const Options& options) {
  SHOAL_ASSIGN(const std::unique_ptr<Setup> setup, Setup::open(options, model, std::move(data)));
  return train_with(connection, device, options, *setup);
}

}  // namespace shoal::train_cluster
