// shoal-simulation [--seed N] [--count N] [--jobs N] [--first] [--twice] [--tell] [--json]
//
// Lives through histories of production code, each in a process of its own: a crash is a violation
// of one history, and no history depends on another. Exit code 1 if one was violated. `shoal chaos
// --sim` runs it with --json: lines of what has been counted so far, the last of all.
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "history.h"
#include "shoal/base/text/json.h"
#include "shoal/base/threads/background_thread.h"
#include "shoal/cluster/messages/running_hash.h"

namespace shoal::simulation {
namespace {

struct Flags {
  uint64_t seed = 1, count = 1000, jobs = 1;
  bool first = false;  // end with the first violation
  bool twice = false;  // and compare
  bool tells = false;
  bool json = false;
};

// What a job has counted, in memory that all share.
struct Totals {
  uint64_t histories = 0, violations = 0, answered = 0, failed = 0, replayed = 0, switches = 0;
  uint64_t bytes = 0;
  int64_t first_bad_seed = -1;
  char first_violation[sizeof(Report::violation)] = {};

  Totals& operator+=(const Totals& other);
  uint64_t requests() const { return answered + failed; }
  void note(uint64_t seed, const Report& report);
  void print_json() const;
};

Totals& Totals::operator+=(const Totals& other) {
  histories += other.histories;
  violations += other.violations;
  answered += other.answered;
  failed += other.failed;
  replayed += other.replayed;
  switches += other.switches;
  bytes += other.bytes;
  const bool is_first = first_bad_seed < 0 || other.first_bad_seed < first_bad_seed;
  if (other.first_bad_seed >= 0 && is_first) {
    first_bad_seed = other.first_bad_seed;
    std::memcpy(first_violation, other.first_violation, sizeof(first_violation));
  }
  return *this;
}

// Of a history that has ended.
void Totals::note(uint64_t seed, const Report& report) {
  ++histories;
  answered += report.answered;
  failed += report.failed;
  replayed += report.replayed;
  switches += report.switches;
  bytes += report.bytes;
  if (report.violation[0] == 0) return;
  if (++violations > 1) return;
  std::memcpy(first_violation, report.violation, sizeof(first_violation));
  first_bad_seed = static_cast<int64_t>(seed);
}

void Totals::print_json() const {
  // Below its first line, a violation tells where each thread is.
  const std::string_view violation(first_violation);
  const Json line = {{"histories", histories},
                     {"violations", violations},
                     {"first_bad_seed", first_bad_seed},
                     {"first_violation", violation.substr(0, violation.find('\n'))},
                     {"requests", requests()},
                     {"answered", answered},
                     {"failed", failed},
                     {"replayed", replayed}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

template <class T>
T* shared_memory(size_t count) {
  void* const got =
      ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SHOAL_CHECK(got != MAP_FAILED);
  return new (got) T[count];
}

// The child ends with its parent.
pid_t fork_bound() {
  const pid_t child = ::fork();
  if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

class Run {
 public:
  explicit Run(const Flags& flags) : flags_(flags) {
    // What is initialised once in a process is not left half done by a machine that is killed, nor
    // done again in every history.
    run_at_low_priority([] {});
    static_cast<void>(cluster::RunningHash().finish());
    for (size_t i = 0; i < kScenes; ++i) {
      auto scene = make_scene(i);
      if (!scene.ok()) {
        std::printf("scene %zu: %s\n", i, std::string(scene.status().message()).c_str());
        std::exit(2);
      }
      scenes_.push_back(*std::move(scene));
    }
  }

  Totals run_all() {
    auto* const totals = shared_memory<Totals>(flags_.jobs);
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (uint64_t job = 0; job < flags_.jobs; ++job) {
      const pid_t child = fork_bound();
      if (child == 0) {
        run_some(job, totals[job]);
        std::fflush(stdout);
        ::_exit(0);
      }
      children.push_back(child);
    }
    const auto sum = [&] {
      Totals all;
      for (uint64_t job = 0; job < flags_.jobs; ++job) all += totals[job];
      return all;
    };
    for (pid_t child : children) {
      // This process waits in real time: clocks and sleep are those of a simulation.
      constexpr int kTellMs = 200;
      while (flags_.json && ::waitpid(child, nullptr, WNOHANG) == 0) {
        sum().print_json();
        ::poll(nullptr, 0, kTellMs);
      }
      if (!flags_.json) ::waitpid(child, nullptr, 0);
    }
    return sum();
  }

  const Flags& flags() const { return flags_; }

 private:
  void run_some(uint64_t job, Totals& totals) const {
    auto* const report = shared_memory<Report>(1);
    const std::filesystem::path folder = "/dev/shm/shoal-simulation-" + std::to_string(::getpid());
    for (uint64_t i = job; i < flags_.count; i += flags_.jobs) {
      const uint64_t seed = flags_.seed + i;
      run_one(seed, *report, folder);
      const uint64_t hash = report->hash;
      if (flags_.twice && report->violation[0] == 0) {
        run_one(seed, *report, folder);
        if (report->hash != hash)
          std::strcpy(report->violation, "it was another the second time\n");
      }
      totals.note(seed, *report);
      if (report->violation[0] == 0) continue;
      if (!flags_.json) {
        std::printf("seed %llu: %s", static_cast<unsigned long long>(seed), report->violation);
        std::fflush(stdout);
      }
      if (flags_.first) break;
    }
    std::filesystem::remove_all(folder);
  }

  void run_one(uint64_t seed, Report& report, const std::filesystem::path& folder) const {
    report = {};
    std::filesystem::remove_all(folder);
    const pid_t child = fork_bound();
    if (child == 0) {
      const rlimit most{30, 30};  // seconds: what goes round in circles is ended
      ::setrlimit(RLIMIT_CPU, &most);
      live_through(seed, *scenes_[seed % kScenes], report, folder, flags_.tells);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) return;
    std::snprintf(report.violation, sizeof(report.violation), "it ended by signal %d, %s\n",
                  WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }

  const Flags flags_;
  std::vector<std::unique_ptr<Scene>> scenes_;
};

Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--first") {
      flags.first = true;
    } else if (flag == "--twice") {
      flags.twice = true;
    } else if (flag == "--tell") {
      flags.tells = true;
    } else if (flag == "--json") {
      flags.json = true;
    } else {
      uint64_t* const number = flag == "--seed"    ? &flags.seed
                               : flag == "--count" ? &flags.count
                               : flag == "--jobs"  ? &flags.jobs
                                                   : nullptr;
      if (number == nullptr || i + 1 == argc) {
        std::printf(
            "usage: shoal-simulation [--seed N] [--count N] [--jobs N] [--first] [--twice] "
            "[--tell] "
            "[--json]\n");
        std::exit(2);
      }
      *number = std::strtoull(argv[++i], nullptr, 10);
    }
  }
  return flags;
}

}  // namespace
}  // namespace shoal::simulation

int main(int argc, char** argv) {
  using namespace shoal::simulation;
  __libc_single_threaded = 0;  // the C library does not know of the threads that there are
  Run run(read_flags(argc, argv));
  const Totals totals = run.run_all();
  const int exit_code = totals.violations > 0 ? 1 : 0;
  if (run.flags().json) {
    totals.print_json();
    return exit_code;
  }
  using Number = unsigned long long;
  const auto each = [&](uint64_t sum) {
    return Number{sum / std::max<uint64_t>(1, totals.histories)};
  };
  std::printf(
      "%llu histories, %llu violations; %llu requests, %llu answered, %llu failed; "
      "%llu switches and %llu kB of memory each\n",
      Number{totals.histories}, Number{totals.violations}, Number{totals.requests()},
      Number{totals.answered}, Number{totals.failed}, each(totals.switches),
      each(totals.bytes / 1024));
  return exit_code;
}
