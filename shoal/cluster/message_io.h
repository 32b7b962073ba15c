// Messages over channels.
#pragma once

#include <span>

#include "shoal/cluster/wire.h"
#include "shoal/net/transport.h"

namespace shoal::cluster {

inline constexpr uint32_t kProtocolVersion = 1;

// A peer that takes longer for one message is as good as gone.
inline constexpr std::chrono::seconds kTimeout{30};
inline constexpr std::chrono::seconds kConnectTimeout{5};
// A small board takes its time to receive weights and to pack them.
inline constexpr std::chrono::seconds kCompileTimeout{600};

Status send(net::Channel& channel, const message::Message& message,
            std::span<const net::Bytes> payload = {}, bool urgent = false);

// kCorrupt where the control part is no message.
Status parse(const net::Frame& frame, message::Message& message);

net::Bytes bytes_of(const std::string& text);

// What a peer says went wrong there.
Status status_of(const message::Failed& failed);

// A piece on its way; the other end makes a tensor of it.
Status send_piece(net::Channel& channel, uint64_t plan, uint64_t request, const plan::Piece& piece,
                  const Tensor& elements);
// The payload as elements, checked against the piece. Keeps the frame's memory.
Result<Tensor> to_tensor(const net::Frame& frame, DType dtype, const Shape& shape);

}  // namespace shoal::cluster
