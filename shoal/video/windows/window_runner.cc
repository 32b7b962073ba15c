#include "shoal/video/windows/window_runner.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace shoal::windows {
namespace {

constexpr int64_t kLastTag = int64_t{1} << 62;  // so that sums of tags can be counted
constexpr std::array<std::string_view, 3> kNames = {"drop", "hold", "error"};

}  // namespace

std::string_view name_of(GapPolicy policy) { return kNames[static_cast<size_t>(policy)]; }

std::optional<GapPolicy> find_gap_policy(std::string_view name) {
  const auto at = std::ranges::find(kNames, name);
  if (at == kNames.end()) return {};
  return static_cast<GapPolicy>(at - kNames.begin());
}

SlidingWindow::SlidingWindow(const WindowOptions& options) : options_(options) {
  SHOAL_CHECK(options.size > 0 && options.stride > 0);
}

Result<std::vector<Window>> SlidingWindow::add(int64_t tag, Tensor item) {
  if (tag < 0 || tag > kLastTag) return invalid("a tag is negative or too large");
  std::vector<Window> windows;
  if (tag < next_) {
    // Whether it was taken or lost is no longer known.
    ++figures_.late;
    return windows;
  }
  const auto at = waiting_.find(tag);
  if (at != waiting_.end()) {
    ++(at->second ? figures_.repeated : figures_.late);
    return windows;
  }
  ++figures_.taken;
  waiting_.emplace(tag, std::move(item));
  SHOAL_TRY(advance(windows));
  while (waiting_.size() > options_.patience) SHOAL_TRY(give_up(windows));
  return windows;
}

Result<std::vector<Window>> SlidingWindow::lose(int64_t tag) {
  std::vector<Window> windows;
  if (tag < next_ || waiting_.contains(tag)) return windows;
  waiting_.emplace(tag, std::nullopt);
  SHOAL_TRY(advance(windows));
  while (waiting_.size() > options_.patience) SHOAL_TRY(give_up(windows));
  return windows;
}

Result<std::vector<Window>> SlidingWindow::finish() {
  std::vector<Window> windows;
  while (!waiting_.empty()) SHOAL_TRY(give_up(windows));
  return windows;
}

// What is missing before the first item that waits is lost. REQUIRES: one waits.
Status SlidingWindow::give_up(std::vector<Window>& windows) {
  const int64_t first = waiting_.begin()->first;
  const bool hold = options_.gap == GapPolicy::kHold && !ordered_.empty() &&
                    first - next_ <= static_cast<int64_t>(options_.size);
  if (hold || options_.gap == GapPolicy::kError) {
    waiting_.emplace(next_, std::nullopt);
    return advance(windows);
  }
  // At once, however long the gap is.
  figures_.lost += static_cast<size_t>(first - next_);
  figures_.dropped += ends_before(first) - ends_before(next_);
  ordered_.clear();
  next_ = first;
  return advance(windows);
}

Status SlidingWindow::advance(std::vector<Window>& windows) {
  for (auto at = waiting_.find(next_); at != waiting_.end(); at = waiting_.find(next_)) {
    const std::optional<Tensor> item = std::move(at->second);
    const int64_t tag = next_;
    if (!item && options_.gap == GapPolicy::kError) {
      return {Code::kUnavailable, "item " + std::to_string(tag) + " of the stream is lost"};
    }
    waiting_.erase(at);
    ++next_;
    if (item) {
      push({*item}, windows);
      continue;
    }
    ++figures_.lost;
    if (options_.gap == GapPolicy::kHold && !ordered_.empty()) {
      push({ordered_.back().tensor, true}, windows);
      continue;
    }
    ordered_.clear();
    figures_.dropped += ends_before(tag + 1) - ends_before(tag);
  }
  return {};
}

size_t SlidingWindow::ends_before(int64_t tag) const {
  const auto first = static_cast<int64_t>(options_.size) - 1;
  const auto stride = static_cast<int64_t>(options_.stride);
  return tag <= first ? 0 : static_cast<size_t>((tag - first - 1) / stride + 1);
}

void SlidingWindow::push(Item item, std::vector<Window>& windows) {
  if (ordered_.size() == options_.size) ordered_.pop_front();
  ordered_.push_back(std::move(item));
  if (ends_before(next_) == ends_before(next_ - 1)) return;
  if (ordered_.size() < options_.size) {
    ++figures_.dropped;
    return;
  }
  Window window{.last = next_ - 1};
  for (const Item& one : ordered_) {
    window.items.push_back(one.tensor);
    window.held += one.held ? 1 : 0;
  }
  ++figures_.windows;
  windows.push_back(std::move(window));
}

std::vector<float> temporal_pyramid(std::span<const Tensor> items, size_t levels) {
  SHOAL_CHECK(!items.empty() && levels > 0 && levels < 16);
  std::vector<float> maxima;
  for (size_t level = 0; level < levels; ++level) {
    const size_t ranges = size_t{1} << level;
    for (size_t r = 0; r < ranges; ++r) {
      const size_t begin = r * items.size() / ranges;
      const size_t end = std::max(begin + 1, (r + 1) * items.size() / ranges);
      const auto first = items[begin].data<float>();
      std::vector<float> most(first.begin(), first.end());
      for (size_t i = begin + 1; i < end; ++i) {
        const auto features = items[i].data<float>();
        SHOAL_CHECK(features.size() == most.size());
        for (size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], features[k]);
      }
      maxima.insert(maxima.end(), most.begin(), most.end());
    }
  }
  return maxima;
}

Result<Tensor> features_of(Session& network, const Tensor& item) {
  if (network.outputs().size() != 1) return invalid("the network has several outputs");
  Tensor output;
  SHOAL_TRY(network.run(std::span(&item, 1), std::span(&output, 1)));
  return output;
}

Result<Tensor> stacked(std::span<const Tensor> items, size_t axis) {
  if (items.empty()) return invalid("there is nothing to stack");
  TensorType type = items[0].type();
  if (axis >= type.shape.rank()) return invalid("items have no such axis");
  size_t outer = 1;  // rows before the axis
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(type.shape[i]);
  const auto same = [&](const Tensor& tensor) { return tensor.type() == items[0].type(); };
  if (!std::ranges::all_of(items, same)) return invalid("items are of different types");
  type.shape[axis] *= std::ssize(items);
  Tensor all = Tensor::uninitialized(type);
  const size_t bytes = outer == 0 ? 0 : items[0].bytes().size() / outer;
  auto to = all.bytes().begin();
  for (size_t row = 0; row < outer; ++row) {
    for (const Tensor& item : items) {
      to = std::ranges::copy(item.bytes().subspan(row * bytes, bytes), to).out;
    }
  }
  return all;
}

Result<std::vector<WindowAnswer>> WindowRunner::answers(Result<std::vector<Window>> windows) {
  if (!windows.ok()) return windows.status();
  std::vector<WindowAnswer> all;
  for (const Window& window : *windows) {
    Tensor input;
    if (options_.pyramid_levels > 0) {
      const std::vector<float> maxima = temporal_pyramid(window.items, options_.pyramid_levels);
      input = Tensor::uninitialized({DType::kF32, {1, std::ssize(maxima)}});
      std::ranges::copy(maxima, input.data<float>().begin());
    } else {
      SHOAL_ASSIGN(input, stacked(window.items, options_.stack_axis));
    }
    SHOAL_ASSIGN(Tensor scores, features_of(head_, input));
    all.push_back({window.last, std::move(scores)});
  }
  return all;
}

Result<std::vector<WindowAnswer>> WindowRunner::add(int64_t tag, Tensor item) {
  const bool features = item.dtype() == DType::kF32 && item.shape().count() > 0;
  if (options_.pyramid_levels > 0 && !features) return invalid("features are f32");
  if (options_.pyramid_levels > 0 && dims_ != 0 && item.shape().count() != dims_) {
    return invalid("features are of another size than before");
  }
  dims_ = item.shape().count();
  return answers(window_.add(tag, std::move(item)));
}

Result<std::vector<WindowAnswer>> WindowRunner::lose(int64_t tag) {
  return answers(window_.lose(tag));
}

Result<std::vector<WindowAnswer>> WindowRunner::finish() { return answers(window_.finish()); }

}  // namespace shoal::windows
