// A cluster of machines as one Device.
//
//   SHOAL_ASSIGN(auto device, open_cluster());
//   SHOAL_ASSIGN(Session session, Session::open("model.onnx", *device));
//   SHOAL_ASSIGN(auto answers, session.run({{"input", image}}));
//
// 'shoal cluster init' makes a cluster, 'shoal cluster invite' and 'shoal worker' give it workers.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/devices/devices.h"

#pragma GCC visibility push(default)

namespace shoal {

// Options of open_cluster().
struct OpenClusterOptions {
  // The folder of the cluster. Empty: $SHOAL_CLUSTER_DIR, or ~/.config/shoal/cluster.
  std::filesystem::path folder = {};
  // Plan for many answers a second, with many requests in progress at once, instead of for one
  // answer soon.
  bool throughput = false;
  // The number of workers, 0 to 2, that may be lost during a request without a delay. In any case,
  // a request that fails because a worker was lost is tried once more by the others.
  int survive = 0;
  // If not 0, compare the copies and parities of one request of `verify`, and leave a worker out
  // whose results were wrong twice. Needs `survive`, which makes the copies. Disputed values are
  // recomputed on this machine, by one thread.
  uint64_t verify = 0;
  std::chrono::milliseconds timeout{60'000};  // for a request without a deadline
  // Take the workers over from other programs that use them alone: these lose them, with an error.
  // Programs that share workers are not disturbed.
  bool exclusive = false;
  // Called for each worker that does not answer, or cannot be measured, and is left out for now,
  // and for each that `verify` leaves out. On any thread, also after open_cluster() has returned:
  // workers that join later are used, too.
  std::function<void(const Status& why)> left_out = {};
};

// Connects to the workers of a cluster. The first compile() of a graph measures the workers, which
// takes seconds; profiles are kept for a day in the user's cache folder, and so are plans. Any
// number of runs may be in progress at once. Executables may outlive the device. Fails with
//   kInvalidArgument  `survive` is neither 0, 1 nor 2, or `verify` is given without it, or with
//                     `throughput`
//   kNotFound     the folder holds no cluster, or that has no workers
//   kUnavailable, kDeadline  no worker answers
// Runs fail with kUnavailable or kDeadline where workers are lost or slow: it is worth another try.
Result<std::unique_ptr<Device>> open_cluster(const OpenClusterOptions& options = {});

// Makes these devices of this machine ("cpu+opencl:0") the workers of a cluster inside this
// process. A request is split between them, or requests are distributed by measured speed
// (`throughput`). Fails as make_device() and open_cluster() do.
Result<std::unique_ptr<Device>> open_board(std::string_view names,
                                           const DeviceOptions& options = {});

// Lets make_device() know the names "cluster", "cluster:FOLDER" and "board:DEVICE+DEVICE"
// (engine/devices/devices.h).
void register_cluster_device();

}  // namespace shoal

#pragma GCC visibility pop
