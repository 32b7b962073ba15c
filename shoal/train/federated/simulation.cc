#include "shoal/train/federated/simulation.h"

#include <chrono>
#include <map>
#include <mutex>
#include <tuple>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/engine/session/model.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::federated {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<int64_t>> labels_of(const Dataset& data) {
  std::vector<int64_t> labels;
  labels.reserve(data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    SHOAL_ASSIGN(const Example example, data.at(i));
    labels.push_back(example.label);
  }
  return labels;
}

}  // namespace

// Merges client results in the order of the plan. Results that come too early wait as copies; all
// do if the merge is secret. Called by several threads.
class Simulation::Delivery {
 public:
  // `seats`: of clients whose reports are kept; 0: they are merged as they come.
  Delivery(Merger merger, size_t seats) : merger_(std::move(merger)), reports_(seats) {}

  // `learned` is valid during the call only. A status: the client failed.
  void take(size_t place, const Task& task, const Result<double>& loss, const Weights& learned) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point begin = Clock::now();
    if (place == next_) {
      merge(task, loss, learned);
    } else {
      waiting_.emplace(place, Waiting{task, loss, copy_of(learned)});
    }
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      const auto first = waiting_.extract(waiting_.begin());
      merge(first.mapped().task, first.mapped().loss, first.mapped().weights);
    }
    seconds_ += seconds_since(begin);
  }

  const Merger& merger() const { return merger_; }
  std::span<const std::optional<ClientReport>> reports() const { return reports_; }
  size_t taken() const { return taken_; }
  size_t failed() const { return failed_; }
  double mean_loss() const { return taken_ == 0 ? 0 : losses_ / static_cast<double>(taken_); }
  double seconds() const { return seconds_; }

 private:
  struct Waiting {
    Task task;
    Result<double> loss;
    Weights weights;
  };

  static Weights copy_of(const Weights& weights) {
    Weights copy;
    for (const auto& [name, tensor] : weights) copy[name] = tensor.clone();
    return copy;
  }

  Status add(const Task& task, const Weights& weights) {
    const auto examples = static_cast<int64_t>(task.examples);
    if (reports_.empty()) return merger_.add(weights, examples);
    SHOAL_TRY(merger_.check_like(weights));
    reports_[task.seat] = ClientReport{copy_of(weights), examples};
    return {};
  }

  void merge(const Task& task, const Result<double>& loss, const Weights& weights) {
    ++next_;
    if (loss.ok() && add(task, weights).ok()) {
      losses_ += *loss;
      ++taken_;
    } else {
      ++failed_;
    }
  }

  std::mutex mutex_;
  Merger merger_;
  std::vector<std::optional<ClientReport>> reports_;  // by seat
  std::map<size_t, Waiting> waiting_;                 // by place
  size_t next_ = 0, taken_ = 0, failed_ = 0;
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
  const int64_t classes = fit::classes_of(learning.graph);
  prepare_image_ = fit::images_for(learning.graph, options_.fit.preprocess);
  batches_ = fit::training_batches(options_.fit, classes);

  ShardOptions options = options_.shards;
  options.clients = options_.population.clients;
  options.seed = options_.population.seed;
  SHOAL_ASSIGN(const std::vector<int64_t> labels, labels_of(*data_.training));
  SHOAL_ASSIGN(Shards shards, Shards::create(labels, options));
  shards_ = std::make_unique<Shards>(std::move(shards));

  const train::TrainerOptions trainer = fit::trainer_options(options_.fit);
  for (int i = 0; i < pool_.threads(); ++i) {
    SHOAL_ASSIGN(LocalTrainer local_trainer,
                 LocalTrainer::create(devices_.clients, learning.graph, trainer));
    trainers_.push_back(std::move(local_trainer));
  }
  SHOAL_ASSIGN(Course course, Course::create(devices_.server, network, data_.held_out, options_,
                                             {trainers_[0].weights(), trainers_[0].parameters()}));
  course_.emplace(std::move(course));
  if (options_.codec == learn::CodecKind::kF32) return {};
  SHOAL_ASSIGN(codecs_, ClientCodecs::create({.kind = options_.codec, .seed = options_.fit.seed},
                                             weights(), trainers_[0].parameters()));
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
  for (size_t seat = 0; seat < invited.size(); ++seat) {
    const uint64_t client = invited[seat];
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
    tasks.push_back({client, seat, conduct.steps, examples});
  }
  std::ranges::sort(tasks, [](const Task& a, const Task& b) {
    return std::tuple(-a.steps, a.client) < std::tuple(-b.steps, b.client);
  });
  return tasks;
}

Status Simulation::learn(const Task& task, size_t place, int slot, Delivery& delivery) {
  const auto round = static_cast<uint64_t>(course_->rounds());
  LocalTrainer& trainer = trainers_[static_cast<size_t>(slot)];
  const std::unique_ptr<Dataset> shard = make_subset(data_.training, shards_->of(task.client));
  BatchOptions options = batches_;
  options.seed = client_seed(options_.fit.seed, round, task.client);
  const Batches batches(*shard, prepare_image_, options);
  const Result<double> loss = trainer.run(weights(), batches,
                                          {.steps = task.steps,
                                           .rate_factor = course_->rate_factor(),
                                           .mu = options_.strategy.mu,
                                           .seed = options.seed});
  if (!loss.ok() && loss.status().code() != Code::kInvalidArgument) return loss.status();
  if (!codecs_ || !loss.ok()) {
    delivery.take(place, task, loss, trainer.weights());
    return {};
  }
  const Result<Weights> received =
      codecs_->send(course_->rounds(), task.client, weights(), trainer.weights());
  if (received.ok()) {
    delivery.take(place, task, loss, *received);
  } else {
    delivery.take(place, task, received.status(), {});
  }
  return {};
}

Result<RoundReport> Simulation::round() {
  RoundReport report{.round = course_->rounds() + 1};
  Clock::time_point begin = Clock::now();
  const std::vector<Task> tasks = plan(report);
  Delivery delivery(course_->begin_round(), options_.merge_secretly ? report.invited : 0);
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
  SHOAL_TRY(merge(delivery, report));
  bookkeeping_seconds_ += seconds_since(begin) + delivery.seconds();
  for (const double s : seconds) training_seconds_ += s;
  training_seconds_ -= delivery.seconds();
  report.bytes = bytes_of(weights()) * static_cast<double>(report.invited);
  if (options_.merge_secretly) {
    report.bytes += report.secret.bytes * static_cast<double>(report.invited);  // at most
  } else {
    report.bytes += bytes_of_report() * static_cast<double>(tasks.size());
  }
  SHOAL_TRY(course_->finish(report));
  return report;
}

Status Simulation::merge(const Delivery& delivery, RoundReport& report) {
  report.reported = delivery.taken();
  report.failed = delivery.failed();
  report.loss = delivery.mean_loss();
  if (options_.merge_secretly) return course_->merge_secretly(delivery.reports(), report);
  return course_->merge(delivery.merger());
}

Figures Simulation::figures() const {
  Figures figures = course_->figures();
  figures.report_bytes = bytes_of_report();
  if (codecs_) figures.codec = codecs_->kind();
  const double all = training_seconds_ + bookkeeping_seconds_ + course_->evaluation_seconds();
  if (all <= 0) return figures;
  figures.training_share = training_seconds_ / all;
  figures.bookkeeping_share = bookkeeping_seconds_ / all;
  return figures;
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
