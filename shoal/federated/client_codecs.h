// ClientCodecs: what clients send by a codec of few bytes (learn/codec), in place of f32 weights.
//
// The server's weights w go to client k as they are. It ends with v_k and sends
//
//   message = encode(w - v_k + e_k)        e_k = what the server lacks of it, kept by the client
//
// as a worker of a cluster sends its gradient; the server goes on from w - decode(message). What a
// codec loses in one round is so in a later round of the same client. Statistics of norms travel as
// f32.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/federated/strategy.h"
#include "shoal/learn/exchange/step_codec.h"

namespace shoal::federated {

// Of all clients: the errors of those that have sent something are kept, which is as much memory as
// their weights where the codec carries errors. Thread-safe, but for one client at a time.
class ClientCodecs {
 public:
  // `learned` names the weights that are encoded; the rest are statistics. Fails as StepCodec.
  static Result<ClientCodecs> create(const learn::CodecOptions& options, const Weights& weights,
                                     const std::vector<std::string>& learned);

  // What the server has of a client that went from `from` to `to`. kInvalidArgument, and the client
  // carries on what it carried, where an element is no number.
  Result<Weights> send(uint64_t client, const Weights& from, const Weights& to);

  size_t bytes() const { return bytes_; }  // of a message
  size_t clients() const;                  // that carry something along

 private:
  using State = std::map<std::string, Tensor>;
  struct Shared {
    std::mutex mutex;
    std::map<uint64_t, State> states;  // by client
  };
  ClientCodecs(const learn::CodecOptions& options, learn::StepTypes types,
               std::vector<std::string> names, size_t bytes)
      : options_(options),
        types_(std::move(types)),
        names_(std::move(names)),
        bytes_(bytes),
        shared_(std::make_unique<Shared>()) {}
  Result<learn::StepCodec> codec_of(uint64_t client) const;

  learn::CodecOptions options_;
  learn::StepTypes types_;
  std::vector<std::string> names_;  // of the tensors of a message, in its order
  size_t bytes_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace shoal::federated
