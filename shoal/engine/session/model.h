// Models by name: a network of the zoo ("zoo:resnet18"), the trained classifier inside the library
// ("zoo:digits"), or the path of an ONNX file.
//
//   SHOAL_ASSIGN(const Model model, open_model("resnet18.onnx"));
//   SHOAL_ASSIGN(Session session, model.session(*device));
//   SHOAL_ASSIGN(const LoadedGraph loaded, model.graph({{"x", {8, 3, 224, 224}}}));
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/input_shapes.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal {

namespace onnx {
class Model;
}

// The model that needs no file: digits of 28 x 28 pixels, trained.
inline constexpr std::string_view kDigitsModel = "zoo:digits";

// How to open a model.
struct ModelOptions {
  uint64_t seed = 1;  // of the random weights of the zoo's networks
};

// A model's graph, and the model's names of its outputs. The graph's own names may differ, since
// one value can be an input and an output, or two outputs.
struct LoadedGraph {
  Graph graph;
  std::vector<std::string> outputs;
};

// A model that was found and, if it is a file, parsed. Copies share the file's mapping, which lives
// as long as any of them or any graph or session made from them. A network of the zoo is built when
// it is first needed, and once for all copies. Thread-safe.
class Model {
 public:
  // The name it was opened by; "model in memory" if it was parsed.
  const std::string& name() const { return name_; }
  // Whether weights are random: those of the zoo's networks except kDigitsModel.
  bool has_random_weights() const { return file_ == nullptr; }

  // A one-line warning for the user, or empty. A file of an opset newer than the known ones gives
  // one.
  std::string warning() const;

  // The file's metadata (ONNX's metadata_props), which is untrusted text. Empty for the zoo's
  // networks.
  std::map<std::string, std::string> properties() const;

  // The inputs and outputs that the model declares, in its own order. Fails only if a network
  // cannot be built.
  Result<std::vector<TensorInfo>> inputs() const;
  Result<std::vector<TensorInfo>> outputs() const;

  // A session on this model, which may outlive the Model. Fails as Session::open does. REQUIRES:
  // `device` outlives the session.
  Result<Session> session(Device& device, SessionOptions options = {}) const;

  // The graph for inputs of these shapes. Inputs that are not named have the declared shape, with 1
  // for each open dimension. The zoo's networks take any batch, their first axis. Fails with
  // kInvalidArgument if the model has no such input or takes no such shape, and with kUnsupported
  // if shapes depend on elements that only a run knows.
  Result<LoadedGraph> graph(const InputShapes& shapes = {}) const;

  // The graph for batches of this size, the first axis of its one input. Fails with
  // kInvalidArgument if it has more inputs or declares another size.
  Result<LoadedGraph> graph_for_batch(int64_t batch) const;

 private:
  friend Result<Model> open_model(std::string_view name, const ModelOptions& options);
  friend Result<Model> parse_model(std::shared_ptr<const void> owner,
                                   std::span<const std::byte> bytes);
  struct Network;
  Model(std::string_view name, ModelOptions options);

  std::string_view zoo_name() const;
  Result<LoadedGraph> bind(const InputShapes& shapes) const;
  Result<LoadedGraph> build(int64_t batch) const;
  Result<std::shared_ptr<const LoadedGraph>> network() const;  // of the zoo, for one image

  std::string name_;
  ModelOptions options_;
  std::shared_ptr<const onnx::Model> file_;  // null: a network of the zoo
  std::shared_ptr<Network> network_;
};

// Opens a model by its name. Fails with kNotFound if there is no such file or network, and as
// onnx::Model::open does.
Result<Model> open_model(std::string_view name, const ModelOptions& options = {});

// An ONNX file in memory kept by `owner`, which is null if `bytes` outlive the model and everything
// made from it. External data is refused. Fails as onnx::Model::parse does.
Result<Model> parse_model(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);

}  // namespace shoal

#pragma GCC visibility pop
