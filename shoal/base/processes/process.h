// Process: another program as a child of this one, which does not outlive its parent.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

std::filesystem::path executable_path();

// Returns where a program of Shoal's is that others start: beside the running one, or where
// packages put it. Empty if it is not there.
std::filesystem::path find_program(const std::string& name);

// Not thread-safe, except that send_signal() may be called while another thread is in wait().
class Process {
 public:
  struct Options {
    std::map<std::string, std::string> environment =
        {};                           // added to this program's, or replacing it
    bool inherit_environment = true;  // false: it has `environment` only
    bool pipe_output = false;         // read_line() and read_some() get its standard output
    bool pipe_input = false;          // write_all() reaches its standard input
    bool terminal_signals = false;    // stays in the terminal's foreground group: Ctrl-C reaches it
    std::chrono::milliseconds grace{5000};  // between SIGTERM and SIGKILL in the destructor
  };

  // Starts the program `arguments[0]`, which must be a path, with these arguments. If it cannot be
  // executed, it ends at once and wait() returns 127.
  // REQUIRES: the calling thread outlives the process. The kernel sends SIGTERM to a child when
  // the thread that started it ends, not only when the whole parent does.
  static Result<Process> start(const std::vector<std::string>& arguments, const Options& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) = delete;
  // Sends SIGTERM, after `grace` SIGKILL, and reaps the process.
  ~Process();

  // Returns the next line of its standard output, without the newline. Fails with kDeadline if
  // there is none in time, kUnavailable if the output has ended.
  // REQUIRES: Options::pipe_output
  Result<std::string> read_line(std::chrono::milliseconds timeout);

  // Reads what there is of its standard output, at least a byte. Fails as read_line() does.
  // REQUIRES: Options::pipe_output; `bytes` is not empty; read_line() is not called, too
  Result<size_t> read_some(std::span<uint8_t> bytes, std::chrono::milliseconds timeout);

  // Writes to its standard input. Fails with kDeadline if it does not read everything in time,
  // kUnavailable if it has stopped reading. REQUIRES: Options::pipe_input; close_input() was not
  // called
  Status write_all(std::span<const uint8_t> bytes, std::chrono::milliseconds timeout);
  void close_input();

  // Waits until it ends and returns its exit code, or 128 + n if signal n ended it. -1 if unknown:
  // this program ignores SIGCHLD, or reaped the process elsewhere.
  int wait();

  // Does nothing once the process has been reaped.
  void send_signal(int number);

 private:
  Process(pid_t pid, int input, int output, std::chrono::milliseconds grace)
      : pid_(pid), input_(input), output_(output), grace_(grace) {}
  bool reap(bool block);

  std::atomic<pid_t> pid_;  // 0: reaped, or moved from
  int input_, output_;      // -1: none
  std::chrono::milliseconds grace_;
  int exit_code_ = 0;
  std::string unread_;  // of the output, after the last line that was returned
};

// A request to end a process, which may not have started yet or have ended already. Thread-safe:
// the asking thread, for example one that waits for signals, is not the one that waits for the
// process.
class ProcessStop {
 public:
  // Sends SIGTERM to the process, now or when it starts.
  void ask();
  bool asked() const;
  // From now on requests are for this process. REQUIRES: it lives until is_over().
  void concerns(Process& process);
  // The process has ended; later requests have no effect on it.
  void is_over();

 private:
  mutable std::mutex mutex_;
  bool asked_ = false;
  Process* process_ = nullptr;
};

}  // namespace shoal
