#include "shoal/train/distributed/exchange/replica.h"

#include <algorithm>
#include <tuple>

#include "shoal/base/math/hash.h"
#include "shoal/model/ops/ops.h"

namespace shoal::learn {
namespace {

constexpr std::string_view kOuter = "outer/";

std::vector<Tensor> scaled(std::span<const Tensor> tensors, double factor) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.clone());
  scale_tensors(copies, static_cast<float>(factor));
  return copies;
}

// Of each statistic of the trainer, as its norm has it: a mean and a variance of each norm that is
// trained, in the order of the network (train/step/graph/step_graph.cc).
std::vector<double> momenta_of(const Graph& network, const train::Trainer& trainer) {
  constexpr float kDefault = 0.9f;  // ONNX
  constexpr size_t kMean = 3;       // input
  const std::map<std::string, Tensor> learned = trainer.learned();
  std::vector<double> momenta;
  for (const Node& node : network.nodes()) {
    const bool is_measured =
        node.op == &ops::batch_normalization && learned.contains(network[node.inputs[kMean]].name);
    if (is_measured) momenta.resize(momenta.size() + 2, double{node.real("momentum", kDefault)});
  }
  SHOAL_CHECK(momenta.size() == trainer.statistics().size());
  return momenta;
}

}  // namespace

uint64_t hash_of_learned(const train::Trainer& trainer) {
  std::vector<uint64_t> hashes;
  for (const auto& [name, tensor] : trainer.learned()) hashes.push_back(hash_of(tensor.bytes()));
  return hash_of(std::as_bytes(std::span(hashes)));
}

StepTypes step_types_of(const train::Trainer& trainer) {
  StepTypes types;
  for (const Tensor& weight : trainer.weights()) types.gradients.push_back(weight.type());
  for (const Tensor& statistic : trainer.statistics()) types.statistics.push_back(statistic.type());
  return types;
}

Result<Replica> Replica::create(Device& device, const Graph& network,
                                const train::TrainerOptions& options,
                                const ExchangeOptions& exchange) {
  SHOAL_CHECK(!options.update_on_device);
  if (exchange.levels < 0 || exchange.levels > 20) {
    return invalid("a step has 1 to 2^20 micro-batches");
  }
  const bool has_rule =
      exchange.outer.rate > 0 && exchange.outer.momentum >= 0 && exchange.outer.momentum < 1;
  if (exchange.local_steps < 1 || (exchange.local_steps > 1 && !has_rule)) {
    return invalid("local steps are at least one, and need an outer rate and momentum");
  }
  SHOAL_ASSIGN(train::Trainer trainer, train::Trainer::create(device, network, options));
  SHOAL_ASSIGN(StepCodec codec, StepCodec::create(exchange.codec, step_types_of(trainer)));
  SHOAL_ASSIGN(StepCodec merged, StepCodec::create(exchange.codec, step_types_of(trainer)));
  std::vector<double> momenta = momenta_of(network, trainer);
  return Replica(std::move(trainer), std::move(codec), std::move(merged), exchange,
                 std::move(momenta));
}

// The first statistics of a mean are measured from zero on: their bits do not depend on what was
// there before.
void Replica::begin_step(StatisticsUse use) {
  use_ = use;
  if (use.averaged_before() != 0) return;
  for (Tensor statistic : trainer_.statistics()) {
    std::ranges::fill(statistic.data<float>(), 0.0f);
  }
}

// Each micro-batch is divided by the number of all, a power of two, before anything is added: its
// bits do not depend on the worker.
Status Replica::compute(int64_t number, const Tensor& inputs, std::span<const Tensor> targets,
                        int64_t local) {
  const auto scale = 1.0f / static_cast<float>(exchange_.micro_batches());
  const auto part = static_cast<uint64_t>(local * micro_batches() + number);
  SHOAL_ASSIGN(const float loss, trainer_.compute(inputs, targets, part));
  std::vector<Tensor> tensors;
  for (const Tensor& gradient : trainer_.gradients()) tensors.push_back(gradient.clone());
  for (const Tensor& statistic : trainer_.measured()) tensors.push_back(statistic.clone());
  scale_tensors(tensors, scale);
  SHOAL_TRY(sum_.add({0, number}, std::move(tensors)));
  loss_ += double{loss} * double{scale};
  return {};
}

Result<std::pair<int64_t, int64_t>> Replica::range() const {
  const auto& nodes = sum_.nodes();
  if (nodes.empty()) return invalid("there is no micro-batch to send");
  const std::pair range(nodes.begin()->first, nodes.rbegin()->second.first.end());
  if (range.second - range.first == sum_.leaves()) return range;
  return invalid("the micro-batches of a worker are not one after the other");
}

std::vector<Tensor> Replica::total() const {
  std::vector<Tensor> total;
  for (const auto& [first, node] : sum_.nodes()) {
    if (total.empty()) {
      total = node.second;
    } else {
      add_tensors(total, node.second);
    }
  }
  return total;
}

Result<Contribution> Replica::push() {
  if (round_) return push_round();
  SHOAL_ASSIGN(const auto range, this->range());
  Contribution contribution{.first = range.first, .end = range.second, .loss = loss_};
  if (codec_.is_exact()) {
    for (const auto& [first, node] : sum_.nodes()) {
      SHOAL_TRY(codec_.encode(node.second, contribution.message, use_.is_sent()));
    }
  } else {
    SHOAL_TRY(codec_.encode(total(), contribution.message, use_.is_sent()));
  }
  abandon();
  return contribution;
}

Status Replica::step_locally(double rate_factor) {
  SHOAL_ASSIGN(const auto range, this->range());
  if (!round_) {
    round_ = Round{};
    for (const auto& [name, tensor] : trainer_.state()) round_->state[name] = tensor.clone();
  }
  std::tie(round_->first, round_->end) = range;
  const std::vector<Tensor> mean =
      scaled(total(), static_cast<double>(micro_batches()) / static_cast<double>(sum_.leaves()));
  size_t i = 0;
  for (Tensor& gradient : trainer_.gradients()) gradient = mean[i++];
  for (Tensor& statistic : trainer_.measured()) statistic = mean[i++];
  SHOAL_TRY(trainer_.update(rate_factor));
  round_->loss += std::exchange(loss_, 0);
  round_->steps += 1;
  sum_.clear();
  return {};
}

// The way back to where the round began, and statistics as they are now.
std::vector<Tensor> Replica::learned_in_round() const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < trainer_.parameters().size(); ++i) {
    tensors.push_back(round_->state.at(trainer_.parameters()[i]).clone());
    const auto from = tensors.back().data<float>();
    const std::span<const float> now = trainer_.weights()[i].data<float>();
    for (size_t k = 0; k < from.size(); ++k) from[k] -= now[k];
  }
  for (const Tensor& statistic : trainer_.statistics()) tensors.push_back(statistic.clone());
  return tensors;
}

Status Replica::end_round() {
  const Round round = *std::exchange(round_, std::nullopt);
  abandon();
  return trainer_.restore(round.state);
}

// With an exact codec in as many parts as the hub expects of these micro-batches.
Result<Contribution> Replica::push_round() {
  Contribution contribution{
      .first = round_->first, .end = round_->end, .loss = round_->loss / round_->steps};
  const auto all = static_cast<double>(micro_batches());
  const std::vector<Tensor> learned = learned_in_round();
  SHOAL_TRY(end_round());
  const auto encode = [&](int64_t count) {
    return codec_.encode(scaled(learned, static_cast<double>(count) / all), contribution.message);
  };
  if (codec_.is_exact()) {
    for (const Subtree& node : subtrees_of(contribution.first, contribution.end)) {
      SHOAL_TRY(encode(node.end() - node.first()));
    }
  } else {
    SHOAL_TRY(encode(contribution.end - contribution.first));
  }
  return contribution;
}

void Replica::abandon() {
  sum_.clear();
  round_.reset();
  loss_ = 0;
}

// The weights are those of the trainer: tensors share their memory.
Status Replica::follow(std::span<const Tensor> tensors, const OuterRule& outer) {
  std::vector<Tensor> weights = trainer_.weights();
  if (!outer_) {
    outer_.emplace(
        train::OptimizerOptions{
            .rate = outer.rate, .momentum = outer.momentum, .nesterov = outer.momentum > 0},
        trainer_.parameters());
    SHOAL_TRY(outer_->restore(std::exchange(was_outer_, {}), weights));
  }
  SHOAL_TRY(outer_->update(weights, tensors.first(weights.size())));
  std::vector<Tensor> statistics = trainer_.statistics();
  for (size_t i = 0; i < statistics.size(); ++i) {
    std::ranges::copy(tensors[weights.size() + i].bytes(), statistics[i].bytes().begin());
  }
  return {};
}

std::map<std::string, Tensor> Replica::state() const {
  std::map<std::string, Tensor> state = trainer_.state();
  for (const auto& [name, tensor] : outer_ ? outer_->state() : was_outer_) {
    state[std::string(kOuter) + name] = tensor;
  }
  return state;
}

Status Replica::restore(const std::map<std::string, Tensor>& state) {
  std::map<std::string, Tensor> trainer;
  outer_.reset();
  was_outer_.clear();
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(kOuter)) {
      was_outer_[name.substr(kOuter.size())] = tensor.clone();
    } else {
      trainer[name] = tensor;
    }
  }
  return trainer_.restore(trainer);
}

// M = m r + (1 - m) s was measured. With r the mean of n steps, that of n + 1 steps is r + (s - r)
// / (n + 1) = r + (M - r) / ((1 - m) (n + 1)).
void Replica::take_statistics(std::span<const Tensor> merged, StatisticsUse use) {
  for (size_t i = 0; i < merged.size(); ++i) {
    Tensor& next = trainer_.measured()[i];
    next = use.is_sent() ? merged[i] : trainer_.statistics()[i].clone();
    const std::optional<int64_t> before = use.averaged_before();
    if (!before) continue;
    const auto factor =
        static_cast<float>(1 / ((1 - momenta_[i]) * static_cast<double>(*before + 1)));
    const std::span<const float> now = trainer_.statistics()[i].data<float>();
    size_t k = 0;
    for (float& x : next.data<float>()) {
      const float r = *before == 0 ? 0 : now[k];
      x = r + (x - r) * factor;
      ++k;
    }
  }
}

Result<uint64_t> Replica::pull(std::span<const std::byte> merged, double rate_factor,
                               const OuterRule& outer, StatisticsUse use) {
  SHOAL_ASSIGN(const std::vector<Tensor> tensors, merged_.decode(merged, use.is_sent()));
  if (outer.rate > 0) {
    SHOAL_TRY(follow(tensors, outer));
    return hash_of_learned(trainer_);
  }
  size_t i = 0;
  for (Tensor& gradient : trainer_.gradients()) gradient = tensors[i++];
  take_statistics(std::span(tensors).subspan(i), use);
  SHOAL_TRY(trainer_.update(rate_factor));
  return hash_of_learned(trainer_);
}

Status Replica::carry(const Contribution& late) {
  const size_t parts = codec_.is_exact() ? subtrees_of(late.first, late.end).size() : 1;
  const size_t bytes = late.message.size() / parts;
  std::span<const std::byte> message = late.message;
  for (; message.size() >= bytes && bytes > 0; message = message.subspan(bytes)) {
    SHOAL_ASSIGN(const std::vector<Tensor> tensors,
                 codec_.decode(message.first(bytes), bytes == codec_.bytes()));
    SHOAL_TRY(codec_.carry(tensors));
  }
  return {};
}

Status Replica::carry_unsent(bool is_local) {
  if (round_) {
    const double share = static_cast<double>(round_->end - round_->first);
    const std::vector<Tensor> learned =
        scaled(learned_in_round(), share / static_cast<double>(micro_batches()));
    SHOAL_TRY(end_round());
    return codec_.carry(learned);
  }
  if (!is_local) {
    for (const auto& [first, node] : sum_.nodes()) SHOAL_TRY(codec_.carry(node.second));
  }
  abandon();
  return {};
}

}  // namespace shoal::learn
