// Board: the devices of one machine, its CPU and its GPU, as workers of a cluster inside this
// process. The planner sees workers like any others, with measured speeds; what they send each
// other passes through memory, without sockets or encryption. A device that reports that it is gone
// (kUnavailable) is lost like a worker: the others continue without it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/device/cluster_connection.h"
#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/worker/task.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::cluster {

struct BoardDevice {
  std::string name;  // of the worker; no two are the same
  std::unique_ptr<Device> device;
};

struct Board {
  std::shared_ptr<void> devices;  // workers end with it. REQUIRES: it goes after the rest
  std::unique_ptr<net::Transport> transport;
  std::vector<ListedWorker> workers;  // in the order of the devices
};

// Makes each device a worker with these tasks. Fails with kInvalidArgument if there are no devices,
// or two of one name.
Result<Board> start_board(std::vector<BoardDevice> devices, const TasksByName& tasks = {});

// The threads of a CPU beside the other devices of a board, on `cores` cores. 0: one per core.
int cpu_threads_beside(const std::vector<std::string>& names, int cores);

// The devices named "cpu+opencl:0", as make_device() makes them, except that a CPU without a given
// number of threads leaves a core to the thread of each GPU.
Result<Board> start_board(std::string_view names, const DeviceOptions& options,
                          const TasksByName& tasks = {});

// Connects to its workers, which live as long as the connection.
Result<std::shared_ptr<ClusterConnection>> connect_board(Board board,
                                                         ConnectionOptions options = {});

}  // namespace shoal::cluster
