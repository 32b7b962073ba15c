#include "apps/commands/networks/eval.h"
#include "eval_flags.h"
#include "facts.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/run/evaluation.h"
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
  watch::EvaluationOptions options{.limit = flags.limit, .cancel = cancel_on_signals()};
  ProgressBar bar("frames", options.frames_of(*source));
  options.progress = [&](size_t done) { bar.at(done); };
  SHOAL_OR_EXIT(const auto result, Exit::kUsage, evaluate(detector, *source, options));
  bar.end();
  print(result);
  return {};
}

}  // namespace

Outcome evaluate_tracks(const EvalFlags& flags) {
  SHOAL_OR_EXIT(const track::Identities truth, Exit::kUsage,
                watch::truth_of(flags.data, flags.truth));
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
        flags.json ? print_json(to_json(result)) : print_text(text_of(result));
      });
}

}  // namespace shoal::cli
