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
#include "shoal/mqtt/sinks.h"

namespace shoal::cli {

struct OutputFlags : mqtt::SinkOptions {
  std::string jsonl;

  void add_to(Command& command);
};

// Called on the thread that watches.
class WatchOutputs {
 public:
  // `printed`: answers also go to standard output. Fails as mqtt::Sinks::open() does.
  static Result<std::unique_ptr<WatchOutputs>> open(const OutputFlags& flags,
                                                    const std::vector<std::string>& sources,
                                                    const detect::Head& head, bool printed);

  // The answer about a frame.
  Status add(const watch::FrameAnswer& answer);
  // All streams have ended.
  Status finish() { return sinks_->finish(); }

  // What happened at the zones and lines of a source, for the object at the end.
  Json places(size_t source) const;
  bool has_activity() const { return sinks_->has_activity(); }

 private:
  Status write_line(const watch::FrameAnswer& answer, const std::vector<watch::Event>& events);

  std::string jsonl_;
  std::vector<std::string> sources_;
  bool printed_ = false;
  std::ofstream lines_;
  std::unique_ptr<mqtt::Sinks> sinks_;
};

}  // namespace shoal::cli
