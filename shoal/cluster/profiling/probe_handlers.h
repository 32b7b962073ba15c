// Handlers of a worker for the questions of a WorkerProbe.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <string>

#include "shoal/base/machine/machine.h"
#include "shoal/base/status.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/engine/device/device.h"

namespace shoal::cluster {

namespace message {
class Echo;
class Measure;
}  // namespace message

inline constexpr size_t kMostEchoBytes = size_t{32} << 20;
inline constexpr int kMostMeasuredGraphs = 4096;
// For all graphs of one question. As long as a WorkerProbe waits.
inline constexpr std::chrono::seconds kMostMeasuringTime{600};

// Replies with as many bytes as the message asks for, kMostEchoBytes at most.
Status echo(net::Channel& channel, const message::Echo& echo);

// The computing device, for people: the processor, or another device beside it.
std::string processor_text(const DeviceInfo& device, const Machine& machine);

struct MeasureLimits {
  size_t bytes = 0;        // of weights and inputs, and of what the device needs besides, each
  net::Deadline deadline;  // for all graphs
  std::stop_token cancel;  // stopped if the reply is no longer needed
};

// Times the graphs in the payload, and returns the reply. Weights are not sent but generated. Locks
// `computing` while it uses the device, for one graph at a time. Fails with kExhausted, kDeadline
// and kCancelled at a limit.
Result<message::Message> time_graphs(Device& device, const message::Measure& measure,
                                     const net::Frame& frame, const MeasureLimits& limits,
                                     std::mutex& computing);

}  // namespace shoal::cluster
