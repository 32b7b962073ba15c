#include "shoal/cluster/message_io.h"

#include "messages.pb.h"
#include "shoal/base/printable.h"
#include "shoal/tensor/bools.h"

namespace shoal::cluster {

Status send(net::Channel& channel, const message::Message& message,
            std::span<const net::Bytes> payload, bool urgent) {
  const std::string control = message.SerializeAsString();
  return channel.send({bytes_of(control), payload, urgent}, net::after(kTimeout));
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
                  const Tensor& elements) {
  message::Message message;
  message::Data& data = *message.mutable_data();
  data.set_plan(plan);
  data.set_request(request);
  data.set_dtype(static_cast<uint32_t>(elements.dtype()));
  encode(piece, *data.mutable_piece());
  // Elements travel beside the message and not in it: protobuf would copy them.
  const net::Bytes payload = elements.bytes();
  return send(channel, message, std::span(&payload, 1));
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
