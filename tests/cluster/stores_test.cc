// Plans and profiles that are kept in files, and files that are not believed.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/device/plan_store.h"
#include "shoal/cluster/messages/sealed_file.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/net/text_file.h"
#include "shoal/cluster/profiling/profile_store.h"
#include "shoal/plan/device_presets.h"
#include "stored.pb.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

plan::ClusterProfile some_cluster(size_t workers = 3) {
  plan::ClusterProfile cluster =
      plan::uniform_cluster(workers, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  cluster.workers[0].corrections["a\xff"] = 1.5;  // names need not be UTF-8
  cluster.links[1].wakeup_seconds = 0.02;
  cluster.links[1].sleep_after_seconds = 0.1;
  cluster.links[1].medium = 4;
  return cluster;
}

// The text of all that a profile says.
std::string bytes_of(const plan::ClusterProfile& profile) {
  stored::Profile message;
  encode(profile, message);
  return message.SerializeAsString();
}

// A file as a message, changed and sealed again.
template <class Message>
void change(const fs::path& file, const std::function<void(Message&)>& how) {
  Message message;
  ASSERT_TRUE(message.ParseFromString(*read_sealed(file)));
  how(message);
  ASSERT_TRUE(write_sealed(file, message.SerializeAsString()).ok());
}

// One byte of the file is another.
void damage(const fs::path& file) {
  std::string bytes = *net::read_text(file);
  bytes[bytes.size() / 3] ^= 0x20;
  ASSERT_TRUE(net::write_text(file, bytes).ok());
}

class ProfileStores : public testing::Test {
 protected:
  static constexpr ProfileStore::Time kNow{std::chrono::seconds(1'800'000'000)};

  ProfileStores() { store_.save(measured_, kNow); }
  static MeasuredWorker some_worker() {
    const plan::ClusterProfile cluster = some_cluster();
    MeasuredWorker worker{cluster.workers[0], cluster.links[1]};
    worker.profile.slowdown = 1.5;
    return worker;
  }
  // The text of all that is known of a worker.
  static std::string bytes_of_worker(const MeasuredWorker& worker) {
    plan::ClusterProfile one;
    one.workers = {worker.profile};
    one.links = {worker.link};
    return bytes_of(one);
  }

  net::TestFolder folder_;
  const Graph graph_ = wide_layers();
  const ListedWorker worker_ = {"a", "1"};
  const MeasuredWorker measured_ = some_worker();
  const ProfileStore store_{folder_.path() / "cache", graph_, worker_};
};

TEST_F(ProfileStores, GiveBackWhatTheyWereGiven) {
  const auto known = store_.load(kNow + 1h);
  ASSERT_TRUE(known);
  EXPECT_EQ(bytes_of_worker(*known), bytes_of_worker(measured_));
}

TEST_F(ProfileStores, GiveNothingAfterADay) {
  EXPECT_TRUE(store_.load(kNow + 24h));
  EXPECT_FALSE(store_.load(kNow + 24h + 1s));
  EXPECT_FALSE(store_.load(kNow - 1s)) << "a clock was set back";
}

TEST_F(ProfileStores, GiveNothingOfAnotherWorkerOrAnotherGraph) {
  const fs::path folder = folder_.path() / "cache";
  EXPECT_FALSE(ProfileStore(folder, graph_, {"a", "5"}).load(kNow)) << "it has moved";
  EXPECT_FALSE(ProfileStore(folder, graph_, {"b", "1"}).load(kNow));
  Graph longer = graph_;
  longer.mark_output(*longer.add(ops::relu, {longer.outputs()[0]}));
  EXPECT_FALSE(ProfileStore(folder, longer, worker_).load(kNow));
  EXPECT_TRUE(ProfileStore(folder, graph_, worker_).load(kNow));
}

TEST_F(ProfileStores, TellGraphsApartByTheirAttributes) {
  const auto file_with = [&](int64_t axis) {
    Graph graph = graph_;
    graph.mark_output(*graph.add(ops::softmax, {graph.outputs()[0]}, {{"axis", axis}}, "y"));
    return ProfileStore(folder_.path(), graph, worker_).file();
  };
  EXPECT_NE(file_with(0), file_with(-1));
  EXPECT_EQ(file_with(0), file_with(0));
}

TEST_F(ProfileStores, GiveNothingOfADamagedFile) {
  damage(store_.file());
  EXPECT_FALSE(store_.load(kNow));
  ASSERT_TRUE(net::write_text(store_.file(), "").ok());
  EXPECT_FALSE(store_.load(kNow));
  store_.save(measured_, kNow);
  EXPECT_TRUE(store_.load(kNow));
}

TEST_F(ProfileStores, GiveNothingThatDoesNotFit) {
  using Change = std::function<void(stored::Profile&)>;
  const std::vector<Change> changes = {
      [](stored::Profile& profile) { profile.set_version(99); },
      [](stored::Profile& profile) { profile.mutable_workers()->RemoveLast(); },
      [](stored::Profile& profile) { profile.mutable_links()->RemoveLast(); },
      [](stored::Profile& profile) { profile.mutable_workers(0)->set_slowdown(0); },
      [](stored::Profile& profile) { profile.mutable_workers(0)->clear_operators(); },
      [](stored::Profile& profile) { profile.mutable_links(0)->set_bytes_per_second(0); },
      [](stored::Profile& profile) { profile.mutable_links(0)->set_latency_seconds(-1); },
      [](stored::Profile& profile) { profile.mutable_workers(0)->set_memory_bytes(INFINITY); },
      [](stored::Profile& profile) {
        profile.mutable_workers(0)->mutable_operators(0)->set_seconds_per_mac(NAN);
      },
      [](stored::Profile& profile) {
        profile.mutable_workers(0)->mutable_corrections(0)->set_factor(-INFINITY);
      }};
  for (const Change& how : changes) {
    store_.save(measured_, kNow);
    change(store_.file(), how);
    EXPECT_FALSE(store_.load(kNow));
  }
}

TEST_F(ProfileStores, ForgetWhatIsRemoved) {
  store_.remove();
  EXPECT_FALSE(store_.load(kNow));
}

class PlanStores : public testing::Test {
 protected:
  PlanStore store() const { return {folder(), graph_, cluster_, options_}; }
  fs::path folder() const { return folder_.path() / "cache"; }
  // How many plans a call gave: one where it was known.
  size_t plans_made() const {
    const auto plans = load_or_make_plans(folder(), graph_, cluster_, options_);
    EXPECT_TRUE(plans.ok()) << plans.status().message();
    return plans->size();
  }

  net::TestFolder folder_;
  Graph graph_ = wide_layers();
  plan::ClusterProfile cluster_ = some_cluster();
  plan::PlanOptions options_;
};

TEST_F(PlanStores, MakeAPlanAgainAsItWas) {
  plan::Rng rng(5);
  bool any_sums = false;
  for (int i = 0; i < 30; ++i) {
    graph_ = plan::random_network(rng);
    if (graph_.nodes().empty()) continue;
    options_ = {};
    if (i % 2 == 0) {
      options_.survive = i % 3;
    } else {
      options_.cuts = {plan::Cut::kInputs};
      options_.forced = true;
    }
    const auto plans = plan::make_plans(graph_, cluster_, options_);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    store().save(plans->front());
    const auto known = store().load();
    ASSERT_TRUE(known);
    EXPECT_EQ(known->plan(), plans->front().plan());
    EXPECT_EQ(known->name, plans->front().name);
    EXPECT_EQ(known->timeline.seconds, plans->front().timeline.seconds);
    EXPECT_EQ(known->price.compute, plans->front().price.compute);
    EXPECT_EQ(known->price.memory_bytes, plans->front().price.memory_bytes);
    any_sums = any_sums || !known->origin.sums.empty();
  }
  EXPECT_TRUE(any_sums) << "or this says nothing of them";
}

TEST_F(PlanStores, KeepClusters) {
  plan::Rng rng(6);
  graph_ = plan::random_sparse_layers(rng);
  options_.cuts = {plan::Cut::kClusters};
  options_.forced = true;
  const auto plans = plan::make_plans(graph_, cluster_, options_);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  store().save(plans->front());
  const auto known = store().load();
  ASSERT_TRUE(known);
  EXPECT_FALSE(known->origin.clusters.empty());
  EXPECT_EQ(known->origin.clusters, plans->front().origin.clusters);
  EXPECT_EQ(known->origin.dense_bytes, plans->front().origin.dense_bytes);
  EXPECT_EQ(known->plan(), plans->front().plan());
}

TEST_F(PlanStores, SearchOnce) {
  EXPECT_GT(plans_made(), 1u);
  EXPECT_EQ(plans_made(), 1u);
}

TEST_F(PlanStores, SearchAgainForAnotherGraphClusterOrOption) {
  const std::vector<std::function<void()>> changes = {
      [this] { cluster_.workers[2].memory_bytes = 1e9; },
      [this] { cluster_.links[0].latency_seconds *= 2; },
      [this] { options_.excluded = {1}; },
      [this] { options_.survive = 1; },
      [this] { options_.wire.smallest = plan::WireFormat::kF16; },
      [this] { options_.wire.inputs = true; },
      [this] { graph_.mark_output(*graph_.add(ops::relu, {graph_.outputs()[0]})); }};
  store().save(plan::make_plans(graph_, cluster_, options_)->front());
  ASSERT_TRUE(store().load());
  for (const auto& change_one : changes) {
    change_one();
    EXPECT_FALSE(store().load());
    store().save(plan::make_plans(graph_, cluster_, options_)->front());
    EXPECT_TRUE(store().load());
  }
}

TEST_F(PlanStores, SearchAgainAfterDamage) {
  plans_made();
  damage(store().file());
  EXPECT_FALSE(store().load());
  EXPECT_GT(plans_made(), 1u);
  EXPECT_TRUE(store().load());
}

// Validly sealed files: their contents are checked as if they came from a stranger.
TEST_F(PlanStores, SearchAgainWhereTheFileHoldsNoPlanForThis) {
  using Change = std::function<void(stored::Plan&)>;
  const std::vector<Change> changes = {
      [](stored::Plan& plan) { plan.set_version(plan.version() + 1); },
      [](stored::Plan& plan) { plan.mutable_segments()->RemoveLast(); },
      [](stored::Plan& plan) { plan.mutable_segments(0)->set_end(1 << 30); },
      [](stored::Plan& plan) { plan.mutable_segments(0)->mutable_tasks(0)->set_worker(3); },
      [](stored::Plan& plan) { plan.mutable_segments(0)->mutable_tasks(0)->clear_outputs(); },
      [](stored::Plan& plan) {
        plan.mutable_segments(0)->mutable_tasks(0)->mutable_outputs(0)->set_value(1 << 30);
      },
      [](stored::Plan& plan) { plan.add_sums()->set_node(1 << 30); }};
  for (const Change& how : changes) {
    store().save(plan::make_plans(graph_, cluster_, options_)->front());
    ASSERT_TRUE(store().load());
    change(store().file(), how);
    EXPECT_FALSE(store().load());
  }
}

TEST_F(PlanStores, RemovePlansThatAreOld) {
  plans_made();
  const fs::path first = store().file();
  fs::last_write_time(first, fs::file_time_type::clock::now() - 49h);
  options_.excluded = {0};
  plans_made();
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(fs::exists(store().file()));
}

TEST_F(PlanStores, DoWithoutAFolderTheyCannotWriteTo) {
  ASSERT_TRUE(net::write_text(folder(), "a file").ok());
  EXPECT_GT(plans_made(), 1u);
  EXPECT_GT(plans_made(), 1u);
}

}  // namespace
}  // namespace shoal::cluster
