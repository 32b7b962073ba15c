#include "shoal/train/distributed/run/run_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "shoal/base/text/number_text.h"

namespace shoal::learn {
namespace {

using State = DeviceRow::State;
using Kind = RunRecord::Event::Kind;

// REQUIRES: not empty.
RunRecord::Moment mean_of(std::span<const RunRecord::Moment> some) {
  RunRecord::Moment mean{.step = some.back().step, .seconds = some.back().seconds};
  const auto count = static_cast<double>(some.size());
  double counted = 0;  // moments whose bytes are known
  for (const RunRecord::Moment& moment : some) {
    mean.loss += moment.loss / count;
    mean.step_seconds += moment.step_seconds / count;
    if (!std::isnan(moment.bytes)) mean.bytes += moment.bytes, ++counted;
    for (const auto& [worker, share] : moment.shares) mean.shares[worker] += share / count;
  }
  mean.bytes = counted > 0 ? mean.bytes / counted : std::numeric_limits<double>::quiet_NaN();
  return mean;
}

std::string state_of(const RunRecord& record, const DeviceRow& row) {
  const std::string step = row.changed ? std::to_string(*row.changed * record.local_steps + 1) : "";
  switch (row.state) {
    case State::kJoining:
      return "joining";
    case State::kLost:
      return "lost at step " + step;
    case State::kWorking:
      return step.empty() ? "working" : "back at step " + step;
  }
  return "";
}

// The known links: a rate that was not measured counts as infinite.
std::string link_text(const plan::LinkProfile& link) {
  constexpr double kUnknown = 1e15;
  std::string text;
  if (link.bytes_per_second < kUnknown) text = fixed(8e-6 * link.bytes_per_second, 1) + " Mbit/s";
  if (link.latency_seconds <= 0) return text;
  return text + (text.empty() ? "" : ", ") + fixed(1e3 * link.latency_seconds, 2) + " ms";
}

}  // namespace

void RunRecorder::begin(Hub::Time now) {
  if (!begun_) begun_ = now;
}

double RunRecorder::seconds_at(Hub::Time now) const {
  return begun_ ? std::chrono::duration<double>(now - *begun_).count() / dilation_ : 0;
}

// Another hub, which goes on from a checkpoint, does not know those that are lost.
void RunRecorder::update(int64_t step, const DeviceTable& devices, Hub::Time now) {
  for (const auto& [worker, row] : devices) {
    RunRecord::Device& known = record_.devices[worker];
    const bool was_lost = known.row.state == State::kLost, is_lost = row.state == State::kLost;
    if (was_lost != is_lost) {
      add_event({is_lost ? Kind::kLost : Kind::kJoined, worker, step * record_.local_steps + 1,
                 seconds_at(now)});
    }
    known.row = row;
    known.row.seconds /= dilation_;
    known.row.lag_seconds /= dilation_;
  }
}

void RunRecorder::add_event(const RunRecord::Event& event) {
  if (record_.events.size() < kMostEvents) record_.events.push_back(event);
}

void RunRecorder::end_step(const StepFacts& step, const DeviceTable& devices, Hub::Time now) {
  const bool is_first = record_.moments.empty() && pending_.empty();
  if (is_first) {
    for (auto& [worker, device] : record_.devices) {
      if (devices.contains(worker)) continue;  // otherwise it was not there when the run began
      device.row = {.state = State::kLost, .changed = step.step};
      add_event({Kind::kLost, worker, step.step * record_.local_steps + 1, 0});
    }
  }
  update(step.step, devices, now);
  const auto local = static_cast<double>(record_.local_steps);
  RunRecord::Moment moment{.step = (step.step + 1) * record_.local_steps,
                           .seconds = seconds_at(now),
                           .loss = step.loss,
                           .step_seconds = step.seconds / (dilation_ * local)};
  for (const auto& [worker, row] : devices) {
    if (row.share == 0) continue;
    moment.shares[worker] =
        static_cast<double>(row.share) / static_cast<double>(record_.micro_batches);
  }
  const auto sharers = static_cast<double>(std::max<size_t>(moment.shares.size(), 1));
  moment.bytes = std::max(step.sent_bytes, step.received_bytes) / (sharers * local);
  add(moment);
}

void RunRecorder::add(const RunRecord::Moment& moment) {
  pending_.push_back(moment);
  if (pending_.size() < stride_) return;
  record_.moments.push_back(mean_of(pending_));
  pending_.clear();
  if (record_.moments.size() < 2 * kMostMoments) return;
  stride_ *= 2;
  std::vector<RunRecord::Moment> halves;
  for (size_t i = 0; i < record_.moments.size(); i += 2) {
    halves.push_back(mean_of(std::span(record_.moments).subspan(i, 2)));
  }
  record_.moments = std::move(halves);
}

RunRecord RunRecorder::record() const {
  RunRecord all = record_;
  if (!pending_.empty()) all.moments.push_back(mean_of(pending_));
  return all;
}

double examples_per_second(const RunRecord& record, const DeviceRow& row) {
  if (row.seconds <= 0) return 0;
  const auto examples = static_cast<double>(record.batch * record.local_steps);  // of all workers
  return examples / static_cast<double>(record.micro_batches) / row.seconds;
}

std::vector<std::string> device_header() {
  return {"device", "share", "examples/s", "link", "lag", "late", "state"};
}

std::vector<std::string> device_cells(const RunRecord& record, const RunRecord::Device& device) {
  const DeviceRow& row = device.row;
  const auto percent = [](int64_t part, int64_t whole, int digits) {
    return fixed(100 * static_cast<double>(part) / static_cast<double>(whole), digits) + " %";
  };
  const double speed = examples_per_second(record, row);
  return {device.name,
          percent(row.share, record.micro_batches, 1),
          speed > 0 ? fixed(speed, speed < 100 ? 1 : 0) : "",
          link_text(device.link),
          row.steps > row.late ? in_seconds(row.lag_seconds) : "",
          row.steps > 0 ? percent(row.late, row.steps, 0) : "",
          state_of(record, row)};
}

}  // namespace shoal::learn
