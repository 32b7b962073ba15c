// Merger: the hub's arithmetic. Contributions of a step come in, in any order; one message for all
// replicas goes out.
#pragma once

#include <map>
#include <vector>

#include "shoal/train/distributed/exchange/contribution.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/distributed/exchange/tree_sum.h"

namespace shoal::learn {

// Not thread-safe.
class Merger {
 public:
  static Result<Merger> create(const ExchangeOptions& exchange, const StepTypes& types);

  // Whether the contributions of the step that begins, and its message, have statistics. They do
  // unless this was called. REQUIRES: none was added yet.
  void begin_step(bool with_statistics) { with_statistics_ = with_statistics; }
  // A worker's part of the step. kCorrupt or kInvalidArgument, and the step is as it was, for
  // micro-batches that the step does not have or has had, and bytes that no replica has written.
  Status add(const Contribution& contribution);
  int64_t micro_batches() const { return leaves_; }  // of this step, that have come
  bool is_complete() const { return leaves_ == exchange_.micro_batches(); }

  struct Merged {
    double loss = 0;  // the mean over the micro-batches that have come
    std::vector<std::byte> message;
  };
  // The mean over what has come, encoded; what the codec loses is in the next. Then a new step
  // begins. Fails with kInvalidArgument where nothing has come, or a sum is no number: abandon it.
  // Where the codec is exact and all micro-batches have come, the message does not depend on who
  // sent them.
  Result<Merged> finish();
  void abandon();  // begins the step again

  // Of what it sends; its state belongs to a checkpoint.
  StepCodec& codec() { return codec_; }
  const StepCodec& codec() const { return codec_; }

 private:
  Merger(StepCodec codec, const ExchangeOptions& exchange)
      : exchange_(exchange), codec_(std::move(codec)), sum_(exchange.levels) {}
  Status add_nodes(const Contribution& contribution);

  ExchangeOptions exchange_;
  StepCodec codec_;
  TreeSum sum_;                                   // of an exact codec
  std::map<int64_t, std::vector<Tensor>> parts_;  // of another, by the first micro-batch
  std::map<int64_t, int64_t> ranges_;             // that have come: first and end
  std::map<int64_t, double> losses_;              // by the first micro-batch
  int64_t leaves_ = 0;
  bool with_statistics_ = true;
};

}  // namespace shoal::learn
