#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

namespace shoal::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> merged(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

// Between fork and exec: only calls that are safe there, in memory that is still the parent's.
[[noreturn]] void become(char** arguments, char** environment, int output, bool terminal_signals,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it died before we said so
  if (!terminal_signals) ::setpgid(0, 0);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

}  // namespace

std::string own_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

Result<Child> Child::start(const std::vector<std::string>& arguments, const Options& options) {
  std::array<int, 2> ends = {-1, -1};
  if (options.pipe && ::pipe2(ends.data(), O_CLOEXEC) != 0) return system_status(errno);
  std::vector<std::string> words = arguments;
  std::vector<std::string> environment = merged(options.environment);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  const pid_t self = ::getpid();
  const pid_t pid = ::vfork();  // whatever this process holds, it costs the others no time
  if (pid == 0) {
    become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), ends[1],
           options.terminal_signals, self);
  }
  const int error = errno;
  if (ends[1] >= 0) ::close(ends[1]);
  if (pid > 0) return Child(pid, ends[0]);
  if (ends[0] >= 0) ::close(ends[0]);
  return system_status(error).at(arguments[0]);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      output_(std::exchange(other.output_, -1)),
      code_(other.code_),
      read_(std::move(other.read_)) {}

Child::~Child() {
  constexpr std::chrono::milliseconds kStep{10};
  constexpr int kSteps = 500;
  ask_to_end();
  for (int i = 0; i < kSteps && !has_ended(false); ++i) std::this_thread::sleep_for(kStep);
  if (!has_ended(false)) {
    ::kill(pid_, SIGKILL);
    has_ended(true);
  }
  if (output_ >= 0) ::close(output_);
}

void Child::ask_to_end() { send_signal(SIGTERM); }

void Child::send_signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

bool Child::has_ended(bool wait) {
  if (pid_ == 0) return true;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid_, &status, wait ? 0 : WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return false;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = 0;
  return true;
}

int Child::wait() {
  has_ended(true);
  return code_;
}

Result<std::string> Child::read_line(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wanted{output_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) == 0) {
      return Status(Code::kDeadline, "it says nothing");
    }
    std::array<char, 512> bytes{};
    const ssize_t n = ::read(output_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(Code::kUnavailable, "it has ended");
    read_.append(bytes.data(), static_cast<size_t>(n));
  }
}

}  // namespace shoal::cli
