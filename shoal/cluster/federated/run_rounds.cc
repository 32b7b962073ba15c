#include "shoal/cluster/federated/run_rounds.h"

#include <algorithm>

#include "shoal/cluster/coordinator/runtime/training_post.h"
#include "shoal/cluster/training/reviver.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_data.h"

namespace shoal::federated_cluster {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = cluster::TrainingEvent::Kind;

// The longest that a client has to say: its weights, or shares for all the others.
size_t most_report_bytes(const federated::Weights& weights, size_t clients) {
  constexpr size_t kRest = 1024;
  size_t bytes = kRest * (clients + 1);
  for (const auto& [name, tensor] : weights) bytes += tensor.bytes().size() + name.size() + kRest;
  return bytes;
}

class Runner {
 public:
  Runner(cluster::Coordinator& coordinator, const cluster::Lesson& lesson,
         const RunOptions& options, federated::Course& course)
      : coordinator_(coordinator),
        post_(coordinator.training()),
        lesson_(lesson),
        options_(options),
        course_(course),
        hub_(options.hub, course, Clock::now()),
        reviver_(coordinator, options.retry_interval) {}
  ~Runner() { post_.close(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Status run() {
    const size_t clients = coordinator_.worker_count();
    SHOAL_TRY(post_.open(most_report_bytes(course_.weights(), clients)).status());
    for (const int worker : coordinator_.present()) {
      hub_.expect(worker);
      SHOAL_TRY(post_.teach(worker, lesson_, /*own_data=*/true));
    }
    while (!hub_.is_over()) {
      send_letters();
      const Clock::time_point next = reviver_.next().value_or(Clock::time_point::max());
      const Clock::time_point soon = Clock::now() + kLongestWait;  // to see that it is cancelled
      for (const auto& event : post_.wait(std::min({hub_.next_tick(), next, soon}))) {
        SHOAL_TRY(take(event));
      }
      hub_.tick(Clock::now());
      reviver_.look();
      for (const federated::RoundReport& report : hub_.take_reports()) options_.on_round(report);
      if (options_.cancelled()) hub_.stop();
      if (nobody_is_left()) return lost_.front();
    }
    send_letters();
    post_.flush();
    return hub_.status();
  }

  std::vector<Status> take_lost() { return std::move(lost_); }

 private:
  static constexpr std::chrono::milliseconds kLongestWait{200};

  // All workers have said that they cannot take part: waiting for others is in vain.
  bool nobody_is_left() const {
    return !lost_.empty() && refused_.size() == coordinator_.worker_count();
  }

  void send_letters() {
    for (const int worker : hub_.take_dropped()) {
      reviver_.leave_out(worker);
      coordinator_.leave_out(worker, Status(Code::kUnavailable, "it does not learn as it should"));
    }
    for (const RoundHub::Letter& letter : hub_.take_letters()) {
      post_.order(letter.worker, letter.message);
    }
  }

  Status take(const cluster::TrainingEvent& event) {
    switch (event.kind) {
      case Kind::kReady:
        hub_.join(event.worker, Clock::now());
        return {};
      case Kind::kReport:
        hub_.handle(event.worker, event.payload.bytes, Clock::now());
        return {};
      case Kind::kBack:
        refused_.erase(event.worker);
        return post_.teach(event.worker, lesson_, /*own_data=*/true);
      case Kind::kLost:
        break;
    }
    const auto worker = static_cast<size_t>(event.worker);
    lost_.push_back(event.why.at("worker " + coordinator_.workers()[worker].name));
    options_.on_loss(lost_.back());
    if (coordinator_.present().contains(event.worker)) refused_.insert(event.worker);
    hub_.lose(event.worker, Clock::now());
    return {};
  }

  cluster::Coordinator& coordinator_;
  cluster::TrainingPost& post_;
  const cluster::Lesson& lesson_;
  const RunOptions& options_;
  federated::Course& course_;
  RoundHub hub_;
  std::set<int> refused_;  // workers that are there and have no part
  std::vector<Status> lost_;
  cluster::Reviver reviver_;  // last: its thread uses the rest
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
  const cluster::Lesson lesson{.network = learning.graph,
                               .trainer = fit::trainer_options(rounds.fit),
                               .exchange = {.levels = 0}};
  SHOAL_ASSIGN(const federated::LocalTrainer first,
               federated::LocalTrainer::create(device, lesson.network, lesson.trainer));
  SHOAL_ASSIGN(federated::Course course,
               federated::Course::create(device, network, std::move(held_out), rounds,
                                         {first.weights(), first.parameters()}));
  Runner runner(coordinator, lesson, options, course);
  SHOAL_TRY(runner.run());
  Outcome outcome{.figures = course.figures(), .weights = course.weights()};
  outcome.figures.report_bytes = federated::bytes_of(outcome.weights);
  outcome.lost = runner.take_lost();
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
