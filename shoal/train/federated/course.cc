#include "shoal/train/federated/course.h"

#include <algorithm>
#include <chrono>

#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::federated {
namespace {

constexpr size_t kEvaluationBatch = 50;

}  // namespace

Result<Course> Course::create(Device& device, const fit::NetworkForBatch& network,
                              std::shared_ptr<const Dataset> held_out, const Options& options,
                              const Start& start) {
  Course course(device, options, start);
  SHOAL_ASSIGN(LoadedGraph evaluated, network(static_cast<int64_t>(kEvaluationBatch)));
  course.evaluated_ = std::move(evaluated.graph);
  course.prepare_image_ = fit::images_for(course.evaluated_, options.fit.preprocess);
  course.classes_ = fit::classes_of(course.evaluated_);
  course.held_out_ = std::move(held_out);
  course.schedule_ = fit::schedule_of(options.fit, 1);
  course.schedule_.total = options.rounds;
  return course;
}

Status Course::merge_secretly(std::span<const std::optional<ClientReport>> reports,
                              RoundReport& report) {
  Result<SecretMean> mean =
      options_.merge_secretly(static_cast<uint64_t>(figures_.rounds), weights(), reports);
  if (mean.ok()) return merge(*std::move(mean), report);
  report.reported = 0;
  return mean.status().code() == Code::kUnavailable ? Status() : mean.status();
}

Status Course::merge(SecretMean mean, RoundReport& report) {
  report.reported = mean.clients;
  report.clamped = mean.clamped;
  report.secret = mean.cost;
  return server_.end_round(std::move(mean.weights));
}

Status Course::finish(RoundReport& report) {
  SHOAL_TRY(evaluate(report));
  count(report);
  return {};
}

Status Course::evaluate(RoundReport& report) {
  const bool is_due =
      report.round % options_.evaluate_every == 0 || report.round == options_.rounds;
  if (!is_due || held_out_ == nullptr || held_out_->size() == 0) return {};
  const auto begin = std::chrono::steady_clock::now();
  SHOAL_ASSIGN(const Graph network, train::with_constants(evaluated_, weights()));
  BatchOptions how = fit::evaluation_batches(options_.fit, classes_);
  how.batch = kEvaluationBatch;
  const Batches batches(*held_out_, prepare_image_, how);
  SHOAL_ASSIGN(figures_.evaluation, fit::evaluate(device_, network, batches));
  report.top1 = figures_.evaluation.top1();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  evaluation_seconds_ += taken.count();
  return {};
}

void Course::count(const RoundReport& report) {
  ++figures_.rounds;
  figures_.invited += report.invited;
  figures_.reported += report.reported;
  figures_.stragglers += report.stragglers;
  figures_.left += report.left;
  figures_.failed += report.failed;
  figures_.clamped += report.clamped;
  figures_.bytes += report.bytes;
  figures_.seconds += report.seconds;
  figures_.loss = report.loss;
  figures_.best_top1 = std::max(figures_.best_top1, report.top1);
  figures_.secret.bytes += report.secret.bytes;
  figures_.secret.plain_bytes += report.secret.plain_bytes;
  figures_.secret.client_seconds += report.secret.client_seconds;
  figures_.secret.server_seconds += report.secret.server_seconds;
  figures_.history.push_back(report);
}

bool Course::is_over() const {
  if (figures_.rounds >= options_.rounds) return true;
  return options_.target_top1 > 0 && figures_.best_top1 >= options_.target_top1;
}

}  // namespace shoal::federated
