// Window runner: a clip model over a stream. A network gives features of each item, once; a second
// one answers for the temporal pyramid of each window of them. Or the second takes whole windows of
// items, stacked along an axis, as C3D does.
//
//   WindowRunner runner(head, {.window = {.size = 15}, .pyramid_levels = 4});
//   SHOAL_ASSIGN(const Tensor features, features_of(network, frame));   // by any worker
//   SHOAL_ASSIGN(const auto answers, runner.add(tag, features));        // in any order
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/windows/sliding_window.h"

#pragma GCC visibility push(default)

namespace shoal::windows {

// How windows become inputs. A value.
struct WindowRunnerOptions {
  WindowOptions window = {};
  size_t pyramid_levels = 4;  // 0: items are stacked instead
  size_t stack_axis = 2;      // of the items, which are 1 long there: [1, c, 1, h, w] for C3D
};

// The answer of a window.
struct WindowAnswer {
  int64_t last = 0;  // tag of its last item
  Tensor scores = {};
};

// The one output of a network of one input. Fails as the session does. Thread-safe.
Result<Tensor> features_of(Session& network, const Tensor& item);

// The items of a window one after the other along an axis. kInvalidArgument where they are of
// different types or have no such axis.
Result<Tensor> stacked(std::span<const Tensor> items, size_t axis);

// Thread-compatible.
class WindowRunner {
 public:
  // REQUIRES: `head` outlives the runner, and has one input and one output.
  WindowRunner(Session& head, const WindowRunnerOptions& options)
      : head_(head), options_(options), window_(options.window) {}

  // As those of SlidingWindow, with the answers of the windows. They fail as the session does, too.
  Result<std::vector<WindowAnswer>> add(int64_t tag, Tensor item);
  Result<std::vector<WindowAnswer>> lose(int64_t tag);
  Result<std::vector<WindowAnswer>> finish();

  // What happened to items, and which are kept.
  const SlidingWindow& window() const { return window_; }

 private:
  Result<std::vector<WindowAnswer>> answers(Result<std::vector<Window>> windows);

  Session& head_;
  WindowRunnerOptions options_;
  SlidingWindow window_;
  int64_t dims_ = 0;  // elements of an item; 0: none was there yet
};

}  // namespace shoal::windows

#pragma GCC visibility pop
