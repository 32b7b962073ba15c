#include "shoal/cluster/federated/run_rounds.h"

#include <numeric>

#include "shoal/cluster/coordinator/runtime/task_run.h"
#include "shoal/cluster/data_parallel/training_run.h"
#include "shoal/cluster/federated/client_session.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_data.h"

namespace shoal::federated_cluster {
namespace {

using Clock = std::chrono::steady_clock;

// The longest that a client has to say: its weights, or shares for all the others.
size_t most_report_bytes(const federated::Weights& weights, size_t clients) {
  constexpr size_t kRest = 1024;
  size_t bytes = kRest * (clients + 1);
  for (const auto& [name, tensor] : weights) bytes += tensor.bytes().size() + name.size() + kRest;
  return bytes;
}

// A RoundHub as the hub of a task.
class RoundTask : public cluster::TaskHub {
 public:
  RoundTask(const cluster::TrainingSetup& setup, const RunOptions& options,
            federated::Course& course, const cluster::Workers& present)
      : setup_(setup), options_(options), hub_(options.hub, course, Clock::now()) {
    for (const int worker : present) hub_.expect(worker);
  }

  Result<cluster::TaskOutput> setup_of(int) override { return cluster::output_of(setup_); }
  void ready(int worker, Time now) override { hub_.join(worker, now); }
  void handle(int worker, net::Bytes message, Time now) override {
    hub_.handle(worker, message, now);
  }
  void lose(int worker, const Status& why, bool, Time now) override {
    lost_.push_back(why);
    options_.on_loss(why);
    hub_.lose(worker, now);
  }
  void tick(Time now) override {
    hub_.tick(now);
    for (const federated::RoundReport& report : hub_.take_reports()) options_.on_round(report);
  }
  Time next_tick() const override { return hub_.next_tick(); }
  void stop() override { hub_.stop(); }
  Status send(cluster::TaskChannel& channel) override {
    for (const RoundHub::Letter& letter : hub_.take_letters()) {
      channel.send(letter.worker, cluster::task_output(letter.message));
    }
    return {};
  }
  std::vector<int> take_dropped() override { return hub_.take_dropped(); }
  bool is_over() const override { return hub_.is_over(); }
  Status status() const override { return hub_.status(); }

  std::vector<Status> take_lost() { return std::move(lost_); }

 private:
  const cluster::TrainingSetup& setup_;
  const RunOptions& options_;
  RoundHub hub_;
  std::vector<Status> lost_;
};

}  // namespace

Result<Outcome> run_rounds(cluster::Coordinator& coordinator, Device& device,
                           const fit::NetworkForBatch& network,
                           std::shared_ptr<const Dataset> held_out, const RunOptions& given) {
  RunOptions options = given;
  federated::Options& rounds = options.hub.rounds;
  rounds.population.clients = coordinator.worker_count();
  SHOAL_TRY(check(options.hub));
  SHOAL_ASSIGN(const LoadedGraph learning, network(static_cast<int64_t>(rounds.fit.batch)));
  const cluster::TrainingSetup setup{.network = learning.graph,
                                     .trainer = fit::trainer_options(rounds.fit),
                                     .exchange = {.levels = 0}};
  SHOAL_ASSIGN(const federated::LocalTrainer first,
               federated::LocalTrainer::create(device, setup.network, setup.trainer));
  SHOAL_ASSIGN(federated::Course course,
               federated::Course::create(device, network, std::move(held_out), rounds,
                                         {first.weights(), first.parameters()}));
  const size_t clients = coordinator.worker_count();
  std::vector<int> workers(clients);
  std::iota(workers.begin(), workers.end(), 0);
  RoundTask task(setup, options, course, coordinator.present());
  SHOAL_TRY(cluster::run_task(coordinator, task,
                              {.name = kFederatedTask,
                               .most_message_bytes = most_report_bytes(course.weights(), clients),
                               .workers = std::move(workers),
                               .retry_interval = options.retry_interval,
                               .cancelled = options.cancelled}));
  Outcome outcome{.figures = course.figures(), .weights = course.weights()};
  outcome.figures.report_bytes = federated::bytes_of(outcome.weights);
  outcome.lost = task.take_lost();
  return outcome;
}

Result<Outcome> train(cluster::Coordinator& coordinator, Device& device,
                      const RunOptions& options) {
  const fit::TrainingOptions& fit = options.hub.rounds.fit;
  std::shared_ptr<const Dataset> held_out;
  if (!fit.data.empty()) {
    SHOAL_ASSIGN(const fit::TrainingData data, fit::open_training_data(fit));
    held_out = data.held_out;
  }
  SHOAL_ASSIGN(const Model model, open_model(fit.model, {.seed = fit.seed}));
  const auto network = [&](int64_t batch) { return fit::network_to_train(model, fit, batch); };
  SHOAL_ASSIGN(Outcome outcome, run_rounds(coordinator, device, network, held_out, options));
  if (!options.cancelled() && !fit.out.empty()) {
    SHOAL_TRY(fit::export_network(model, fit, outcome.weights));
  }
  return outcome;
}

}  // namespace shoal::federated_cluster
