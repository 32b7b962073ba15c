// shoal train: learn from labelled images.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "../cli.h"
#include "../table.h"
#include "lessons.h"
#include "shoal/base/machine.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal train zoo:lenet5 --data mnist --format idx --epochs 10 -o lenet.onnx
  shoal train zoo:convnet --data cifar10 --format cifar --flip --shift 4 -o convnet.onnx
  shoal train resnet20.onnx --data cifar10 --format cifar --preset imagenet --rate 0.005 -o tuned.onnx
  shoal train model.onnx --data photos --format folder --retarget 5 --freeze 'features.*' -o mine.onnx
  shoal train zoo:mlp --data mnist --format idx -o mlp.onnx --resume    go on after an interruption)";

Exit exit_of(const Status& status) {
  switch (status.code()) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
      return Exit::kUsage;
    case Code::kExhausted:
      return Exit::kResources;
    case Code::kInternal:
      return Exit::kDevice;
    default:
      return Exit::kModel;
  }
}

void print(const TrainFlags& flags, const Lessons& lessons) {
  const Course& course = lessons.course();
  const double loss = course.results.empty() ? 0 : course.results.back().loss;
  const double peak = static_cast<double>(peak_memory_bytes()) / (1 << 20);
  if (flags.json) {
    const nlohmann::json result = {{"top1", lessons.exam().top1()},
                                   {"loss", loss},
                                   {"held_out_loss", lessons.exam().loss},
                                   {"epochs", course.results.size()},
                                   {"seconds", course.seconds},
                                   {"images_per_s", lessons.images_per_s()},
                                   {"peak_rss_mb", peak}};
    std::printf("%s\n", result.dump().c_str());
    return;
  }
  Table table({"epochs", "loss", "held-out top-1", "seconds", "images/s", "peak RSS MB"});
  table.add({std::to_string(course.results.size()), fixed(loss, 4),
             fixed(lessons.exam().top1(), 2) + " %", fixed(course.seconds, 1),
             fixed(lessons.images_per_s(), 0), fixed(peak, 1)});
  table.print();
}

// What went wrong, and where to go on from.
Outcome stopped(const TrainFlags& flags, const Status& status) {
  std::string message(status.message());
  if (std::filesystem::is_regular_file(flags.checkpoint_path())) {
    message += "; the last checkpoint is kept: " + flags.checkpoint_path().string();
  }
  return {exit_of(status), message};
}

Outcome train(const TrainFlags& flags) {
  SHOAL_OR_EXIT(auto device, Exit::kDevice, make_device(flags.model));
  auto lessons = Lessons::prepare(flags, *device);
  if (!lessons.ok()) return fail(exit_of(lessons.status()), lessons.status());
  if (const Status status = (*lessons)->run(); !status.ok()) return stopped(flags, status);
  if (const Status status = (*lessons)->finish(); !status.ok()) return stopped(flags, status);
  print(flags, **lessons);
  if (const double top1 = (*lessons)->exam().top1(); top1 < flags.min_top1) {
    return {Exit::kAccuracy, "top-1 is " + fixed(top1, 2) + " %, below the asked " +
                                 fixed(flags.min_top1, 2) + " %"};
  }
  return {};
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Learn from labelled images");
  command->footer(kExamples);
  flags->add_to(*command);
  command->callback([flags, &action] { action = [flags] { return train(*flags); }; });
}

}  // namespace shoal::cli
