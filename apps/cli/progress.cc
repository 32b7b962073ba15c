// A progress line, redrawn in place at most ten times a second.
#include "progress.h"

#include <unistd.h>

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
  const double left =
      done == 0 ? 0 : elapsed / static_cast<double>(done) * static_cast<double>(total_ - done);
  constexpr size_t kBar = 24;
  const size_t filled = kBar * done / total_;
  std::fprintf(stderr, "\r\033[K%s [%s%s] %zu/%zu%s, %.0f s left", what_.c_str(),
               std::string(filled, '#').c_str(), std::string(kBar - filled, '.').c_str(), done,
               total_, (note.empty() ? note : ", " + note).c_str(), left);
}

}  // namespace shoal::cli
