// shoal watch: objects in a stream of images.
#include "shoal/watch/watch.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "apps/flags/json.h"
#include "detector_model.h"
#include "exit_codes.h"
#include "model.h"
#include "progress.h"
#include "shoal/delta/delta_device.h"
#include "shoal/watch/open_source.h"
#include "shoal/watch/scene.h"
#include "train/cancel_on_signals.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal watch frames --model yolox-nano.onnx                      boxes of each image of a folder
  shoal watch street.mp4 --model yolox-nano.onnx --track --gate auto --jsonl boxes.jsonl --json
  shoal watch rtsp://camera/stream --model yolox-nano.onnx --track
  shoal watch zoo:scene --gate auto                               a synthetic scene and its detector)";

struct WatchFlags {
  ModelFlags model;
  std::string source, gate = "off", delta = "off", jsonl, head;
  watch::WatchOptions options;
  double timeout = 10;
  bool json = false;
};

void add_to(WatchFlags& f, Command& command) {
  command
      .add_option(
          "source", f.source,
          "A video, a camera (/dev/video0), a URL (rtsp://, http://), an image, a folder of "
          "images, or zoo:scene")
      ->required();
  f.model.model.clear();  // the model that needs no file is no detector
  command.add_option("--model", f.model.model, "A detector: ONNX file; zoo:scene has its own");
  f.model.add_computing_to(command);
  command.add_option("--head", f.head, "What its outputs mean, if their shapes do not say it")
      ->check(one_of(detect::head_names()));
  command.add_option("--gate", f.gate, "auto: do not look at frames in which nothing changed")
      ->check(one_of({"auto", "off"}))
      ->capture_default_str();
  command
      .add_option("--delta", f.delta, "auto, or a threshold: compute only what changed; 0: exactly")
      ->check([](const std::string& text) {
        const auto threshold = parse_delta(text);
        return threshold.ok() ? std::string() : std::string(threshold.status().message());
      })
      ->capture_default_str();
  command.add_flag("--track", f.options.track, "Follow objects: boxes have an id");
  command.add_option("--frames", f.options.frames, "Only the first N frames; 0: all");
  command.add_option("--score", f.options.suppression.least_score, "The least score of a box")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--timeout", f.timeout, "Seconds without a frame until a video has stalled")
      ->check(in_range(0.1, 3600.0))
      ->capture_default_str();
  command.add_option("--jsonl", f.jsonl, "Write a line of JSON for each frame to this file");
  command.add_flag("--json", f.json, "Print one JSON object");
}

Json to_json(const watch::FrameAnswer& answer) {
  Json boxes = Json::array();
  for (const watch::Seen& one : answer.seen) {
    const detect::Box& box = one.detection.box;
    Json json = {{"class", one.detection.label},
                 {"score", one.detection.score},
                 {"x", box.left},
                 {"y", box.top},
                 {"w", box.width()},
                 {"h", box.height()}};
    if (one.id > 0) json["id"] = one.id;
    boxes.push_back(json);
  }
  return {{"frame", answer.frame},
          {"name", answer.name},
          {"time_ms", static_cast<double>(answer.time_us) / 1e3},
          {"looked", answer.looked},
          {"boxes", boxes}};
}

void print_boxes(const watch::FrameAnswer& answer) {
  for (const watch::Seen& one : answer.seen) {
    const detect::Box& box = one.detection.box;
    std::printf("%s: class %lld, %.2f, at %.0f,%.0f, %.0f x %.0f", answer.name.c_str(),
                static_cast<long long>(one.detection.label),
                static_cast<double>(one.detection.score), static_cast<double>(box.left),
                static_cast<double>(box.top), static_cast<double>(box.width()),
                static_cast<double>(box.height()));
    std::printf(one.id > 0 ? ", id %lld\n" : "\n", static_cast<long long>(one.id));
  }
}

// Of all multiply-accumulates, had every frame been computed whole.
double macs_share(const watch::WatchResult& result, const DeltaDevice* delta) {
  return result.macs_share() * (delta != nullptr ? delta->statistics().macs_share() : 1);
}

Result<Model> open_detector_of(const WatchFlags& flags) {
  if (!flags.model.model.empty()) return open_detector_model(flags.model.model);
  if (flags.source == watch::kScene) return open_detector_model(flags.source);
  return invalid("--model is needed: a detector");
}

Outcome watch_and_print(const WatchFlags& flags) {
  watch::WatchOptions options = flags.options;
  options.gate = flags.gate == "auto";
  const std::atomic<bool>* const cancel = cancel_on_signals();
  const std::chrono::milliseconds timeout(static_cast<int64_t>(1000 * flags.timeout));
  SHOAL_OR_EXIT(const auto source, Exit::kUsage,
                watch::open_source(flags.source, {.timeout = timeout, .cancel = cancel}));
  SHOAL_OR_EXIT(std::unique_ptr<Device> device, Exit::kDevice, make_device(flags.model));
  const DeltaDevice* delta = nullptr;
  if (const auto threshold = *parse_delta(flags.delta)) {
    auto made = std::make_unique<DeltaDevice>(std::move(device), DeltaOptions{*threshold});
    delta = made.get();
    device = std::move(made);
  }
  SHOAL_OR_EXIT(const Model model, Exit::kModel, open_detector_of(flags));
  SHOAL_OR_EXIT(detect::Detector detector, Exit::kModel,
                detect::Detector::open(model, *device, detect::find_head(flags.head)));
  std::ofstream lines;
  if (!flags.jsonl.empty()) {
    lines.open(flags.jsonl);
    if (!lines) return {Exit::kUsage, flags.jsonl + " cannot be written"};
  }
  std::optional<ProgressBar> bar;
  if (source->size()) bar.emplace("frames", *source->size());
  const watch::WatchCallbacks callbacks{
      .on_frame = [&](const watch::FrameAnswer& answer) -> Status {
        if (bar) bar->at(answer.frame + 1, "");
        if (lines.is_open()) lines << to_json(answer).dump() << "\n";
        if (flags.jsonl.empty() && !flags.json) print_boxes(answer);
        return lines.good() || !lines.is_open()
                   ? Status()
                   : Status(Code::kExhausted, flags.jsonl + ": the disk is full");
      },
      .on_note = [](const std::string& note) { std::fprintf(stderr, "%s\n", note.c_str()); },
      .cancel = cancel};
  SHOAL_OR_EXIT(const watch::WatchResult result, Exit::kUsage,
                watch::watch(detector, *source, options, callbacks));
  bar.reset();
  if (flags.json) {
    const Json json = {{"frames", result.frames},
                       {"skipped", result.skipped},
                       {"fps", result.fps()},
                       {"latency_ms_p50", result.latency_ms_p50},
                       {"latency_ms_p99", result.latency_ms_p99},
                       {"changed", result.changed},
                       {"macs_share", macs_share(result, delta)}};
    std::printf("%s\n", json.dump().c_str());
  } else {
    std::fprintf(stderr, "%zu frames, %zu of them not looked at; %.1f frames/s, %.2f ms each\n",
                 result.frames, result.skipped, result.fps(), result.latency_ms_p50);
  }
  return {};
}

}  // namespace

void add_watch(Command& app, Action& action) {
  auto flags = std::make_shared<WatchFlags>();
  Command* command = app.add_subcommand("watch", "Find and follow objects in a video or in images");
  command->footer(kExamples);
  add_to(*flags, *command);
  command->callback([flags, &action] { action = [flags] { return watch_and_print(*flags); }; });
}

}  // namespace shoal::cli
