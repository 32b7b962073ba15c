// RunRecord: a training run for people: what each worker computed and when, which were lost, what
// was learned. It holds a few hundred moments at most: neighbours are averaged when there are too
// many.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/plan/profile.h"
#include "shoal/train/distributed/hub/hub.h"

namespace shoal::learn {

// Times are in emulated time if the workers are emulated. Steps are counted from 1, local ones too.
struct RunRecord {
  struct Device {
    std::string name = {};  // as the worker gives it
    plan::LinkProfile link = {};
    DeviceRow row = {};
  };
  // One step, or the means of a few.
  struct Moment {
    int64_t step = 0;    // the last of them
    double seconds = 0;  // when it ended, since the first began
    double loss = 0;
    double step_seconds = 0;
    // Of a step, per worker, in the direction that has more; NaN: unknown.
    double bytes = 0;
    std::map<int, double> shares = {};  // of the examples, by worker; absent: 0
  };
  struct Event {
    enum class Kind : uint8_t { kLost, kJoined };
    Kind kind = Kind::kLost;
    int worker = 0;
    int64_t step = 0;    // being computed at the time
    double seconds = 0;  // as in Moment
  };
  // On held-out examples.
  struct Accuracy {
    int64_t step = 0;
    double seconds = 0;
    double top1 = 0;  // per cent
  };

  int64_t steps = 0;                   // to do
  std::map<int, Device> devices = {};  // by worker
  std::vector<Moment> moments = {};
  std::vector<Event> events = {};  // the first thousand
  std::vector<Accuracy> accuracies = {};
  int64_t batch = 0;          // examples of a step
  int64_t micro_batches = 1;  // of a step
  int64_t local_steps = 1;
  std::string codec = {};
  double step_seconds = 0;       // the median, without the first
  double predicted_seconds = 0;  // of a step
  double single_seconds = 0;     // of a step of the fastest worker alone
  double bytes = 0;              // as in Moment, the mean without the first step
};

// A step, in the hub's time.
struct StepFacts {
  int64_t step = 0;  // from 0; counts exchanges
  double loss = 0;
  double seconds = 0;
  double sent_bytes = 0, received_bytes = 0;  // of all workers; NaN: unknown
};

// Builds a record from the hub's reports. Not thread-safe.
class RunRecorder {
 public:
  static constexpr size_t kMostMoments = 256, kMostEvents = 1000;

  // `about` has devices, batch, micro-batches and local steps. `dilation`: seconds of the hub's
  // time per second of the workers'. REQUIRES: these are above 0.
  explicit RunRecorder(RunRecord about = {}, double dilation = 1)
      : record_(std::move(about)), dilation_(dilation) {}

  // The first step begins. Later calls do nothing.
  void begin(Hub::Time now);
  void end_step(const StepFacts& step, const DeviceTable& devices, Hub::Time now);
  // A worker was lost or came back while this step was computed.
  void update(int64_t step, const DeviceTable& devices, Hub::Time now);

  double seconds_at(Hub::Time now) const;  // since begin()
  RunRecord record() const;
  // The record so far, perhaps without the last few steps.
  const RunRecord& so_far() const { return record_; }

 private:
  void add(const RunRecord::Moment& moment);
  void add_event(const RunRecord::Event& event);

  RunRecord record_;
  double dilation_;
  std::optional<Hub::Time> begun_;
  size_t stride_ = 1;                       // steps of a moment
  std::vector<RunRecord::Moment> pending_;  // for the next moment
};

// As measured; 0: not yet.
double examples_per_second(const RunRecord& record, const DeviceRow& row);

// A row of a table of devices: name, share of the examples, examples per second, link, lag, share
// of its steps that ended without it, state. Names may contain any characters.
std::vector<std::string> device_header();
std::vector<std::string> device_cells(const RunRecord& record, const RunRecord::Device& device);

}  // namespace shoal::learn
