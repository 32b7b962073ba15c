#include "shoal/video/mqtt/sinks.h"

#include <chrono>
#include <utility>

#include "shoal/video/detect/head.h"
#include "shoal/video/watch/output/answer_text.h"

namespace shoal::mqtt {

std::filesystem::path target_of(const std::filesystem::path& out, const std::string& name,
                                bool several) {
  if (!several) return out;
  if (!watch::is_video_file(out)) return out / name;
  return out.parent_path() / (out.stem().string() + "-" + name + out.extension().string());
}

Result<std::unique_ptr<Sinks>> Sinks::open(const SinkOptions& options,
                                           const std::vector<std::string>& sources,
                                           const detect::Head& head) {
  std::unique_ptr<Sinks> all(new Sinks);
  all->options_ = options;
  all->sources_ = sources;
  all->names_ = camera_names(sources);
  all->annotation_.class_name = [head](int64_t label) { return detect::class_name(head, label); };
  for (const std::string& text : options.zones) {
    SHOAL_ASSIGN(watch::Zone zone, watch::parse_zone(text));
    all->annotation_.zones.push_back(std::move(zone));
  }
  for (const std::string& text : options.lines) {
    SHOAL_ASSIGN(watch::Line line, watch::parse_line(text));
    all->annotation_.lines.push_back(std::move(line));
  }
  all->totals_.resize(sources.size());
  const watch::ActivityOptions watched{.zones = all->annotation_.zones,
                                       .lines = all->annotation_.lines};
  if (options.wants_activity()) all->activities_.assign(sources.size(), watch::Activity(watched));
  SHOAL_TRY(all->open_files());
  SHOAL_TRY(all->open_broker());
  return all;
}

Status Sinks::open_files() {
  if (!options_.jsonl.empty()) {
    jsonl_.open(options_.jsonl);
    if (!jsonl_) return invalid(options_.jsonl.string() + " cannot be written");
  }
  for (const std::string& name : names_) {
    if (!options_.out.empty()) {
      SHOAL_ASSIGN(auto writer,
                   watch::open_writer(target_of(options_.out, name, names_.size() > 1)));
      writers_.push_back(std::move(writer));
    }
    if (!options_.clips.empty()) recorders_.emplace_back(options_.clips, name);
  }
  return {};
}

Status Sinks::open_broker() {
  if (options_.broker.empty()) return {};
  SHOAL_ASSIGN(const Broker broker, parse_broker(options_.broker));
  reporter_ = std::make_unique<Reporter>(ReporterOptions{.prefix = broker.prefix,
                                                         .cameras = names_,
                                                         .class_name = annotation_.class_name,
                                                         .zones = annotation_.zones,
                                                         .lines = annotation_.lines,
                                                         .version = options_.version});
  SHOAL_ASSIGN(client_, Client::connect(broker, reporter_->availability(false)));
  client_->publish(reporter_->availability(true));
  return {};
}

void Sinks::publish(size_t source, const std::vector<watch::Event>& events) {
  if (client_ == nullptr) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  for (const Message& message :
       reporter_->report(source, activities_[source], events, now.count())) {
    client_->publish(message);
  }
}

Status Sinks::write_line(const watch::FrameAnswer& answer,
                         const std::vector<watch::Event>& events) {
  if (options_.on_text) {
    const std::string source = names_.size() > 1 ? names_[answer.source] + " " : "";
    options_.on_text(text_of(answer, annotation_, source) + text_of(events, annotation_));
  }
  if (!jsonl_.is_open()) return {};
  jsonl_ << to_json(answer, events, sources_[answer.source]).dump() << std::endl;  // at once
  return jsonl_.good() ? Status()
                       : Status(Code::kExhausted, options_.jsonl.string() + ": the disk is full");
}

Status Sinks::write_images(const watch::FrameAnswer& answer, bool event) {
  if (writers_.empty() && recorders_.empty()) return {};
  const Tensor image = watch::annotate(answer, annotation_);
  const int64_t time = watch::shown_at_us(answer);
  if (!writers_.empty()) SHOAL_TRY(writers_[answer.source]->write(image, time));
  if (recorders_.empty()) return {};
  return recorders_[answer.source].add(image, time, answer.frame, event);
}

Result<std::vector<watch::Event>> Sinks::add(const watch::FrameAnswer& answer) {
  std::vector<watch::Event> events;
  if (has_activity()) events = activities_[answer.source].update(answer);
  totals_[answer.source].add(events);
  publish(answer.source, events);
  SHOAL_TRY(write_images(answer, !events.empty()));
  SHOAL_TRY(write_line(answer, events));
  return events;
}

Status Sinks::finish() {
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

}  // namespace shoal::mqtt
