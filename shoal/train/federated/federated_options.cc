#include "shoal/train/federated/federated_options.h"

#include <algorithm>
#include <chrono>

#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::federated {
namespace {

constexpr size_t kEvaluationBatch = 50;

}  // namespace

Status check(const Options& options) {
  SHOAL_TRY(fit::check(options.fit));
  SHOAL_TRY(check(options.strategy));
  SHOAL_TRY(check(options.population));
  if (options.rounds < 1 || options.per_round < 1 || options.evaluate_every < 1 ||
      options.local_steps < 0 || options.threads < 1) {
    return invalid("rounds, clients of a round, and threads are at least one");
  }
  if (options.merge_secretly) {
    SHOAL_TRY(check_secret(options.strategy, options.codec, options.per_round));
  }
  const bool is_possible =
      options.fit.teacher.empty() && options.fit.patience == 0 && !options.fit.resume;
  if (is_possible) return {};
  return Status(Code::kUnsupported,
                "federated training has no teacher, no patience and no resuming");
}

Status check_secret(const Strategy& strategy, learn::CodecKind codec, size_t per_round) {
  constexpr size_t kFewest = 3;
  if (strategy.merge != Strategy::Merge::kMean) {
    return Status(Code::kUnsupported,
                  "a secure sum hides what each client sends, which a median or a trimmed mean "
                  "compares");
  }
  if (codec != learn::CodecKind::kF32) {
    return Status(Code::kUnsupported, "a secure sum has a code of its own: no codec goes with it");
  }
  return per_round >= kFewest ? Status() : invalid("a secure sum needs 3 clients of a round");
}

double bytes_of(const Weights& weights) {
  double bytes = 0;
  for (const auto& [name, tensor] : weights) bytes += static_cast<double>(tensor.bytes().size());
  return bytes;
}

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
  BatchOptions options = fit::evaluation_batches(options_.fit, classes_);
  options.batch = kEvaluationBatch;
  const Batches batches(*held_out_, prepare_image_, options);
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
