// shoal watch: objects in a stream of images.
#include "shoal/watch/watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "cluster/cluster_device.h"
#include "exit_codes.h"
#include "model.h"
#include "placed_streams.h"
#include "progress.h"
#include "shoal/delta/delta_device.h"
#include "shoal/watch/key_frames.h"
#include "shoal/watch/open_source.h"
#include "shoal/watch/scene.h"
#include "train/cancel_on_signals.h"
#include "watch_outputs.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal watch frames --model yolox-nano.onnx                      boxes of each image of a folder
  shoal watch street.mp4 --model yolox-nano.onnx --track --gate auto --jsonl boxes.jsonl --json
  shoal watch rtsp://door/1 rtsp://yard/1 --model yolox-nano.onnx --track   two cameras in turn
  shoal watch door.mp4 --model yolox-nano.onnx --out seen.mp4 --clips events
  shoal watch door.mp4 --model yolox-nano.onnx --zone step=0.1,0.5,0.4,0.5,0.4,1,0.1,1 --mqtt mqtt://localhost
  shoal watch rtsp://door/1 rtsp://yard/1 --model yolox-nano.onnx --cluster   each on the best worker
  shoal watch zoo:scene --gate auto                               a synthetic scene and its detector)";

// How long a cluster may be without workers until watching fails.
constexpr std::chrono::seconds kDetectorTimeout{30};

struct WatchFlags {
  ModelFlags model;
  PlanFlags plan;
  std::vector<std::string> sources;
  std::string gate = "off", delta = "off", key_frames = "off", motion = "flow", head;
  OutputFlags outputs;
  PlaceFlags place;
  watch::WatchOptions options;
  double timeout = 10;
  bool rectangular = false, json = false;
};

void add_to(WatchFlags& f, Command& command) {
  command
      .add_option(
          "source", f.sources,
          "A video, a camera (/dev/video0), a URL (rtsp://, http://), an image, a folder of "
          "images, or zoo:scene; several are watched at once")
      ->required();
  f.model.model.clear();  // the model that needs no file is no detector
  command.add_option("--model", f.model.model, "A detector: ONNX file; zoo:scene has its own");
  f.model.add_computing_to(command);
  command.add_option("--head", f.head, "What its outputs mean, if their shapes do not say it",
                     one_of(detect::head_names()));
  command.add_setting("--gate", f.gate, "auto: do not look at frames in which nothing changed",
                      one_of({"auto", "off"}));
  command.add_setting("--agreement", f.options.gate_options.agreement,
                      "F1 with a detector that looks at every frame, for --gate auto",
                      in_range(0.0, 1.0));
  command
      .add_setting("--delta", f.delta,
                   "auto, or a threshold: compute only what changed; 0: exactly")
      ->check(parsed_by(parse_delta));
  command
      .add_setting(
          "--key-frames", f.key_frames,
          "auto, or one in N frames: features of the others are those of the last one, "
          "moved by what is seen to move; with :async they are computed meanwhile, with :sparse "
          "only where the image has changed")
      ->check(parsed_by(keyframe::parse_key_frames));
  command.add_setting(
      "--motion", f.motion,
      "What moves features between key frames: flow, or the vectors of a video's codec "
      "where it has them",
      one_of({"flow", "codec"}));
  command.add_flag("--rect", f.rectangular,
                   "Compute only the part of the network's input that the image fills");
  command.add_flag("--track", f.options.track, "Follow objects: boxes have an id");
  command.add_option("--frames", f.options.frames,
                     "Only the first N frames of each source; 0: all");
  command.add_setting("--score", f.options.suppression.least_score, "The least score of a box",
                      in_range(0.0, 1.0));
  command.add_setting("--timeout", f.timeout, "Seconds without a frame until a video has stalled",
                      in_range(0.1, 3600.0));
  f.outputs.add_to(command);
  f.plan.add_cluster_to(command);
  f.place.add_to(command);
  command.add_flag("--json", f.json, "Print one JSON object");
}

// `computed`: of the multiply-accumulates of a look, those that were computed.
Json to_json(const watch::WatchResult& result, double computed) {
  return {{"frames", result.frames},
          {"skipped", result.skipped},
          {"fps", result.fps()},
          {"latency_ms_p50", result.latency_ms_p50},
          {"latency_ms_p99", result.latency_ms_p99},
          {"changed", result.changed},
          {"macs_share", result.macs_share() * computed}};
}

Result<Model> open_detector_of(const WatchFlags& flags) {
  if (!flags.model.model.empty()) return open_detector_model(flags.model.model);
  const auto is_scene = [](const std::string& source) { return source == watch::kScene; };
  if (std::ranges::all_of(flags.sources, is_scene)) {
    return open_detector_model(std::string(watch::kScene));
  }
  return invalid("--model is needed: a detector");
}

Result<std::vector<std::unique_ptr<watch::FrameSource>>> open_sources(
    const WatchFlags& flags, const std::atomic<bool>* cancel) {
  const std::chrono::milliseconds timeout(static_cast<int64_t>(1000 * flags.timeout));
  std::vector<std::unique_ptr<watch::FrameSource>> all;
  for (const std::string& source : flags.sources) {
    SHOAL_ASSIGN(auto opened, watch::open_source(source, {.timeout = timeout,
                                                          .cancel = cancel,
                                                          .motion = flags.motion == "codec"}));
    all.push_back(std::move(opened));
  }
  return all;
}

// What looks at frames.
struct Looking {
  std::vector<std::unique_ptr<Device>> devices = {};
  DeltaDevice* delta = nullptr;
  std::optional<PlacedStreams> placed = {};
  std::vector<detect::Detector> detectors = {};  // one for all streams, or for each
  std::vector<std::shared_ptr<const keyframe::Pipeline>> pipelines =
      {};                                                          // of key frames, if they are
  std::vector<std::function<void(const watch::Frame&)>> see = {};  // theirs

  // Of the multiply-accumulates of a look at a source, those that were computed.
  double computed_share(size_t source) const {
    if (!pipelines.empty()) return pipelines[source]->macs_share();
    return delta != nullptr ? delta->statistics().macs_share() : 1;
  }
};

// A device for all streams, or one for each.
Result<Looking> open_devices(const WatchFlags& flags) {
  Looking looking;
  const auto threshold = *parse_delta(flags.delta);
  if (flags.place.is_whole(flags.plan, flags.sources.size(), threshold.has_value())) {
    looking.placed.emplace(flags.sources, flags.place);
    SHOAL_ASSIGN(looking.devices, looking.placed->open_devices(flags.plan));
    return looking;
  }
  const bool on_cluster = flags.plan.is_on_cluster();
  SHOAL_ASSIGN(auto device,
               on_cluster ? open_cluster_device(flags.plan) : make_device(flags.model));
  if (threshold) {
    auto made = std::make_unique<DeltaDevice>(std::move(device), DeltaOptions{*threshold});
    looking.delta = made.get();
    device = std::move(made);
  }
  looking.devices.push_back(std::move(device));
  return looking;
}

// What a delta device has accumulated, and key frames, are of one stream: each has a detector of
// its own there.
Status open_detectors(const WatchFlags& flags, Looking& looking) {
  SHOAL_ASSIGN(const Model model, open_detector_of(flags));
  const auto head = detect::find_head(flags.head);
  const auto key_frames = *keyframe::parse_key_frames(flags.key_frames);
  const bool one_each = looking.delta != nullptr || looking.placed || key_frames;
  for (size_t i = 0; i < (one_each ? flags.sources.size() : 1); ++i) {
    Device& device = *looking.devices[std::min(i, looking.devices.size() - 1)];
    if (key_frames) {
      SHOAL_ASSIGN(auto one, watch::open_key_frame_detector(model, device, *key_frames, head));
      looking.detectors.push_back(std::move(one.detector));
      looking.pipelines.push_back(std::move(one.pipeline));
      looking.see.push_back(std::move(one.see));
      continue;
    }
    SHOAL_ASSIGN(auto one, flags.rectangular
                               ? detect::Detector::open_rectangular(model, device, head)
                               : detect::Detector::open(model, device, head));
    looking.detectors.push_back(std::move(one));
  }
  return {};
}

void print(const watch::StreamResults& results, const WatchOutputs& outputs, const Looking& looking,
           const WatchFlags& flags) {
  const watch::WatchResult& all = results.all;
  if (!flags.json) {
    std::fprintf(stderr, "%zu frames, %zu of them not looked at; %.1f frames/s, %.2f ms each\n",
                 all.frames, all.skipped, all.fps(), all.latency_ms_p50);
    return;
  }
  Json each = Json::array();
  double looks = 0, computed = 0;  // by all sources
  for (size_t i = 0; i < results.each.size(); ++i) {
    const watch::WatchResult& result = results.each[i];
    const double share = looking.computed_share(i);
    const auto looked = static_cast<double>(result.frames - result.skipped);
    looks += looked;
    computed += looked * share;
    Json one = to_json(result, share);
    one["source"] = flags.sources[i];
    if (outputs.has_activity()) one.update(outputs.places(i));
    if (looking.placed) one["place"] = looking.placed->to_json(i);
    each.push_back(one);
  }
  Json json = to_json(all, looks > 0 ? computed / looks : 1);
  json["sources"] = each;
  std::printf("%s\n", json.dump().c_str());
}

watch::WatchOptions options_of(const WatchFlags& flags, const Looking& looking) {
  watch::WatchOptions options = flags.options;
  options.gate = flags.gate == "auto";
  options.track = options.track || flags.outputs.wants_activity();
  options.at_once = looking.placed.has_value();
  if (flags.plan.is_on_cluster()) options.detector_timeout = kDetectorTimeout;
  return options;
}

Outcome watch_and_print(WatchFlags& flags) {
  flags.plan.local_device = flags.model.device;
  if (flags.delta != "off" && flags.key_frames != "off") {
    return fail(Exit::kUsage, invalid("--delta and --key-frames exclude each other"));
  }
  if (flags.motion == "codec" && flags.key_frames == "off") {
    return fail(Exit::kUsage, invalid("--motion codec needs --key-frames"));
  }
  if (flags.rectangular && flags.key_frames != "off") {
    return fail(Exit::kUsage, invalid("--rect and --key-frames exclude each other"));
  }
  const Status together = flags.place.check(flags.plan, parse_delta(flags.delta)->has_value());
  if (!together.ok()) return fail(Exit::kUsage, together);
  const std::atomic<bool>* const cancel = cancel_on_signals();
  SHOAL_OR_EXIT(const auto sources, Exit::kUsage, open_sources(flags, cancel));
  auto opened = open_devices(flags);
  if (!opened.ok()) {
    const Status& why = opened.status();
    return fail(flags.plan.is_on_cluster() ? exit_of(Doing::kConnect, why) : Exit::kDevice, why);
  }
  Looking& looking = *opened;
  if (const Status status = open_detectors(flags, looking); !status.ok()) {
    return fail(Exit::kModel, status);
  }
  std::vector<detect::Detector>& detectors = looking.detectors;
  std::vector<watch::Stream> streams;
  for (size_t i = 0; i < sources.size(); ++i) {
    streams.push_back({sources[i].get(), &detectors[std::min(i, detectors.size() - 1)], {}});
    if (flags.motion == "codec" && !looking.see.empty()) streams.back().see = looking.see[i];
  }
  SHOAL_OR_EXIT(const auto outputs, Exit::kUsage,
                WatchOutputs::open(flags.outputs, flags.sources, detectors.front().head(),
                                   flags.outputs.jsonl.empty() && !flags.json));
  std::optional<ProgressBar> bar;
  // Of several sources one that does not answer would hold up the rest.
  const auto size = sources.size() == 1 ? sources.front()->size() : std::nullopt;
  if (size) bar.emplace("frames", *size);
  const watch::WatchCallbacks callbacks{
      .on_frame = [&](const watch::FrameAnswer& answer) -> Status {
        if (bar) bar->at(answer.frame + 1, "");
        if (looking.placed) looking.placed->note(answer);
        return outputs->add(answer);
      },
      .on_note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); },
      .cancel = cancel};
  const auto results = watch::watch_all(streams, options_of(flags, looking), callbacks);
  bar.reset();
  const Status finished = outputs->finish();  // also where watching failed: who listens must know
  if (!results.ok()) return fail(Exit::kUsage, results.status());
  if (!finished.ok()) return fail(Exit::kUsage, finished);
  print(*results, *outputs, looking, flags);
  return {};
}

}  // namespace

void add_watch(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "watch", "Find and follow objects in a video or in images",
                  kExamples, watch_and_print);
  add_to(flags, command);
}

}  // namespace shoal::cli
