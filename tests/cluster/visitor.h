// A member that sends a worker arbitrary messages, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/worker/worker.h"
#include "unhurried.h"

namespace shoal::cluster {

class Visitor {
 public:
  Visitor(net::LoopbackNetwork& network, const std::string& address, const std::string& name,
          net::Role role)
      : transport_(network.transport(name, unhurried(), role)),
        channel_(*transport_->connect(address, net::Deadline::max())) {}
  // Over a channel that the worker may have opened.
  explicit Visitor(std::shared_ptr<net::Channel> channel) : channel_(std::move(channel)) {}

  void say(const message::Message& message, const std::string& payload = "") {
    const net::Bytes bytes = bytes_of(payload);
    // A worker may have disconnected this member already.
    static_cast<void>(send(*channel_, message, std::span(&bytes, payload.empty() ? 0 : 1)));
  }
  // The next reply, skipping signs that the worker is still compiling; an empty one if the worker
  // disconnected.
  message::Message hear(net::Frame* whole = nullptr) {
    message::Message message;
    do {
      auto frame = channel_->receive(net::Deadline::max());
      if (!frame.ok()) return message;
      EXPECT_TRUE(parse(*frame, message).ok());
      if (whole != nullptr) *whole = *std::move(frame);
    } while (message.has_working());
    return message;
  }
  message::Message ask(const message::Message& message, const std::string& payload = "") {
    say(message, payload);
    return hear();
  }
  message::Message greet(uint64_t epoch = 0) {
    message::Message hello;
    hello.mutable_hello()->set_version(kProtocolVersion);
    hello.mutable_hello()->set_epoch(epoch);
    return ask(hello);
  }

  message::Message deploy(uint64_t plan, const message::Assignment& assignment) {
    message::Message message;
    message.mutable_deploy()->set_plan(plan);
    return ask(message, assignment.SerializeAsString());
  }
  void start(uint64_t plan) {
    message::Message message;
    message.mutable_start()->set_plan(plan);
    say(message);
  }
  // Deploys it and starts it; the reply to the latter.
  message::Message serve(uint64_t plan, const message::Assignment& assignment) {
    const message::Message missing = deploy(plan, assignment);
    if (!missing.has_missing()) return missing;
    start(plan);
    return hear();
  }
  void send_data(uint64_t plan, uint64_t request, const plan::Piece& piece,
                 const Tensor& elements) {
    static_cast<void>(send_piece(*channel_, plan, request, piece, elements));
  }
  void leave() { channel_->close(); }

 private:
  std::unique_ptr<net::Transport> transport_;  // null where the channel was given
  std::shared_ptr<net::Channel> channel_;
};

inline plan::Piece piece_of(int value, int64_t begin, int64_t end) {
  return {ValueId{value}, {{begin}, {end}}};
}

inline Tensor four_floats(float first = 1) { return Tensor::of<float>({4}, {first, 2, 3, 4}); }

// A task that reads four elements of value `from` and makes four of value `to`.
inline void add_task(message::Assignment& assignment, const Graph& graph, int from, int to) {
  message::Task& task = *assignment.add_tasks();
  encode(graph, *task.mutable_graph(),
         [](const Tensor& tensor) { return hash_of(tensor.bytes()); });
  encode(piece_of(from, 0, 4), *task.add_inputs());
  encode(piece_of(to, 0, 4), *task.add_outputs());
}

inline void add_send(message::Assignment& assignment, const plan::Piece& piece, int to) {
  message::Send& order = *assignment.mutable_tasks(assignment.tasks_size() - 1)->add_sends();
  encode(piece, *order.mutable_piece());
  order.set_to(to);
}

}  // namespace shoal::cluster
