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
#include "shoal/base/usable_cores.h"
#include "shoal/base/user_folders.h"
#include "shoal/catalog/as_task.h"
#include "shoal/data/presets.h"
#include "shoal/devices/devices.h"
#include "shoal/fit/run_files.h"
#include "shoal/net/address.h"
#include "shoal/net/text_file.h"
#include "shoal/serve/catalog/tasks.h"
#include "shoal/serve/devices/local_devices.h"
#include "shoal/serve/http/server.h"
#include "shoal/serve/leader/leadership.h"

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
  std::vector<std::string> models;
  std::string catalog, decision_log;  // a folder, a file
  std::vector<std::string> budgets;
  std::string special_data, special_format = "folder";  // to make special networks of
  std::string cloud, worker;                            // URLs
  std::vector<std::string> cloud_costs, worker_costs;
  std::string remote_key, remote_trust;  // files
  int64_t remote_timeout_ms = 1000;
  std::string listen = "127.0.0.1:8000";
  std::string grpc;
  std::string keys, tls_certificates, tls_key;  // files
  std::string leader_store, leader_trust;       // URLs, a file
  double ttl = 1.5;                             // seconds
  ModelFlags device;                            // its device and threads
  PlanFlags plan;                               // of a cluster in its place
  std::string preset, labels;
  int64_t max_batch = 0;
  int64_t max_waiting = 1024;
  int64_t max_wait_ms = 1000;
  int64_t max_delay_us = 0;
  int64_t max_connections = 512;
  int64_t max_body_mb = 64;
  bool triton_metrics = false;
};

// What all models have in common.
Status complete(const ServeFlags& flags, serve::ModelSource& source) {
  source.max_batch = flags.max_batch;
  if (!flags.preset.empty()) {
    SHOAL_ASSIGN(source.preprocess, load_preset(config_folder() / "presets", flags.preset));
  }
  if (!flags.labels.empty()) {
    SHOAL_ASSIGN(source.labels, fit::read_labels(flags.labels));
  }
  return {};
}

Result<std::vector<serve::ModelSource>> sources_of(const ServeFlags& flags) {
  std::vector<std::string> models = flags.models;
  if (models.empty() && flags.catalog.empty()) models.emplace_back(kDefaultModel);
  SHOAL_ASSIGN(auto sources, serve::parse_model_sources(models));
  for (serve::ModelSource& source : sources) SHOAL_TRY(complete(flags, source));
  return sources;
}

Status take_place(const ServeFlags& flags, const std::string& url, serve::PlaceOptions& place) {
  if (url.empty()) return {};
  SHOAL_ASSIGN(place.server,
               serve::remote_server(url, flags.remote_key, flags.remote_trust,
                                    std::chrono::milliseconds(flags.remote_timeout_ms)));
  return {};
}

// Prices are none unless they are given.
Status take_places(const ServeFlags& flags, serve::ServerOptions& options) {
  options.cloud.costs.dollars_per_second = 0;
  options.worker.costs = {.round_trip_ms = 1, .bytes_per_second = 12.5e6, .speed = 1};
  SHOAL_TRY(serve::parse_costs("--cloud-costs", flags.cloud_costs, options.cloud.costs));
  SHOAL_TRY(serve::parse_costs("--worker-costs", flags.worker_costs, options.worker.costs));
  SHOAL_TRY(take_place(flags, flags.cloud, options.cloud));
  return take_place(flags, flags.worker, options.worker);
}

// The variants of all tasks in the catalog, as models and for the scheduler.
Status add_tasks(const ServeFlags& flags, std::vector<serve::ModelSource>& sources,
                 serve::ChooserOptions& tasks) {
  if (flags.catalog.empty()) return {};
  SHOAL_ASSIGN(const serve::Allowed allowed, serve::parse_budgets("--budget", flags.budgets));
  return serve::add_tasks(
      flags.catalog, allowed, [&](serve::ModelSource& source) { return complete(flags, source); },
      sources, tasks);
}

// Lets networks be made for the classes that are seen, of the images that are given for that.
Status add_makers(const ServeFlags& flags, serve::ServerOptions& options) {
  if (flags.special_data.empty()) return {};
  const auto folders = catalog::catalogs_in(flags.catalog);
  if (folders.size() != 1) return invalid("--special-data is for a catalog of one task");
  serve::SpecialsOptions specials{.folder = folders[0], .how = {}, .device = [] {
                                    return shoal::make_device("cpu", {.cpu = {.threads = 1}});
                                  }};
  specials.how.recipe.data = flags.special_data;
  specials.how.recipe.format = flags.special_format;
  specials.how.cache = cache_folder() / "features";
  if (!flags.preset.empty()) {
    SHOAL_ASSIGN(specials.how.recipe.preprocess,
                 load_preset(config_folder() / "presets", flags.preset));
  }
  return serve::add_specials_maker(specials, options);
}

// A line for each decision, at once: who looks on sees them.
Status open_log(const std::string& path, serve::ChooserOptions& tasks) {
  if (path.empty()) return {};
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "ae"), [](std::FILE* opened) {
    if (opened != nullptr) std::fclose(opened);
  });
  if (file == nullptr) return invalid("cannot write " + path);
  std::setvbuf(file.get(), nullptr, _IOLBF, BUFSIZ);
  tasks.log = [file](const std::string& line) { std::fprintf(file.get(), "%s\n", line.c_str()); };
  return {};
}

void warn_of_strangers(const ServeFlags& flags, bool is_loopback) {
  if (is_loopback) return;
  if (flags.keys.empty()) {
    std::fprintf(stderr,
                 "warning: others reach this server, and may use it: there are no --keys\n");
  } else if (flags.tls_key.empty()) {
    std::fprintf(stderr,
                 "warning: keys travel over the network in plain text: there is no --tls-cert\n");
  }
}

Status read_trust(const ServeFlags& flags, serve::ServerOptions& options) {
  if (!flags.keys.empty()) {
    SHOAL_ASSIGN(options.keys, serve::Keys::read(flags.keys));
  }
  if (flags.tls_certificates.empty() != flags.tls_key.empty()) {
    return invalid("--tls-cert and --tls-key go together");
  }
  if (flags.tls_key.empty()) return {};
  SHOAL_ASSIGN(options.tls.certificates, net::read_text(flags.tls_certificates));
  SHOAL_ASSIGN(options.tls.key, net::read_secret(flags.tls_key));
  return {};
}

Result<serve::ServerOptions> server_options(const ServeFlags& flags) {
  serve::ServerOptions options;
  SHOAL_TRY(read_trust(flags, options));
  SHOAL_ASSIGN(const net::Interface where, net::parse_interface(flags.listen));
  const std::string& grpc = flags.grpc.empty() ? flags.listen : flags.grpc;
  SHOAL_ASSIGN(const net::Interface grpc_where, net::parse_interface(grpc));
  warn_of_strangers(flags, where.is_loopback && grpc_where.is_loopback);
  options.listen = flags.listen;
  options.grpc = flags.grpc;
  options.max_connections = static_cast<size_t>(flags.max_connections);
  options.limits.body_bytes = static_cast<uint64_t>(flags.max_body_mb) << 20;
  options.max_bodies = 4 * options.limits.body_bytes;
  options.engine.slots =
      flags.device.threads > 0 ? static_cast<size_t>(flags.device.threads) : usable_cores().size();
  options.engine.max_waiting = static_cast<size_t>(flags.max_waiting);
  options.engine.max_wait = std::chrono::milliseconds(flags.max_wait_ms);
  options.engine.max_delay = std::chrono::microseconds(flags.max_delay_us);
  options.version = SHOAL_VERSION;
  options.api.triton_metrics = flags.triton_metrics;
  options.api.any_name = !where.is_loopback || options.keys != nullptr;
  return options;
}

// Null: no other server may answer in its place.
Result<std::unique_ptr<serve::Leadership>> leadership_of(const ServeFlags& flags) {
  if (flags.leader_store.empty()) return std::unique_ptr<serve::Leadership>();
  serve::LeadershipOptions options;
  SHOAL_ASSIGN(options.store, serve::open_etcd(flags.leader_store, flags.leader_trust));
  options.ttl = std::chrono::milliseconds(static_cast<int64_t>(1e3 * flags.ttl));
  options.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  return std::make_unique<serve::Leadership>(std::move(options));
}

// What computes: a device of this machine, or a cluster. `devices` is what the page shows of it.
Result<std::unique_ptr<Device>> open_device(const ServeFlags& flags,
                                            std::function<serve::DeviceList()>& devices) {
  if (flags.plan.is_on_cluster()) {
    SHOAL_ASSIGN(WatchedCluster cluster, open_watched_cluster(flags.plan));
    devices = [view = cluster.view] { return view->list(); };
    return std::move(cluster.device);
  }
  const int threads =
      flags.device.threads > 0 ? flags.device.threads : static_cast<int>(usable_cores().size());
  devices = [name = flags.device.device, threads] { return serve::devices_here(name, threads); };
  return make_device(flags.device);
}

Outcome serve_models(const ServeFlags& flags) {
  Notification stop;
  const StopSignals signals([&] { stop.notify(); });
  SHOAL_OR_EXIT(auto sources, Exit::kUsage, sources_of(flags));
  SHOAL_OR_EXIT(serve::ServerOptions options, Exit::kUsage, server_options(flags));
  const Status added = add_tasks(flags, sources, options.tasks);
  if (!added.ok()) return fail(Exit::kUsage, added);
  const Status makes = add_makers(flags, options);
  if (!makes.ok()) return fail(Exit::kUsage, makes);
  const Status placed = take_places(flags, options);
  if (!placed.ok()) return fail(Exit::kUsage, placed);
  const Status logged = open_log(flags.decision_log, options.tasks);
  if (!logged.ok()) return fail(Exit::kUsage, logged);
  SHOAL_OR_EXIT(const auto leadership, Exit::kUsage, leadership_of(flags));
  if (leadership) options.leads = [&] { return leadership->leads(); };
  const auto opened = open_device(flags, options.api.devices);
  if (!opened.ok()) {
    return fail(
        flags.plan.is_on_cluster() ? exit_of(Doing::kConnect, opened.status()) : Exit::kDevice,
        opened.status());
  }
  const std::unique_ptr<Device>& device = *opened;
  const auto server = serve::Server::start(sources, *device, options);
  if (!server.ok()) {
    const Code code = server.status().code();
    return fail(code == Code::kUnavailable       ? Exit::kNetwork
                : code == Code::kInvalidArgument ? Exit::kUsage
                                                 : Exit::kModel,
                server.status());
  }
  std::string ready = "ready " + (*server)->url();
  if (!flags.grpc.empty()) ready += " " + (*server)->grpc_url();
  std::printf("%s\n", ready.c_str());
  std::fflush(stdout);
  notify_supervisor("READY=1");
  if (leadership) leadership->stand((*server)->url());
  stop.wait();
  notify_supervisor("STOPPING=1");
  const bool is_drained = (*server)->drain();
  if (leadership) leadership->resign();  // not before: it answers what it was asked
  if (!is_drained) return {Exit::kTimeout, "some requests were not answered in time"};
  return {};
}

void add_leader_flags(Command& command, ServeFlags& flags) {
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

void add_place_flags(Command& command, ServeFlags& flags, Option* catalog) {
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
  const auto [command, flags] = add_command(
      app, action, "serve", "Answer inference requests over HTTP", kExamples, serve_models);
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
  Option* device = add_device_to(command, flags.device.device, "What computes");
  flags.plan.add_cluster_to(command)->excludes(device);
  command.add_setting("--threads", flags.device.threads,
                      "Threads of the device, and batches at a time; 0: one per core",
                      in_range(0, 1024));
  command.add_setting("--tune", flags.device.tune, "How kernels are chosen: off, fast or full",
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
