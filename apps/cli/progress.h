// A progress line on stderr, on a terminal only; silent everywhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace shoal::cli {

class ProgressBar {
 public:
  ProgressBar(std::string what, size_t total);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void at(size_t done, const std::string& note = {});

 private:
  std::string what_;
  size_t total_;
  bool shown_;
  std::chrono::steady_clock::time_point start_, last_;
};

// What such a line says after its name, `elapsed` seconds after the start. REQUIRES: total > 0.
std::string progress_text(size_t done, size_t total, const std::string& note, double elapsed);

}  // namespace shoal::cli
