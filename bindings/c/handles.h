// The objects behind the handles of the C functions, and their error reports.
#pragma once

#include <shoal/c/shoal.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/step/trainer/trainer.h"

struct shoal_status {
  shoal_code code;
  std::string message;
};

struct shoal_tensor {
  shoal::Tensor tensor;
  bool writable = false;
};

struct shoal_model {
  using Values = shoal::Result<std::vector<shoal::TensorInfo>>;

  explicit shoal_model(shoal::Model opened) : model(std::move(opened)) {}

  // Computed once: it takes building a network of the zoo.
  const Values& inputs() const {
    std::call_once(inputs_asked_, [this] { inputs_ = model.inputs(); });
    return inputs_;
  }
  const Values& outputs() const {
    std::call_once(outputs_asked_, [this] { outputs_ = model.outputs(); });
    return outputs_;
  }

  const shoal::Model model;

 private:
  mutable std::once_flag inputs_asked_, outputs_asked_;
  mutable Values inputs_ = std::vector<shoal::TensorInfo>(), outputs_ = inputs_;
};

struct shoal_device {
  std::shared_ptr<shoal::Device> device;
};

// The device is destroyed after its executables.
struct shoal_session {
  std::shared_ptr<shoal::Device> device;
  shoal::Session session;
};

struct shoal_trainer {
  std::shared_ptr<shoal::Device> device;
  shoal::train::Trainer trainer;
  std::vector<std::string> outputs;  // names of the model
};

struct shoal_result {
  std::vector<std::pair<std::string, shoal_tensor>> outputs;
};

struct shoal_cancel {
  std::stop_source source;
};

namespace shoal::c {

// NULL for OK. Without memory for a message, out_of_memory().
shoal_status* status_of(const Status& status) noexcept;

// A status that needs no memory.
shoal_status* out_of_memory() noexcept;

// For an exception of the standard library.
shoal_status* internal_error(const char* message) noexcept;

// Calls f, which returns a Status; an exception becomes one, too: none may cross into C.
template <class F>
shoal_status* guarded(F f) noexcept {
  try {
    return status_of(f());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
}

// "model is NULL", unless it is not.
inline Status require(const void* argument, const char* name) {
  return argument != nullptr ? Status() : invalid(std::string(name) + " is NULL");
}

// The fields of an option struct that the caller knows, and defaults for later ones. Later callers
// may know more fields: kUnsupported if such a field is not zero.
template <class Options>
Result<Options> read_options(const Options* given, const Options& defaults) {
  if (given == nullptr) return defaults;
  constexpr size_t kLargest = 4096;
  const size_t size = given->struct_size;
  if (size < sizeof size || size > kLargest) {
    return invalid("struct_size is " + std::to_string(size) + "; begin options with their INIT");
  }
  const auto* const bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + std::min(size, sizeof(Options)), bytes + size,
                  [](char c) { return c != 0; })) {
    return Status(Code::kUnsupported, "an option is set that this version does not know");
  }
  Options options = defaults;
  std::memcpy(&options, given, std::min(size, sizeof(Options)));
  return options;
}

// The device of a handle or, if it is NULL, a new CPU.
std::shared_ptr<Device> device_or_cpu(const shoal_device* device);

// Registers clusters with make_device(), if the library was built with them.
void register_cluster();

}  // namespace shoal::c
