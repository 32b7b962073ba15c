// shoal train: learn from labelled images.
#include "shoal/train/run/loop/train.h"

#include <cstdio>
#include <optional>

#include "../exit_codes.h"
#include "../facts.h"
#include "apps/commands/training/train.h"
#include "cancel_on_signals.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/report/pages/training_page.h"
#include "train_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal train zoo:lenet5 --data mnist --format idx --epochs 10 -o lenet.onnx
  shoal train zoo:convnet --data cifar10 --format cifar --flip --shift 4 -o convnet.onnx
  shoal train resnet20.onnx --data cifar10 --format cifar --flip --shift 4 --rate 0.01 --clip 1 -o tuned.onnx
  shoal train model.onnx --data photos --format folder --retarget 5 --freeze 'features.*' -o mine.onnx
  shoal train zoo:mlp --data mnist --format idx -o mlp.onnx --resume    go on after an interruption
  shoal train zoo:lenet5 --data mnist --format idx --dp-noise 1.1 --dp-clip 1 --batch 256 -o private.onnx
  shoal train zoo:lenet5 --data mnist --format idx --cluster --steps 500 --batch 128 -o lenet.onnx
  shoal train zoo:logistic --data mnist --format idx --federated --strategy fedprox    1,000 simulated clients
  shoal train zoo:lenet5 --federated --cluster --rounds 20 --secure-sum -o lenet.onnx    clients are workers with --data)";

void print_training(const fit::TrainingResult& result, bool json) {
  if (json) return print_json(to_json(result));
  print_facts(facts_of(result), false);
  if (result.privacy) print_facts(fit::facts_of(*result.privacy, result.images_per_second), false);
}

// Shows training on stderr, and as a page if one is asked for.
class TrainingView {
 public:
  explicit TrainingView(const TrainFlags& flags) : flags_(flags) {}

  fit::TrainingCallbacks callbacks() {
    return {.on_step = [this](const fit::StepReport& report) { show(report); },
            .on_epoch = [this](const fit::EpochReport& report) { return show(report); },
            .on_note = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); },
            .cancel = cancel_on_signals()};
  }

  Status write_page(const fit::EpochReport& report) const {
    if (flags_.report.empty()) return {};
    const std::string title = flags_.model.model + " on " + flags_.options.data.string();
    return write_file(flags_.report, report::training_page(title, report));
  }

 private:
  void show(const fit::StepReport& report) {
    if (!line_) {
      line_.emplace("epoch " + std::to_string(report.progress.epoch + 1) + "/" +
                        std::to_string(report.epochs),
                    report.steps_per_epoch);
    }
    line_->at(report.progress.step, text_of(report) + ", " + fixed(report.images_per_second, 0) +
                                        " images/s, " + fixed(report.seconds_left, 0) +
                                        " s for all epochs");
  }

  Status show(const fit::EpochReport& report) {
    line_.reset();
    std::fprintf(stderr, "%s\n", fit::text_of_epoch(report.progress).c_str());
    return write_page(report);
  }

  const TrainFlags& flags_;
  std::optional<ProgressBar> line_;  // of this epoch
};

// The outcome of a failure, with the place to go on from.
Outcome stopped(const Status& status, const std::filesystem::path& checkpoint) {
  std::string message(status.message());
  std::error_code ignored;
  if (std::filesystem::is_regular_file(checkpoint, ignored)) {
    message += "; the last checkpoint is kept: " + checkpoint.string();
  }
  return {exit_of(Doing::kTrain, status), message};
}

Outcome train(const TrainFlags& flags) {
  if (const Status usable = flags.check(); !usable.ok()) return fail(Exit::kUsage, usable);
  if (flags.federated.on) return train_federated(flags);
  if (!flags.together.network.empty()) return train_on_cluster(flags);
  SHOAL_OR_EXIT(const fit::TrainingOptions options, Exit::kUsage, flags.resolve());
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  TrainingView view(flags);
  const auto result = fit::train(*device, options, view.callbacks());
  if (!result.ok()) return stopped(result.status(), options.checkpoint);
  for (const std::string& line : result->skipped) {
    std::fprintf(stderr, "skipped: %s\n", line.c_str());
  }
  if (result->reason == fit::StopReason::kCancelled) {
    return {Exit::kInterrupted,
            "interrupted; --resume goes on from " + options.checkpoint.string()};
  }
  const Status page = view.write_page({result->progress, result->evaluation, *result->held_out});
  if (!page.ok()) return fail(Doing::kTrain, page);
  print_training(*result, flags.json);
  return require_accuracy(result->evaluation.top1(), flags.min_top1);
}

}  // namespace

void add_train(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "train", "Learn from labelled images", kExamples, train);
  flags.add_to(command);
}

}  // namespace shoal::cli
