// Where the answers of `shoal watch` go: lines of JSON, a terminal, annotated videos, clips, a
// broker.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "apps/flags/json.h"
#include "shoal/base/status.h"
#include "shoal/detect/head.h"
#include "shoal/mqtt/client.h"
#include "shoal/mqtt/reporter.h"
#include "shoal/watch/activity.h"
#include "shoal/watch/clips.h"
#include "shoal/watch/draw.h"
#include "shoal/watch/frame_writer.h"
#include "shoal/watch/place_totals.h"
#include "shoal/watch/watch.h"

namespace shoal::cli {

struct OutputFlags {
  std::string jsonl, out, clips, mqtt;
  std::vector<std::string> zones, lines;

  void add_to(Command& command);
  // Whether what objects do is wanted, for which they need identities.
  bool wants_activity() const;
};

// Called on the thread that watches.
class WatchOutputs {
 public:
  // `printed`: answers also go to standard output. Fails where something cannot be written, or a
  // place is none.
  static Result<std::unique_ptr<WatchOutputs>> open(const OutputFlags& flags,
                                                    const std::vector<std::string>& sources,
                                                    const detect::Head& head, bool printed);

  // The answer about a frame.
  Status add(const watch::FrameAnswer& answer);
  // All streams have ended.
  Status finish();

  // What happened at the zones and lines of a source, for the object at the end.
  Json places(size_t source) const;
  bool has_activity() const { return !activities_.empty(); }

 private:
  explicit WatchOutputs(const OutputFlags& flags) : flags_(flags) {}
  Status open_files();
  Status open_broker();
  Status write_line(const watch::FrameAnswer& answer, const std::vector<watch::Event>& events);
  Status write_images(const watch::FrameAnswer& answer, bool event);
  void publish(size_t source, const std::vector<watch::Event>& events);

  OutputFlags flags_;
  std::vector<std::string> sources_, names_;
  bool printed_ = false;
  watch::Annotation annotation_;
  std::ofstream lines_;
  std::vector<watch::Activity> activities_;  // of each source; none where nobody asked
  std::vector<watch::PlaceTotals> totals_;
  std::vector<std::unique_ptr<watch::FrameWriter>> writers_;
  std::vector<watch::ClipRecorder> recorders_;
  std::unique_ptr<mqtt::Reporter> reporter_;
  std::unique_ptr<mqtt::Client> client_;
};

}  // namespace shoal::cli
