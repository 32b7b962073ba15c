// A request is a vector of live values by slot, on which stages run one after the other. A stage is
// a graph bound to known types, compiled, and kept in a StageTable under a key: the types, and
// where elements decide shapes the elements, of the values it reads. A session is thus a tree of
// stages, which grows as requests bring new keys.
//
// Locks: StageTable::mutex_ before State::mutex_ before Slots::mutex_. None is held while a stage
// is made or run.
#include "shoal/engine/session/session.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "shoal/engine/session/signature.h"
#include "shoal/engine/session/stage.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/onnx_model.h"
#include "shoal/model/passes/passes.h"

namespace shoal {
namespace {

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
    for (const InputInfo& input : signature_.inputs()) slots_.of(input.name);
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
      // Intermediate values between two stages belong to nobody but the request.
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
    const std::vector<InputInfo>& inputs = state_.signature_.inputs();
    for (;;) {
      StageKey now = key();
      onnx::KnownValues known;
      for (const Requirement& required : now) {
        if (required.type) known[inputs[required.slot].name] = known_of(required);
      }
      SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(state_.model_, known));
      const auto decisive = find_decisive(bound.wanted);
      if (!decisive) {
        SHOAL_ASSIGN(StagePtr stage, state_.compile(std::move(bound)));
        return MadeStage{std::move(now), std::move(stage)};
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
    const std::vector<InputInfo>& inputs = state_.signature_.inputs();
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
    StageKey now = key();
    onnx::KnownValues known;
    for (size_t i = 0; i < now.size(); ++i) {
      known[before_.rest->reads()[i]] = known_of(now[i]);
    }
    SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(before_.rest, known));
    SHOAL_ASSIGN(StagePtr stage, state_.compile(std::move(bound)));
    return MadeStage{std::move(now), std::move(stage)};
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

Result<Session> Session::open(const std::filesystem::path& onnx, Device& device,
                              SessionOptions options) try {
  SHOAL_ASSIGN(auto model, onnx::Model::open(onnx));
  return open(std::move(model), device, options);
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

const std::vector<InputInfo>& Session::inputs() const { return state_->signature().inputs(); }
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
