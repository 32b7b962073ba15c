// shoal shrink: a smaller, retrained network beside its controls.
#include "shoal/shrink/prune/shrink.h"

#include <cstdio>

#include "../exit_codes.h"
#include "apps/commands/catalog/catalog.h"
#include "apps/commands/training/shrink.h"
#include "learning.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/engine/session/model.h"
#include "shoal/report/pages/shrink_page.h"
#include "shrink_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal shrink lenet.onnx --data mnist --format idx --target macs=0.1 --epochs 5 -o small.onnx
  shoal shrink resnet20.onnx --data cifar10 --format cifar --flip --shift 4 --controls -o small.onnx \
               --target macs=0.5 --rate 0.01 --clip 1 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225
  shoal shrink model.onnx --data photos --format folder --target parameters=0.3,macs=0.5 -o small.onnx
  shoal shrink model.onnx --data photos --format folder --target ms=0.5x -o small.onnx
                                           in half the time, by the times of layers on this machine
  shoal shrink model.onnx --data photos --format folder --target ms=20 --device pi4 -o small.onnx
  shoal shrink model.onnx --data photos --format folder --method magnitude --teacher none -o small.onnx
  shoal shrink model.onnx --data photos --format folder --method taylor,int8 -o small.onnx
                                           and in 8 bits, calibrated on images that it learned from
  shoal shrink vgg.onnx --data photos --format folder --method tucker --target ms=0.45x -o small.onnx
                                           three small convolutions for one, where that is faster
  shoal shrink model.onnx --data photos --format folder --max-drop 1 -o small.onnx
                                           no more than a point is lost; exit code 9 where the target
                                           would cost more, and less is removed
  shoal shrink lenet.onnx --data mnist --format idx --target macs=0.1 --variants 5 -o lenet.variants
                                           five widths in the bytes of one
  shoal shrink --recipe small.toml -o small.onnx --resume
                                           a run that --write-recipe described, after an interruption)";

// What repeats the run, if a file asks for it, which is written before the run.
Result<std::string> recipe_for_files(const ShrinkFlags& flags, const shrink::ShrinkOptions& options,
                                     const Device& device) {
  if (flags.write_recipe.empty() && flags.train.report.empty()) return std::string();
  SHOAL_ASSIGN(const std::string recipe,
               config::to_recipe(flags.all(), options, device.info().threads));
  if (!flags.write_recipe.empty()) SHOAL_TRY(write_file(flags.write_recipe, recipe));
  return recipe;
}

Outcome shrink_and_print(ShrinkFlags& flags) {
  if (const Status taken = flags.take_recipe(); !taken.ok()) return fail(Exit::kUsage, taken);
  SHOAL_OR_EXIT(const shrink::ShrinkOptions options, Exit::kUsage, flags.resolve());
  SHOAL_OR_EXIT(const auto learns, Exit::kDevice, make_device(flags.all().training_device()));
  SHOAL_OR_EXIT(const auto runs, Exit::kDevice, make_device(flags.all().measured_device()));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_model_with_warning(flags.train.model.model));
  SHOAL_OR_EXIT(const std::string recipe, Doing::kTrain, recipe_for_files(flags, options, *learns));
  SHOAL_OR_EXIT(const auto data, Doing::kTrain, fit::open_judged_data(options.recipe));
  NetworkLine line;
  const shrink::ShrinkDevices devices{*learns, *runs};
  if (flags.variants > 0) {
    return print_result(catalog::make_variants(devices, model, data, flags.variants, options,
                                               shrink_callbacks(line)),
                        flags.train.json);
  }
  const auto result = shrink::shrink(devices, model, data, options, shrink_callbacks(line));
  if (!result.ok() && result.status().code() == Code::kCancelled) {
    return {Exit::kInterrupted, "interrupted; --resume goes on from " + options.steps.string()};
  }
  if (!result.ok()) return fail(Doing::kTrain, result.status());
  if (!flags.train.report.empty()) {
    const std::string place = options.device.empty() ? "" : " on " + options.device;
    const std::string page =
        report::shrink_page(flags.train.model.model + " shrunk to " + flags.target + place, *result,
                            to_json(*result, options).dump(2), recipe);
    const Status written = write_file(flags.train.report, page);
    if (!written.ok()) return fail(Doing::kTrain, written);
  }
  print_found(flags.train.json, *result, options);
  for (const std::string& warning : result->warnings()) {
    std::fprintf(stderr, "%s\n", warning.c_str());
  }
  const std::string missed = result->missed_bound(flags.options.max_drop);
  return missed.empty() ? Outcome{} : Outcome{Exit::kAccuracy, missed};
}

}  // namespace

void add_shrink(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "shrink", "Remove what a network needs least, and train the rest",
                  kExamples, shrink_and_print);
  flags.add_to(command);
}

}  // namespace shoal::cli
