#include "shoal/base/processes/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <thread>

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLong{60};

Result<Process> shell(const std::string& script, const Process::Options& options = {}) {
  return Process::start({"/bin/sh", "-c", script}, options);
}

TEST(Process, GivesItsOutputLineByLine) {
  auto process = shell("echo one; echo two; printf three", {.pipe_output = true});
  ASSERT_TRUE(process.ok()) << process.status().message();
  EXPECT_EQ(*process->read_line(kLong), "one");
  EXPECT_EQ(*process->read_line(kLong), "two");
  EXPECT_EQ(process->read_line(kLong).status().code(), Code::kUnavailable) << "no whole line";
}

TEST(Process, HasNoOtherEnvironmentThanItIsGiven) {
  auto process = Process::start(
      {"/usr/bin/env"},
      {.environment = {{"A", "1"}}, .inherit_environment = false, .pipe_output = true});
  ASSERT_TRUE(process.ok());
  std::array<uint8_t, 100> bytes{};
  const auto read = process->read_some(bytes, kLong);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*read)),
            "A=1\n");
  EXPECT_EQ(process->read_some(bytes, kLong).status().code(), Code::kUnavailable);
}

TEST(Process, SaysNothingInTime) {
  auto process = shell("exec cat", {.pipe_output = true});
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->read_line(1ms).status().code(), Code::kDeadline);
}

// Signals reach the thread in poll() all the time; a read() would not come back from them.
TEST(Process, SaysNothingInTimeWhateverSignalsArrive) {
  using Action = struct sigaction;
  Action counted{}, before{};
  counted.sa_handler = [](int) {};
  counted.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGALRM, &counted, &before), 0);
  auto process = shell("exec sleep 2", {.pipe_output = true});
  const itimerval often{.it_interval = {0, 5000}, .it_value = {0, 5000}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  const auto line = process->read_line(100ms);
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(line.status().code(), Code::kDeadline) << line.status().message();
}

TEST(Process, EndsWithItsExitCodeOrSignal) {
  EXPECT_EQ(shell("exit 3")->wait(), 3);
  EXPECT_EQ(shell("kill -9 $$")->wait(), 128 + SIGKILL);
  EXPECT_EQ(Process::start({"/no/such/program"}, {})->wait(), 127);
}

TEST(Process, EndsUnknownIfSomeoneElseReapsIt) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);  // the kernel does
  EXPECT_EQ(shell("exit 0")->wait(), -1);
  ::signal(SIGCHLD, before);
}

TEST(Process, GetsSignals) {
  auto process = shell("echo ready; exec sleep 30", {.pipe_output = true});
  ASSERT_TRUE(process->read_line(kLong).ok());
  process->send_signal(SIGINT);
  EXPECT_EQ(process->wait(), 128 + SIGINT);
  process->send_signal(SIGINT);  // reaped: no other process gets it
}

TEST(ProcessStop, EndsAProcessBeforeAndAfterItStarts) {
  constexpr int kBySigterm = 128 + SIGTERM;
  for (const bool before : {true, false}) {
    ProcessStop stop;
    EXPECT_FALSE(stop.asked());
    if (before) stop.ask();
    auto sleeping = Process::start({"/bin/sleep", "1000"}, {});
    ASSERT_TRUE(sleeping.ok());
    stop.concerns(*sleeping);
    if (!before) stop.ask();
    EXPECT_TRUE(stop.asked());
    EXPECT_EQ(sleeping->wait(), kBySigterm);
    stop.is_over();
    stop.ask();  // no process is concerned
  }
}

TEST(Process, SeesTheEnvironmentItIsGiven) {
  ::setenv("SHOAL_PROCESS_TEST_A", "inherited", 1);
  ::setenv("SHOAL_PROCESS_TEST_B", "hidden", 1);
  auto process =
      Process::start({"/usr/bin/env"},
                     {.environment = {{"SHOAL_PROCESS_TEST_B", "replaced"}}, .pipe_output = true});
  std::multiset<std::string> ours;
  for (auto line = process->read_line(kLong); line.ok(); line = process->read_line(kLong)) {
    if (line->starts_with("SHOAL_PROCESS_TEST_")) ours.insert(*line);
  }
  EXPECT_EQ(ours, (std::multiset<std::string>{"SHOAL_PROCESS_TEST_A=inherited",
                                              "SHOAL_PROCESS_TEST_B=replaced"}));
}

TEST(Process, IsKilledIfItDoesNotEndWhenAsked) {
  std::string line;
  {
    auto process =
        shell("trap '' TERM; echo $$; exec sleep 30", {.pipe_output = true, .grace = 0ms});
    line = *process->read_line(kLong);
  }
  EXPECT_NE(::kill(std::stoi(line), 0), 0) << "it is still there";
}

// The thread waits for the program: where a sanitizer turns vfork() into fork(), start() returns
// before the child has asked for the signal.
TEST(Process, EndsWithTheThreadThatStartedIt) {
  std::optional<Process> process;
  std::thread([&] {
    process.emplace(*shell("echo up; exec sleep 30", {.pipe_output = true}));
    EXPECT_EQ(*process->read_line(kLong), "up");
  }).join();
  EXPECT_EQ(process->wait(), 128 + SIGTERM);
}

TEST(Process, ReadsWhatIsWrittenToIt) {
  auto process = shell("exec cat", {.pipe_output = true, .pipe_input = true});
  const std::string text = "one\ntwo\n";
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  ASSERT_TRUE(process->write_all(bytes, kLong).ok());
  process->close_input();
  EXPECT_EQ(*process->read_line(kLong), "one");
  EXPECT_EQ(*process->read_line(kLong), "two");
  EXPECT_EQ(process->wait(), 0);
  // Nothing waits for ever for one that does not read, or dies of one that has gone.
  const std::vector<uint8_t> much(1 << 24);
  auto deaf = shell("exec sleep 30", {.pipe_input = true});
  EXPECT_EQ(deaf->write_all(much, 50ms).code(), Code::kDeadline);
  auto gone = shell("exit 0", {.pipe_input = true});
  EXPECT_EQ(gone->write_all(much, kLong).code(), Code::kUnavailable);
}

TEST(Process, KnowsTheProgramThatRuns) {
  EXPECT_EQ(executable_path().filename(), program_invocation_short_name);
}

}  // namespace
}  // namespace shoal
