// Stages: a model compiled for known types. A model whose shapes depend on elements runs as
// several, one after the other (see model/onnx/bind/bind.h).
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/onnx/bind/bind.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal {

// The values of one request by slot, which is a session's number for a name. Undefined: not given,
// or not computed yet.
using LiveValues = std::vector<Tensor>;

struct Stage;
using StagePtr = std::shared_ptr<Stage>;

// The condition on the value in a slot for a stage to fit.
struct Requirement {
  size_t slot = 0;
  std::optional<TensorType> type;  // nullopt: not given
  Tensor value;                    // if defined, the elements must be these
};
using StageKey = std::vector<Requirement>;

bool fits(const StageKey& key, const LiveValues& live);
size_t bytes_of(const StageKey& key);

struct MadeStage {
  StageKey key;  // as narrow as necessary
  StagePtr stage;
};

// Makes a stage for the values of one request.
class StageMaker {
 public:
  virtual ~StageMaker() = default;
  virtual StageKey key() const = 0;  // as far as known before
  virtual Result<MadeStage> make() = 0;
};

// The stages so far, the most recently used first. Thread-safe; no lock is held while a stage is
// made.
class StageTable {
 public:
  // The stage that fits `live`. If there is none, `maker` makes it, on this thread. If another
  // thread is making it, waits for that, within the limits of `options`. Keeps `kept` stages.
  Result<StagePtr> get(const LiveValues& live, const RunOptions& options, size_t kept,
                       StageMaker& maker);

 private:
  struct Entry {
    StageKey key;
    bool done = false;  // until then a thread is making it
    Result<StagePtr> stage = Status(Code::kInternal, "not made");
  };
  using EntryPtr = std::shared_ptr<Entry>;

  EntryPtr find(const LiveValues& live);
  void wait(std::unique_lock<std::mutex>& lock, const Entry& entry, const RunOptions& options);
  void finish(const EntryPtr& entry, Result<MadeStage> stage, size_t kept);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<EntryPtr> entries_;
};

struct Stage {
  std::unique_ptr<Executable> executable;
  std::vector<size_t> inputs, outputs;  // slots of the graph's
  std::vector<size_t> answers;  // index of each output among the model's outputs; beyond them: none
  size_t slots = 0;             // outputs' slots are below this
  // The rest of the model, bound when this stage has run; null if none.
  std::shared_ptr<const onnx::PendingModel> rest;
  std::vector<size_t> reads;  // slots of rest->reads()
  std::vector<bool> wanted;   // of them: those whose elements `rest` needs
  StageTable next;
};

}  // namespace shoal
