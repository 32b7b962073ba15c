// shoal watch: objects in a stream of images.
#include "shoal/video/watch/run/watch.h"

#include <cstdio>
#include <optional>

#include "apps/commands/video/watch.h"
#include "apps/flags/json.h"
#include "cluster/cluster_device.h"
#include "exit_codes.h"
#include "model.h"
#include "placed_streams.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/video/mqtt/sinks.h"
#include "shoal/video/watch/frames/open_source.h"
#include "shoal/video/watch/output/answer_text.h"
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

struct WatchFlags {
  ModelFlags model;
  PlanFlags plan;
  std::vector<std::string> sources;
  watch::WatchSettings watching;
  mqtt::SinkOptions sinks;
  config::PlaceSettings place;
  bool json = false;
};

// A device for all streams, or one for each, where they are placed.
Result<std::vector<std::unique_ptr<Device>>> open_devices(const WatchFlags& flags, bool delta,
                                                          std::optional<PlacedStreams>& placed) {
  if (flags.place.is_whole(flags.plan, flags.sources.size(), delta)) {
    return placed.emplace(flags.sources, flags.place).open_devices(flags.plan);
  }
  std::vector<std::unique_ptr<Device>> devices;
  SHOAL_ASSIGN(devices.emplace_back(), open_device(flags.plan, flags.model));
  return devices;
}

Result<watch::Looks> open_looks(const WatchFlags& flags, const watch::LookOptions& options,
                                std::vector<std::unique_ptr<Device>> devices) {
  SHOAL_ASSIGN(const std::string name, watch::detector_for(flags.model.model, flags.sources));
  SHOAL_ASSIGN(const Model model, open_detector_model(name));
  return watch::Looks::open(model, std::move(devices), flags.sources.size(), options);
}

void print(const watch::StreamResults& results, const mqtt::Sinks& sinks, const watch::Looks& looks,
           const std::optional<PlacedStreams>& placed, const WatchFlags& flags) {
  if (!flags.json) {
    std::fprintf(stderr, "%s\n", text_of(results.all).c_str());
    return;
  }
  std::vector<watch::StreamFacts> each;
  for (size_t i = 0; i < results.each.size(); ++i) {
    watch::StreamFacts one{flags.sources[i], looks.computed_share(i)};
    if (sinks.has_activity()) one.more = to_json(sinks.totals(i));
    if (placed) one.more["place"] = to_json(placed->latest(), i);
    each.push_back(std::move(one));
  }
  print_json(to_json(results, looks.computed_share(results.each), each));
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
  const watch::LookWords& words = flags.watching.look;
  SHOAL_OR_EXIT(const watch::LookOptions look, Exit::kUsage, words.options());
  SHOAL_TRY_OR_EXIT(Exit::kUsage, flags.place.check(flags.plan, look.delta.has_value()));
  const std::atomic<bool>* const cancel = cancel_on_signals();
  SHOAL_OR_EXIT(const auto sources, Exit::kUsage,
                watch::open_sources(flags.sources, {.timeout = flags.watching.frame_timeout(),
                                                    .cancel = cancel,
                                                    .motion = words.uses_codec()}));
  std::optional<PlacedStreams> placed;
  auto devices = open_devices(flags, look.delta.has_value(), placed);
  if (!devices.ok()) return fail_opening(flags.plan, devices.status());
  SHOAL_OR_EXIT(watch::Looks looks, Exit::kModel, open_looks(flags, look, *std::move(devices)));
  SHOAL_OR_EXIT(const auto sinks, Exit::kUsage,
                mqtt::Sinks::open(sink_options(flags), flags.sources, looks.head()));
  // Of several sources one that does not answer would hold up the rest.
  ProgressBar bar("frames", sources.size() == 1 ? sources.front()->size().value_or(0) : 0);
  const watch::WatchCallbacks callbacks{
      .on_frame = [&](const watch::FrameAnswer& answer) -> Status {
        bar.at(answer.frame + 1);
        if (placed) placed->note(answer);
        return sinks->add(answer).status();
      },
      .on_note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); },
      .cancel = cancel};
  const watch::WatchOptions options =
      options_for(flags.watching, {.activity = flags.sinks.wants_activity(),
                                   .placed = placed.has_value(),
                                   .on_cluster = flags.plan.is_on_cluster()});
  const auto results = watch::watch_all(looks.streams(sources), options, callbacks);
  bar.end();
  const Status finished = sinks->finish();  // also if watching failed: readers must know
  if (!results.ok()) return fail(Exit::kUsage, results.status());
  SHOAL_TRY_OR_EXIT(Exit::kUsage, finished);
  print(*results, *sinks, looks, placed, flags);
  return {};
}

}  // namespace

void add_watch(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "watch", "Find and follow objects in a video or in images",
                  kExamples, watch_and_print);
  command
      .add_option(
          "source", flags.sources,
          "A video, a camera (/dev/video0), a URL (rtsp://, http://), an image, a folder of "
          "images, or zoo:scene; several are watched at once")
      ->required();
  flags.model.model.clear();  // the model that needs no file is no detector
  command.add_option("--model", flags.model.model, "A detector: ONNX file; zoo:scene has its own");
  flags.model.add_computing_to(command);
  command.add(settings_of(flags.watching));
  command.add(settings_of(flags.sinks));
  command.option("--mqtt")->envname("SHOAL_MQTT");
  flags.plan.add_cluster_to(command);
  command.add(settings_of(flags.place));
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
