// A progress line on stderr, on a terminal only; silent everywhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace shoal::cli {

class Progress {
 public:
  Progress(std::string what, size_t total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(size_t done, const std::string& note = {});

 private:
  std::string what_;
  size_t total_;
  bool shown_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace shoal::cli
