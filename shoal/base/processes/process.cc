// Children that do not outlive their parent: PR_SET_PDEATHSIG sends them SIGTERM when the thread
// that started them ends, for whatever reason, SIGKILL included.

#include "shoal/base/processes/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace shoal {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more,
                                          bool inherit) {
  std::vector<std::string> all;
  for (char** entry = environ; inherit && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

// Runs in the child between vfork and exec, in the parent's memory: async-signal-safe calls only.
[[noreturn]] void execute(char** arguments, char** environment, int input, int output,
                          bool terminal_signals, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  if (!terminal_signals) ::setpgid(0, 0);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  // A signal mask is inherited. A child that blocked SIGTERM could not be ended cleanly.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

void close_all(const std::array<int, 2>& descriptors) {
  for (const int one : descriptors) {
    if (one >= 0) ::close(one);
  }
}

}  // namespace

std::filesystem::path executable_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::filesystem::path find_program(const std::string& name) {
  const std::filesystem::path here = executable_path().parent_path();
  for (const auto& folder : {here, here.parent_path() / "libexec" / "shoal",
                             std::filesystem::path("/usr/libexec/shoal")}) {
    std::error_code error;
    if (std::filesystem::exists(folder / name, error)) return folder / name;
  }
  return {};
}

Result<Process> Process::start(const std::vector<std::string>& arguments, const Options& options) {
  // O_CLOEXEC: other children that start at the same time must not hold the pipe open.
  std::array<int, 2> ends = {-1, -1}, inputs = {-1, -1};
  if (options.pipe_output && ::pipe2(ends.data(), O_CLOEXEC) != 0) return system_status(errno);
  // Sockets: writing to one without a reader is then an error, not a signal.
  if (options.pipe_input &&
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, inputs.data()) != 0) {
    const int error = errno;
    close_all(ends);
    return system_status(error);
  }
  std::vector<std::string> words = arguments;
  std::vector<std::string> environment =
      environment_with(options.environment, options.inherit_environment);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(environment);
  const pid_t self = ::getpid();
  const pid_t pid = ::vfork();  // fork would copy the page tables of a coordinator full of weights
  if (pid == 0) {
    execute(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), inputs[1], ends[1],
            options.terminal_signals, self);
  }
  const int error = errno;
  if (pid > 0) {
    close_all(std::array{inputs[1], ends[1]});
    return Process(pid, inputs[0], ends[0], options.grace);
  }
  close_all(inputs);
  close_all(ends);
  return system_status(error).at(arguments[0]);
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_.exchange(0)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      grace_(other.grace_),
      exit_code_(other.exit_code_),
      unread_(std::move(other.unread_)) {}

// SIGTERM first, so that the child can clean up; polling, because there is no waitpid with a
// timeout.
Process::~Process() {
  constexpr std::chrono::milliseconds kStep{10};
  send_signal(SIGTERM);
  for (auto waited = kStep; waited <= grace_ && !reap(false); waited += kStep) {
    std::this_thread::sleep_for(kStep);
  }
  if (!reap(false)) {
    ::kill(pid_, SIGKILL);
    reap(true);
  }
  close_all({input_, output_});
}

void Process::send_signal(int number) {
  if (const pid_t pid = pid_; pid > 0) ::kill(pid, number);
}

// The number is 0 as soon as the process is reaped: from then on it may be that of another.
bool Process::reap(bool block) {
  if (pid_ == 0) return true;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid_, &status, block ? 0 : WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return false;
  exit_code_ = ended < 0           ? -1  // ECHILD
               : WIFEXITED(status) ? WEXITSTATUS(status)
                                   : 128 + WTERMSIG(status);
  pid_ = 0;
  return true;
}

int Process::wait() {
  reap(true);
  return exit_code_;
}

Status Process::write_all(std::span<const uint8_t> bytes, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!bytes.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wanted{input_, POLLOUT, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready == 0) return Status(Code::kDeadline, "it does not read");
    if (ready < 0 && errno != EINTR) return system_status(errno);
    if (ready < 0) continue;
    const ssize_t n = ::send(input_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return Status(Code::kUnavailable, "it has ended");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

void Process::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

Result<size_t> Process::read_some(std::span<uint8_t> bytes, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wanted{output_, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready == 0) return Status(Code::kDeadline, "it says nothing");
    // A read would block for longer than the timeout.
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return system_status(errno);
    const ssize_t n = ::read(output_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(Code::kUnavailable, "it has ended");
    return static_cast<size_t>(n);
  }
}

Result<std::string> Process::read_line(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (const size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    std::array<uint8_t, 512> bytes{};
    SHOAL_ASSIGN(const size_t n,
                 read_some(bytes, std::chrono::duration_cast<std::chrono::milliseconds>(
                                      deadline - std::chrono::steady_clock::now())));
    unread_.append(reinterpret_cast<const char*>(bytes.data()), n);
  }
}

void ProcessStop::ask() {
  const std::lock_guard lock(mutex_);
  asked_ = true;
  if (process_ != nullptr) process_->send_signal(SIGTERM);
}

bool ProcessStop::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void ProcessStop::concerns(Process& process) {
  const std::lock_guard lock(mutex_);
  process_ = &process;
  if (asked_) process.send_signal(SIGTERM);
}

void ProcessStop::is_over() {
  const std::lock_guard lock(mutex_);
  process_ = nullptr;
}

}  // namespace shoal
