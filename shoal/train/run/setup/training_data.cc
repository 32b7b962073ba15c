#include "shoal/train/run/setup/training_data.h"

#include "shoal/base/math/random.h"
#include "shoal/train/data/batches.h"

namespace shoal::fit {
namespace {

constexpr uint64_t kSplitStream = 0x70617274;  // "part": a stream that nothing else draws from

// A data set, and the examples that it keeps apart; null if there are none, which is no error.
struct OpenData {
  std::shared_ptr<const Dataset> training, apart;
};

Result<OpenData> open_data(const TrainingOptions& options) {
  const auto open = [&](Split split) {
    return open_dataset(options.data, options.format, split, options.damaged);
  };
  OpenData data;
  SHOAL_ASSIGN(data.training, open(Split::kTraining));
  auto apart = open(Split::kHeldOut);
  if (!apart.ok() && apart.status().code() != Code::kNotFound) return apart.status();
  if (apart.ok()) data.apart = *std::move(apart);
  return data;
}

}  // namespace

std::pair<std::vector<size_t>, std::vector<size_t>> split(size_t count, double share,
                                                          uint64_t seed) {
  // The order follows from seed and count alone, so that a resumed process holds out the same
  // examples.
  const std::vector<size_t> order = shuffled(count, RandomStream(seed, kSplitStream));
  const auto held = static_cast<ptrdiff_t>(share * static_cast<double>(count));
  return {{order.begin() + held, order.end()}, {order.begin(), order.begin() + held}};
}

Result<TrainingData> make_training_data(std::shared_ptr<const Dataset> training,
                                        std::shared_ptr<const Dataset> held_out,
                                        const TrainingOptions& options) {
  TrainingData data{std::move(training), std::move(held_out)};
  if (data.held_out == nullptr) {
    const auto whole = data.training;
    const auto [learnt, kept] = split(whole->size(), options.hold_out, options.seed);
    data.training = make_subset(whole, learnt);
    data.held_out = make_subset(whole, kept);
  }
  if (options.limit > 0 && options.limit < data.training->size()) {
    // A split without held-out examples is a random order of all. Folders list examples class by
    // class, so that the first ones would miss classes.
    std::vector<size_t> first = split(data.training->size(), 0, options.seed).first;
    first.resize(options.limit);
    data.training = make_subset(data.training, first);
  }
  return data;
}

Result<JudgedData> make_judged_data(std::shared_ptr<const Dataset> training,
                                    std::shared_ptr<const Dataset> test,
                                    const TrainingOptions& options) {
  if (test == nullptr) {
    const auto [rest, judging] = split(training->size(), options.hold_out, options.seed);
    test = make_subset(training, judging);
    training = make_subset(training, rest);
  }
  SHOAL_ASSIGN(TrainingData data, make_training_data(std::move(training), nullptr, options));
  return JudgedData{std::move(data), std::move(test)};
}

Result<TrainingData> open_training_data(const TrainingOptions& options) {
  SHOAL_ASSIGN(OpenData data, open_data(options));
  return make_training_data(std::move(data.training), std::move(data.apart), options);
}

Result<JudgedData> open_judged_data(const TrainingOptions& options) {
  SHOAL_ASSIGN(OpenData data, open_data(options));
  return make_judged_data(std::move(data.training), std::move(data.apart), options);
}

}  // namespace shoal::fit
