#include "shoal/cluster/emulate/workers/local_workers.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/cluster/net/tls/tls.h"
#include "shoal/cluster/profiling/worker_probe.h"

namespace shoal::cluster {
namespace {

class LocalWorkersTest : public testing::Test {
 protected:
  LocalWorkersOptions options(const char* program = SHOAL_PROGRAM) const {
    return {.program = program, .folder = folder_->path(), .flags = {"--threads", "1"}};
  }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

// Whether each listed worker answers under its own name.
void expect_answers(const LocalWorkers& workers) {
  const auto transport = net::make_tls_transport(*workers.owner().coordinator(), {});
  const auto listed = *workers.owner().workers();
  ASSERT_EQ(listed.size(), 2u);
  for (const ListedWorker& worker : listed) {
    const auto probe = WorkerProbe::open(worker, **transport);
    EXPECT_TRUE(probe.ok()) << probe.status().message();
  }
}

TEST_F(LocalWorkersTest, AreOneClusterAndComeBackWhereTheyWere) {
  LocalWorkers workers(options());
  const Status started = workers.start({"kitchen", "hall"});
  ASSERT_TRUE(started.ok()) << started.message();
  expect_answers(workers);
  workers.send_signal(1, SIGKILL);
  const Status restarted = workers.restart(1);
  ASSERT_TRUE(restarted.ok()) << restarted.message();
  expect_answers(workers);  // as listed: at the old addresses
}

TEST_F(LocalWorkersTest, AreNotAwaitedOnceThatIsCancelled) {
  LocalWorkers workers(options());
  EXPECT_EQ(workers.start({"kitchen"}, [] { return true; }).code(), Code::kUnavailable);
}

TEST_F(LocalWorkersTest, SayWhichOneDidNotStart) {
  const Status no_worker = LocalWorkers(options("/bin/echo")).start({"kitchen"});
  EXPECT_EQ(no_worker.code(), Code::kInternal);
  EXPECT_NE(no_worker.message().find("worker kitchen: it says: worker --dir"), std::string::npos)
      << no_worker.message();
}

TEST_F(LocalWorkersTest, SayWhereThereIsNoProgram) {
  LocalWorkers workers(options("/no/such/program"));
  EXPECT_EQ(workers.start({"kitchen"}).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace shoal::cluster
