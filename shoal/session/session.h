// Session: a model on a device, ready for requests. The door most users come through.
//
//   auto device = make_cpu_device();
//   auto session = Session::open("model.onnx", *device);
//   auto answers = session->run({{"input", image}});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/device/device.h"
#include "shoal/graph/graph.h"
#include "shoal/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

namespace onnx {
class Model;
}

// What a model takes: a dimension is -1 where any size will do.
struct InputInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  bool optional = false;  // the model has a default, which it is faster with
};

struct SessionOptions {
  bool optimize = true;          // run the passes
  size_t max_cached_shapes = 4;  // compiled forms kept for the input shapes seen last
};

class Session {
 public:
  using Tensors = std::map<std::string, Tensor>;
  // Called after each compiled graph has run; a model with data-dependent shapes runs in several.
  using Observer = std::function<void(const Executable&, const Trace&)>;

  static Result<Session> open(const std::filesystem::path& onnx, Device& device,
                              SessionOptions options = {});
  static Result<Session> open(std::shared_ptr<const onnx::Model> model, Device& device,
                              SessionOptions options = {});
  static Result<Session> open(const Graph& graph, Device& device, SessionOptions options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const std::vector<InputInfo>& inputs() const;  // the optional ones last
  const std::vector<std::string>& outputs() const;

  // Does the inputs' names, types and shapes fit the model? What run() asks first.
  Status accepts(const Tensors& inputs) const;

  // Compiles for the shapes of these inputs, unless that was done before, and runs.
  Result<Tensors> run(const Tensors& inputs, const Observer& observer = {});

 private:
  class State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal

#pragma GCC visibility pop
