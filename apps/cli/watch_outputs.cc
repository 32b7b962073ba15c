#include "watch_outputs.h"

#include <cstdio>

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

}  // namespace

void OutputFlags::add_to(Command& command) {
  command.add_option("--jsonl", jsonl, "Write a line of JSON for each frame to this file");
  command.add_option("--out", out,
                     "Write frames with boxes: a video (.mp4, .mkv, .mov) or a folder "
                     "of pictures");
  command.add_option("--clips", clips, "Write a video around each event into this folder");
  command
      .add_option("--mqtt", broker,
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

Result<std::unique_ptr<WatchOutputs>> WatchOutputs::open(const OutputFlags& flags,
                                                         const std::vector<std::string>& sources,
                                                         const detect::Head& head, bool printed) {
  auto all = std::make_unique<WatchOutputs>();
  all->jsonl_ = flags.jsonl;
  all->sources_ = sources;
  all->printed_ = printed;
  if (!flags.jsonl.empty()) {
    all->lines_.open(flags.jsonl);
    if (!all->lines_) return invalid(flags.jsonl + " cannot be written");
  }
  mqtt::SinkOptions options = flags;
  options.version = SHOAL_VERSION;
  SHOAL_ASSIGN(all->sinks_, mqtt::Sinks::open(options, sources, head));
  return all;
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
  return lines_.good() ? Status() : Status(Code::kExhausted, jsonl_ + ": the disk is full");
}

Status WatchOutputs::add(const watch::FrameAnswer& answer) {
  SHOAL_ASSIGN(const std::vector<watch::Event> events, sinks_->add(answer));
  if (printed_) {
    const bool several = sources_.size() > 1;
    print_boxes(answer, sinks_->annotation(), several ? sinks_->names()[answer.source] + " " : "");
    print_events(events, sinks_->annotation());
  }
  return write_line(answer, events);
}

Json WatchOutputs::places(size_t source) const {
  Json zones = Json::object(), lines = Json::object();
  for (const auto& [name, sum] : sinks_->totals(source).zones) {
    zones[name] = Json{{"entered", sum.entered}, {"seconds", sum.seconds}};
  }
  for (const auto& [name, sum] : sinks_->totals(source).lines) {
    lines[name] = Json{{"forwards", sum.forwards}, {"backwards", sum.backwards}};
  }
  return {{"zones", zones}, {"lines", lines}};
}

}  // namespace shoal::cli
