#include "shoal/cluster/greeting.h"

#include <chrono>

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"
#include "shoal/cluster/recorder.h"

namespace shoal::cluster {
namespace {

Result<message::Welcome> say_hello(net::Channel& channel, uint64_t epoch, net::Deadline deadline) {
  message::Message hello;
  hello.mutable_hello()->set_version(kProtocolVersion);
  hello.mutable_hello()->set_epoch(epoch);
  SHOAL_TRY(send(channel, hello));
  SHOAL_ASSIGN(const net::Frame frame, channel.receive(deadline));
  message::Message reply;
  SHOAL_TRY(parse(frame, reply));
  if (reply.has_failed()) return status_of(reply.failed());
  if (!reply.has_welcome()) return Status(Code::kCorrupt, "it does not say welcome");
  if (reply.welcome().version() != kProtocolVersion) {
    return Status(Code::kUnsupported, "it speaks version " +
                                          std::to_string(reply.welcome().version()) +
                                          ", this is version " + std::to_string(kProtocolVersion));
  }
  return reply.welcome();
}

}  // namespace

// Clocks are compared by the quickest of a few exchanges: the worker spoke halfway through it.
Result<WorkerInfo> greet(net::Channel& channel, const std::string& address, uint64_t epoch,
                         net::Deadline deadline) {
  constexpr int kExchanges = 3;
  WorkerInfo info;
  info.address = address;
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < kExchanges; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    SHOAL_ASSIGN(const message::Welcome welcome, say_hello(channel, epoch, deadline));
    const auto took = std::chrono::steady_clock::now() - begin;
    if (took >= quickest) continue;
    quickest = took;
    info.clock_ahead = welcome.clock() - nanoseconds(begin + took / 2);
    info.name = channel.peer().name;  // as certified
    info.threads = static_cast<int>(welcome.threads());
  }
  return info;
}

}  // namespace shoal::cluster
