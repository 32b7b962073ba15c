// A request is a vector of live values by slot, on which stages run one after the other. A stage is
// a graph bound to known types, compiled, and kept in a StageTable under a key: the types, and
// where elements decide shapes the elements, of the values it reads. A session is thus a tree of
// stages, which grows as requests bring new keys.
//
// Locks: StageTable::mutex_ before State::mutex_ before Slots::mutex_. None is held while a stage
// is made or run.
#include "shoal/engine/session/session.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/stage.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/onnx_model.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal {
namespace {

// Signature: what a model takes and gives, and whether given inputs fit.

// The inputs that a model declares, against the inputs that a request gives. Models of any origin
// are checked here, so that stages and devices may rely on types.

// Thread-safe: it does not change.
class Signature {
 public:
  explicit Signature(const onnx::Model& model);
  explicit Signature(const Graph& graph);

  const std::vector<TensorInfo>& inputs() const { return inputs_; }  // the optional ones last
  const std::vector<std::string>& outputs() const { return outputs_; }

  // Inputs by position. Fails if a name is unknown; does not look at types.
  Result<std::vector<Tensor>> arrange(const std::map<std::string, Tensor>& tensors) const;

  // OK iff all inputs that the model needs are there and all that are there fit. By position;
  // undefined tensors are not there.
  Status accepts(std::span<const Tensor> tensors) const;

  // Types by position for these shapes, and for those that the model declares where none is given.
  // Nothing for optional inputs. Fails if the model leaves a size open.
  Result<std::vector<std::optional<TensorType>>> types_for(
      const std::map<std::string, Shape>& shapes) const;

 private:
  void number_inputs();
  Result<size_t> find(const std::string& name) const;
  Status accepts(size_t input, const TensorType& type) const;
  Result<TensorType> declared_type(size_t input) const;

  std::vector<TensorInfo> inputs_;
  std::vector<bool> any_shape_;          // by input: no rank is declared, or the shape is not read
  std::map<std::string, size_t> index_;  // of inputs_
  std::vector<std::string> outputs_;
};

std::optional<std::vector<int64_t>> dims_of(const onnx::DeclaredType& type) {
  if (!type.dims) return std::nullopt;
  std::vector<int64_t> dims;
  for (const onnx::Dimension& d : *type.dims) dims.push_back(d.size.value_or(-1));
  return dims;
}

std::string declared_shape(const TensorInfo& input) {
  std::string text;
  for (int64_t d : input.sizes()) {
    text += (text.empty() ? "" : ",") + (d < 0 ? "?" : std::to_string(d));
  }
  return "[" + text + "]";
}

// An open dimension fits any size.
bool fits(const Shape& shape, std::span<const int64_t> dims) {
  return std::ranges::equal(shape, dims,
                            [](int64_t size, int64_t dim) { return dim < 0 || dim == size; });
}

Signature::Signature(const onnx::Model& model) {
  // Two rounds: inputs without a default come first, so that callers by position may leave out the
  // rest.
  for (const bool optional : {false, true}) {
    for (const onnx::ModelInput& input : model.inputs()) {
      if (input.optional != optional) continue;
      inputs_.push_back({input.name, input.type.dtype, dims_of(input.type), optional});
      any_shape_.push_back(!input.type.dims || !input.shape_read);
    }
  }
  for (const onnx::ModelOutput& output : model.outputs()) outputs_.push_back(output.name);
  number_inputs();
}

Signature::Signature(const Graph& graph) {
  for (ValueId id : graph.inputs()) {
    const auto& [name, type, constant] = graph[id];
    const std::vector<int64_t> dims(type.shape.begin(), type.shape.end());
    inputs_.push_back({.name = name, .dtype = type.dtype, .dims = dims});
    any_shape_.push_back(false);
  }
  for (ValueId id : graph.outputs()) outputs_.push_back(graph[id].name);
  number_inputs();
}

void Signature::number_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) index_[inputs_[i].name] = i;
}

Result<size_t> Signature::find(const std::string& name) const {
  const auto match = index_.find(name);
  if (match == index_.end()) return invalid("the model has no input " + name);
  return match->second;
}

Result<std::vector<Tensor>> Signature::arrange(const std::map<std::string, Tensor>& inputs) const {
  std::vector<Tensor> arranged(inputs_.size());
  for (const auto& [name, tensor] : inputs) {
    SHOAL_ASSIGN(const size_t input, find(name));
    arranged[input] = tensor;
  }
  return arranged;
}

Status Signature::accepts(std::span<const Tensor> inputs) const {
  if (inputs.size() > inputs_.size()) {
    return invalid("the model has " + std::to_string(inputs_.size()) + " inputs, " +
                   std::to_string(inputs.size()) + " were given");
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (i < inputs.size() && inputs[i].defined()) {
      SHOAL_TRY(accepts(i, inputs[i].type()));
    } else if (!inputs_[i].optional) {
      return invalid("input " + inputs_[i].name + " is missing");
    }
  }
  return {};
}

Status Signature::accepts(size_t input, const TensorType& type) const {
  const TensorInfo& info = inputs_[input];
  if (type.dtype != info.dtype) {
    return invalid("input " + info.name + ": has elements of type " +
                   std::string(name_of(type.dtype)) + ", the model takes " +
                   std::string(name_of(*info.dtype)));
  }
  if (any_shape_[input] || fits(type.shape, info.sizes())) return {};
  return invalid("input " + info.name + ": has shape " + to_string(type.shape) +
                 ", the model takes " + declared_shape(info));
}

Result<TensorType> Signature::declared_type(size_t input) const {
  const TensorInfo& info = inputs_[input];
  const bool is_open = std::ranges::any_of(info.sizes(), [](int64_t d) { return d < 0; });
  // A hostile file may declare more dimensions than a Shape has.
  if (is_open || !info.dims || info.sizes().size() > Shape::kMaxRank) {
    return invalid("the model does not say which shape input " + info.name + " has");
  }
  return TensorType{*info.dtype, Shape(info.sizes())};
}

Result<std::vector<std::optional<TensorType>>> Signature::types_for(
    const std::map<std::string, Shape>& shapes) const {
  std::vector<std::optional<TensorType>> types(inputs_.size());
  for (const auto& [name, shape] : shapes) {
    SHOAL_ASSIGN(const size_t input, find(name));
    types[input] = TensorType{*inputs_[input].dtype, shape};
    SHOAL_TRY(accepts(input, *types[input]));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!types[i] && !inputs_[i].optional) {
      SHOAL_ASSIGN(types[i], declared_type(i));
    }
    // The product of dimensions from a file or a caller may overflow.
    if (types[i]) SHOAL_TRY(check(*types[i]).at("input " + inputs_[i].name));
  }
  return types;
}

// Tensors throw std::bad_alloc. Every public function of a session ends that here.
Status out_of_memory() { return Status(Code::kExhausted, "out of memory"); }

// A number for each name, in the order in which names are first met. Thread-safe.
class Slots {
 public:
  size_t of(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return slots_.try_emplace(name, slots_.size()).first->second;
  }
  std::vector<size_t> of(const std::vector<std::string>& names) {
    std::vector<size_t> slots;
    for (const std::string& name : names) slots.push_back(of(name));
    return slots;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, size_t> slots_;
};

// The knowledge of one value when a stage is bound. Elements are a copy: the compiled stage keeps
// them, and the caller may write into its tensor after the request.
Requirement require(size_t slot, const Tensor& tensor, bool elements) {
  if (!tensor.defined()) return {slot, std::nullopt, {}};
  return {slot, tensor.type(), elements ? tensor.clone() : Tensor()};
}

onnx::Known known_of(const Requirement& required) {
  onnx::Known known{*required.type, {}};
  if (required.value.defined()) known.value = required.value;
  return known;
}

}  // namespace

// The slot of an input is its position. A request is a vector of live values by slot, on which
// stages run one after the other.
class Session::State {
 public:
  State(Device& device, SessionOptions options, std::shared_ptr<const onnx::Model> model)
      : device_(device), options_(options), model_(std::move(model)), signature_(*model_) {
    number_names();
  }
  State(Device& device, SessionOptions options, const Graph& graph)
      : device_(device), options_(options), signature_(graph) {
    number_names();
  }

  // REQUIRES: the state was made with this graph.
  Status compile_whole(const Graph& graph) {
    SHOAL_ASSIGN(whole_, compile(graph, signature_.outputs()));
    return {};
  }

  const Signature& signature() const { return signature_; }

  Status prepare(const std::map<std::string, Shape>& shapes) {
    SHOAL_ASSIGN(const auto types, signature_.types_for(shapes));
    LiveValues live;
    // Zeros stand for inputs of known shapes; their elements are never read.
    for (const auto& type : types) live.push_back(type ? Tensor(*type) : Tensor());
    return prepare(live, /*knows_elements=*/false);
  }

  // REQUIRES: `live` are inputs that are accepted.
  Status prepare(const LiveValues& live, bool knows_elements = true) {
    return whole_ != nullptr ? Status() : first_stage(live, {}, knows_elements).status();
  }

  // REQUIRES: `live` are inputs that are accepted, and there are as many outputs as the model has.
  Status run(LiveValues live, std::span<Tensor> outputs, const RequestOptions& options) {
    const RunOptions limits{.deadline = options.deadline, .cancel = options.cancel};
    StagePtr stage = whole_;
    if (stage == nullptr) {
      SHOAL_ASSIGN(stage, first_stage(live, limits, /*knows_elements=*/true));
    }
    for (;;) {
      SHOAL_TRY(run_stage(*stage, live, outputs, limits, options.observer));
      if (!stage->rest) break;
      SHOAL_ASSIGN(stage, next_stage(*stage, live, limits));
    }
    // An output may be computed by any stage, or be an input of the model.
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = live[output_slots_[i]];
    return {};
  }

 private:
  class FirstStage;
  class NextStage;

  void number_names() {
    for (const TensorInfo& input : signature_.inputs()) slots_.of(input.name);
    output_slots_ = slots_.of(signature_.outputs());
    decides_shapes_.resize(signature_.inputs().size());
  }

  // `names` are those of the graph's outputs.
  Result<StagePtr> compile(Graph graph, const std::vector<std::string>& names) {
    if (options_.optimize) {
      SHOAL_ASSIGN(graph, passes::optimize(graph));
    }
    auto stage = std::make_shared<Stage>();
    SHOAL_ASSIGN(stage->executable, device_.compile(graph));
    const Graph& compiled = stage->executable->graph();
    for (ValueId id : compiled.inputs()) stage->inputs.push_back(slots_.of(compiled[id].name));
    stage->outputs = slots_.of(names);
    for (size_t slot : stage->outputs) {
      // A value that is no output of the model gets an index beyond them all.
      const auto at = std::ranges::find(output_slots_, slot);
      stage->answers.push_back(static_cast<size_t>(at - output_slots_.begin()));
      stage->slots = std::max(stage->slots, slot + 1);
    }
    return stage;
  }

  Result<StagePtr> compile(onnx::Bound bound) {
    SHOAL_ASSIGN(StagePtr stage, compile(std::move(bound.graph), bound.outputs));
    stage->rest = std::move(bound.rest);
    if (!stage->rest) return stage;
    stage->reads = slots_.of(stage->rest->reads());
    for (const std::string& name : stage->rest->reads()) {
      stage->wanted.push_back(std::ranges::count(bound.wanted, name) > 0);
    }
    return stage;
  }

  Result<StagePtr> first_stage(const LiveValues& live, const RunOptions& limits,
                               bool knows_elements);
  Result<StagePtr> next_stage(Stage& stage, const LiveValues& live, const RunOptions& limits);

  static Status run_stage(Stage& stage, LiveValues& live, std::span<const Tensor> answers,
                          const RunOptions& limits, const RequestOptions::Observer& observer) {
    live.resize(std::max(live.size(), stage.slots));
    std::vector<Tensor> inputs, outputs(stage.outputs.size());
    inputs.reserve(stage.inputs.size());
    for (size_t slot : stage.inputs) inputs.push_back(live[slot]);
    const Graph& graph = stage.executable->graph();
    for (size_t i = 0; i < outputs.size(); ++i) {
      // Only the request owns the intermediate values between two stages.
      if (stage.answers[i] >= answers.size()) continue;
      outputs[i] = answers[stage.answers[i]];  // memory of the caller's, if it gave some
      const TensorType& type = graph[graph.outputs()[i]].type;
      if (outputs[i].defined() && outputs[i].type() != type) {
        return invalid("an output is " + to_string(type) + ", memory was given for " +
                       to_string(outputs[i].type()));
      }
    }
    Trace trace;
    RunOptions options = limits;
    if (observer) options.trace = &trace;
    SHOAL_TRY(stage.executable->run(inputs, outputs, options));
    if (observer) observer(*stage.executable, trace);
    for (size_t i = 0; i < outputs.size(); ++i) live[stage.outputs[i]] = std::move(outputs[i]);
    return {};
  }

  Device& device_;
  const SessionOptions options_;
  const std::shared_ptr<const onnx::Model> model_;  // null for a graph
  const Signature signature_;
  StagePtr whole_;  // null for a model
  Slots slots_;
  std::vector<size_t> output_slots_;
  StageTable first_;
  std::mutex mutex_;
  std::vector<bool> decides_shapes_;  // by input: its elements do, as was found by binding
};

// The maker of the first stage. Inputs whose elements turn out to decide shapes are bound with
// their elements from then on. Each round of make() finds at least one more such input, so it ends.
class Session::State::FirstStage final : public StageMaker {
 public:
  FirstStage(State& state, const LiveValues& live, bool knows_elements)
      : state_(state), live_(live), knows_elements_(knows_elements) {}

  StageKey key() const override {
    const std::scoped_lock lock(state_.mutex_);
    StageKey key;
    for (size_t i = 0; i < live_.size(); ++i) {
      key.push_back(require(i, live_[i], state_.decides_shapes_[i] && knows_elements_));
    }
    return key;
  }

  Result<MadeStage> make() override {
    const std::vector<TensorInfo>& inputs = state_.signature_.inputs();
    for (;;) {
      StageKey current = key();
      onnx::KnownValues known;
      for (const Requirement& required : current) {
        if (required.type) known[inputs[required.slot].name] = known_of(required);
      }
      SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(state_.model_, known));
      const auto decisive = find_decisive(bound.wanted);
      if (!decisive) {
        SHOAL_ASSIGN(StagePtr stage, state_.compile(std::move(bound)));
        return MadeStage{std::move(current), std::move(stage)};
      }
      if (!knows_elements_) {
        return Status(Code::kUnsupported,
                      "shapes depend on the elements of input " + inputs[*decisive].name);
      }
    }
  }

 private:
  // An input among the values wanted. Remembers all of them.
  std::optional<size_t> find_decisive(const std::vector<std::string>& wanted) {
    const std::vector<TensorInfo>& inputs = state_.signature_.inputs();
    const std::scoped_lock lock(state_.mutex_);
    std::optional<size_t> found;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!live_[i].defined() || std::ranges::count(wanted, inputs[i].name) == 0) continue;
      state_.decides_shapes_[i] = true;
      found = i;
    }
    return found;
  }

  State& state_;
  const LiveValues& live_;
  const bool knows_elements_;
};

// The maker of a later stage. The stage before says whose elements decide its shapes.
class Session::State::NextStage final : public StageMaker {
 public:
  NextStage(State& state, const Stage& before, const LiveValues& live)
      : state_(state), before_(before), live_(live) {}

  StageKey key() const override {
    StageKey key;
    for (size_t i = 0; i < before_.reads.size(); ++i) {
      key.push_back(require(before_.reads[i], live_[before_.reads[i]], before_.wanted[i]));
    }
    return key;
  }

  Result<MadeStage> make() override {
    StageKey current = key();
    onnx::KnownValues known;
    for (size_t i = 0; i < current.size(); ++i) {
      known[before_.rest->reads()[i]] = known_of(current[i]);
    }
    SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(before_.rest, known));
    SHOAL_ASSIGN(StagePtr stage, state_.compile(std::move(bound)));
    return MadeStage{std::move(current), std::move(stage)};
  }

 private:
  State& state_;
  const Stage& before_;
  const LiveValues& live_;
};

Result<StagePtr> Session::State::first_stage(const LiveValues& live, const RunOptions& limits,
                                             bool knows_elements) {
  FirstStage maker(*this, live, knows_elements);
  return first_.get(live, limits, options_.max_cached_shapes, maker);
}

Result<StagePtr> Session::State::next_stage(Stage& stage, const LiveValues& live,
                                            const RunOptions& limits) {
  NextStage maker(*this, stage, live);
  return stage.next.get(live, limits, options_.max_cached_shapes, maker);
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(const std::filesystem::path& model, Device& device,
                              SessionOptions options) try {
  SHOAL_ASSIGN(const Model opened, open_model(model.string()));
  return opened.session(device, options);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Session> Session::open(std::shared_ptr<const onnx::Model> model, Device& device,
                              SessionOptions options) try {
  return Session(std::make_unique<State>(device, options, std::move(model)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Session> Session::open(const Graph& graph, Device& device, SessionOptions options) try {
  auto state = std::make_unique<State>(device, options, graph);
  SHOAL_TRY(state->compile_whole(graph));
  return Session(std::move(state));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

const std::vector<TensorInfo>& Session::inputs() const { return state_->signature().inputs(); }
const std::vector<std::string>& Session::outputs() const { return state_->signature().outputs(); }

Status Session::accepts(const Tensors& inputs) const {
  SHOAL_ASSIGN(const LiveValues live, state_->signature().arrange(inputs));
  return state_->signature().accepts(live);
}

Status Session::prepare(const std::map<std::string, Shape>& shapes) try {
  return state_->prepare(shapes);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Session::prepare_for(const Tensors& inputs) try {
  SHOAL_ASSIGN(const LiveValues live, state_->signature().arrange(inputs));
  SHOAL_TRY(state_->signature().accepts(live));
  return state_->prepare(live);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Session::Tensors> Session::run(const Tensors& inputs, const RequestOptions& options) try {
  SHOAL_ASSIGN(LiveValues live, state_->signature().arrange(inputs));
  SHOAL_TRY(state_->signature().accepts(live));
  std::vector<Tensor> answers(outputs().size());
  SHOAL_TRY(state_->run(std::move(live), answers, options));
  Tensors named;
  for (size_t i = 0; i < answers.size(); ++i) named[outputs()[i]] = std::move(answers[i]);
  return named;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Session::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const RequestOptions& options) try {
  if (outputs.size() != this->outputs().size()) {
    return invalid("the model has " + std::to_string(this->outputs().size()) + " outputs");
  }
  SHOAL_TRY(state_->signature().accepts(inputs));
  LiveValues live(inputs.begin(), inputs.end());
  live.resize(this->inputs().size());
  return state_->run(std::move(live), outputs, options);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace shoal
