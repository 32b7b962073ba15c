#include "shoal/federated/simulation.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <tuple>

#include "shoal/fit/derived_options.h"
#include "shoal/fit/evaluate_graph.h"
#include "shoal/models/model.h"
#include "shoal/train/rebuild.h"

namespace shoal::federated {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kEvaluationBatch = 50;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<std::vector<int64_t>> labels_of(const Dataset& data) {
  std::vector<int64_t> labels;
  labels.reserve(data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    SHOAL_ASSIGN(const Example example, data.at(i));
    labels.push_back(example.label);
  }
  return labels;
}

double bytes_of(const Weights& weights) {
  double bytes = 0;
  for (const auto& [name, tensor] : weights) bytes += static_cast<double>(tensor.bytes().size());
  return bytes;
}

}  // namespace

Status check(const Options& options) {
  SHOAL_TRY(fit::check(options.fit));
  SHOAL_TRY(check(options.strategy));
  SHOAL_TRY(check(options.population));
  if (options.rounds < 1 || options.per_round < 1 || options.evaluate_every < 1 ||
      options.local_steps < 0 || options.threads < 1) {
    return invalid("rounds, clients of a round, and threads are at least one");
  }
  const bool is_possible =
      options.fit.teacher.empty() && options.fit.patience == 0 && !options.fit.resume;
  if (is_possible) return {};
  return Status(Code::kUnsupported, "a teacher, patience and resuming do not work with clients");
}

// Merges what clients learned in the order of the plan, whichever is ready first. Clients before
// which another is missing wait as copies. Called by several threads.
class Simulation::Delivery {
 public:
  explicit Delivery(Merger merger) : merger_(std::move(merger)) {}

  // `learned` is valid during the call only. A status: the client failed.
  void take(size_t place, const Task& task, const Result<double>& loss, const Weights& learned) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point begin = Clock::now();
    Waiting waiting{task.examples, loss, {}};
    if (place == next_) {
      merge(waiting, learned);
    } else {
      for (const auto& [name, tensor] : learned) waiting.weights[name] = tensor.clone();
      waiting_.emplace(place, std::move(waiting));
    }
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      const auto first = waiting_.extract(waiting_.begin());
      merge(first.mapped(), first.mapped().weights);
    }
    seconds_ += seconds_since(begin);
  }

  const Merger& merger() const { return merger_; }
  size_t failed() const { return failed_; }
  double mean_loss() const {
    return merger_.clients() == 0 ? 0 : losses_ / static_cast<double>(merger_.clients());
  }
  double seconds() const { return seconds_; }

 private:
  struct Waiting {
    size_t examples;
    Result<double> loss;
    Weights weights;
  };

  void merge(const Waiting& client, const Weights& weights) {
    ++next_;
    if (client.loss.ok() && merger_.add(weights, static_cast<int64_t>(client.examples)).ok()) {
      losses_ += *client.loss;
    } else {
      ++failed_;
    }
  }

  std::mutex mutex_;
  Merger merger_;
  std::map<size_t, Waiting> waiting_;  // by place
  size_t next_ = 0, failed_ = 0;
  double losses_ = 0, seconds_ = 0;
};

Result<std::unique_ptr<Simulation>> Simulation::create(Devices devices,
                                                       const fit::NetworkForBatch& network,
                                                       const fit::TrainingData& data,
                                                       const Options& options) {
  SHOAL_TRY(check(options));
  std::unique_ptr<Simulation> simulation(new Simulation(devices, data, options));
  SHOAL_TRY(simulation->prepare(network));
  return simulation;
}

Status Simulation::prepare(const fit::NetworkForBatch& network) {
  SHOAL_ASSIGN(const LoadedGraph learning, network(static_cast<int64_t>(options_.fit.batch)));
  SHOAL_ASSIGN(LoadedGraph evaluated, network(static_cast<int64_t>(kEvaluationBatch)));
  evaluated_ = std::move(evaluated.graph);
  const int64_t classes = fit::classes_of(learning.graph);
  prepare_image_ = fit::images_for(learning.graph, options_.fit.preprocess);
  batches_ = fit::training_batches(options_.fit, classes);
  schedule_ = fit::schedule_of(options_.fit, 1);
  schedule_.total = options_.rounds;

  ShardOptions how = options_.shards;
  how.clients = options_.population.clients;
  how.seed = options_.population.seed;
  SHOAL_ASSIGN(const std::vector<int64_t> labels, labels_of(*data_.training));
  SHOAL_ASSIGN(Shards shards, Shards::create(labels, how));
  shards_ = std::make_unique<Shards>(std::move(shards));

  const train::TrainerOptions trainer = fit::trainer_options(options_.fit);
  for (int i = 0; i < pool_.threads(); ++i) {
    SHOAL_ASSIGN(LocalTrainer made,
                 LocalTrainer::create(devices_.clients, learning.graph, trainer));
    trainers_.push_back(std::move(made));
  }
  server_ = std::make_unique<Server>(options_.strategy, trainers_[0].weights(),
                                     trainers_[0].parameters());
  if (options_.codec == learn::CodecKind::kF32) return {};
  SHOAL_ASSIGN(codecs_, ClientCodecs::create({.kind = options_.codec, .seed = options_.fit.seed},
                                             server_->weights(), trainers_[0].parameters()));
  return {};
}

double Simulation::bytes_of_report() const {
  return codecs_ ? static_cast<double>(codecs_->bytes()) : bytes_of(weights());
}

// Those with most work come first: threads are then busy to the end, and few results wait for
// their turn.
std::vector<Simulation::Task> Simulation::plan(RoundReport& report) const {
  const auto round = static_cast<uint64_t>(report.round - 1);
  const std::vector<uint64_t> invited = invite(options_.population, round, options_.per_round);
  report.invited = invited.size();
  std::vector<Task> tasks;
  for (const uint64_t client : invited) {
    const size_t examples = shards_->size_of(client);
    const auto per_epoch = static_cast<int64_t>(batches_per_epoch(examples, options_.fit.batch));
    const LocalWork work = options_.local_steps > 0 ? LocalWork{options_.local_steps, 1}
                                                    : LocalWork{options_.fit.epochs, per_epoch};
    const Conduct conduct = conduct_of(options_.population, round, client, work);
    report.seconds = std::max(report.seconds, conduct.seconds);
    report.left += conduct.leaves ? 1 : 0;
    report.stragglers += conduct.is_late && !conduct.leaves ? 1 : 0;
    const bool is_taken = !conduct.is_late || options_.strategy.takes_partial;
    if (conduct.leaves || conduct.steps == 0 || !is_taken) continue;
    tasks.push_back({client, conduct.steps, examples});
  }
  std::ranges::sort(tasks, [](const Task& a, const Task& b) {
    return std::tuple(-a.steps, a.client) < std::tuple(-b.steps, b.client);
  });
  return tasks;
}

Status Simulation::learn(const Task& task, size_t place, int slot, Delivery& delivery) {
  const auto round = static_cast<uint64_t>(figures_.rounds);
  LocalTrainer& trainer = trainers_[static_cast<size_t>(slot)];
  const std::unique_ptr<Dataset> shard = make_subset(data_.training, shards_->of(task.client));
  BatchOptions how = batches_;
  how.seed = client_seed(options_.fit.seed, round, task.client);
  const Batches batches(*shard, prepare_image_, how);
  const Result<double> loss = trainer.run(server_->weights(), batches,
                                          {.steps = task.steps,
                                           .rate_factor = factor_at(schedule_, figures_.rounds),
                                           .mu = options_.strategy.mu,
                                           .seed = how.seed});
  if (!loss.ok() && loss.status().code() != Code::kInvalidArgument) return loss.status();
  if (!codecs_ || !loss.ok()) {
    delivery.take(place, task, loss, trainer.weights());
    return {};
  }
  const Result<Weights> received =
      codecs_->send(figures_.rounds, task.client, server_->weights(), trainer.weights());
  if (received.ok()) {
    delivery.take(place, task, loss, *received);
  } else {
    delivery.take(place, task, received.status(), {});
  }
  return {};
}

Result<RoundReport> Simulation::round() {
  RoundReport report{.round = figures_.rounds + 1};
  Clock::time_point begin = Clock::now();
  const std::vector<Task> tasks = plan(report);
  Delivery delivery(server_->begin_round());
  bookkeeping_seconds_ += seconds_since(begin);

  std::vector<Status> ended(tasks.size());
  std::vector<double> seconds(tasks.size());
  pool_.parallel_for(static_cast<int64_t>(tasks.size()), [&](int64_t i, int slot) {
    const auto place = static_cast<size_t>(i);
    const Clock::time_point start = Clock::now();
    ended[place] = learn(tasks[place], place, slot, delivery);
    seconds[place] = seconds_since(start);
  });
  for (const Status& status : ended) SHOAL_TRY(status);

  begin = Clock::now();
  SHOAL_TRY(server_->end_round(delivery.merger()));
  bookkeeping_seconds_ += seconds_since(begin) + delivery.seconds();
  for (const double s : seconds) training_seconds_ += s;
  training_seconds_ -= delivery.seconds();
  report.reported = delivery.merger().clients();
  report.failed = delivery.failed();
  report.loss = delivery.mean_loss();
  report.bytes = bytes_of(weights()) * static_cast<double>(report.invited) +
                 bytes_of_report() * static_cast<double>(tasks.size());
  SHOAL_TRY(evaluate(report));
  count(report);
  return report;
}

Status Simulation::evaluate(RoundReport& report) {
  const bool is_due =
      report.round % options_.evaluate_every == 0 || report.round == options_.rounds;
  if (!is_due || data_.held_out == nullptr || data_.held_out->size() == 0) return {};
  const Clock::time_point begin = Clock::now();
  SHOAL_ASSIGN(const Graph network, train::with_constants(evaluated_, weights()));
  BatchOptions how = fit::evaluation_batches(options_.fit, batches_.classes);
  how.batch = kEvaluationBatch;
  const Batches batches(*data_.held_out, prepare_image_, how);
  SHOAL_ASSIGN(figures_.evaluation, fit::evaluate(devices_.server, network, batches));
  report.top1 = figures_.evaluation.top1();
  evaluation_seconds_ += seconds_since(begin);
  return {};
}

void Simulation::count(const RoundReport& report) {
  ++figures_.rounds;
  figures_.invited += report.invited;
  figures_.reported += report.reported;
  figures_.stragglers += report.stragglers;
  figures_.left += report.left;
  figures_.failed += report.failed;
  figures_.bytes += report.bytes;
  figures_.report_bytes = bytes_of_report();
  if (codecs_) figures_.codec = codecs_->kind();
  figures_.virtual_seconds += report.seconds;
  figures_.loss = report.loss;
  figures_.best_top1 = std::max(figures_.best_top1, report.top1);
  const double all = training_seconds_ + bookkeeping_seconds_ + evaluation_seconds_;
  figures_.training_share = training_seconds_ / all;
  figures_.bookkeeping_share = bookkeeping_seconds_ / all;
  figures_.history.push_back(report);
}

bool Simulation::is_over() const {
  if (figures_.rounds >= options_.rounds) return true;
  return options_.target_top1 > 0 && figures_.best_top1 >= options_.target_top1;
}

Result<Outcome> train(Simulation::Devices devices, const Options& options,
                      const Callbacks& callbacks) {
  SHOAL_TRY(check(options));
  SHOAL_ASSIGN(const fit::TrainingData data, fit::open_training_data(options.fit));
  SHOAL_ASSIGN(const Model model, open_model(options.fit.model, {.seed = options.fit.seed}));
  const auto network = [&](int64_t batch) {
    return fit::network_to_train(model, options.fit, batch);
  };
  SHOAL_ASSIGN(const auto simulation, Simulation::create(devices, network, data, options));
  while (!simulation->is_over() && !callbacks.cancelled()) {
    SHOAL_ASSIGN(const RoundReport report, simulation->round());
    callbacks.on_round(report);
  }
  if (simulation->is_over() && !options.fit.out.empty()) {
    SHOAL_TRY(fit::export_network(model, options.fit, simulation->weights()));
  }
  return Outcome{simulation->figures(), simulation->weights()};
}

}  // namespace shoal::federated
