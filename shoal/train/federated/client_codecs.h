// ClientCodecs: what clients send by a codec of few bytes (learn/codec), in place of f32 weights.
//
// The server's weights w go to client k as they are. It ends with v_k and sends
//
//   message = encode(w - v_k + e_k)        e_k = what the server lacks of it, kept by the client
//
// as a worker of a cluster sends its gradient; the server goes on from w - decode(message).
// Statistics of norms travel as f32.
//
// Error feedback needs a client that reports in every few rounds. One of a thousand is asked once
// in a hundred: e_k is hardly ever sent, and when it is, it belongs to weights of long ago. So one
// bit is that of DRIVE here, which remembers nothing and whose losses average out over the clients
// of a round (train/distributed/codec/drive_codec.cc), and the codecs that need feedback forget an
// error that is older than kMostAge rounds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/federated/strategy.h"

namespace shoal::federated {

// Of all clients: where the codec carries errors, those of the last rounds are kept, which is as
// much memory as the weights of their clients. Thread-safe, but for one client at a time.
class ClientCodecs {
 public:
  static constexpr int64_t kMostAge = 10;

  // `learned` names the weights that are encoded; the rest are statistics. Fails as StepCodec.
  static Result<ClientCodecs> create(const learn::CodecOptions& options, const Weights& weights,
                                     const std::vector<std::string>& learned);

  // What the server has of a client that went from `from` to `to` in a round. kInvalidArgument, and
  // the client carries on what it carried, where an element is no number.
  Result<Weights> send(int64_t round, uint64_t client, const Weights& from, const Weights& to);

  learn::CodecKind kind() const { return options_.kind; }
  size_t bytes() const { return bytes_; }  // of a message
  size_t clients() const;                  // that carry something along

 private:
  struct Carried {
    int64_t round = 0;  // in which the client reported
    std::map<std::string, Tensor> state;
  };
  struct Shared {
    std::mutex mutex;
    std::map<uint64_t, Carried> clients;
  };
  ClientCodecs(const learn::CodecOptions& options, learn::StepTypes types,
               std::vector<std::string> names, size_t bytes)
      : options_(options),
        types_(std::move(types)),
        names_(std::move(names)),
        bytes_(bytes),
        shared_(std::make_unique<Shared>()) {}
  Result<learn::StepCodec> codec_of(int64_t round, uint64_t client) const;
  void keep(int64_t round, uint64_t client, const learn::StepCodec& codec);

  learn::CodecOptions options_;
  learn::StepTypes types_;
  std::vector<std::string> names_;  // of the tensors of a message, in its order
  size_t bytes_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace shoal::federated
