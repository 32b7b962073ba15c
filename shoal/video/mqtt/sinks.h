// Sinks: the outputs for streams: JSON lines, text, annotated videos, clips of events, totals of
// zones and lines, a broker.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/mqtt/client.h"
#include "shoal/video/mqtt/reporter.h"
#include "shoal/video/watch/output/clips.h"
#include "shoal/video/watch/output/draw.h"
#include "shoal/video/watch/places/activity.h"
#include "shoal/video/watch/places/place_totals.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::mqtt {

struct SinkOptions {
  std::filesystem::path jsonl = {};  // a file of one line of JSON for each frame; empty: none
  std::filesystem::path out = {};    // a video or a folder of pictures; empty: none
  std::filesystem::path clips = {};  // a folder for a video around each event; empty: none
  std::string broker = {};           // as parse_broker() takes it; empty: none
  // As parse_zone() and parse_line() take them.
  std::vector<std::string> zones = {}, lines = {};
  std::string version = {};  // of the program
  // Called with lines about each frame, for people; none: they are not made.
  std::function<void(const std::string& lines)> on_text = {};

  // Whether activity is wanted, which needs identities.
  bool wants_activity() const {
    return !zones.empty() || !lines.empty() || !broker.empty() || !clips.empty();
  }
};

// "out.mp4" of a source among several is "out-NAME.mp4", and a folder has one folder for each.
std::filesystem::path target_of(const std::filesystem::path& out, const std::string& name,
                                bool several);

// Called on the thread that watches.
class Sinks {
 public:
  // Fails if something cannot be written, a zone or line is invalid, or the broker cannot be
  // reached.
  static Result<std::unique_ptr<Sinks>> open(const SinkOptions& options,
                                             const std::vector<std::string>& sources,
                                             const detect::Head& head);

  // Handles a frame's answer. Returns its events; none without wants_activity().
  Result<std::vector<watch::Event>> add(const watch::FrameAnswer& answer);
  // All streams have ended.
  Status finish();

  const std::vector<std::string>& names() const { return names_; }  // of the sources
  const watch::Annotation& annotation() const { return annotation_; }
  const watch::PlaceTotals& totals(size_t source) const { return totals_[source]; }
  bool has_activity() const { return !activities_.empty(); }

 private:
  Sinks() = default;
  Status open_files();
  Status open_broker();
  Status write_line(const watch::FrameAnswer& answer, const std::vector<watch::Event>& events);
  Status write_images(const watch::FrameAnswer& answer, bool event);
  void publish(size_t source, const std::vector<watch::Event>& events);

  SinkOptions options_;
  std::vector<std::string> sources_, names_;
  std::ofstream jsonl_;
  watch::Annotation annotation_;
  std::vector<watch::Activity> activities_;  // of each source, with wants_activity()
  std::vector<watch::PlaceTotals> totals_;
  std::vector<std::unique_ptr<watch::FrameWriter>> writers_;
  std::vector<watch::ClipRecorder> recorders_;
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Client> client_;
};

}  // namespace shoal::mqtt
