// Window runner: a clip model over a stream. One network computes the features of each item once; a
// second one reads the temporal pyramid of each window. Or the second takes whole windows of items,
// stacked along an axis, as C3D does.
//
//   WindowRunner runner(head, {.window = {.size = 15}, .pyramid_levels = 4});
//   SHOAL_ASSIGN(const Tensor features, features_of(network, frame));   // by any worker
//   SHOAL_ASSIGN(const auto answers, runner.add(tag, features));        // in any order
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::windows {

// Sliding window: the last n items of a stream, in order, however they arrive [Hadidi 2021, 4.5].
//
// Items have tags 0, 1, 2, ... and may arrive out of order, twice, or not at all, from several
// workers. An item waits for those before it. A missing one is lost after lose(), when more than
// `patience` items wait behind it, or at the end; the gap policy decides about its windows:
//
//   drop   they are left out; later windows are the same as without the loss
//   hold   the item before it stands for it, in gaps of up to `size` items; longer ones are dropped
//   error  the stream fails
//
// At most `size` + `patience` items are kept.

// What becomes of windows with a lost item.
enum class GapPolicy : uint8_t { kDrop, kHold, kError };

// "drop" and so on, and back; nothing for another name.
std::string_view name_of(GapPolicy policy);
std::optional<GapPolicy> find_gap_policy(std::string_view name);

// Which windows there are. A value.
struct WindowOptions {
  size_t size = 16;      // items of a window
  size_t stride = 1;     // windows end at the tags size - 1, size - 1 + stride, ...
  size_t patience = 32;  // items that may wait for a missing one
  GapPolicy gap = GapPolicy::kDrop;
};

// Items in order.
struct Window {
  int64_t last = 0;                // tag of its last item
  std::vector<Tensor> items = {};  // the oldest first
  size_t held = 0;                 // items for which another one stands
};

// What happened to items so far.
struct WindowFigures {
  size_t taken = 0, repeated = 0, late = 0, lost = 0;  // late: after they were given up
  size_t windows = 0, dropped = 0;                     // dropped: windows that were left out
};

// Thread-compatible. After a failure it only fails.
class SlidingWindow {
 public:
  // REQUIRES: size and stride are above 0.
  explicit SlidingWindow(const WindowOptions& options);

  // Adds an item and returns the windows that are now complete, in order. Repeated items are
  // ignored. kInvalidArgument for a tag below 0 or above 2^62, kUnavailable if a loss is an error.
  Result<std::vector<Window>> add(int64_t tag, Tensor item);
  // An item will not arrive. Fails as add() does.
  Result<std::vector<Window>> lose(int64_t tag);
  // No item will arrive any more: those that wait are all there is. Fails as add() does.
  Result<std::vector<Window>> finish();

  // What happened to items so far.
  const WindowFigures& figures() const { return figures_; }
  // Items that are kept now.
  size_t kept() const { return ordered_.size() + waiting_.size(); }

 private:
  struct Item {
    Tensor tensor;
    bool held = false;
  };

  Status advance(std::vector<Window>& windows);
  Status give_up(std::vector<Window>& windows);
  void push(Item item, std::vector<Window>& windows);
  size_t ends_before(int64_t tag) const;

  WindowOptions options_;
  int64_t next_ = 0;                                  // the first tag that is not in order yet
  std::deque<Item> ordered_;                          // those before it, without a gap
  std::map<int64_t, std::optional<Tensor>> waiting_;  // by tag; nothing: lost
  WindowFigures figures_;
};

// Temporal pyramid: maxima of a window's features over ever shorter ranges (Ryoo et al. 2015;
// [Hadidi 2021, 4.5]).
//
// Level l divides the window into 2^l ranges, as equal as they can be: range r of n items is
// [r n / 2^l, (r + 1) n / 2^l), and at least one item. Four levels are 1 + 2 + 4 + 8 = 15 ranges,
// however long the window is.

// The maxima, range by range from the first level on: (2^levels - 1) times as many as features of
// an item. REQUIRES: there are items, f32 and of one size; 0 < levels < 16.
std::vector<float> temporal_pyramid(std::span<const Tensor> items, size_t levels = 4);

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

// The items of a window concatenated along an axis. kInvalidArgument for different types or no such
// axis.
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
