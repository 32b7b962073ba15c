// Nobody may stay away from a gathering, or the others would wait for ever: a rank that has failed
// says so in the next one, and then all fail.
#include "shoal/cluster/training/train_ranks.h"

#include <chrono>
#include <cstring>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/cluster/training/training_inputs.h"
#include "shoal/train/distributed/exchange/merger.h"
#include "shoal/train/distributed/exchange/replica.h"
#include "shoal/train/distributed/run/hub_messages.h"
#include "shoal/train/distributed/schedule/training_scheduler.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::train_cluster {
namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr std::byte kFailed{0}, kGiven{1};  // the first byte of a message

Status of_rank(size_t rank, Code code, const std::string& what) {
  return Status(code, "rank " + std::to_string(rank) + ": " + what);
}

// What all give, or the first failure.
Result<RankGroup::Messages> gather(const RankGroup& group, const Result<Bytes>& mine) {
  Bytes message;
  if (mine.ok()) {
    message.push_back(kGiven);
    message.insert(message.end(), mine->begin(), mine->end());
  } else {
    const std::string why(mine.status().message());
    message = {kFailed, static_cast<std::byte>(mine.status().code())};
    const auto text = std::as_bytes(std::span(why));
    message.insert(message.end(), text.begin(), text.end());
  }
  SHOAL_ASSIGN(RankGroup::Messages all, group.gather(message));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    Bytes& one = all[rank];
    if (one.empty()) return of_rank(rank, Code::kCorrupt, "it says nothing");
    if (one[0] != kGiven) {
      if (!mine.ok()) return mine.status();
      const std::string why(reinterpret_cast<const char*>(one.data()) + 2, one.size() - 2);
      return of_rank(rank, static_cast<Code>(one[1]), why);
    }
    one.erase(one.begin());
  }
  return all;
}

class RankTraining {
 public:
  RankTraining(const RankGroup& group, Setup& setup, learn::Replica replica, learn::Merger merger)
      : group_(group), setup_(setup), replica_(std::move(replica)), merger_(std::move(merger)) {
    const std::vector<double> equal(static_cast<size_t>(group.size), 1.0);
    const std::vector<int64_t> shares = learn::shares_of(equal, replica_.micro_batches());
    const auto mine = static_cast<size_t>(group.rank);
    for (size_t i = 0; i < mine; ++i) first_ += shares[i];
    end_ = first_ + shares[mine];
  }

  // The loss of the step.
  Result<double> step(int64_t number) {
    SHOAL_ASSIGN(const RankGroup::Messages all, gather(group_, contribution(number)));
    computed_ = 0;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      SHOAL_TRY(take(rank, all[rank]));
      bytes_ = std::max(bytes_, static_cast<double>(all[rank].size()));
    }
    SHOAL_ASSIGN(const learn::Merger::Merged merged, merger_.finish());
    SHOAL_ASSIGN(hash_, replica_.pull(merged.message, factor_at(setup_.rate(), number)));
    return merged.loss;
  }

  const learn::Replica& replica() const { return replica_; }
  double computed_seconds() const { return computed_; }  // of the last step, by all ranks
  double bytes() const { return bytes_; }                // of the longest message

 private:
  // The hash of the weights before the step, and what this rank has computed; that is nothing where
  // there are more ranks than micro-batches.
  Result<Bytes> contribution(int64_t step) {
    Bytes message(sizeof(hash_));
    std::memcpy(message.data(), &hash_, sizeof(hash_));
    if (first_ == end_) return message;
    learn::PushMessage push{.step = step};
    for (int64_t number = first_; number < end_; ++number) {
      SHOAL_ASSIGN(const learn::MicroBatch batch, setup_.examples(step, number));
      const Clock::time_point begin = Clock::now();
      SHOAL_TRY(replica_.compute(number, batch.inputs, batch.targets));
      push.seconds += seconds_since(begin);
    }
    SHOAL_ASSIGN(push.contribution, replica_.push());
    const Bytes encoded = encode(learn::ToHub(std::move(push)));
    message.insert(message.end(), encoded.begin(), encoded.end());
    return message;
  }

  Status take(size_t rank, std::span<const std::byte> message) {
    uint64_t hash = 0;
    if (message.size() < sizeof(hash)) return of_rank(rank, Code::kCorrupt, "it says too little");
    std::memcpy(&hash, message.data(), sizeof(hash));
    if (hash != hash_) return of_rank(rank, Code::kInternal, "its weights differ");
    message = message.subspan(sizeof(hash));
    if (message.empty()) return {};
    SHOAL_ASSIGN(const learn::ToHub decoded, learn::decode_for_hub(message));
    const auto* const push = std::get_if<learn::PushMessage>(&decoded);
    if (push == nullptr) return of_rank(rank, Code::kCorrupt, "it pushes nothing");
    computed_ += push->seconds;
    return merger_.add(push->contribution);
  }

  const RankGroup& group_;
  Setup& setup_;
  learn::Replica replica_;
  learn::Merger merger_;
  int64_t first_ = 0, end_ = 0;  // its micro-batches
  uint64_t hash_ = 0;
  double computed_ = 0, bytes_ = 0;
};

Result<RankTraining> prepare(const RankGroup& group, Device& device, const Options& options,
                             Setup& setup) {
  const learn::CodecKind codec = options.codec.value_or(learn::CodecKind::kF32);
  const learn::ExchangeOptions exchange = setup.exchange(codec);
  learn::ExchangeOptions own = exchange;
  own.codec.seed += static_cast<uint64_t>(group.rank);  // ranks round independently of each other
  SHOAL_ASSIGN(learn::Replica replica,
               learn::Replica::create(device, setup.network(), setup.trainer(codec), own));
  SHOAL_ASSIGN(learn::Merger merger,
               learn::Merger::create(exchange, learn::step_types_of(replica.trainer())));
  return RankTraining(group, setup, std::move(replica), std::move(merger));
}

}  // namespace

Options for_ranks(Options options, bool asks_for_checkpoint) {
  if (!options.fit.resume && !asks_for_checkpoint) options.fit.checkpoint.clear();
  return options;
}

Result<Figures> train_as_rank(const RankGroup& group, Device& device, const Options& options) {
  if (options.fit.resume || !options.fit.checkpoint.empty()) {
    return Status(Code::kUnsupported, "ranks that are lost end the run: there are no checkpoints");
  }
  if (options.local_steps > 1) {
    return Status(Code::kUnsupported, "ranks exchange every step: there are no local steps");
  }
  auto setup = Setup::open(options);
  Result<RankTraining> training =
      setup.ok() ? prepare(group, device, options, **setup) : Result<RankTraining>(setup.status());
  const Result<Bytes> ready =
      training.ok() ? Result<Bytes>(Bytes()) : Result<Bytes>(training.status());
  SHOAL_TRY(gather(group, ready).status());

  Figures figures{.workers = static_cast<size_t>(group.size),
                  .together = group.size > 1,
                  .codec = options.codec.value_or(learn::CodecKind::kF32)};
  std::vector<double> seconds, computed;
  options.begins();
  while (figures.steps < (*setup)->rate().total) {
    const Clock::time_point begin = Clock::now();
    SHOAL_ASSIGN(figures.loss, training->step(figures.steps));
    options.on_step(figures.steps++, figures.loss);
    seconds.push_back(seconds_since(begin));
    computed.push_back(training->computed_seconds());
  }
  const train::Trainer& trainer = training->replica().trainer();
  figures.step_seconds = median_step(seconds);
  figures.mean_seconds = mean_step(seconds);
  figures.single_seconds = median_step(computed);
  figures.predicted_seconds = figures.single_seconds / group.size;
  figures.bytes = training->bytes();
  figures.weights_sha256 = sha256_of(trainer.learned());
  if (group.rank != 0) return figures;
  SHOAL_ASSIGN(const Graph trained, trainer.network());
  SHOAL_ASSIGN(figures.evaluation, (*setup)->evaluate(device, trained));
  if (!options.fit.out.empty()) {
    SHOAL_TRY(fit::export_network((*setup)->model(), options.fit, trainer.learned()));
  }
  return figures;
}

}  // namespace shoal::train_cluster
