// One exchange in virtual time [Mao 2017b]:
//
//   worker i   H steps on its share, encode, send to the hub
//   hub        decodes each message as it arrives, encodes the sum, sends it to all
//   worker i   decodes; the step ends with the last
//
// Machines of one medium, a radio channel, send one at a time, and a message occupies it from the
// wake-up of the receiver's radio to the last byte. On wires, all messages pass the hub's port.
// Where gradients are sent as the backward pass computes them, a message may begin that much
// earlier, but ends with the last part after the pass. Divided by H, that is the time of a step.
//
// Where the hub sends to one worker after the other and each begins when it has its message, the
// exchange begins with the way down: the messages of the first workers come back while the last
// ones compute. With N equal workers on one medium that is T / N + (N + 1) D, or 2 N D where that
// is more, instead of T / N + 2 N D, where D is the time of a message.
#include "shoal/train/distributed/schedule/step_cost.h"

#include <algorithm>
#include <numeric>

#include "shoal/base/status.h"

namespace shoal::learn {
namespace {

constexpr double kParts = 8;  // of a message that is sent while it is computed
constexpr double kLongAgo = 1e9;

class Exchange {
 public:
  Exchange(const TrainingSite& site, const TrainingJob& job, const TrainingPlan& plan)
      : site_(site), job_(job), plan_(plan), bytes_(job.messages.at(plan.codec)) {}

  double seconds() {
    std::vector<size_t> order;
    for (size_t i = 0; i < plan_.shares.size(); ++i) {
      if (plan_.shares[i] > 0) order.push_back(i);
    }
    std::vector<double> computed(site_.workers.size());  // when
    if (site_.staggers) {
      const std::vector<double> long_ago(site_.workers.size(), -kLongAgo);
      computed = send_down(order, long_ago, 0);
      for (const size_t i : order) computed[i] += codec_seconds_of(i);
    }
    for (const size_t i : order) {
      computed[i] +=
          site_.workers[i].seconds_of(plan_.shares[i]) * static_cast<double>(plan_.local_steps) +
          codec_seconds_of(i);
    }
    std::ranges::stable_sort(order, {}, [&](size_t i) { return computed[i]; });
    double merged = 0;
    std::vector<double> sent(site_.workers.size());
    for (const size_t i : order) {
      sent[i] = send_up(i, computed[i]);
      merged = std::max(merged, sent[i]) + codec_seconds(site_.hub_codec_bytes_per_second);
    }
    merged += codec_seconds(site_.hub_codec_bytes_per_second);
    double end = merged;
    if (!site_.staggers) {
      end = std::ranges::max(send_down(order, sent, merged));
      double slowest = 0;
      for (const size_t i : order) slowest = std::max(slowest, codec_seconds_of(i));
      end += slowest;
    }
    return end / static_cast<double>(plan_.local_steps);
  }

 private:
  double codec_seconds(double bytes_per_second) const {
    return plan_.codec == CodecKind::kF32 ? 0 : job_.gradient_bytes / bytes_per_second;
  }
  double codec_seconds_of(size_t worker) const {
    return codec_seconds(site_.workers[worker].codec_bytes_per_second);
  }
  bool is_shared(const plan::LinkProfile& link) const {
    return link.medium != plan::kOwnWire && link.medium == site_.hub.medium;
  }
  // Of the radio at the worker's end, when nothing was heard for so long.
  double wake_up(const plan::LinkProfile& link, double silence) const {
    return plan_.keeps_awake || silence <= link.sleep_after_seconds ? 0 : link.wakeup_seconds;
  }

  // Begins at `ready` if the way is free; returns the time of the last byte.
  double send(const plan::LinkProfile& link, double ready, double wake, double rate_factor = 1) {
    const double rate = std::min(link.bytes_per_second, site_.hub.bytes_per_second) * rate_factor;
    const double latency = std::max(link.latency_seconds, site_.hub.latency_seconds) + wake;
    const double begin = std::max(free_, ready);
    if (is_shared(link)) return free_ = begin + latency + bytes_ / rate;
    free_ = begin + bytes_ / site_.hub.bytes_per_second;
    return std::max(free_, begin + bytes_ / rate) + latency;
  }

  double send_up(size_t i, double ready) {
    const plan::LinkProfile& link = site_.workers[i].link;
    const double compute = site_.workers[i].seconds_of(plan_.shares[i]);
    const double early = site_.overlaps ? job_.backward_share * compute : 0;
    const double wake = wake_up(link, ready);
    const double end = send(link, ready - early, wake);
    if (!site_.overlaps) return end;
    const double rate = std::min(link.bytes_per_second, site_.hub.bytes_per_second);
    return std::max(end, ready + link.latency_seconds + bytes_ / rate / kParts);
  }

  // When the merged step is at each of these workers.
  std::vector<double> send_down(const std::vector<size_t>& order, const std::vector<double>& sent,
                                double merged) {
    std::vector<double> arrivals(site_.workers.size());
    double last = 0;
    for (const size_t i : order) {
      const TrainingDevice& worker = site_.workers[i];
      const double wake = wake_up(worker.link, merged - sent[i]);
      const bool repeats = plan_.broadcasts && last > 0;
      arrivals[i] =
          repeats ? last
                  : send(worker.link, merged, wake, plan_.broadcasts ? site_.broadcast_rate : 1);
      last = std::max(last, arrivals[i]);
    }
    return arrivals;
  }

  const TrainingSite& site_;
  const TrainingJob& job_;
  const TrainingPlan& plan_;
  double bytes_;
  double free_ = 0;  // the medium, or the hub's port
};

}  // namespace

double TrainingDevice::seconds_of(int64_t samples) const {
  SHOAL_CHECK(!times.empty());
  const auto x = static_cast<double>(samples);
  std::pair<double, double> from{0, 0};
  for (const auto& [count, seconds] : times) {
    const auto to = static_cast<double>(count);
    if (samples <= count) {
      return from.second + (seconds - from.second) * (x - from.first) / (to - from.first);
    }
    from = {to, seconds};
  }
  return from.second * x / from.first;
}

double predict_step(const TrainingSite& site, const TrainingJob& job, const TrainingPlan& plan) {
  SHOAL_CHECK(plan.shares.size() == site.workers.size());
  const auto used = std::ranges::count_if(plan.shares, [](int64_t share) { return share > 0; });
  SHOAL_CHECK(used > 0);
  if (used > 1) return Exchange(site, job, plan).seconds();
  const auto only = std::ranges::find_if(plan.shares, [](int64_t share) { return share > 0; });
  return site.workers[static_cast<size_t>(only - plan.shares.begin())].seconds_of(*only);
}

}  // namespace shoal::learn
