// Child: another program, or this one once more, that ends when its owner does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::cli {

std::string own_path();  // of the program that runs

class Child {
 public:
  struct Options {
    std::map<std::string, std::string> environment;  // besides this program's
    bool pipe = false;  // its standard output is for read_line(), otherwise this program's
    bool terminal_signals = false;  // Ctrl-C reaches it too
  };

  // `arguments` begin with the program's path.
  static Result<Child> start(const std::vector<std::string>& arguments, const Options& options);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) = delete;
  ~Child();  // asks it to end, and after a while makes it

  // The next line it prints. kUnavailable if it has ended.
  Result<std::string> read_line(std::chrono::milliseconds timeout);
  int wait();  // until it ends; its exit code, 128 + n after signal n
  void ask_to_end();
  void send_signal(int number);

 private:
  Child(pid_t pid, int output) : pid_(pid), output_(output) {}
  bool has_ended(bool wait);

  pid_t pid_;   // 0: no more
  int output_;  // -1: none
  int code_ = 0;
  std::string read_;
};

}  // namespace shoal::cli
