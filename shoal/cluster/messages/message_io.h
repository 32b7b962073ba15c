// Sends and parses messages over channels.
#pragma once

#include <span>

#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

namespace message {
class Data;
}

inline constexpr uint32_t kProtocolVersion = 4;

// Timeout of one message. A peer that takes longer is treated as lost.
inline constexpr std::chrono::seconds kMessageTimeout{30};
inline constexpr std::chrono::seconds kConnectTimeout{5};
// For timing graphs on a small board.
inline constexpr std::chrono::seconds kMeasureTimeout{600};
// For gradients, over a slow, shared link. A lost peer is noticed earlier.
inline constexpr std::chrono::seconds kTaskTimeout{600};
// Of the header of a task's message.
inline constexpr size_t kMostHeaderBytes = 256;

Status send(net::Channel& channel, const message::Message& message,
            std::span<const net::Bytes> payload = {}, bool urgent = false,
            net::Deadline deadline = net::after(kMessageTimeout));

// kCorrupt if the control part is not a message.
Status parse(const net::Frame& frame, message::Message& message);

net::Bytes bytes_of(const std::string& text);

// The error that a peer reports.
Status status_of(const message::Failed& failed);

// Sends a piece of a value; to_tensor() reads it at the other end. `deadline` is the request's:
// nothing is sent after it, and the receiver learns how much time is left.
Status send_piece(net::Channel& channel, uint64_t plan, uint64_t request, const plan::Piece& piece,
                  const Tensor& elements, net::Deadline deadline = net::Deadline::max());
// The deadline of the request that a piece belongs to, on this machine's clock. Clocks are not
// compared: it is later than the sender's by the time that the piece was in flight.
net::Deadline deadline_of(const message::Data& data);
// The payload as a tensor, which shares the frame's memory. kCorrupt if it has another size.
Result<Tensor> to_tensor(const net::Frame& frame, DType dtype, const Shape& shape);

}  // namespace shoal::cluster
