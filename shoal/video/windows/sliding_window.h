// Sliding window: the last so many items of a stream, in order, however they arrive
// [Hadidi 2021, 4.5].
//
// Items have tags 0, 1, 2, ... Workers that take turns give them back in another order, twice, or
// not at all. An item waits until those before it are there. One that is missing is lost when
// somebody says so, when more than `patience` items wait behind it, or at the end; what becomes of
// the windows that it belongs to is the gap policy:
//
//   drop   they are left out; later windows are the same as without the loss
//   hold   the item before it stands for it, in gaps of up to `size` items; longer ones are dropped
//   error  the stream fails
//
// At most `size` + `patience` items are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::windows {

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

  // An item has arrived: the windows that are complete now, in order. Items that were there before
  // are ignored. kInvalidArgument for a tag below 0 or above 2^62, kUnavailable where a loss is an
  // error.
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

}  // namespace shoal::windows

#pragma GCC visibility pop
