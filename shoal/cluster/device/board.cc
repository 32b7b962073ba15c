#include "shoal/cluster/device/board.h"

#include <algorithm>
#include <thread>

#include "shoal/base/machine/machine.h"
#include "shoal/base/threads/notification.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/worker/worker.h"
#include "shoal/engine/device/wrapped.h"

namespace shoal::cluster {
namespace {

// A device that serves. Where it is gone, its worker ends, so that plans do without it.
class Served {
 public:
  Served(std::unique_ptr<Device> device, std::unique_ptr<net::Transport> transport,
         WorkerOptions options)
      : device_(make_watched_device(std::move(device), [this](const Status&) { gone_.notify(); })),
        transport_(std::move(transport)),
        worker_(std::move(options), *device_, *transport_),
        watcher_([this] {
          gone_.wait();
          worker_.stop();
        }) {}
  ~Served() {
    gone_.notify();
    watcher_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  Status serve(const std::string& address) {
    SHOAL_ASSIGN(auto listener, transport_->listen(address));
    worker_.serve(std::move(listener));
    return {};
  }

 private:
  Notification gone_;
  const std::unique_ptr<Device> device_;
  const std::unique_ptr<net::Transport> transport_;
  Worker worker_;
  std::thread watcher_;
};

// Workers in one process do not fall silent: a busy machine must not end one.
net::ChannelOptions patient() {
  net::ChannelOptions options;
  options.beat = std::chrono::minutes(1);
  return options;
}

// Profiles are kept by name and address: other devices, or other numbers of threads, have others.
std::string address_of(size_t index, const DeviceInfo& info) {
  return "board/" + std::to_string(index) + "/" + info.name + "/" + std::to_string(info.threads);
}

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> all;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find('+', begin), names.size());
    all.emplace_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

}  // namespace

// The thread that feeds a GPU, and waits for it, needs a core. If the CPU's threads use all of
// them, each of their loops waits for the one whose core that thread took.
int cpu_threads_beside(const std::vector<std::string>& names, int cores) {
  constexpr int kFewCores = 4;
  const auto gpus = static_cast<int>(std::ranges::count_if(names, [](const std::string& name) {
    return name.find("opencl") != name.npos || name.find("vulkan") != name.npos;
  }));
  return gpus == 0 || cores < kFewCores ? 0 : std::max(cores - gpus, cores / 2);
}

Result<Board> start_board(std::vector<BoardDevice> devices, const TasksByName& tasks) {
  if (devices.empty()) return invalid("a board has one device at least: board:cpu+opencl:0");
  net::LoopbackNetwork network;
  const auto all = std::make_shared<std::vector<std::unique_ptr<Served>>>();
  Board board;
  // As 'shoal worker' has it: weights are kept twice, as they came and as kernels read them.
  const size_t memory = static_cast<size_t>(physical_memory_bytes()) / 4 / devices.size();
  for (BoardDevice& each : devices) {
    for (const ListedWorker& other : board.workers) {
      if (other.name == each.name) return invalid("a board has " + each.name + " twice");
    }
    const std::string address = address_of(board.workers.size(), each.device->info());
    all->push_back(std::make_unique<Served>(
        std::move(each.device), network.transport(each.name, patient(), net::Role::kWorker),
        WorkerOptions{
            .name = each.name, .weight_bytes = memory, .plan_bytes = memory, .tasks = tasks}));
    SHOAL_TRY(all->back()->serve(address));
    board.workers.push_back({each.name, address});
  }
  board.devices = all;
  board.transport = network.transport("coordinator", patient());
  return board;
}

Result<Board> start_board(std::string_view names, const DeviceOptions& options,
                          const TasksByName& tasks) {
  std::vector<BoardDevice> devices;
  const std::vector<std::string> all = split(names);
  DeviceOptions of_cpu = options;
  if (of_cpu.cpu.threads == 0) {
    of_cpu.cpu.threads = cpu_threads_beside(all, static_cast<int>(usable_cores().size()));
  }
  for (const std::string& name : all) {
    SHOAL_ASSIGN(auto device, make_device(name, name == "cpu" ? of_cpu : options));
    devices.push_back({name, std::move(device)});
  }
  return start_board(std::move(devices), tasks);
}

Result<std::shared_ptr<ClusterConnection>> connect_board(Board board, ConnectionOptions options) {
  struct Owner {
    std::shared_ptr<void> devices;
    std::unique_ptr<ClusterConnection> connection;  // first to go
  };
  const auto owner = std::make_shared<Owner>();
  owner->devices = std::move(board.devices);
  SHOAL_ASSIGN(owner->connection,
               ClusterConnection::open(std::move(board.workers), std::move(board.transport),
                                       std::move(options)));
  return std::shared_ptr<ClusterConnection>(owner, owner->connection.get());
}

}  // namespace shoal::cluster
