// shoal watch: objects in a stream of images.
#include "shoal/watch/watch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "apps/flags/json.h"
#include "cluster/cluster_device.h"
#include "exit_codes.h"
#include "model.h"
#include "placed_streams.h"
#include "progress.h"
#include "shoal/mqtt/sinks.h"
#include "shoal/watch/facts.h"
#include "shoal/watch/look_words.h"
#include "shoal/watch/open_source.h"
#include "shoal/watch/scene.h"
#include "train/cancel_on_signals.h"

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
  std::string gate = "off";
  watch::LookWords look;
  mqtt::SinkOptions sinks;
  PlaceFlags place;
  watch::WatchOptions options;
  double timeout = 10;
  bool json = false;
};

void add_sinks(Command& command, mqtt::SinkOptions& sinks) {
  command.add_option("--jsonl", sinks.jsonl, "Write a line of JSON for each frame to this file");
  command.add_option("--out", sinks.out,
                     "Write frames with boxes: a video (.mp4, .mkv, .mov) or a folder "
                     "of pictures");
  command.add_option("--clips", sinks.clips, "Write a video around each event into this folder");
  command
      .add_option("--mqtt", sinks.broker,
                  "Publish counts and events to a broker: mqtt://[USER:PASSWORD@]HOST[:PORT][/"
                  "PREFIX], or mqtts://")
      ->check(parsed_by(mqtt::parse_broker))
      ->envname("SHOAL_MQTT");
  command
      .add_option("--zone", sinks.zones,
                  "A zone: NAME=x,y,x,y,x,y, its corners in pixels, or as shares of the image "
                  "where none is above 1")
      ->check(parsed_by(watch::parse_zone));
  command
      .add_option("--line", sinks.lines,
                  "A line: NAME=x1,y1,x2,y2; forwards is from its left to its right")
      ->check(parsed_by(watch::parse_line));
}

void add_watch_flags(WatchFlags& f, Command& command) {
  command
      .add_option(
          "source", f.sources,
          "A video, a camera (/dev/video0), a URL (rtsp://, http://), an image, a folder of "
          "images, or zoo:scene; several are watched at once")
      ->required();
  f.model.model.clear();  // the model that needs no file is no detector
  command.add_option("--model", f.model.model, "A detector: ONNX file; zoo:scene has its own");
  f.model.add_computing_to(command);
  command.add_option("--head", f.look.head, "What its outputs mean, if their shapes do not say it",
                     one_of(detect::head_names()));
  command.add_setting("--gate", f.gate, "auto: do not look at frames in which nothing changed",
                      one_of({"auto", "off"}));
  command.add_setting("--agreement", f.options.gate_options.agreement,
                      "F1 with a detector that looks at every frame, for --gate auto",
                      in_range(0.0, 1.0));
  command
      .add_setting("--delta", f.look.delta,
                   "auto, or a threshold: compute only what changed; 0: exactly")
      ->check(parsed_by(parse_delta));
  command
      .add_setting(
          "--key-frames", f.look.key_frames,
          "auto, or one in N frames: features of the others are those of the last one, "
          "moved by what is seen to move; with :async they are computed meanwhile, with :sparse "
          "only where the image has changed")
      ->check(parsed_by(keyframe::parse_key_frames));
  command.add_setting(
      "--motion", f.look.motion,
      "What moves features between key frames: flow, or the vectors of a video's codec "
      "where it has them",
      one_of({"flow", "codec"}));
  command.add_flag("--rect", f.look.rectangular,
                   "Compute only the part of the network's input that the image fills");
  command.add_flag("--track", f.options.track, "Follow objects: boxes have an id");
  command.add_option("--frames", f.options.frames,
                     "Only the first N frames of each source; 0: all");
  command.add_setting("--score", f.options.suppression.least_score, "The least score of a box",
                      in_range(0.0, 1.0));
  command.add_setting("--timeout", f.timeout, "Seconds without a frame until a video has stalled",
                      in_range(0.1, 3600.0));
  add_sinks(command, f.sinks);
  f.plan.add_cluster_to(command);
  f.place.add_to(command);
  command.add_flag("--json", f.json, "Print one JSON object");
}

Result<Model> open_detector_of(const WatchFlags& flags) {
  if (!flags.model.model.empty()) return open_detector_model(flags.model.model);
  const auto is_scene = [](const std::string& source) { return source == watch::kScene; };
  if (std::ranges::all_of(flags.sources, is_scene)) {
    return open_detector_model(std::string(watch::kScene));
  }
  return invalid("--model is needed: a detector");
}

// A device for all streams, or one for each, where they are placed.
Result<std::vector<std::unique_ptr<Device>>> open_devices(const WatchFlags& flags, bool delta,
                                                          std::optional<PlacedStreams>& placed) {
  if (flags.place.is_whole(flags.plan, flags.sources.size(), delta)) {
    return placed.emplace(flags.sources, flags.place).open_devices(flags.plan);
  }
  std::vector<std::unique_ptr<Device>> devices;
  SHOAL_ASSIGN(devices.emplace_back(), flags.plan.is_on_cluster() ? open_cluster_device(flags.plan)
                                                                  : make_device(flags.model));
  return devices;
}

Result<watch::Looks> open_looks(const WatchFlags& flags, const watch::LookOptions& options,
                                std::vector<std::unique_ptr<Device>> devices) {
  SHOAL_ASSIGN(const Model model, open_detector_of(flags));
  return watch::Looks::open(model, std::move(devices), flags.sources.size(), options);
}

void print(const watch::StreamResults& results, const mqtt::Sinks& sinks, const watch::Looks& looks,
           const std::optional<PlacedStreams>& placed, const WatchFlags& flags) {
  const watch::WatchResult& all = results.all;
  if (!flags.json) {
    std::fprintf(stderr, "%zu frames, %zu of them not looked at; %.1f frames/s, %.2f ms each\n",
                 all.frames, all.skipped, all.fps(), all.latency_ms_p50);
    return;
  }
  Json each = Json::array();
  for (size_t i = 0; i < results.each.size(); ++i) {
    Json one = to_json(results.each[i], looks.computed_share(i));
    one["source"] = flags.sources[i];
    if (sinks.has_activity()) one.update(to_json(sinks.totals(i)));
    if (placed) one["place"] = to_json(placed->latest(), i);
    each.push_back(one);
  }
  Json json = to_json(all, looks.computed_share(results.each));
  json["sources"] = each;
  print_json(json);
}

watch::WatchOptions watch_options(const WatchFlags& flags, bool placed) {
  watch::WatchOptions options = flags.options;
  options.gate = flags.gate == "auto";
  options.track = options.track || flags.sinks.wants_activity();
  options.at_once = placed;
  if (flags.plan.is_on_cluster()) options.detector_timeout = kDetectorTimeout;
  return options;
}

mqtt::SinkOptions sink_options(const WatchFlags& flags) {
  mqtt::SinkOptions options = flags.sinks;
  options.version = SHOAL_VERSION;
  if (options.jsonl.empty() && !flags.json) {
    options.on_text = [](const std::string& lines) { std::fputs(lines.c_str(), stdout); };
  }
  return options;
}

Outcome watch_and_print(WatchFlags& flags) {
  flags.plan.local_device = flags.model.device;
  SHOAL_OR_EXIT(const watch::LookOptions look, Exit::kUsage, flags.look.options());
  const Status together = flags.place.check(flags.plan, look.delta.has_value());
  if (!together.ok()) return fail(Exit::kUsage, together);
  const std::atomic<bool>* const cancel = cancel_on_signals();
  const std::chrono::milliseconds timeout(static_cast<int64_t>(1000 * flags.timeout));
  SHOAL_OR_EXIT(const auto sources, Exit::kUsage,
                watch::open_sources(
                    flags.sources,
                    {.timeout = timeout, .cancel = cancel, .motion = flags.look.uses_codec()}));
  std::optional<PlacedStreams> placed;
  auto devices = open_devices(flags, look.delta.has_value(), placed);
  if (!devices.ok()) {
    const Status& why = devices.status();
    return fail(flags.plan.is_on_cluster() ? exit_of(Doing::kConnect, why) : Exit::kDevice, why);
  }
  SHOAL_OR_EXIT(watch::Looks looks, Exit::kModel, open_looks(flags, look, *std::move(devices)));
  SHOAL_OR_EXIT(const auto sinks, Exit::kUsage,
                mqtt::Sinks::open(sink_options(flags), flags.sources, looks.head()));
  std::optional<ProgressBar> bar;
  // Of several sources one that does not answer would hold up the rest.
  const auto size = sources.size() == 1 ? sources.front()->size() : std::nullopt;
  if (size) bar.emplace("frames", *size);
  const watch::WatchCallbacks callbacks{
      .on_frame = [&](const watch::FrameAnswer& answer) -> Status {
        if (bar) bar->at(answer.frame + 1, "");
        if (placed) placed->note(answer);
        return sinks->add(answer).status();
      },
      .on_note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); },
      .cancel = cancel};
  const auto results =
      watch::watch_all(looks.streams(sources), watch_options(flags, placed.has_value()), callbacks);
  bar.reset();
  const Status finished = sinks->finish();  // also where watching failed: who listens must know
  if (!results.ok()) return fail(Exit::kUsage, results.status());
  if (!finished.ok()) return fail(Exit::kUsage, finished);
  print(*results, *sinks, looks, placed, flags);
  return {};
}

}  // namespace

void add_watch(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "watch", "Find and follow objects in a video or in images",
                  kExamples, watch_and_print);
  add_watch_flags(flags, command);
}

}  // namespace shoal::cli
