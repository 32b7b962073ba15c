// The messages of federated rounds between the hub and its clients, and their encoding. None
// contains an example. Bytes from a peer are hostile until decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/federated/secure_mean.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/train/data/augment.h"
#include "shoal/train/federated/strategy.h"
#include "shoal/train/secure_sum/messages.h"

namespace shoal::federated_cluster {

// To a client, before its first round: how its images become inputs.
struct RecipeMessage {
  Preprocess preprocess = {};
  Augment augment = {};
};
// A client's number in a round whose sum is secret, and how its weights become a vector.
struct SecretPart {
  uint32_t id = 0;
  secure_sum::RoundOptions options = {};  // its round is that of the message
  SecureCode code = {};
};
// Learn from these weights, for some epochs of its data, or for local steps if these are not 0.
struct RoundMessage {
  int64_t round = 0;
  int64_t epochs = 1, local_steps = 0;
  double rate_factor = 1, mu = 0;
  uint64_t seed = 1;
  std::optional<SecretPart> secret = {};
  federated::Weights weights = {};
};
// The time of the round is over: send the result so far, or stop without.
struct CallMessage {
  int64_t round = 0;
  bool wanted = false;
};
// The next message of the secure sum for the client: see train/secure_sum/messages.h.
struct SecretMessage {
  int64_t round = 0;
  std::vector<std::byte> bytes = {};
};
// The run is over.
struct GoodbyeMessage {};
using ToClient =
    std::variant<RecipeMessage, RoundMessage, CallMessage, SecretMessage, GoodbyeMessage>;

// To the hub: the client is ready. Of the number of its examples it tells only the order of
// magnitude: the next power of two.
struct JoinedMessage {
  int64_t magnitude = 1;
};
// The result of a round: the weights, and whether all its steps are done.
struct UpdateMessage {
  int64_t round = 0;
  int64_t examples = 0, steps = 0;
  bool complete = true;
  double loss = 0;  // mean of the steps
  federated::Weights weights = {};
};
// It cannot learn in this round: its loss is not a number, or its data cannot be read.
struct GaveUpMessage {
  int64_t round = 0;
};
// Its next message of the secure sum, and the seconds that it took to make.
struct SecretReply {
  int64_t round = 0;
  double seconds = 0;
  bool complete = true;  // as in UpdateMessage, where it is the vector
  std::vector<std::byte> bytes = {};
};
using ToServer = std::variant<JoinedMessage, UpdateMessage, GaveUpMessage, SecretReply>;

std::vector<std::byte> encode(const ToClient& message);
std::vector<std::byte> encode(const ToServer& message);
// kCorrupt for bytes that encode() does not write, and for numbers out of range.
Result<ToClient> decode_for_client(std::span<const std::byte> bytes);
Result<ToServer> decode_for_server(std::span<const std::byte> bytes);

}  // namespace shoal::federated_cluster
