#include "shoal/session/session.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <new>
#include <set>

#include "shoal/onnx/bind.h"
#include "shoal/passes/passes.h"

namespace shoal {
namespace {

using Tensors = Session::Tensors;

// Elements beyond this make a key larger than what it would save; such a stage is bound anew.
constexpr size_t kMaxKeyedBytes = 1 << 16;

struct Stage;

// Stages by what they were bound for, the ones used last at the front.
class StageCache {
 public:
  Stage* find(const std::string& key) {
    auto it = std::ranges::find(entries_, key, &Entry::key);
    if (it == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it);
    return entries_.front().stage.get();
  }
  Stage* insert(std::string key, std::unique_ptr<Stage> stage, size_t kept) {
    while (entries_.size() >= std::max<size_t>(kept, 1)) entries_.pop_back();
    entries_.push_front({std::move(key), std::move(stage)});
    return entries_.front().stage.get();
  }

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<Stage> stage;
  };
  std::list<Entry> entries_;
};

// A part of the model compiled for known types, and what may come after it.
struct Stage {
  std::unique_ptr<Executable> executable;
  std::vector<std::string> outputs;
  std::vector<std::string> wanted;
  std::shared_ptr<const onnx::PendingModel> rest;
  StageCache next;
};

// Empty if the known elements are too many to be worth a key.
std::string key_of(const onnx::KnownValues& known) {
  std::string key;
  for (const auto& [name, value] : known) {
    key += name + '\0' + to_string(value.type) + '\0';
    if (!value.value) continue;
    const auto bytes = value.value->bytes();
    if (key.size() + bytes.size() > kMaxKeyedBytes) return {};
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return key;
}

onnx::KnownValues known_of(const Tensors& tensors, const std::vector<std::string>& names,
                           const std::set<std::string>& with_elements) {
  onnx::KnownValues known;
  for (const std::string& name : names) {
    const Tensor& tensor = tensors.at(name);
    known[name].type = tensor.type();
    if (with_elements.contains(name)) known[name].value = tensor;
  }
  return known;
}

Status out_of_memory() { return Status(Code::kExhausted, "out of memory"); }

std::vector<int64_t> dims_of(const onnx::DeclaredType& type) {
  std::vector<int64_t> dims;
  if (!type.dims) return dims;
  for (const onnx::Dimension& d : *type.dims) dims.push_back(d.size.value_or(-1));
  return dims;
}

}  // namespace

class Session::State {
 public:
  State(Device& device, SessionOptions options) : device_(device), options_(options) {}

  Status open(std::shared_ptr<const onnx::Model> model) {
    model_ = std::move(model);
    for (const onnx::ModelInput& input : model_->inputs()) {
      inputs_.push_back({input.name, input.type.dtype, dims_of(input.type), input.optional});
      if (!input.optional) required_.insert(input.name);
      if (!input.type.dims || !input.shape_read) any_rank_.insert(input.name);
    }
    std::stable_partition(inputs_.begin(), inputs_.end(),
                          [](const InputInfo& input) { return !input.optional; });
    for (const onnx::ModelOutput& output : model_->outputs()) outputs_.push_back(output.name);
    return {};
  }

  Status open(const Graph& graph) {
    std::vector<std::string> names;
    for (ValueId id : graph.inputs()) {
      const Value& value = graph[id];
      const Shape& shape = value.type.shape;
      inputs_.push_back({value.name, value.type.dtype, {shape.begin(), shape.end()}, false});
      required_.insert(value.name);
    }
    for (ValueId id : graph.outputs()) outputs_.push_back(graph[id].name);
    onnx::Bound bound{graph, outputs_, {}, nullptr};
    SHOAL_ASSIGN(whole_, compile(std::move(bound)));
    return {};
  }

  const std::vector<InputInfo>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  Status accepts(const Tensors& given) const {
    for (const auto& [name, tensor] : given) {
      const auto input = std::ranges::find(inputs_, name, &InputInfo::name);
      if (input == inputs_.end()) return invalid("the model has no input " + name);
      if (Status fits = fits_input(tensor, *input); !fits.ok()) return fits.at("input " + name);
    }
    for (const std::string& name : required_) {
      if (!given.contains(name)) return invalid("input " + name + " is missing");
    }
    return {};
  }

  Result<Tensors> run(const Tensors& inputs, const Observer& observer) {
    const std::scoped_lock lock(mutex_);
    SHOAL_TRY(accepts(inputs));
    Tensors live = inputs;
    std::unique_ptr<Stage> unkept;  // a stage whose key would be too large
    Stage* stage = nullptr;
    if (whole_) {
      stage = whole_.get();
    } else {
      SHOAL_ASSIGN(stage, first_stage(live, unkept));
    }
    for (;;) {
      SHOAL_TRY(run_stage(*stage, live, observer));
      if (!stage->rest) break;
      SHOAL_ASSIGN(stage, next_stage(*stage, live, unkept));
    }
    Tensors answers;
    for (const std::string& name : outputs_) answers[name] = live.at(name);
    return answers;
  }

 private:
  Status fits_input(const Tensor& tensor, const InputInfo& input) const {
    if (tensor.dtype() != input.dtype) {
      return invalid("has elements of type " + std::string(name_of(tensor.dtype())) +
                     ", the model takes " + std::string(name_of(input.dtype)));
    }
    if (any_rank_.contains(input.name)) return {};
    const Shape& shape = tensor.shape();
    bool fits = shape.rank() == input.dims.size();
    std::string declared;
    for (size_t d = 0; d < input.dims.size(); ++d) {
      fits = fits && (input.dims[d] < 0 || input.dims[d] == shape[d]);
      declared += (d > 0 ? "," : "") + (input.dims[d] < 0 ? "?" : std::to_string(input.dims[d]));
    }
    if (fits) return {};
    return invalid("has shape " + to_string(shape) + ", the model takes [" + declared + "]");
  }

  Result<std::unique_ptr<Stage>> compile(onnx::Bound bound) {
    Graph graph = std::move(bound.graph);
    if (options_.optimize) {
      SHOAL_ASSIGN(graph, passes::optimize(graph));
    }
    auto stage = std::make_unique<Stage>();
    SHOAL_ASSIGN(stage->executable, device_.compile(graph));
    stage->outputs = std::move(bound.outputs);
    stage->wanted = std::move(bound.wanted);
    stage->rest = std::move(bound.rest);
    return stage;
  }

  Result<Stage*> keep(StageCache& cache, const std::string& key, onnx::Bound bound,
                      std::unique_ptr<Stage>& unkept) {
    SHOAL_ASSIGN(auto stage, compile(std::move(bound)));
    if (!key.empty()) return cache.insert(key, std::move(stage), options_.max_cached_shapes);
    unkept = std::move(stage);
    return unkept.get();
  }

  // Inputs whose elements turn out to decide shapes are given with their elements from then on.
  Result<Stage*> first_stage(const Tensors& live, std::unique_ptr<Stage>& unkept) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : live) names.push_back(name);
    for (;;) {
      const onnx::KnownValues known = known_of(live, names, shape_inputs_);
      const std::string key = key_of(known);
      if (Stage* found = key.empty() ? nullptr : first_.find(key); found != nullptr) return found;
      SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(model_, known));
      const size_t before = shape_inputs_.size();
      for (const std::string& name : bound.wanted) {
        if (live.contains(name)) shape_inputs_.insert(name);
      }
      if (shape_inputs_.size() == before) return keep(first_, key, std::move(bound), unkept);
    }
  }

  Result<Stage*> next_stage(Stage& stage, const Tensors& live, std::unique_ptr<Stage>& unkept) {
    const std::set<std::string> wanted(stage.wanted.begin(), stage.wanted.end());
    const onnx::KnownValues known = known_of(live, stage.rest->reads(), wanted);
    const std::string key = key_of(known);
    if (Stage* found = key.empty() ? nullptr : stage.next.find(key); found != nullptr) return found;
    SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(stage.rest, known));
    return keep(stage.next, key, std::move(bound), unkept);
  }

  static Status run_stage(Stage& stage, Tensors& live, const Observer& observer) {
    const Graph& graph = stage.executable->graph();
    std::vector<Tensor> inputs, outputs;
    for (ValueId id : graph.inputs()) inputs.push_back(live.at(graph[id].name));
    for (ValueId id : graph.outputs()) outputs.emplace_back(graph[id].type);
    Trace trace;
    SHOAL_TRY(stage.executable->run(inputs, outputs, observer ? &trace : nullptr));
    if (observer) observer(*stage.executable, trace);
    for (size_t i = 0; i < outputs.size(); ++i) live[stage.outputs[i]] = outputs[i];
    return {};
  }

  Device& device_;
  SessionOptions options_;
  std::shared_ptr<const onnx::Model> model_;
  std::unique_ptr<Stage> whole_;  // of a session opened on a graph
  std::vector<InputInfo> inputs_;
  std::vector<std::string> outputs_;
  std::set<std::string> required_, any_rank_;
  std::mutex mutex_;
  std::set<std::string> shape_inputs_;
  StageCache first_;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(std::shared_ptr<const onnx::Model> model, Device& device,
                              SessionOptions options) {
  auto state = std::make_unique<State>(device, options);
  SHOAL_TRY(state->open(std::move(model)));
  return Session(std::move(state));
}

Result<Session> Session::open(const std::filesystem::path& onnx, Device& device,
                              SessionOptions options) try {
  SHOAL_ASSIGN(auto model, onnx::Model::open(onnx));
  return open(std::move(model), device, options);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Session> Session::open(const Graph& graph, Device& device, SessionOptions options) try {
  auto state = std::make_unique<State>(device, options);
  SHOAL_TRY(state->open(graph));
  return Session(std::move(state));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

const std::vector<InputInfo>& Session::inputs() const { return state_->inputs(); }
const std::vector<std::string>& Session::outputs() const { return state_->outputs(); }
Status Session::accepts(const Tensors& inputs) const { return state_->accepts(inputs); }

Result<Tensors> Session::run(const Tensors& inputs, const Observer& observer) try {
  return state_->run(inputs, observer);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace shoal
