#include "shoal/cluster/messages/greeting.h"

#include <chrono>
#include <future>

#include "messages.pb.h"
#include "shoal/base/text/printable.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {

Result<WorkerInfo> greet(net::Channel& channel, const ListedWorker& worker, const EpochClaim& epoch,
                         net::Deadline deadline) {
  // The name comes from the certificate, which TLS has checked. Without this test, a worker whose
  // address was reused by another one would silently be replaced.
  const std::string& certified = channel.peer().name;
  if (certified != worker.name) {
    return invalid(worker.address + " is " + printable(certified) + ", another worker");
  }
  message::Message hello, reply;
  hello.mutable_hello()->set_version(kProtocolVersion);
  hello.mutable_hello()->set_epoch(epoch.number);
  hello.mutable_hello()->set_epoch_nonce(epoch.nonce);
  SHOAL_TRY(send(channel, hello));
  SHOAL_ASSIGN(const net::Frame frame, channel.receive(deadline));
  SHOAL_TRY(parse(frame, reply));
  if (reply.has_failed()) {
    if (reply.failed().epoch() > 0 && epoch.refused) epoch.refused(reply.failed().epoch());
    return status_of(reply.failed());
  }
  if (!reply.has_welcome()) return Status(Code::kCorrupt, "it does not say welcome");
  const message::Welcome& welcome = reply.welcome();
  if (welcome.version() != kProtocolVersion) {
    return Status(Code::kUnsupported, "it speaks version " + std::to_string(welcome.version()) +
                                          ", this is version " + std::to_string(kProtocolVersion));
  }
  WorkerInfo info{certified, worker.address, static_cast<int>(welcome.threads())};
  for (const std::string& line : welcome.refused()) info.refused.push_back(printable(line));
  return info;
}

// A worker that accepts the connection and then says nothing, because it is cut off again, must not
// keep the caller from others for long.
Result<GreetedWorker> connect_to(const ListedWorker& worker, net::Transport& transport,
                                 const EpochClaim& epoch, net::Deadline deadline) {
  constexpr std::chrono::seconds kGreetingTimeout{2};
  const std::string place = "worker " + worker.name;
  auto channel = transport.connect(worker.address, deadline, worker.name);
  if (!channel.ok()) return channel.status().at(place);
  auto info = greet(**channel, worker, epoch, deadline + kGreetingTimeout);
  if (!info.ok()) return info.status().at(place);
  return GreetedWorker{*std::move(channel), *std::move(info)};
}

std::vector<Result<GreetedWorker>> connect_to_all(std::span<const ListedWorker> workers,
                                                  net::Transport& transport,
                                                  const EpochClaim& epoch, net::Deadline deadline) {
  std::vector<std::future<Result<GreetedWorker>>> connecting;
  for (const ListedWorker& worker : workers) {
    // A thread for each worker, so that absent ones cost one timeout together. The references stay
    // valid: all futures are awaited below.
    connecting.push_back(std::async(std::launch::async, [&transport, &worker, &epoch, deadline] {
      return connect_to(worker, transport, epoch, deadline);
    }));
  }
  std::vector<Result<GreetedWorker>> connected;
  for (auto& one : connecting) connected.push_back(one.get());
  return connected;
}

}  // namespace shoal::cluster
