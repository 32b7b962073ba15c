// A progress line, redrawn in place at most ten times a second.
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace shoal::cli {

using Clock = std::chrono::steady_clock;

ProgressBar::ProgressBar(std::string what, size_t total)
    : what_(std::move(what)),
      total_(total),
      shown_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void ProgressBar::at(size_t done, const std::string& note) {
  const auto now = Clock::now();
  if (!shown_ || now - last_ < std::chrono::milliseconds(100) || total_ == 0) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r\033[K%s %s", what_.c_str(),
               progress_text(done, total_, note, elapsed).c_str());
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

}  // namespace shoal::cli
