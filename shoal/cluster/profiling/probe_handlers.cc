#include "shoal/cluster/profiling/probe_handlers.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "messages.pb.h"
#include "shoal/base/limits.h"
#include "shoal/cluster/messages/catch_exhaustion.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

// For one graph, at most. Requests wait meanwhile.
constexpr double kMostSeconds = 1;

// Arbitrary numbers without zeros, because kernels may skip those. Always the same numbers, so that
// measurements can be repeated.
Tensor made_up(const TensorType& type) {
  Tensor tensor(type);
  std::minstd_rand random(1);
  visit<AllTypes>(type.dtype, [&]<class T>() {
    for (T& x : tensor.data<T>()) {
      x = Floats::contains(kDTypeOf<T>)
              ? static_cast<T>(static_cast<float>(random() % 1000 + 1) / 1000.0F)
              : static_cast<T>(1);
    }
  });
  return tensor;
}

// Generates weights and inputs of one graph, within a budget: a hostile graph may have any sizes.
class MadeUpTensors {
 public:
  explicit MadeUpTensors(size_t most_bytes) : left_(most_bytes) {}

  Tensor make(const TensorType& type) {
    if (type.bytes() > left_) {
      too_many_ = true;
      return {};
    }
    left_ -= type.bytes();
    return made_up(type);
  }
  bool too_many() const { return too_many_; }

 private:
  size_t left_;
  bool too_many_ = false;
};

Status too_large() { return Status(Code::kExhausted, "no room for what a graph needs"); }

// The fastest of a few runs: other work of the machine can only add to it.
Result<double> time_of(Executable& executable, const std::vector<Tensor>& inputs, double seconds,
                       const MeasureLimits& limits) {
  constexpr int kFewest = 3;
  std::vector<Tensor> outputs(executable.graph().outputs().size());
  double best = 0;
  const auto began = Clock::now();
  for (int runs = 0;; ++runs) {
    const auto begin = Clock::now();
    SHOAL_TRY(
        executable.run(inputs, outputs, {.deadline = limits.deadline, .cancel = limits.cancel}));
    const auto end = Clock::now();
    const double took = std::chrono::duration<double>(end - begin).count();
    best = runs < 2 ? took : std::min(best, took);  // the first finds caches cold
    const double so_far = std::chrono::duration<double>(end - began).count();
    if (so_far >= seconds && (runs >= kFewest || so_far >= 4 * seconds)) return best;
  }
}

Result<double> time_of(Device& device, const message::Graph& from, double seconds,
                       const MeasureLimits& limits) {
  MadeUpTensors tensors(limits.bytes);
  auto graph =
      decode(from, [&](const Hash&, const TensorType& type) { return tensors.make(type); });
  if (tensors.too_many()) return too_large();
  if (!graph.ok()) return graph.status();
  std::vector<Tensor> inputs;
  for (ValueId id : graph->inputs()) inputs.push_back(tensors.make((*graph)[id].type));
  if (tensors.too_many()) return too_large();
  SHOAL_ASSIGN(const auto executable, device.compile(*graph));
  // Before it runs and touches its memory: a machine that has no more may end any process.
  if (executable->memory().planned > static_cast<int64_t>(limits.bytes)) return too_large();
  return time_of(*executable, inputs, seconds, limits);
}

}  // namespace

Status echo(net::Channel& channel, const message::Echo& echo) {
  if (echo.reply_bytes() > kMostEchoBytes) return invalid("so long an echo is not to be had");
  const std::vector<std::byte> bytes(echo.reply_bytes());
  const net::Bytes payload(bytes);
  message::Message reply;
  reply.mutable_echo();
  return send(channel, reply, std::span(&payload, bytes.empty() ? 0 : 1));
}

std::string processor_text(const DeviceInfo& device, const Machine& machine) {
  return device.name == "cpu" ? machine.processor : device.name + ", " + machine.processor;
}

Result<message::Message> time_graphs(Device& device, const message::Measure& measure,
                                     const net::Frame& frame, const MeasureLimits& limits,
                                     std::mutex& computing) {
  message::Graphs graphs;
  const auto bytes = frame.payload.bytes;
  if (bytes.size() > kLimits.max_structure_bytes) return invalid("graphs to measure are too long");
  if (!graphs.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status(Code::kCorrupt, "graphs to measure cannot be read");
  }
  if (graphs.graphs_size() > kMostMeasuredGraphs) return invalid("too many graphs to measure");
  const double asked = measure.seconds();
  const double seconds = asked > 0 ? std::min(asked, kMostSeconds) : 0;  // also if it is no number
  message::Message reply;
  reply.mutable_measured();
  for (const message::Graph& graph : graphs.graphs()) {
    // Taken for each graph, so that requests of other coordinators get a turn in between.
    const std::lock_guard turn(computing);
    SHOAL_TRY((RunOptions{.deadline = limits.deadline, .cancel = limits.cancel}.interrupted()));
    double took = 0;
    const Status timed = catch_exhaustion([&]() -> Status {
      SHOAL_ASSIGN(took, time_of(device, graph, seconds, limits));
      return {};
    });
    const bool is_too_large = measure.partial() && timed.code() == Code::kExhausted;
    if (!timed.ok() && !is_too_large) return timed;
    reply.mutable_measured()->add_seconds(is_too_large ? -1 : took);
  }
  return reply;
}

}  // namespace shoal::cluster
