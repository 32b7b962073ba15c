#include "shoal/cluster/probe_handlers.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 10;  // for one graph, at most

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

// Makes up the weights of one graph, within a budget: a hostile graph could name any sizes.
class MadeUpWeights {
 public:
  explicit MadeUpWeights(size_t most_bytes) : left_(most_bytes) {}

  Tensor find(const TensorType& type) {
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

// The fastest of a few runs: other work of the machine can only add to it.
Result<double> time_of(Executable& executable, double seconds) {
  constexpr int kFewest = 3;
  std::vector<Tensor> inputs;
  const Graph& graph = executable.graph();
  for (ValueId id : graph.inputs()) inputs.push_back(made_up(graph[id].type));
  std::vector<Tensor> outputs(graph.outputs().size());
  double best = 0;
  const auto began = Clock::now();
  for (int runs = 0;; ++runs) {
    const auto begin = Clock::now();
    SHOAL_TRY(executable.run(inputs, outputs, {}));
    const auto end = Clock::now();
    const double took = std::chrono::duration<double>(end - begin).count();
    best = runs < 2 ? took : std::min(best, took);  // the first finds caches cold
    const double so_far = std::chrono::duration<double>(end - began).count();
    if (so_far >= seconds && (runs >= kFewest || so_far >= 4 * seconds)) return best;
  }
}

Result<double> time_of(Device& device, const message::Graph& from, double seconds,
                       size_t weight_bytes) {
  MadeUpWeights weights(weight_bytes);
  auto graph =
      decode(from, [&](const Hash&, const TensorType& type) { return weights.find(type); });
  if (weights.too_many()) return Status(Code::kExhausted, "no room for the weights of a graph");
  if (!graph.ok()) return graph.status();
  SHOAL_ASSIGN(const auto executable, device.compile(*graph));
  return time_of(*executable, seconds);
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

Result<message::Message> time_graphs(Device& device, const message::Measure& measure,
                                     const net::Frame& frame, size_t weight_bytes,
                                     std::mutex& computing) {
  message::Graphs graphs;
  const auto bytes = frame.payload.bytes;
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
    const Result<double> took = time_of(device, graph, seconds, weight_bytes);
    const bool is_too_large = measure.partial() && took.status().code() == Code::kExhausted;
    if (!took.ok() && !is_too_large) return took.status();
    reply.mutable_measured()->add_seconds(is_too_large ? -1 : *took);
  }
  return reply;
}

}  // namespace shoal::cluster
