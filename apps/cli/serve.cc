// shoal serve: models behind the Open Inference Protocol.
#include <cstdio>
#include <functional>
#include <memory>

#include "cli.h"
#include "cluster/stop_signals.h"
#include "cluster/watched_cluster.h"
#include "exit_codes.h"
#include "model.h"
#include "shoal/base/notification.h"
#include "shoal/base/supervisor.h"
#include "shoal/serve/devices/local_devices.h"
#include "shoal/serve/settings/settings.h"

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
  shoal serve --catalog lenet --budget energy=50,memory=2     a day with 50 J and 2 MB
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
  if (!device.ok()) {
    return fail(
        flags.plan.is_on_cluster() ? exit_of(Doing::kConnect, device.status()) : Exit::kDevice,
        device.status());
  }
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
  if (ready.leadership) ready.leadership->resign();  // not before: it answers what it was asked
  if (!is_drained) return {Exit::kTimeout, "some requests were not answered in time"};
  return {};
}

void add_leader_flags(Command& command, serve::Settings& flags) {
  Option* store = command.add_option(
      "--leader-store", flags.leader_store,
      "One of several servers answers, the others stand by: etcd, as http://HOST:PORT[,...]/NAME");
  command
      .add_setting("--ttl", flags.ttl, "Seconds after which another server takes over",
                   in_range(0.2, 600.0))
      ->needs(store);
  command
      .add_option("--leader-trust", flags.leader_trust,
                  "Certificates (PEM) that etcd's has to lead to; without: those of the system")
      ->needs(store);
}

void add_place_flags(Command& command, serve::Settings& flags, Option* catalog) {
  Option* cloud = command.add_option("--cloud", flags.cloud,
                                     "Another server with the same catalog, asked where that is "
                                     "worth its money and energy");
  Option* worker = command.add_option(
      "--worker", flags.worker, "A server nearby with the same catalog, which costs no money");
  constexpr const char* kCosts =
      "What asking it takes: price=$ an hour of computing, mbit of the uplink, radio=W while "
      "sending, speed times this device's, round-trip=MS";
  command.add_option("--cloud-costs", flags.cloud_costs, kCosts)->delimiter(',')->needs(cloud);
  command.add_option("--worker-costs", flags.worker_costs, kCosts)->delimiter(',')->needs(worker);
  command.add_option("--remote-key", flags.remote_key, "A file with the key that they ask for");
  command.add_option("--remote-trust", flags.remote_trust,
                     "Certificates (PEM) that theirs have to lead to; default: the system's");
  command.add_setting("--remote-timeout", flags.remote_timeout_ms,
                      "Milliseconds until a request that they do not answer is answered here",
                      in_range(1, 600'000));
  cloud->needs(catalog);
  worker->needs(catalog);
}

}  // namespace

void add_serve(Command& app, Action& action) {
  const auto [command, all] = add_command(
      app, action, "serve", "Answer inference requests over HTTP", kExamples, serve_models);
  serve::Settings& flags = all.server;
  command.add_option("models", flags.models,
                     "ONNX files or zoo:NAME, each as MODEL or NAME=MODEL (default: zoo:digits)");
  Option* catalog = command.add_option(
      "--catalog", flags.catalog,
      "A folder of variants, or of such folders, each of which is a model under its name");
  command
      .add_option(
          "--budget", flags.budgets,
          "What variants may cost: energy=J, money=$, memory=MB, latency=MS; day=HOURS that "
          "energy and money last; requests=N that are expected in it")
      ->delimiter(',')
      ->needs(catalog);
  Option* special = command
                        .add_option("--special-data", flags.special_data,
                                    "Images from which networks are made, in the background, for "
                                    "the classes that are seen")
                        ->needs(catalog);
  command.add_setting("--special-format", flags.special_format, "Of these images, as in train")
      ->needs(special);
  add_place_flags(command, flags, catalog);
  command
      .add_option("--decision-log", flags.decision_log, "A file for every decision and its reasons")
      ->needs(catalog);
  command.add_setting("--listen", flags.listen, "HOST:PORT, as numbers; port 0: any");
  command.add_option("--grpc", flags.grpc, "Answer gRPC, too: HOST:PORT, as numbers; port 0: any");
  command.add_option("--keys", flags.keys,
                     "Who may use it: a file of lines NAME KEY [REQUESTS PER SECOND]");
  command.add_option("--tls-cert", flags.tls_certificates,
                     "Certificate (PEM), with those that vouch for it after it");
  command.add_option("--tls-key", flags.tls_key, "Its key (PEM)");
  add_leader_flags(command, flags);
  Option* device = add_device_to(command, all.device.device, "What computes");
  all.plan.add_cluster_to(command)->excludes(device);
  command.add_setting("--threads", all.device.threads,
                      "Threads of the device, and batches at a time; 0: one per core",
                      in_range(0, 1024));
  command.add_setting("--tune", all.device.tune, "How kernels are chosen: off, fast or full",
                      one_of({"off", "fast", "full"}));
  command.add_option("--preset", flags.preset, "How pictures are prepared: imagenet, digits, ...");
  command.add_option("--labels", flags.labels, "Names of the classes, one a line");
  command.add_setting("--max-batch", flags.max_batch,
                      "Items of a batch; 1: no batches; 0: as long as larger ones are faster",
                      in_range(0, 1024));
  command.add_setting("--max-delay", flags.max_delay_us,
                      "Microseconds that a request waits for others to share its batch",
                      in_range(0, 10'000'000));
  command.add_setting("--max-waiting", flags.max_waiting, "Requests of a model that may wait",
                      in_range(1, 1 << 20));
  command.add_setting("--max-wait", flags.max_wait_ms,
                      "Milliseconds that a request may have to wait; otherwise it is refused",
                      in_range(1, 3'600'000));
  command.add_setting("--max-connections", flags.max_connections, "Connections at a time",
                      in_range(1, 1 << 20));
  command.add_setting("--max-body", flags.max_body_mb, "Megabytes of a request", in_range(1, 8192));
  command.add_flag("--triton-metrics", flags.triton_metrics,
                   "Have all of Triton's names in /metrics, also those that promtool objects to");
}

}  // namespace shoal::cli
