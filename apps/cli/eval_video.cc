#include <cstdio>

#include "eval_flags.h"
#include "facts.h"
#include "shoal/base/progress_bar.h"
#include "shoal/watch/facts.h"
#include "shoal/watch/open_source.h"
#include "shoal/watch/scene.h"
#include "train/cancel_on_signals.h"

namespace shoal::cli {
namespace {

// Calls `evaluate` with the detector, the source and options, then prints.
template <class Evaluate, class Print>
Outcome evaluate_and_print(const EvalFlags& flags, Evaluate evaluate, Print print) {
  SHOAL_OR_EXIT(const auto source, Exit::kUsage,
                watch::open_source(flags.data, {.cancel = cancel_on_signals()}));
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_detector_model(flags.model.model));
  SHOAL_OR_EXIT(detect::Detector detector, Exit::kModel,
                detect::Detector::open(model, *device, detect::find_head(flags.head)));
  const size_t all = source->size().value_or(0);  // 0: nobody knows
  ProgressBar bar("frames", flags.limit > 0 && (all == 0 || flags.limit < all) ? flags.limit : all);
  SHOAL_OR_EXIT(const auto result, Exit::kUsage,
                evaluate(detector, *source,
                         watch::EvaluationOptions{.limit = flags.limit,
                                                  .progress = [&](size_t done) { bar.at(done); },
                                                  .cancel = cancel_on_signals()}));
  bar.end();
  print(result);
  return {};
}

}  // namespace

Outcome evaluate_tracks(const EvalFlags& flags) {
  track::Identities truth;
  if (flags.data != watch::kScene) {
    SHOAL_OR_EXIT(truth, Exit::kUsage, track::read_identities(flags.truth));
  } else {
    const watch::SceneOptions scene;
    for (size_t i = 0; i < scene.frames; ++i) truth[i] = watch::scene_truth(scene, i);
  }
  return evaluate_and_print(
      flags,
      [&](auto& detector, auto& source, const auto& options) {
        return watch::evaluate_tracking(detector, source, truth, flags.label, options);
      },
      [&](const watch::TrackEvaluation& result) {
        flags.json ? print_json(to_json(result)) : table_of(rows_of(result)).print();
      });
}

Outcome evaluate_gate(const EvalFlags& flags) {
  return evaluate_and_print(
      flags,
      [&](auto& detector, auto& source, const auto& options) {
        return watch::evaluate_gate(detector, source, {}, options);
      },
      [&](const watch::GateEvaluation& result) {
        if (flags.json) return print_json(to_json(result));
        std::printf(
            "%zu frames, %.1f %% not looked at; F1 with a look at each %.4f; gate %.3f ms\n",
            result.frames, 100 * result.skipped_share(), result.agreement.f1(), result.gate_ms_p50);
      });
}

}  // namespace shoal::cli
