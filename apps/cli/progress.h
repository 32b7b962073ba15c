// A progress line on stderr, and perhaps a table below it, on a terminal only; silent everywhere
// else.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace shoal::cli {

class ProgressBar {
 public:
  ProgressBar(std::string what, size_t total);
  ~ProgressBar();  // erases all that is shown
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Lines below that the screen has no room for are left out.
  void at(size_t done, const std::string& note = {}, const std::vector<std::string>& below = {});
  // Something to be read, above what is shown. On any stderr.
  void say(const std::string& line);

 private:
  std::string erasing() const;  // what erases all that is shown

  std::string what_;
  size_t total_;
  bool shown_;
  size_t below_ = 0;  // lines that are shown
  std::chrono::steady_clock::time_point start_, last_;
};

// As many of these lines as a screen with so many rows has room for, below another; the last one
// says how many are missing.
std::vector<std::string> fitting(std::vector<std::string> lines, size_t rows);

// What such a line says after its name, `elapsed` seconds after the start. REQUIRES: total > 0.
std::string progress_text(size_t done, size_t total, const std::string& note, double elapsed);

}  // namespace shoal::cli
