#include "shoal/train/run/loop/train.h"

#include "shoal/train/run/loop/private_training.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::fit {
namespace {

Result<Graph> open_teacher(const TrainingOptions& options) {
  SHOAL_ASSIGN(const Model model, open_model(options.teacher, {.seed = options.seed}));
  SHOAL_ASSIGN(LoadedGraph loaded,
               load_for_batch(model, static_cast<int64_t>(network_batch(options))));
  return std::move(loaded.graph);
}

}  // namespace

Result<TrainingResult> train(Device& device, const TrainingOptions& options,
                             const TrainingCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  SHOAL_ASSIGN(TrainingData data, open_training_data(options));
  SHOAL_ASSIGN(const Model model, open_model(options.model, {.seed = options.seed}));
  return train(device, model, std::move(data), options, callbacks);
}

Result<TrainingResult> train(Device& device, const Model& model, TrainingData data,
                             const TrainingOptions& options, const TrainingCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  TrainingTask task;
  task.data = std::move(data);
  // The data moves into the loop, and the result refers to the held-out examples.
  const auto held_out = task.data.held_out;
  SHOAL_ASSIGN(LoadedGraph network,
               network_to_train(model, options, static_cast<int64_t>(network_batch(options))));
  double plain_speed = 0;
  if (options.privacy.is_on() && options.teacher.empty()) {
    SHOAL_ASSIGN(const LoadedGraph plain,
                 network_to_train(model, options, static_cast<int64_t>(options.batch)));
    SHOAL_ASSIGN(plain_speed,
                 speed_without_privacy(device, plain.graph, *task.data.training, options));
  }
  task.network = std::move(network.graph);
  if (!options.teacher.empty()) {
    auto teacher = open_teacher(options);
    if (!teacher.ok()) return teacher.status().at(options.teacher);
    task.teacher = *std::move(teacher);
  }
  SHOAL_ASSIGN(TrainingLoop loop,
               TrainingLoop::create(device, std::move(task), options, callbacks));
  SHOAL_ASSIGN(const StopReason reason, loop.run());
  // After Ctrl-C the weights are those of some step; options.out is for finished networks.
  if (reason != StopReason::kCancelled) {
    SHOAL_TRY(loop.finish());
    if (!options.out.empty()) SHOAL_TRY(export_network(model, options, loop.weights()));
  }
  std::optional<privacy::PrivacySpent> privacy = loop.privacy();
  if (privacy) privacy->plain_images_per_second = plain_speed;
  return TrainingResult{.progress = loop.progress(),
                        .evaluation = loop.evaluation(),
                        .reason = reason,
                        .images_per_second = loop.images_per_second(),
                        .skipped = loop.skipped(),
                        .held_out = held_out,
                        .privacy = privacy};
}

}  // namespace shoal::fit
