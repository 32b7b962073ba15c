// The three kinds of models behind one class. A file, and the embedded classifier, are an
// onnx::Model, which is bound for each set of shapes. A network of the zoo is a function that
// builds a graph. It is built once for one image and shared by all copies; other batches are built
// anew.
#include "shoal/engine/session/model.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/onnx/program/onnx_model.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/model/zoo/zoo.h"

namespace shoal {
namespace {

constexpr std::string_view kZoo = "zoo:";

// Networks and files are large: running out of memory is an answer like any other, and names the
// model.
Status out_of_memory(std::string_view model) {
  return Status(Code::kExhausted, "out of memory").at(model);
}

Result<std::shared_ptr<const onnx::Model>> open_file(std::string_view name) {
  // The bytes are part of the program and need no owner.
  if (name == kDigitsModel) return onnx::Model::parse(nullptr, zoo::digits_model());
  return onnx::Model::open(std::filesystem::path(name));
}

// The batch that the shapes ask for: their first dimension. 1 if there are none.
int64_t batch_of(const InputShapes& shapes) {
  const bool has_batch = !shapes.empty() && shapes.begin()->second.rank() > 0;
  return has_batch ? shapes.begin()->second[0] : 1;
}

// The zoo's networks are built for a batch; everything else about a shape must match theirs.
Status require_shapes(const Graph& graph, const InputShapes& shapes) {
  for (const auto& [name, shape] : shapes) {
    const auto is_named = [&, &wanted = name](ValueId id) { return graph[id].name == wanted; };
    const auto input = std::ranges::find_if(graph.inputs(), is_named);
    if (input == graph.inputs().end()) return invalid("the model has no input " + name);
    if (const Shape& taken = graph[*input].type.shape; taken != shape) {
      return invalid("input " + name + " takes " + to_string(taken) + ", not " + to_string(shape));
    }
  }
  return {};
}

TensorInfo info_of(const std::string& name, const onnx::DeclaredType& type, bool optional) {
  TensorInfo info{.name = name, .dtype = type.dtype, .optional = optional};
  if (!type.dims) return info;
  info.dims.emplace();
  for (const onnx::Dimension& dim : *type.dims) info.dims->push_back(dim.size.value_or(-1));
  return info;
}

TensorInfo info_of(const std::string& name, const TensorType& type) {
  return {.name = name,
          .dtype = type.dtype,
          .dims = std::vector<int64_t>(type.shape.begin(), type.shape.end())};
}

}  // namespace

// Shared by all copies of a model. A failure is kept, too: building again would fail again.
struct Model::Network {
  std::once_flag once;
  Status failure;
  std::shared_ptr<const LoadedGraph> built;
};

Model::Model(std::string_view name, ModelOptions options)
    : name_(name), options_(options), network_(std::make_shared<Network>()) {}

Result<std::shared_ptr<const LoadedGraph>> Model::network() const {
  // An exception leaves the flag unset, so that a later call with more memory builds it.
  std::call_once(network_->once, [this] {
    Result<LoadedGraph> loaded = build(1);
    network_->failure = loaded.status();
    if (loaded.ok()) network_->built = std::make_shared<const LoadedGraph>(*std::move(loaded));
  });
  SHOAL_TRY(network_->failure);
  return network_->built;
}

std::string Model::warning() const {
  return file_ == nullptr ? std::string() : file_->metadata().warning;
}

std::map<std::string, std::string> Model::properties() const {
  return file_ == nullptr ? std::map<std::string, std::string>() : file_->metadata().properties;
}

Result<std::vector<TensorInfo>> Model::inputs() const {
  std::vector<TensorInfo> infos;
  if (file_ != nullptr) {
    for (const onnx::ModelInput& input : file_->inputs()) {
      infos.push_back(info_of(input.name, input.type, input.optional));
    }
    return infos;
  }
  SHOAL_ASSIGN(const auto loaded, network());
  for (ValueId id : loaded->graph.inputs()) {
    infos.push_back(info_of(loaded->graph[id].name, loaded->graph[id].type));
  }
  return infos;
}

Result<std::vector<TensorInfo>> Model::outputs() const {
  std::vector<TensorInfo> infos;
  if (file_ != nullptr) {
    for (const onnx::ModelOutput& output : file_->outputs()) {
      infos.push_back(output.type ? info_of(output.name, *output.type, false)
                                  : TensorInfo{.name = output.name});
    }
    return infos;
  }
  SHOAL_ASSIGN(const auto loaded, network());
  const auto outputs = loaded->graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    infos.push_back(info_of(loaded->outputs[i], loaded->graph[outputs[i]].type));
  }
  return infos;
}

std::string_view Model::zoo_name() const { return std::string_view(name_).substr(kZoo.size()); }

// Networks of the zoo have one output, which models call "output" whatever its value is called.
Result<LoadedGraph> Model::build(int64_t batch) const {
  SHOAL_ASSIGN(Graph graph, zoo::build(zoo_name(), {.seed = options_.seed, .batch = batch}));
  return LoadedGraph{std::move(graph), {"output"}};
}

// Open dimensions are 1 in declared_inputs().
Result<LoadedGraph> Model::bind(const InputShapes& shapes) const {
  SHOAL_ASSIGN(onnx::KnownValues known, onnx::declared_inputs(*file_));
  for (const auto& [input, shape] : shapes) {
    if (!known.contains(input)) return invalid("the model has no input " + input);
    known[input].type.shape = shape;
  }
  // Elements are not known here, only types.
  SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(file_, known));
  if (bound.rest) {
    return Status(Code::kUnsupported, "shapes depend on the elements of " + bound.wanted[0] +
                                          ", which only a run knows; a session can run it");
  }
  return LoadedGraph{std::move(bound.graph), std::move(bound.outputs)};
}

Result<LoadedGraph> Model::graph(const InputShapes& shapes) const try {
  if (file_ != nullptr) return bind(shapes);
  // Copies of the graph share the weights; only another batch has to be built.
  if (const int64_t batch = batch_of(shapes); batch != 1) {
    SHOAL_ASSIGN(LoadedGraph loaded, build(batch));
    SHOAL_TRY(require_shapes(loaded.graph, shapes));
    return loaded;
  }
  SHOAL_ASSIGN(const auto loaded, network());
  SHOAL_TRY(require_shapes(loaded->graph, shapes));
  return *loaded;
} catch (const std::bad_alloc&) {
  return out_of_memory(name_);
}

Result<LoadedGraph> Model::graph_for_batch(int64_t batch) const try {
  if (file_ == nullptr) return build(batch);
  SHOAL_ASSIGN(const onnx::KnownValues inputs, onnx::declared_inputs(*file_));
  if (inputs.size() != 1) return invalid("the model needs one input");
  const auto& [name, input] = *inputs.begin();
  Shape shape = input.type.shape;
  if (shape.rank() == 0) return invalid("input " + name + " has no batch: it is a scalar");
  shape[0] = batch;
  return bind({{name, shape}});
} catch (const std::bad_alloc&) {
  return out_of_memory(name_);
}

Result<Session> Model::session(Device& device, SessionOptions options) const try {
  if (file_ != nullptr) return Session::open(file_, device, options);
  SHOAL_ASSIGN(const auto loaded, network());
  return Session::open(loaded->graph, device, options);
} catch (const std::bad_alloc&) {
  return out_of_memory(name_);
}

Result<Model> open_model(std::string_view name, const ModelOptions& options) try {
  Model model(name, options);
  if (!name.starts_with(kZoo) || name == kDigitsModel) {
    SHOAL_ASSIGN(model.file_, open_file(name));
  } else if (std::ranges::find(zoo::list(), model.zoo_name(), &zoo::Entry::name) ==
             zoo::list().end()) {
    return zoo::build(model.zoo_name()).status();  // says which there are
  }
  return model;
} catch (const std::bad_alloc&) {
  return out_of_memory(name);
}

Result<Model> parse_model(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) try {
  Model model("model in memory", {});
  SHOAL_ASSIGN(model.file_, onnx::Model::parse(std::move(owner), bytes));
  return model;
} catch (const std::bad_alloc&) {
  return out_of_memory("model in memory");
}

}  // namespace shoal
