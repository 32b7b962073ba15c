#include "shoal/cluster/messages/message_io.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/base/text/printable.h"
#include "shoal/model/tensor/bools.h"

namespace shoal::cluster {

Status send(net::Channel& channel, const message::Message& message,
            std::span<const net::Bytes> payload, bool urgent, net::Deadline deadline) {
  const std::string control = message.SerializeAsString();
  return channel.send({bytes_of(control), payload, urgent}, deadline);
}

Status parse(const net::Frame& frame, message::Message& message) {
  if (message.ParseFromArray(frame.control.data(), static_cast<int>(frame.control.size()))) {
    return {};
  }
  return Status(Code::kCorrupt, "what came is no message");
}

net::Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

Status status_of(const message::Failed& failed) {
  // The code is a number from a peer, and the text may hold anything: neither may reach a terminal
  // or a switch unchecked.
  const bool known = failed.code() > 0 && failed.code() <= static_cast<uint32_t>(Code::kInternal);
  return Status(known ? static_cast<Code>(failed.code()) : Code::kInternal,
                printable(failed.text()));
}

Status send_piece(net::Channel& channel, uint64_t plan, uint64_t request, const plan::Piece& piece,
                  const Tensor& elements, net::Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  if (deadline <= now) return Status(Code::kDeadline, "the request is over");
  message::Message message;
  message::Data& data = *message.mutable_data();
  data.set_plan(plan);
  data.set_request(request);
  data.set_dtype(static_cast<uint32_t>(elements.dtype()));
  encode(piece, *data.mutable_piece());
  if (deadline != net::Deadline::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    data.set_left_ms(static_cast<uint64_t>(left.count()));
  }
  // Elements travel beside the message and not in it: protobuf would copy them.
  const net::Bytes payload = elements.bytes();
  return send(channel, message, std::span(&payload, 1), false,
              std::min(deadline, now + std::chrono::steady_clock::duration(kMessageTimeout)));
}

net::Deadline deadline_of(const message::Data& data) {
  // A number from a peer: a later time would overflow the clock, and means never.
  constexpr uint64_t kLongest = std::chrono::milliseconds(std::chrono::hours(24 * 365)).count();
  if (data.left_ms() == 0 || data.left_ms() > kLongest) return net::Deadline::max();
  return net::after(std::chrono::milliseconds(data.left_ms()));
}

Result<Tensor> to_tensor(const net::Frame& frame, DType dtype, const Shape& shape) {
  const TensorType type{dtype, shape};
  if (frame.payload.bytes.size() != type.bytes()) {
    return Status(Code::kCorrupt, "a piece has the wrong size");
  }
  if (!are_elements(dtype, frame.payload.bytes)) {
    return Status(Code::kCorrupt, "a bool is neither 0 nor 1");
  }
  // No copy: the tensor keeps the frame's buffer alive.
  return Tensor::view(type, frame.payload.bytes.data(), frame.payload.keep);
}

}  // namespace shoal::cluster
