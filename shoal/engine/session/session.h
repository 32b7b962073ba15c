// Session: a model on a device, ready for requests. The main entry point.
//
//   auto device = make_cpu_device();
//   SHOAL_ASSIGN(Session session, Session::open("model.onnx", *device));
//   SHOAL_TRY(session.prepare());                               // optional: compiles now
//   SHOAL_ASSIGN(auto answers, session.run({{"input", image}}));
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

class Model;
namespace onnx {
class Model;
}

// An input or an output as a model declares it. Inputs have a type.
struct TensorInfo {
  std::string name;
  std::optional<DType> dtype = {};                // nullopt: an output without a declared type
  std::optional<std::vector<int64_t>> dims = {};  // -1: any size; nullopt: any rank
  bool optional = false;  // an input with a default, with which the model is faster

  // The dimensions; nullopt if any rank is accepted.
  std::span<const int64_t> sizes() const {
    return dims ? std::span<const int64_t>(*dims) : std::span<const int64_t>();
  }
};
using InputInfo = TensorInfo;  // its name before version 0.2.0

// Options of a session.
struct SessionOptions {
  bool optimize = true;          // run the passes
  size_t max_cached_shapes = 4;  // compiled forms kept, for the latest input shapes
};

// The options of one request. `{}`: no limit, no observer.
struct RequestOptions {
  // Called after each compiled graph has run (several for data-dependent shapes), on the thread
  // that calls run(). No lock is held: it may call any method of the session.
  using Observer = std::function<void(const Executable&, const Trace&)>;

  // The request fails with kDeadline if it has not ended by then. Compiling is not interrupted.
  Deadline deadline = kNoDeadline;
  // The request fails with kCancelled soon after a stop is requested of the token's source.
  std::stop_token cancel = {};
  Observer observer = {};
};

// Thread-safe: any number of requests may be in progress at once. They share the compiled model,
// and no lock is held while the device computes. Two requests that need the same new form of the
// model compile it once.
class Session {
 public:
  using Tensors = std::map<std::string, Tensor>;  // by the model's names

  // Opens a model by its name, as open_model() takes it, or a graph. A graph is compiled now, a
  // model when prepare() or run() is told the shapes of its inputs. REQUIRES: `device` outlives the
  // session. Fails with the place in the file if the model is damaged, with kUnsupported and a list
  // if operators are unknown, and with kExhausted if memory is short.
  static Result<Session> open(const std::filesystem::path& model, Device& device,
                              SessionOptions options = {});
  static Result<Session> open(const Graph& graph, Device& device, SessionOptions options = {});

  // Moving is not thread-safe; a session that was moved from can only be destroyed or assigned to.
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // The inputs of the model, the optional ones last, and the names of its outputs. Valid as long as
  // the session.
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<std::string>& outputs() const;

  // OK iff names, types and shapes of `inputs` match the model's declaration; kInvalidArgument
  // otherwise. run() checks this.
  Status accepts(const Tensors& inputs) const;

  // Compiles for inputs of these shapes, so that the first request fails early and is fast. Inputs
  // that are not named have their declared shape. Fails with kInvalidArgument if that leaves a size
  // open, and with kUnsupported if shapes depend on the elements of an input: prepare_for() takes
  // them. Of a model that runs in several graphs only the first is compiled; the others need its
  // results.
  Status prepare(const std::map<std::string, Shape>& shapes = {});
  Status prepare_for(const Tensors& inputs);

  // Answers one request, all outputs by name. Compiles first if these shapes are new. Fails with
  // kInvalidArgument if inputs do not fit, with kDeadline and kCancelled as `options` say, and as
  // Device::compile() and Executable::run() do.
  Result<Tensors> run(const Tensors& inputs, const RequestOptions& options = {});

  // The same by position: in the order of inputs() and outputs(). Optional inputs may be undefined
  // or missing at the end. Outputs that are defined may be written into, others are made; either
  // way, read them from the span. REQUIRES: outputs.size() == this->outputs().size().
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RequestOptions& options = {});

 private:
  friend class Model;
  class State;
  static Result<Session> open(std::shared_ptr<const onnx::Model> model, Device& device,
                              SessionOptions options);
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shoal

#pragma GCC visibility pop
