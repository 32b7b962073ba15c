// A trainer's state is weights, statistics and the optimizer's memories; `steps_` is the position
// in Dropout's random stream. All are on the host, or with `update_on_device` in a ResidentStep;
// fetch() renews the host's copy.
//
// Buffers live from step to step: the run writes to `outputs_`, the update changes `weights_` in
// place, and statistics are swapped with the outputs that hold the new ones.
#include "shoal/train/step/trainer/trainer.h"

#include <cmath>
#include <utility>

#include "shoal/base/math/random.h"
#include "shoal/train/step/graph/activation_memory.h"
#include "shoal/train/step/optimizer/step_count.h"
#include "shoal/train/step/trainer/update_graph.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::train {
namespace {

constexpr size_t kLoss = 1, kFirstStatistic = 2;  // outputs of a step, after the scores

// The stream of Dropout ("drop"), which nothing else draws from; and the resolution of its ratio.
constexpr uint64_t kDropped = 0x64726f70, kDraws = 1 << 24;
constexpr const char* kSteps = "trainer.steps";
constexpr const char* kNoLoss = "the loss is no number; a lower rate or clipped gradients may help";
constexpr const char* kNoGradients =
    "gradients are no numbers; a lower rate or clipped gradients may help";
constexpr const char* kOnlySteps = "the update is a part of the step: there are only whole steps";

Result<Graph> narrowed(const Graph& step) { return store_bf16(step, step.outputs()[kLoss]); }

// The step as the options want it in memory. Recomputation is chosen before activations are
// narrowed to bf16, so that it starts from the narrowed values; otherwise the f32 originals would
// stay alive.
Result<Graph> fit_to_memory(Device& device, Graph step, const TrainerOptions& options) {
  const auto bytes_of = [&](const Graph& graph) -> Result<int64_t> {
    SHOAL_ASSIGN(const Graph laid_out, options.bf16 ? narrowed(graph) : graph);
    SHOAL_ASSIGN(const MemoryUse use, device.memory_of(laid_out));
    return use.planned;
  };
  if (options.memory_bytes > 0) {
    SHOAL_ASSIGN(step, recompute(step, step.outputs()[kLoss], options.memory_bytes, bytes_of));
  }
  return options.bf16 ? narrowed(step) : step;
}

// A file may have weights of any float type; rules and penalties are written for f32.
Status require_f32(const StepGraph& step, const Graph& network) {
  for (ValueId id : step.parameters) {
    if (network[id].type.dtype == DType::kF32) continue;
    return Status(Code::kUnsupported, network[id].name + " is " + to_string(network[id].type) +
                                          ": what is not f32 can only be frozen");
  }
  const TensorType& loss = step.graph[step.graph.outputs()[kLoss]].type;
  if (loss.dtype == DType::kF32) return {};
  return Status(Code::kUnsupported, "the loss is " + to_string(loss) + ", should be f32");
}

}  // namespace

Result<StepWork> step_work(const Graph& network, const StepOptions& options,
                           const OptimizerOptions& optimizer, const Device& device) {
  SHOAL_ASSIGN(const StepGraph step, make_step_graph(network, options));
  SHOAL_ASSIGN(const UpdateGraph whole, add_update(step.graph, step.parameters.size(), optimizer));
  StepWork work;
  for (const Node& node : whole.graph.nodes()) {
    work.macs += macs(whole.graph, node);
    if (!device.supports(whole.graph, node)) {
      work.elsewhere.push_back(place_of(whole.graph, node));
    }
  }
  return work;
}

Trainer::Trainer(const Graph& network, const TrainerOptions& options,
                 std::vector<std::string> names)
    : network_(network),
      optimizer_options_(options.optimizer),
      optimizer_(options.optimizer, names),
      regularizers_(options.regularizers),
      unit_penalty_(options.unit_penalty),
      seed_(options.seed),
      names_(std::move(names)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::create(Device& device, const Graph& network,
                                const TrainerOptions& options) {
  if (options.update_on_device && (!options.regularizers.empty() || options.unit_penalty)) {
    return Status(Code::kUnsupported, "penalties are added on the host, not on the device");
  }
  SHOAL_ASSIGN(const StepGraph step, make_step_graph(network, options.step));
  SHOAL_TRY(require_f32(step, network));
  std::vector<std::string> names;
  for (ValueId id : step.parameters) names.push_back(network[id].name);
  Trainer trainer(network, options, std::move(names));
  trainer.targets_ = step.targets;
  for (const Mask& mask : step.masks) trainer.masks_.emplace_back(mask.type);
  trainer.mask_kinds_ = step.masks;
  // Clones: the network's constants may be views of a mapped file, and weights are written in
  // place.
  for (ValueId id : step.parameters) trainer.weights_.push_back(network[id].constant->clone());
  for (ValueId id : step.statistics) {
    trainer.statistic_names_.push_back(network[id].name);
    trainer.statistics_.push_back(network[id].constant->clone());
  }
  SHOAL_TRY(trainer.prepare(device, step, options));
  return trainer;
}

Status Trainer::prepare(Device& device, const StepGraph& step, const TrainerOptions& options) {
  if (!options.update_on_device) {
    SHOAL_ASSIGN(const Graph graph, fit_to_memory(device, step.graph, options));
    SHOAL_ASSIGN(executable_, device.compile(graph));
    outputs_.resize(executable_->graph().outputs().size());
    return {};
  }
  SHOAL_ASSIGN(UpdateGraph update, add_update(step.graph, names_.size(), options.optimizer));
  // The update is part of the graph here, so that the limit holds for it, too.
  SHOAL_ASSIGN(update.graph, fit_to_memory(device, std::move(update.graph), options));
  SHOAL_ASSIGN(ResidentStep resident, ResidentStep::create(device, update, statistics_.size()));
  resident_ = std::make_unique<ResidentStep>(std::move(resident));
  outputs_.resize(1);
  return put();
}

const Graph& Trainer::step_graph() const {
  return resident_ != nullptr ? resident_->graph() : executable_->graph();
}

MemoryUse Trainer::memory() const {
  return resident_ != nullptr ? resident_->memory() : executable_->memory();
}

Status Trainer::put() {
  if (resident_ == nullptr) return {};
  return resident_->put({statistics_, weights_, optimizer_.memories(weights_)});
}

Status Trainer::fetch() {
  if (resident_ == nullptr) return {};
  SHOAL_ASSIGN(ResidentState state, resident_->get());
  weights_ = std::move(state.weights);
  statistics_ = std::move(state.statistics);
  optimizer_.set_memories(state.memories, steps_on_device_);
  return {};
}

// Fills feeds_ with the batch and the masks. Types are checked here and not by the executable,
// whose run() takes them for granted.
Status Trainer::feed(const Tensor& inputs, std::span<const Tensor> targets, uint64_t part) {
  SHOAL_CHECK(targets.size() == targets_);
  const Graph& graph = step_graph();
  feeds_.assign(1, inputs);
  feeds_.insert(feeds_.end(), targets.begin(), targets.end());
  for (size_t i = 0; i < feeds_.size(); ++i) {
    const TensorType& wanted = graph[graph.inputs()[i]].type;
    if (feeds_[i].type() == wanted) continue;
    return invalid("a batch has " + to_string(feeds_[i].type()) + ", should have " +
                   to_string(wanted));
  }
  draw_masks(part);
  feeds_.insert(feeds_.end(), masks_.begin(), masks_.end());
  return {};
}

Result<float> Trainer::compute(const Tensor& inputs, std::span<const Tensor> targets,
                               uint64_t part) {
  if (resident_ != nullptr) return Status(Code::kUnsupported, kOnlySteps);
  SHOAL_TRY(feed(inputs, targets, part));
  for (const auto* more : {&statistics_, &weights_}) {
    feeds_.insert(feeds_.end(), more->begin(), more->end());
  }
  const Status ran = executable_->run(feeds_, outputs_, {});
  feeds_.clear();  // of the batch, which is the caller's, nothing is kept
  SHOAL_TRY(ran);
  const float loss = outputs_[kLoss].data<float>()[0];
  if (!std::isfinite(loss)) return invalid(kNoLoss);
  return loss;
}

Result<float> Trainer::step_on_device(double rate_factor) {
  const std::vector<float> scalars =
      update_scalars(optimizer_options_, steps_on_device_ + 1, rate_factor);
  auto outcome = resident_->run(feeds_, scalars);
  feeds_.clear();
  if (!outcome.ok()) return outcome.status();
  outputs_[0] = outcome->scores;
  if (!std::isfinite(outcome->loss)) return invalid(kNoLoss);
  if (!std::isfinite(outcome->norm)) return invalid(kNoGradients);
  ++steps_;
  ++steps_on_device_;
  return outcome->loss;
}

// A mask is a function of seed, step, part and place alone. So a step that is repeated, or resumed
// in another process, drops the same elements.
void Trainer::draw_masks(uint64_t part) {
  const RandomStream step =
      RandomStream(seed_, kDropped + part).child(static_cast<uint64_t>(steps_));
  for (size_t m = 0; m < masks_.size(); ++m) {
    const RandomStream random = step.child(m);
    const double ratio = mask_kinds_[m].ratio;
    const auto kept = static_cast<float>(1 / (1 - ratio));
    const auto bound = static_cast<uint64_t>(ratio * kDraws);
    const auto elements = masks_[m].data<float>();
    for (size_t k = 0; k < elements.size(); ++k) {
      elements[k] = random.below(kDraws, k) < bound ? 0 : kept;
    }
  }
}

std::span<Tensor> Trainer::gradients() {
  if (resident_ != nullptr) return {};
  return std::span(outputs_).subspan(kFirstStatistic + statistics_.size());
}

std::span<Tensor> Trainer::measured() {
  if (resident_ != nullptr) return {};
  return std::span(outputs_).subspan(kFirstStatistic, statistics_.size());
}

// Penalties are those of the weights before the update. Vectors, which are biases and norms,
// have none but as a part of a unit.
void Trainer::add_penalties() {
  penalty_ = 0;
  for (const Regularizer& regularizer : regularizers_) {
    for (size_t i = 0; i < names_.size(); ++i) {
      const bool applies = !regularizer.applies || regularizer.applies(names_[i]);
      if (!applies || weights_[i].shape().rank() < 2) continue;
      penalty_ += regularize(regularizer, weights_[i], gradients()[i]);
    }
  }
  if (unit_penalty_) penalty_ += regularize(*unit_penalty_, names_, weights_, gradients());
}

Status Trainer::update(double rate_factor) {
  if (resident_ != nullptr) return Status(Code::kUnsupported, kOnlySteps);
  add_penalties();
  SHOAL_TRY(optimizer_.update(weights_, gradients(), rate_factor));
  ++steps_;
  // The old statistics become the memory that the next run writes to. No run reads and writes the
  // same memory.
  for (size_t i = 0; i < statistics_.size(); ++i) {
    std::swap(statistics_[i], outputs_[kFirstStatistic + i]);
  }
  return {};
}

Result<float> Trainer::step(const Tensor& inputs, std::span<const Tensor> targets,
                            double rate_factor) {
  if (resident_ != nullptr) {
    SHOAL_TRY(feed(inputs, targets, 0));
    return step_on_device(rate_factor);
  }
  SHOAL_ASSIGN(const float loss, compute(inputs, targets));
  SHOAL_TRY(update(rate_factor));
  return loss;
}

std::map<std::string, Tensor> Trainer::learned() const {
  std::map<std::string, Tensor> learned;
  for (size_t i = 0; i < names_.size(); ++i) learned[names_[i]] = weights_[i];
  for (size_t i = 0; i < statistics_.size(); ++i) learned[statistic_names_[i]] = statistics_[i];
  return learned;
}

Result<Graph> Trainer::network() const { return with_constants(network_, learned()); }

std::map<std::string, Tensor> Trainer::state() const {
  std::map<std::string, Tensor> state = optimizer_.state();
  state.merge(learned());
  if (!masks_.empty()) state[kSteps] = Tensor::of<int64_t>({}, {steps_});
  return state;
}

// A checkpoint is input from outside: names and types are compared before a weight is replaced.
Status Trainer::read_learned(const std::map<std::string, Tensor>& learned) {
  const auto read = [&](std::span<const std::string> names, std::span<Tensor> tensors) -> Status {
    for (size_t i = 0; i < names.size(); ++i) {
      const auto position = learned.find(names[i]);
      if (position == learned.end() || position->second.type() != tensors[i].type()) {
        return Status(Code::kCorrupt, "there is no " + names[i] + " of the network's type");
      }
      tensors[i] = position->second.clone();
    }
    return {};
  };
  SHOAL_TRY(read(names_, weights_));
  return read(statistic_names_, statistics_);
}

// The optimiser's memories come to the host first, because put() sends all of the state.
Status Trainer::restore_learned(const std::map<std::string, Tensor>& learned) {
  SHOAL_TRY(fetch());
  SHOAL_TRY(read_learned(learned));
  return put();
}

Status Trainer::restore(const std::map<std::string, Tensor>& state) {
  SHOAL_TRY(read_learned(state));
  if (!masks_.empty()) {
    SHOAL_ASSIGN(steps_, steps_from(state, kSteps));
  }
  SHOAL_TRY(optimizer_.restore(state, weights_));
  steps_on_device_ = optimizer_.steps();
  return put();
}

}  // namespace shoal::train
