// simulation [--seed N] [--count N] [--jobs N] [--first] [--twice] [--tell]
//
// Lives through histories of production code, each in a process of its own: a crash is a violation
// of one history, and no history depends on another. Exit code 1 if one was violated.
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
#include "shoal/base/threads/background_thread.h"
#include "shoal/cluster/messages/running_hash.h"

namespace shoal::simulation {
namespace {

struct Flags {
  uint64_t seed = 1, count = 1000, jobs = 1;
  bool first = false;  // end with the first violation
  bool twice = false;  // and compare
  bool tells = false;
};

struct Totals {
  uint64_t histories = 0, violations = 0, requests = 0, answered = 0, failed = 0, switches = 0;
  uint64_t bytes = 0;
};

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
    for (pid_t child : children) ::waitpid(child, nullptr, 0);
    Totals sum;
    for (uint64_t job = 0; job < flags_.jobs; ++job) {
      sum.histories += totals[job].histories;
      sum.violations += totals[job].violations;
      sum.requests += totals[job].requests;
      sum.answered += totals[job].answered;
      sum.failed += totals[job].failed;
      sum.switches += totals[job].switches;
      sum.bytes += totals[job].bytes;
    }
    return sum;
  }

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
      ++totals.histories;
      totals.requests += report->requests;
      totals.answered += report->answered;
      totals.failed += report->failed;
      totals.switches += report->switches;
      totals.bytes += report->bytes;
      if (report->violation[0] == 0) continue;
      ++totals.violations;
      std::printf("seed %llu: %s", static_cast<unsigned long long>(seed), report->violation);
      std::fflush(stdout);
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
    } else {
      uint64_t* const number = flag == "--seed"    ? &flags.seed
                               : flag == "--count" ? &flags.count
                               : flag == "--jobs"  ? &flags.jobs
                                                   : nullptr;
      if (number == nullptr || i + 1 == argc) {
        std::printf(
            "usage: simulation [--seed N] [--count N] [--jobs N] [--first] [--twice] [--tell]\n");
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
  using Number = unsigned long long;
  const auto each = [&](uint64_t sum) {
    return Number{sum / std::max<uint64_t>(1, totals.histories)};
  };
  std::printf(
      "%llu histories, %llu violations; %llu requests, %llu answered, %llu failed; "
      "%llu switches and %llu kB of memory each\n",
      Number{totals.histories}, Number{totals.violations}, Number{totals.requests},
      Number{totals.answered}, Number{totals.failed}, each(totals.switches),
      each(totals.bytes / 1024));
  return totals.violations > 0 ? 1 : 0;
}
