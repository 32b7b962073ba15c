// shoal serve: models behind the Open Inference Protocol.
#include "apps/cluster_commands/serve.h"

#include <cstdio>
#include <functional>
#include <memory>

#include "cli.h"
#include "cluster/cluster_device.h"
#include "cluster/watched_cluster.h"
#include "exit_codes.h"
#include "model.h"
#include "shoal/base/processes/stop_signals.h"
#include "shoal/base/processes/supervisor.h"
#include "shoal/base/threads/notification.h"
#include "shoal/serve/devices/local_devices.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal serve                                    the built-in digits; open http://127.0.0.1:8000
  curl --data-binary @digit.png 127.0.0.1:8000/v2/models/digits/classify
  shoal serve model.onnx small=other.onnx --listen 127.0.0.1:9000
  shoal serve resnet50.onnx --preset imagenet --labels classes.txt
  shoal serve model.onnx --grpc 127.0.0.1:8001
  shoal serve model.onnx --listen 0.0.0.0:8000 --keys keys.txt --tls-cert cert.pem --tls-key key.pem
  shoal serve model.onnx --max-batch 1 --max-waiting 64   no batches, refuse early
  shoal serve --catalog lenet --budget energy=50,memory=2     50 estimated joules a day, 2 MB
  shoal serve model.onnx --cluster               split over the workers of your cluster
  shoal serve model.onnx --leader-store http://127.0.0.1:2379/name   one of several; one answers
  shoal serve --catalog lenet --cloud http://10.0.0.9:8000 --cloud-costs price=0.5 --budget money=1
When it is ready it prints one line: ready URL. Ctrl-C or SIGTERM answers what was asked and ends it.)";

struct ServeFlags {
  serve::Settings server;
  config::DeviceSettings device;
  PlanFlags plan;  // of a cluster in its place
};

// What computes: a device of this machine, or a cluster. `devices` is what the page shows of it.
Result<std::unique_ptr<Device>> open_device(const ServeFlags& flags,
                                            std::function<serve::DeviceList()>& devices) {
  if (flags.plan.is_on_cluster()) {
    SHOAL_ASSIGN(WatchedCluster cluster, open_watched_cluster(flags.plan));
    devices = [view = cluster.view] { return view->list(); };
    return std::move(cluster.device);
  }
  devices = [name = flags.device.device, threads = flags.server.slots()] {
    return serve::devices_here(name, threads);
  };
  return make_device(flags.device);
}

Exit exit_of_start(const Status& status) {
  if (status.code() == Code::kUnavailable) return Exit::kNetwork;
  return status.code() == Code::kInvalidArgument ? Exit::kUsage : Exit::kModel;
}

Outcome serve_models(ServeFlags& flags) {
  Notification stop;
  const StopSignals signals([&] { stop.notify(); });
  flags.server.threads = flags.device.threads;
  flags.server.version = SHOAL_VERSION;
  flags.server.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  SHOAL_OR_EXIT(serve::Prepared ready, Exit::kUsage, serve::prepare(flags.server));
  const auto device = open_device(flags, ready.options.api.devices);
  if (!device.ok()) return fail_opening(flags.plan, device.status());
  const auto server = serve::Server::start(ready.sources, **device, ready.options);
  if (!server.ok()) return fail(exit_of_start(server.status()), server.status());
  std::string line = "ready " + (*server)->url();
  if (!flags.server.grpc.empty()) line += " " + (*server)->grpc_url();
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  notify_supervisor("READY=1");
  if (ready.leadership) ready.leadership->stand((*server)->url());
  stop.wait();
  notify_supervisor("STOPPING=1");
  const bool is_drained = (*server)->drain();
  if (ready.leadership) ready.leadership->resign();  // not before: it answers pending requests
  if (!is_drained) return {Exit::kTimeout, "some requests were not answered in time"};
  return {};
}

}  // namespace

void add_serve(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "serve", "Answer inference requests over HTTP", kExamples, serve_models);
  command.add_option("models", flags.server.models,
                     "ONNX files or zoo:NAME, each as MODEL or NAME=MODEL (default: zoo:digits)");
  command.add(serve::catalog_settings(flags.server));
  command.add(serve::access_settings(flags.server));
  Option* device = add_device_to(command, flags.device.device, "What computes");
  flags.plan.add_cluster_to(command)->excludes(device);
  command.add_setting("--threads", flags.device.threads,
                      "Threads of the device, and batches at a time; 0: one per core",
                      in_range(0, 1024));
  command.add_setting("--tune", flags.device.tune, "How kernels are chosen: off, fast or full",
                      one_of({"off", "fast", "full"}));
  command.add(serve::answer_settings(flags.server));
}

}  // namespace shoal::cli
