#include "worker_machine.h"

#include "disk.h"

namespace shoal::simulation {
namespace {

Nanos draw_clock() { return static_cast<Nanos>(draw(1000 * kSecond)); }

}  // namespace

WorkerMachine::WorkerMachine(World& world, int number)
    : world_(world), name_(worker_name(number)), machine_(make_machine(name_, draw_clock())) {
  pace_->compute.time = static_cast<Nanos>(50 * kMicrosecond + draw(4 * kMillisecond));
  pace_->compile.time = static_cast<Nanos>(kMillisecond + draw(40 * kMillisecond));
  if (!world_.folder.empty()) std::filesystem::create_directories(folder());
}

void WorkerMachine::start() {
  revive(machine_);
  world_.network.restart(machine_);
  join(spawn(machine_, [this] { start_here(); }));
}

void WorkerMachine::start_here() {
  cluster::WorkerOptions options;
  options.name = name_;
  options.reached = [hearing = hearing_](cluster::FaultPoint point) {
    const bool is_asked =
        point == cluster::FaultPoint::kInputArrives || point == cluster::FaultPoint::kDeploying;
    if (is_asked) hearing->take();
  };
  if (!world_.folder.empty()) {
    auto epochs = cluster::EpochFile::open(folder() / "epoch");
    if (!epochs.ok()) {
      violate(world_.report, name_ + " cannot start: " + std::string(epochs.status().message()));
    }
    if (epochs->latest().number < world_.epochs[name_]) {
      violate(world_.report, name_ + " has lost an epoch that it acknowledged");
    }
    options.epochs.emplace(*std::move(epochs));
  }
  device_ = make_slow_device(pace_).release();
  transport_ = world_.network.transport(name_, net::Role::kWorker, world_.channel).release();
  auto* const worker = new cluster::Worker(std::move(options), *device_, *transport_);
  auto listener = transport_->listen(name_);
  SHOAL_CHECK(listener.ok());
  worker->serve(*std::move(listener));
  worker_ = worker;
}

void WorkerMachine::stop() {
  stopping_ = true;
  detach(spawn(machine_, [this, worker = worker_, transport = transport_, device = device_] {
    delete worker;
    delete transport;
    delete device;
    stopping_ = false;
  }));
  worker_ = nullptr;
}

void WorkerMachine::kill(bool power) {
  simulation::kill(machine_);
  for (Pause* pause : {&pace_->compile, &pace_->compute, hearing_.get()}) pause->sleepers = 0;
  world_.network.lose(machine_, power);
  if (power && !world_.folder.empty()) cut_power(folder());
  worker_ = nullptr;
  stopping_ = false;
}

}  // namespace shoal::simulation
