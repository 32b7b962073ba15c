#include "shoal/video/watch/run/evaluation.h"

#include <chrono>
#include <vector>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/video/track/tracker.h"
#include "shoal/video/watch/frames/scene.h"
#include "shoal/video/watch/run/watcher.h"

namespace shoal::watch {
namespace {

using detect::Detection;

// Calls `use` with each frame and what the detector finds in it.
template <class Use>
Status for_each_frame(detect::Detector& detector, FrameSource& source,
                      const detect::Suppression& suppression, const EvaluationOptions& options,
                      Use use) {
  for (size_t done = 0; options.limit == 0 || done < options.limit; ++done) {
    if (options.cancel != nullptr && *options.cancel) break;
    SHOAL_ASSIGN(const auto frame, source.next());
    if (!frame) break;
    SHOAL_ASSIGN(const std::vector<Detection> detections, detector.find(frame->image, suppression));
    SHOAL_TRY(use(*frame, detections));
    if (options.progress) options.progress(done + 1);
  }
  return {};
}

std::vector<track::Identified> shown(const std::vector<track::Track>& tracks) {
  std::vector<track::Identified> all;
  for (const track::Track& one : tracks) all.push_back({one.id, one.detection.box});
  return all;
}

}  // namespace

size_t EvaluationOptions::frames_of(const FrameSource& source) const {
  const size_t all = source.size().value_or(0);
  return limit > 0 && (all == 0 || limit < all) ? limit : all;
}

Result<track::Identities> truth_of(const std::string& source, const std::filesystem::path& file) {
  if (source != kScene) return track::read_identities(file);
  const SceneOptions scene;
  track::Identities truth;
  for (size_t i = 0; i < scene.frames; ++i) truth[i] = scene_truth(scene, i);
  return truth;
}

Result<TrackEvaluation> evaluate_tracking(detect::Detector& detector, FrameSource& source,
                                          const track::Identities& truth, int64_t label,
                                          const EvaluationOptions& options) {
  const track::TrackerOptions two_scores, plain{.association = track::Association::kPlain};
  track::Tracker by_two_scores(two_scores), by_overlap(plain);
  TrackEvaluation result;
  const detect::Suppression suppression{.least_score = two_scores.low_score};
  SHOAL_TRY(for_each_frame(detector, source, suppression, options,
                           [&](const Frame& frame, std::vector<Detection> detections) -> Status {
                             std::erase_if(detections, [&](const Detection& detection) {
                               return detection.label != label;
                             });
                             const auto known = truth.find(frame.number);
                             const std::vector<track::Identified> none;
                             const auto& now = known == truth.end() ? none : known->second;
                             result.two_scores.add(now, shown(by_two_scores.update(detections)));
                             result.plain.add(now, shown(by_overlap.update(detections)));
                             return {};
                           }));
  return result;
}

Result<GateEvaluation> evaluate_gate(detect::Detector& detector, FrameSource& source,
                                     const WatchOptions& watch_options,
                                     const EvaluationOptions& options) {
  WatchOptions with_gate = watch_options;
  with_gate.gate = true;
  const std::vector<Detection>* present = nullptr;
  Watcher watcher(with_gate, [&](const Tensor&, const detect::Suppression&) {
    return Result<std::vector<Detection>>(*present);
  });
  GateEvaluation result;
  LatencyRecorder latencies;
  Gate timed(with_gate.gate_options);
  SHOAL_TRY(for_each_frame(
      detector, source, with_gate.suppression, options,
      [&](const Frame& frame, const std::vector<Detection>& detections) -> Status {
        present = &detections;
        const auto begin = std::chrono::steady_clock::now();
        timed.decide(frame.image);
        latencies.add(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                .count());
        SHOAL_ASSIGN(const FrameAnswer answer, watcher.answer(frame));
        std::vector<Detection> answered;
        for (const Seen& seen : answer.seen) answered.push_back(seen.detection);
        const Agreement agreement = compare(answered, detections);
        result.agreement += agreement;
        result.frames_alike += agreement.different == 0 ? 1 : 0;
        result.skipped += answer.looked ? 0 : 1;
        ++result.frames;
        return {};
      }));
  if (result.frames == 0) return result;
  result.frames_alike /= static_cast<double>(result.frames);
  result.gate_ms_p50 = latencies.quantile(0.5);
  result.gate_ms_p99 = latencies.quantile(0.99);
  return result;
}

}  // namespace shoal::watch
