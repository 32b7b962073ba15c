#include "watch_outputs.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "shoal/detect/class_names.h"

namespace shoal::cli {
namespace {

Json to_json(const watch::Event& event) {
  Json json = {
      {"event", watch::name_of(event.kind)}, {"id", event.id}, {"class", event.detection.label}};
  if (!event.place.empty()) json["place"] = event.place;
  if (event.kind == watch::EventKind::kCrossed) {
    json["direction"] = event.forwards ? "forwards" : "backwards";
  }
  if (event.kind == watch::EventKind::kLeft || event.kind == watch::EventKind::kVanished) {
    json["frames"] = event.frames;
    json["seconds"] = event.seconds;
  }
  return json;
}

Json to_json(const watch::FrameAnswer& answer, const std::string& source) {
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
  return {{"source", source},        {"frame", answer.frame},
          {"name", answer.name},     {"time_ms", static_cast<double>(answer.time_us) / 1e3},
          {"looked", answer.looked}, {"boxes", boxes}};
}

void print_boxes(const watch::FrameAnswer& answer, const watch::Annotation& what,
                 const std::string& source) {
  for (const watch::Seen& one : answer.seen) {
    const detect::Box& box = one.detection.box;
    std::printf("%s%s: %s, %.2f, at %.0f,%.0f, %.0f x %.0f", source.c_str(), answer.name.c_str(),
                what.class_name(one.detection.label).c_str(),
                static_cast<double>(one.detection.score), static_cast<double>(box.left),
                static_cast<double>(box.top), static_cast<double>(box.width()),
                static_cast<double>(box.height()));
    std::printf(one.id > 0 ? ", id %lld\n" : "\n", static_cast<long long>(one.id));
  }
}

void print_events(const std::vector<watch::Event>& events, const watch::Annotation& what) {
  for (const watch::Event& one : events) {
    const std::string kind(watch::name_of(one.kind));
    std::printf("%s %lld %s", what.class_name(one.detection.label).c_str(),
                static_cast<long long>(one.id), kind.c_str());
    if (!one.place.empty()) std::printf(" %s", one.place.c_str());
    if (one.kind == watch::EventKind::kCrossed) {
      std::printf(" %s", one.forwards ? "forwards" : "backwards");
    }
    std::printf(one.seconds > 0 ? " after %.1f s\n" : "\n", one.seconds);
  }
}

// "out.mp4" of a source among several is "out-NAME.mp4", and a folder has one folder for each.
std::filesystem::path target_of(const std::filesystem::path& out, const std::string& name,
                                bool several) {
  if (!several) return out;
  if (!watch::is_video_file(out)) return out / name;
  return out.parent_path() / (out.stem().string() + "-" + name + out.extension().string());
}

}  // namespace

void OutputFlags::add_to(Command& command) {
  command.add_option("--jsonl", jsonl, "Write a line of JSON for each frame to this file");
  command.add_option("--out", out,
                     "Write frames with boxes: a video (.mp4, .mkv, .mov) or a folder "
                     "of pictures");
  command.add_option("--clips", clips, "Write a video around each event into this folder");
  command
      .add_option("--mqtt", mqtt,
                  "Publish counts and events to a broker: mqtt://[USER:PASSWORD@]HOST[:PORT][/"
                  "PREFIX], or mqtts://")
      ->check(parsed_by(mqtt::parse_broker))
      ->envname("SHOAL_MQTT");
  command
      .add_option("--zone", zones,
                  "A zone: NAME=x,y,x,y,x,y, its corners in pixels, or as shares of the image "
                  "where none is above 1")
      ->check(parsed_by(watch::parse_zone));
  command
      .add_option("--line", lines,
                  "A line: NAME=x1,y1,x2,y2; forwards is from its left to its right")
      ->check(parsed_by(watch::parse_line));
}

bool OutputFlags::wants_activity() const {
  return !zones.empty() || !lines.empty() || !mqtt.empty() || !clips.empty();
}

Result<std::unique_ptr<WatchOutputs>> WatchOutputs::open(const OutputFlags& flags,
                                                         const std::vector<std::string>& sources,
                                                         const detect::Head& head, bool printed) {
  std::unique_ptr<WatchOutputs> all(new WatchOutputs(flags));
  all->sources_ = sources;
  all->names_ = mqtt::camera_names(sources);
  all->printed_ = printed;
  all->annotation_.class_name = [head](int64_t label) { return detect::class_name(head, label); };
  for (const std::string& text : flags.zones) {
    SHOAL_ASSIGN(watch::Zone zone, watch::parse_zone(text));
    all->annotation_.zones.push_back(std::move(zone));
  }
  for (const std::string& text : flags.lines) {
    SHOAL_ASSIGN(watch::Line line, watch::parse_line(text));
    all->annotation_.lines.push_back(std::move(line));
  }
  all->totals_.resize(sources.size());
  const watch::ActivityOptions watched{.zones = all->annotation_.zones,
                                       .lines = all->annotation_.lines};
  if (flags.wants_activity()) all->activities_.assign(sources.size(), watch::Activity(watched));
  SHOAL_TRY(all->open_files());
  SHOAL_TRY(all->open_broker());
  return all;
}

Status WatchOutputs::open_files() {
  if (!flags_.jsonl.empty()) {
    lines_.open(flags_.jsonl);
    if (!lines_) return invalid(flags_.jsonl + " cannot be written");
  }
  for (const std::string& name : names_) {
    if (!flags_.out.empty()) {
      SHOAL_ASSIGN(auto writer, watch::open_writer(target_of(flags_.out, name, names_.size() > 1)));
      writers_.push_back(std::move(writer));
    }
    if (!flags_.clips.empty()) recorders_.emplace_back(flags_.clips, name);
  }
  return {};
}

Status WatchOutputs::open_broker() {
  if (flags_.mqtt.empty()) return {};
  SHOAL_ASSIGN(const mqtt::Broker broker, mqtt::parse_broker(flags_.mqtt));
  reporter_ =
      std::make_unique<mqtt::Reporter>(mqtt::ReporterOptions{.prefix = broker.prefix,
                                                             .cameras = names_,
                                                             .class_name = annotation_.class_name,
                                                             .zones = annotation_.zones,
                                                             .lines = annotation_.lines,
                                                             .version = SHOAL_VERSION});
  SHOAL_ASSIGN(client_, mqtt::Client::connect(broker, reporter_->availability(false)));
  client_->publish(reporter_->availability(true));
  return {};
}

void WatchOutputs::publish(size_t source, const std::vector<watch::Event>& events) {
  if (client_ == nullptr) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  for (const mqtt::Message& message :
       reporter_->report(source, activities_[source], events, now.count())) {
    client_->publish(message);
  }
}

Status WatchOutputs::write_line(const watch::FrameAnswer& answer,
                                const std::vector<watch::Event>& events) {
  if (!lines_.is_open()) return {};
  Json json = to_json(answer, sources_[answer.source]);
  if (!events.empty()) {
    Json list = Json::array();
    for (const watch::Event& one : events) list.push_back(to_json(one));
    json["events"] = list;
  }
  lines_ << json.dump() << std::endl;  // somebody may wait for it
  return lines_.good() ? Status() : Status(Code::kExhausted, flags_.jsonl + ": the disk is full");
}

Status WatchOutputs::write_images(const watch::FrameAnswer& answer, bool event) {
  if (writers_.empty() && recorders_.empty()) return {};
  const Tensor image = watch::annotate(answer, annotation_);
  const int64_t time = watch::shown_at_us(answer);
  if (!writers_.empty()) SHOAL_TRY(writers_[answer.source]->write(image, time));
  if (recorders_.empty()) return {};
  return recorders_[answer.source].add(image, time, answer.frame, event);
}

Status WatchOutputs::add(const watch::FrameAnswer& answer) {
  std::vector<watch::Event> events;
  if (has_activity()) events = activities_[answer.source].update(answer);
  totals_[answer.source].add(events);
  publish(answer.source, events);
  if (printed_) {
    print_boxes(answer, annotation_, sources_.size() > 1 ? names_[answer.source] + " " : "");
    print_events(events, annotation_);
  }
  SHOAL_TRY(write_line(answer, events));
  return write_images(answer, !events.empty());
}

Status WatchOutputs::finish() {
  for (size_t i = 0; i < activities_.size(); ++i) {
    const std::vector<watch::Event> events = activities_[i].end();
    totals_[i].add(events);
    publish(i, events);
  }
  if (client_ != nullptr) client_->publish(reporter_->availability(false));
  client_.reset();
  Status failed;
  for (const auto& writer : writers_) {
    if (Status status = writer->finish(); !status.ok()) failed = status;
  }
  for (watch::ClipRecorder& recorder : recorders_) {
    if (Status status = recorder.finish(); !status.ok()) failed = status;
  }
  return failed;
}

Json WatchOutputs::places(size_t source) const {
  Json zones = Json::object(), lines = Json::object();
  for (const auto& [name, sum] : totals_[source].zones) {
    zones[name] = Json{{"entered", sum.entered}, {"seconds", sum.seconds}};
  }
  for (const auto& [name, sum] : totals_[source].lines) {
    lines[name] = Json{{"forwards", sum.forwards}, {"backwards", sum.backwards}};
  }
  return {{"zones", zones}, {"lines", lines}};
}

}  // namespace shoal::cli
