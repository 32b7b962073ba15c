// Measurement of a link by echoes. Latency is half of the median round trip of empty messages.
// Bandwidth follows from a message that takes at least 50 ms. The wake-up time of a radio is the
// additional round trip after a pause of 150 ms, if it is clearly above noise.
#include "shoal/cluster/profiling/worker_probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "messages.pb.h"
#include "shoal/base/text/printable.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/profiling/probe_handlers.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than a radio stays awake, shorter than the interval of heartbeats, which would wake it.
constexpr std::chrono::milliseconds kPause{150};
constexpr double kRadioSleepsAfter = 0.1;  // typical of radios of phones and boards
constexpr double kWakeUpWorthNaming = 2e-3;
constexpr std::chrono::seconds kProbeTimeout{2};  // for a connection

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Renames all values, so that graphs that differ only in names are timed once.
void make_anonymous(message::Graph& graph) {
  int count = 0;
  const auto next = [&] { return "v" + std::to_string(count++); };
  for (message::Statement& statement : *graph.mutable_statements()) {
    if (statement.has_input()) statement.mutable_input()->set_name(next());
    if (statement.has_weight()) statement.mutable_weight()->set_name(next());
    if (!statement.has_node()) continue;
    statement.mutable_node()->clear_name();
    for (std::string& name : *statement.mutable_node()->mutable_outputs()) name = next();
  }
}

}  // namespace

Result<WorkerProbe> WorkerProbe::open(const ListedWorker& worker, net::Transport& transport) {
  SHOAL_ASSIGN(GreetedWorker greeted,
               connect_to(worker, transport, /*epoch=*/{}, net::after(kProbeTimeout)));
  return WorkerProbe(std::move(greeted));
}

std::vector<Result<WorkerProbe>> WorkerProbe::open_all(std::span<const ListedWorker> workers,
                                                       net::Transport& transport) {
  std::vector<Result<WorkerProbe>> probes;
  for (auto& greeted : connect_to_all(workers, transport, {}, net::after(kProbeTimeout))) {
    if (greeted.ok()) {
      probes.push_back(WorkerProbe(*std::move(greeted)));
    } else {
      probes.push_back(greeted.status());
    }
  }
  return probes;
}

Status WorkerProbe::exchange(const message::Message& question, net::Bytes payload,
                             net::Deadline deadline, message::Message& answer) {
  SHOAL_TRY(named(send(*channel_, question, std::span(&payload, payload.empty() ? 0 : 1))));
  const auto frame = channel_->receive(deadline);
  if (!frame.ok()) return named(frame.status());
  SHOAL_TRY(named(parse(*frame, answer)));
  if (!answer.has_failed()) return {};
  return named(status_of(answer.failed()));
}

Result<WorkerState> WorkerProbe::state() {
  message::Message ask, reply;
  ask.mutable_ask();
  SHOAL_TRY(exchange(ask, {}, net::after(kMessageTimeout), reply));
  if (!reply.has_state()) return named(Status(Code::kCorrupt, "it does not say how it is"));
  const message::State& state = reply.state();
  const int cores = static_cast<int>(std::min<uint32_t>(state.cores(), 1 << 16));
  // Negated, so that NaN is rejected.
  const double others = state.others_load() >= 0 ? state.others_load() : 0;
  return WorkerState{printable(state.processor()),
                     threads_,
                     state.memory_bytes(),
                     state.free_bytes(),
                     state.load(),
                     state.plans(),
                     state.tasks(),
                     state.weight_bytes(),
                     state.plan_bytes(),
                     plan::slowdown({cores, threads_, std::min(others, 1e6)})};
}

Result<double> WorkerProbe::round_trip(size_t bytes_there, size_t bytes_back) {
  message::Message echo, reply;
  echo.mutable_echo()->set_reply_bytes(bytes_back);
  const std::vector<std::byte> payload(bytes_there);
  const auto begin = Clock::now();
  SHOAL_TRY(exchange(echo, payload, net::after(kMessageTimeout), reply));
  if (!reply.has_echo()) return named(Status(Code::kCorrupt, "it gives no echo"));
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<double> WorkerProbe::usual_round_trip() {
  constexpr size_t kTimes = 9;
  std::vector<double> times;
  while (times.size() < kTimes) {
    SHOAL_ASSIGN(const double time, round_trip(0, 0));
    times.push_back(time);
  }
  return median(std::move(times));
}

// Sends four times as many bytes each time until they take 50 ms, so that a fast link is measured
// as well as a slow one.
Result<double> WorkerProbe::bandwidth(double round_trip_seconds) {
  constexpr double kWhile = 0.05;
  constexpr double kTick = 1e-6;
  size_t bytes = size_t{64} << 10;
  for (;; bytes *= 4) {
    SHOAL_ASSIGN(const double there, round_trip(bytes, 0));
    // A fast link may be below the noise of the round trip; the division needs a positive time.
    const double took = std::max(there - round_trip_seconds, kTick);
    if (took < kWhile && bytes < kMostEchoBytes / 2) continue;
    SHOAL_ASSIGN(const double back, round_trip(0, bytes));
    return static_cast<double>(bytes) / std::max(took, back - round_trip_seconds);
  }
}

Result<double> WorkerProbe::wake_up(double round_trip_seconds) {
  constexpr size_t kTimes = 3;
  std::vector<double> times;
  while (times.size() < kTimes) {
    std::this_thread::sleep_for(kPause);
    SHOAL_ASSIGN(const double time, round_trip(0, 0));
    times.push_back(time);
  }
  const double more = median(std::move(times)) - round_trip_seconds;
  return more > kWakeUpWorthNaming && more > round_trip_seconds ? more : 0;
}

Result<plan::LinkProfile> WorkerProbe::measure_link() {
  plan::LinkProfile link;
  SHOAL_ASSIGN(const double usual, usual_round_trip());
  link.latency_seconds = usual / 2;
  SHOAL_ASSIGN(link.bytes_per_second, bandwidth(usual));
  SHOAL_ASSIGN(link.wakeup_seconds, wake_up(usual));
  if (link.wakeup_seconds > 0) link.sleep_after_seconds = kRadioSleepsAfter;
  return link;
}

Result<std::vector<std::optional<double>>> WorkerProbe::time(std::span<const Graph> graphs,
                                                             double seconds_each) {
  message::Graphs distinct;
  std::map<std::string, int> number;  // by what the anonymous graph looks like
  std::vector<int> numbers;
  for (const Graph& graph : graphs) {
    message::Graph encoded;
    // Weights are left out as well: a hash of zeros stands for each, and the worker makes them up.
    encode(graph, encoded, [](const Tensor&) { return Hash(kHashBytes, '\0'); });
    make_anonymous(encoded);
    const auto [it, is_new] = number.emplace(encoded.SerializeAsString(), distinct.graphs_size());
    if (is_new) *distinct.add_graphs() = std::move(encoded);
    numbers.push_back(it->second);
  }
  message::Message measure, reply;
  measure.mutable_measure()->set_seconds(seconds_each);
  measure.mutable_measure()->set_partial(true);
  const std::string payload = distinct.SerializeAsString();
  SHOAL_TRY(exchange(measure, bytes_of(payload), net::after(kMeasureTimeout), reply));
  if (reply.measured().seconds_size() != distinct.graphs_size())
    return named(Status(Code::kCorrupt, "it did not measure what it was asked to"));
  std::vector<std::optional<double>> seconds;
  for (int i : numbers) {
    const double took = reply.measured().seconds(i);
    if (took == -1) {
      seconds.push_back(std::nullopt);
      continue;
    }
    // Negated, so that NaN is rejected: profiles divide by these times.
    if (!(took >= 0 && took < 1e6))
      return named(Status(Code::kCorrupt, "it measured a time that cannot be"));
    seconds.push_back(took);
  }
  return seconds;
}

}  // namespace shoal::cluster
