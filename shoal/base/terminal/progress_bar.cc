// A progress line, redrawn in place at most ten times a second.
#include "shoal/base/terminal/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shoal/base/timing/seconds_since.h"

namespace shoal {

ProgressBar::ProgressBar(std::string what, size_t total)
    : what_(std::move(what)), start_(std::chrono::steady_clock::now()), total_(total) {}

void ProgressBar::at(size_t done, const std::string& note, const std::vector<std::string>& below) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || total_ == 0 || !lines_.is_due()) return;
  std::vector<std::string> lines = {what_ + " " +
                                    progress_text(done, total_, note, seconds_since(start_))};
  lines.insert(lines.end(), below.begin(), below.end());
  lines_.draw(lines);
}

void ProgressBar::of(size_t done, size_t total, const std::string& note) {
  {
    const std::lock_guard lock(mutex_);
    if (total_ == 0) start_ = std::chrono::steady_clock::now();
    total_ = total;
  }
  at(done, note);
}

void ProgressBar::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  lines_.erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressBar::erase() {
  const std::lock_guard lock(mutex_);
  lines_.erase();
}

void ProgressBar::end() {
  const std::lock_guard lock(mutex_);
  lines_.erase();
  is_over_ = true;
}

// A benchmark's last run may end late, so that more is done than was planned.
std::string progress_text(size_t done, size_t total, const std::string& note, double elapsed) {
  done = std::min(done, total);
  const double left =
      done == 0 ? 0 : elapsed / static_cast<double>(done) * static_cast<double>(total - done);
  constexpr size_t kBar = 24;
  const size_t filled = kBar * done / total;
  std::string text = "[" + std::string(filled, '#') + std::string(kBar - filled, '.') + "] " +
                     std::to_string(done) + "/" + std::to_string(total);
  if (!note.empty()) text += ", " + note;
  return text + ", " + std::to_string(std::llround(left)) + " s left";
}

}  // namespace shoal
