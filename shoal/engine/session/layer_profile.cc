// Nodes are found by the stage that they are in: a model with data-dependent shapes runs in
// several, and every request with the same inputs has the same ones.
#include "shoal/engine/session/layer_profile.h"

#include <algorithm>
#include <functional>

namespace shoal {
namespace {

using std::chrono::nanoseconds;

class Recording {
 public:
  void begin_run() {
    stage_ = 0;
    end_ = {};
    events_.clear();
  }

  void add_stage(const Executable& executable, const Trace& trace) {
    if (stage_ == first_layers_.size()) add_layers(executable);
    const size_t first = first_layers_[stage_++];
    const nanoseconds start = end_;  // stages run one after the other
    for (const TraceEvent& event : trace) {
      const size_t layer = first + event.node;
      times_[layer].push_back(event.end - event.begin);
      events_.push_back({layer, start + event.begin, start + event.end});
      end_ = std::max(end_, start + event.end);
    }
  }

  bool has_nodes() const { return !layers_.empty(); }
  bool has_events() const { return !events_.empty(); }

  // Nodes without times are left out: devices may run a node as a part of another one.
  LayerProfile profile() const {
    LayerProfile profile;
    std::vector<size_t> places(layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (times_[i].empty()) continue;
      places[i] = profile.layers.size();
      profile.layers.push_back(layers_[i]);
      profile.layers.back().median_ms = median_ms(times_[i]);
    }
    for (const LayerEvent& event : events_) {
      profile.events.push_back({places[event.layer], event.begin, event.end});
    }
    return profile;
  }

 private:
  void add_layers(const Executable& executable) {
    first_layers_.push_back(layers_.size());
    const Graph& graph = executable.graph();
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      layers_.push_back({.name = place_of(graph, node),
                         .op = std::string(node.op->name),
                         .output = to_string(graph[node.outputs[0]].type),
                         .kernel = executable.kernel_of(n),
                         .macs = macs(graph, node)});
    }
    times_.resize(layers_.size());
  }

  static double median_ms(std::vector<nanoseconds> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return std::chrono::duration<double, std::milli>(*middle).count();
  }

  std::vector<LayerTime> layers_;
  std::vector<std::vector<nanoseconds>> times_;  // by layer
  std::vector<size_t> first_layers_;             // by stage
  std::vector<LayerEvent> events_;               // of this run
  size_t stage_ = 0;
  nanoseconds end_{0};  // of the last stage
};

}  // namespace

Result<LayerProfile> profile_layers(Session& session, const Session::Tensors& inputs, size_t runs) {
  SHOAL_TRY(session.run(inputs).status());
  Recording recording;
  const RequestOptions options{.observer = [&](const Executable& executable, const Trace& trace) {
    recording.add_stage(executable, trace);
  }};
  for (size_t i = 0; i < runs; ++i) {
    recording.begin_run();
    SHOAL_TRY(session.run(inputs, options).status());
    if (recording.has_nodes() && !recording.has_events()) {
      return Status(Code::kUnsupported, "this device does not tell the times of layers");
    }
  }
  return recording.profile();
}

int64_t LayerProfile::macs() const {
  int64_t sum = 0;
  for (const LayerTime& layer : layers) sum += layer.macs;
  return sum;
}

double LayerProfile::total_ms() const {
  double sum = 0;
  for (const LayerTime& layer : layers) sum += layer.median_ms;
  return sum;
}

double LayerProfile::slowest_ms(size_t count) const {
  std::vector<double> times;
  for (const LayerTime& layer : layers) times.push_back(layer.median_ms);
  std::ranges::sort(times, std::greater());
  times.resize(std::min(times.size(), count));
  double sum = 0;
  for (const double ms : times) sum += ms;
  return sum;
}

int LayerProfile::most_threads() const {
  int most = 1;
  for (const LayerTime& layer : layers) most = std::max(most, layer.kernel.threads);
  return most;
}

std::map<std::string, double> LayerProfile::ms_by_kernel() const {
  std::map<std::string, double> sums;
  for (const LayerTime& layer : layers) sums[layer.kernel.name] += layer.median_ms;
  return sums;
}

Result<double> transfer_ms(Device& device, const Session::Tensors& inputs,
                           const Session::Tensors& outputs) {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double, std::milli> sum{0};
  for (const auto& [name, tensor] : inputs) {
    const auto begin = Clock::now();
    SHOAL_TRY(device.upload(tensor).status());
    sum += Clock::now() - begin;
  }
  for (const auto& [name, tensor] : outputs) {
    SHOAL_ASSIGN(const DeviceValue value, device.upload(tensor));
    const auto begin = Clock::now();
    SHOAL_TRY(value.to_host().status());
    sum += Clock::now() - begin;
  }
  return sum.count();
}

}  // namespace shoal
