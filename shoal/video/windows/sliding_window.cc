#include "shoal/video/windows/sliding_window.h"

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

// Takes what is in order now.
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

// How many windows end before a tag.
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

}  // namespace shoal::windows
